"""The store in memory: what every store must do, in the fewest words. The simulator runs clusters on it, and the tests hold Redis to the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from andante.cluster.exchange import (
    ANSWER_MAX,
    POOL,
    Answer,
    BuriedError,
    Ended,
    Entry,
    Give,
    Grant,
    Heard,
    Joined,
    Keep,
    Known,
    Links,
    LostError,
    Mail,
    Marked,
    NameTakenError,
    Node,
    OtherSettingsError,
    Own,
    Part,
    Report,
    Rewrite,
    Take,
    Totals,
)
from andante.frontier.seen import WIDTH, unpack


class _Log:
    """What the store has of a server."""

    def __init__(self) -> None:
        self.owner = POOL
        self.entries: list[Entry] = []
        self.waiting = 0
        self.state = b""
        self.kept_at = 0.0


class Memory:
    """What a crawl's nodes share.

    Args:
        clock: gives seconds, for the age of what is kept.
        generation: of the data.
    """

    def __init__(self, clock: Callable[[], float], generation: str = "1") -> None:
        self.clock = clock
        self.generation = generation
        self.config: bytes | None = None
        self.seen: set[bytes] = set()
        self.logs: dict[str, _Log] = {}
        self.pool: dict[str, None] = {}  # in order
        self.mail: dict[int, dict[str, int]] = {}
        self.gifts: dict[int, dict[str, None]] = {}
        self.nodes: dict[int, Node] = {}
        self.tokens: dict[int, str] = {}
        self.buried: set[int] = set()
        self.answered: dict[int, tuple[int, list[object]]] = {}
        self.told: list[str] = []
        self.last = POOL
        self.changes = 0
        self.settled = True

    def log(self, server: str) -> _Log:
        """Return the log of a server, there or new."""
        return self.logs.setdefault(server, _Log())

    @property
    def totals(self) -> Totals:
        """The counts of the crawl."""
        return Totals(
            waiting=sum(log.waiting for log in self.logs.values()),
            known=len(self.seen),
            pool=len(self.pool),
            changes=self.changes,
        )

    # The parts of a report

    def do(self, part: Part, epoch: int) -> object:
        """Carry out a part of a node's report; return its answer."""
        answer: object = None
        match part:
            case Links():
                answer = self._links(part, epoch)
            case Take():
                answer = self._take(part, epoch)
            case Heard():
                answer = self._heard(part, epoch)
            case Own():
                answer = self._own(part, epoch)
            case Known():
                self.seen.update(unpack(part.fingerprints))
            case Ended() | Keep() | Give() | Rewrite():
                log = self.logs.get(part.server)
                answer = log is not None and log.owner == epoch and self._as_owner(log, part, epoch)
        return answer

    def _as_owner(self, log: _Log, part: Ended | Keep | Give | Rewrite, epoch: int) -> bool:
        match part:
            case Ended():
                log.entries.append(Entry(epoch, part.fingerprints))
                log.waiting = max(0, log.waiting - len(part.fingerprints) // WIDTH)
            case Keep():
                log.state, log.kept_at = part.state, self.clock()
            case Give():
                self.give(part.server, part.to)
            case Rewrite():
                return self._rewrite(log, part, epoch)
        return True

    def _links(self, part: Links, epoch: int) -> Marked:
        log = self.log(part.server)
        fresh = bytearray()
        for fingerprint in unpack(part.fingerprints):
            fresh.append(fingerprint not in self.seen)
            self.seen.add(fingerprint)
        taken = log.owner == POOL and part.takes and self.settled and part.server not in self.pool
        state, aged = b"", 0.0
        if taken:
            log.owner = epoch
            state, aged = log.state, self._aged(log)
        if any(fresh):
            if log.owner == POOL:
                if self.settled:
                    self.pool.setdefault(part.server)
            elif log.owner != epoch:
                self.mail.setdefault(log.owner, {}).setdefault(part.server, len(log.entries))
            mask = b"" if all(fresh) else bytes(fresh)
            log.entries.append(Entry(epoch, entry=part.entry, fresh=mask))
            log.waiting += sum(fresh)
            self.changes += 1
        return Marked(log.owner, bytes(fresh), len(log.entries), taken, state, aged)

    def _own(self, part: Own, epoch: int) -> bool:
        log = self.log(part.server)
        if self.settled or log.owner not in (POOL, epoch):
            return False
        log.owner = epoch
        log.entries, log.waiting = [], 0
        for table in (self.pool, self.mail.get(epoch, {}), self.gifts.get(epoch, {})):
            table.pop(part.server, None)
        return True

    def _take(self, part: Take, epoch: int) -> list[Grant]:
        grants: list[Grant] = []
        urls = 0
        while self.settled and self.pool and urls < part.urls and len(grants) < part.servers:
            server = next(iter(self.pool))
            del self.pool[server]
            log = self.logs[server]
            log.owner = epoch
            urls += log.waiting
            grants.append(self._grant(server))
        return grants

    def _grant(self, server: str) -> Grant:
        log = self.logs[server]
        return Grant(server, log.waiting, log.state, self._aged(log))

    def _aged(self, log: _Log) -> float:
        return self.clock() - log.kept_at if log.state else 0.0

    def _mail(self, epoch: int) -> Iterator[Mail]:
        left = ANSWER_MAX
        for server, start in self.mail.get(epoch, {}).items():
            entries = self.logs[server].entries[start : start + left]
            yield Mail(server, start, entries)
            left -= len(entries)
            if not left:
                break

    def _rewrite(self, log: _Log, part: Rewrite, epoch: int) -> bool:
        if part.server in self.mail.get(epoch, ()):
            return False
        log.entries = [Entry(epoch, entry=entry) for _, entry in part.entries]
        found = [each for fingerprints, _ in part.entries for each in unpack(fingerprints)]
        self.seen.update(found)
        log.waiting = len(found)
        return True

    def _heard(self, part: Heard, epoch: int) -> object:
        self.gifts.get(epoch, {}).pop(part.server, None)
        mail = self.mail.get(epoch, {})
        if part.server in mail:
            if part.length >= len(self.logs[part.server].entries):
                del mail[part.server]
            else:
                mail[part.server] = max(mail[part.server], part.length)
        return None

    def give(self, server: str, to: int) -> None:
        """Let a server go to a node or to the pool."""
        log = self.logs[server]
        self.mail.get(log.owner, {}).pop(server, None)
        self.gifts.get(log.owner, {}).pop(server, None)
        if to in self.buried:
            to = POOL
        log.owner = to
        if to != POOL:
            self.gifts.setdefault(to, {})[server] = None
        elif log.waiting:
            self.pool[server] = None

    def answer(self, report: Report, epoch: int) -> Answer:
        """Answer a report, once for each number."""
        number, parts = self.answered.get(epoch, (0, []))
        if report.number < number:
            raise ValueError(f"report {report.number} comes after report {number}")
        if report.number > number + 1:
            self.lose()
            raise LostError
        if report.number != number:
            parts = [self.do(part, epoch) for part in report.parts]
            self.answered[epoch] = (report.number, parts)
            node = self.nodes[epoch]
            if report.beat:
                self.nodes[epoch] = Node(epoch, node.name, node.count + 1, report.beat)
        return Answer(
            parts=parts,
            mail=list(self._mail(epoch)),
            grants=[
                self._grant(server) for server in islice(self.gifts.get(epoch, ()), ANSWER_MAX)
            ],
            nodes=dict(self.nodes),
            totals=self.totals,
            generation=self.generation,
            news=len(self.told),
            settled=self.settled,
        )

    def lose(self) -> None:
        """Lose all data, as a store does that is started anew without them; but no epoch is used again."""
        last = self.last
        vars(self).update(vars(Memory(self.clock, f"{self.generation}+")))
        self.last = last


class MemoryStore:
    """A `Store` in memory, as one node sees it."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._epoch = POOL
        self._generation = ""

    async def join(self, name: str, *, token: str, config: bytes, again: bool = False) -> Joined:
        """Join the crawl."""
        memory = self._memory
        if memory.config is None:
            memory.config = config
            memory.settled = not again
        if memory.config != config:
            raise OtherSettingsError(memory.config)
        predecessor = POOL
        for node in memory.nodes.values():
            if node.name == name:
                if memory.tokens[node.epoch] != token:
                    raise NameTakenError(name)
                predecessor = predecessor or node.epoch
        memory.last += 1
        self._epoch, self._generation = memory.last, memory.generation
        memory.nodes[self._epoch] = Node(self._epoch, name, 0, b"")
        memory.tokens[self._epoch] = token
        return Joined(
            self._epoch, predecessor, memory.generation, list(memory.told), memory.settled
        )

    async def exchange(self, report: Report) -> Answer:
        """Answer a report."""
        self._check()
        return self._memory.answer(report, self._epoch)

    async def entries(self, server: str, start: int, count: int) -> list[Entry]:
        """Return entries of a log."""
        self._check()
        log = self._memory.logs.get(server)
        return log.entries[start : start + count] if log is not None else []

    async def bury(self, epoch: int, *, to: int = POOL, count: int | None = None) -> bool:
        """End an epoch."""
        self._check()
        memory = self._memory
        node = memory.nodes.get(epoch)
        if node is not None and count not in (None, node.count):
            return False
        memory.buried.add(epoch)
        for server, log in memory.logs.items():
            if log.owner == epoch:
                memory.give(server, to)
        for table in (memory.nodes, memory.tokens, memory.mail, memory.gifts, memory.answered):
            table.pop(epoch, None)
        return True

    async def settle(self) -> None:
        """All nodes have said what they hold."""
        self._check()
        memory = self._memory
        memory.settled = True
        for server, log in memory.logs.items():
            if log.owner == POOL and log.waiting:
                memory.pool.setdefault(server)

    async def tell(self, text: str) -> None:
        """Tell all nodes something."""
        self._check()
        if text not in self._memory.told:
            self._memory.told.append(text)

    async def told(self) -> list[str]:
        """Return what was told."""
        self._check()
        return list(self._memory.told)

    async def leave(self) -> None:
        """End the node's own epoch."""
        await self.bury(self._epoch)

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _check(self) -> None:
        if self._memory.config is None or self._memory.generation != self._generation:
            raise LostError
        if self._epoch not in self._memory.nodes:
            raise BuriedError
