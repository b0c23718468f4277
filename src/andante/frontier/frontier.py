"""The frontier: all URLs that wait, and the choice of the next server to visit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count, repeat
from math import inf
from typing import NamedTuple

import msgspec

from andante import url as urls
from andante.frontier.block import Block, Link
from andante.frontier.estimate import Estimates, Measured
from andante.frontier.lineup import Lineup
from andante.frontier.policy import BreadthFirst, Policy
from andante.frontier.queue import Read
from andante.frontier.queue import grade as grade_of
from andante.frontier.seen import Seen
from andante.frontier.server import Address, Server, Terms


class Task(msgspec.Struct, frozen=True, gc=False):
    """A URL in hand: it must end in `Frontier.finish` or `Frontier.retry`."""

    server: Server
    block: Block
    index: int
    link: Link
    attempts: int = 0
    """Attempts already made."""

    @property
    def url(self) -> str:
        """The URL to fetch."""
        return self.server.key + self.link.target


class Growth(NamedTuple):
    """New links of a block."""

    server: Server
    block: Block
    links: list[Link]
    is_new: bool
    """The block is not in the store yet."""


class _Place(NamedTuple):
    """Where a URL waits."""

    server: Server
    block: Block
    number: int
    """Its index in the block."""
    grade: int


class Changes(NamedTuple):
    """What a commit must write of the frontier."""

    grown: list[Growth]
    """Blocks with new links."""
    progressed: list[Block]
    """Stored blocks of which more URLs have ended."""
    finished: list[Block]
    """Stored blocks that are done and may go."""
    fingerprints: bytes
    """Of the URLs first met since the last commit."""


class Frontier:
    """Seen test, server queue and URL queues.

    Choosing a server, and ranking it anew when links come, is O(log n): see `Lineup`. Servers that share an IP address stand in a line of their own, and their
    address in the line of all. Whoever is visited is in none, so no server gets more than ``per_server`` visits, and no address more than that in
    all, by construction. Visits are not pre-empted.

    Args:
        read: reads the links of a stored block.
        policy: ranks the servers that are ready, and orders URLs.
        patience: seconds after which a server that is ready is visited before those of higher rank.
        set_point: requests a minute to a server, and to an address; infinity: no bound.
        delay: least seconds from the end of a response to the next request.
        per_server: most visits to one server at once.
        per_address: politeness also by IP address.
        rescores: the scores of URLs that wait may change; it is remembered where each waits, about 300 bytes a URL.
        pipelined: a connection has several requests under way.
        resident_max: links kept in memory beyond those of servers being visited.
    """

    def __init__(
        self,
        read: Read,
        *,
        policy: Policy | None = None,
        patience: float = inf,
        set_point: float = inf,
        delay: float = 0.0,
        per_server: int = 1,
        per_address: bool = True,
        rescores: bool = False,
        pipelined: bool = False,
        resident_max: int = 50_000,
    ) -> None:
        self._read_links = read
        self._policy = policy or BreadthFirst()
        self._patience = patience
        self._per_address = per_address
        self._resident_max = resident_max
        self._estimates = Estimates(pipelined=pipelined)
        self._terms = Terms(
            set_point=set_point, delay=delay, per_server=per_server, estimates=self._estimates
        )
        self.seen = Seen()
        self.servers: dict[str, Server] = {}
        self.queued = 0
        """URLs that wait."""
        self._lineup: Lineup[Server | Address] = Lineup(self._rank, patience=patience)
        self._addresses: dict[str, Address] = {}
        self._waiting: dict[bytes, _Place] | None = {} if rescores else None
        self._errands: dict[Server, list[Server]] = {}
        self._absent: set[Server] = set()
        self._numbers = count(1)
        self._grown: dict[int, tuple[Server, Block]] = {}
        self._touched: dict[int, Block] = {}
        self._visits = 0
        self._fingerprints = bytearray()
        self._resident = 0
        self._now = 0.0

    def __repr__(self) -> str:
        return f"<Frontier: {len(self.seen)} URLs known, {self.queued} queued on {len(self.servers)} servers>"

    @property
    def visits(self) -> int:
        """Visits open now."""
        return self._visits

    def server(self, key: str) -> Server:
        """Return the server of an origin, known or new."""
        server = self.servers.get(key)
        if server is None:
            server = self.servers[key] = Server(key, self._terms)
        return server

    # Links come in

    def offer(
        self,
        found: Iterable[str],
        *,
        depth: int,
        referrer: str = "",
        asked: str = "",
        hops: int = 0,
        sitemap: bool = False,
        scores: Iterable[float] | None = None,
    ) -> int:
        """Queue those of the canonical URLs ``found`` that were never met; return how many.

        ``scores`` say what each is worth, at least 0; that of one that waits already changes, where the frontier is made for it. The rest
        is as in `Link`.
        """
        added = 0
        grades = repeat(0) if scores is None or not self._policy.by_score else map(grade_of, scores)
        for url, grade in zip(found, grades, strict=False):
            fingerprint = urls.fingerprint(url)
            if not self.seen.add(fingerprint):
                if self._waiting is not None:
                    self._regrade(fingerprint, grade)
                continue
            self._fingerprints += fingerprint
            key = urls.origin(url)
            server = self.server(key)
            link = Link(url[len(key) :], depth, referrer, asked, hops, sitemap)
            block = server.append(link, grade, self._next_number)
            if block.size == block.stored + 1:
                self._grown[block.number] = (server, block)
            if self._waiting is not None:
                self._waiting[fingerprint] = _Place(server, block, block.size - 1, grade)
            added += 1
            self._rank_again(server)
        self.queued += added
        self._resident += added
        return added

    def rescore(self, url: str, score: float) -> None:
        """The score of a URL is another now; that matters while it waits."""
        if self._waiting is not None and self._policy.by_score:
            self._regrade(urls.fingerprint(url), grade_of(score))

    def restore(self, blocks: Iterable[tuple[str, Block]], fingerprints: Iterable[bytes]) -> None:
        """Take over the blocks (by server key, in order) and the known fingerprints of a stored job."""
        for fingerprint in fingerprints:
            self.seen.add(fingerprint)
        last = 0
        for key, block in blocks:
            self.queued += self.server(key).restore(block)
            last = max(last, block.number)
        self._numbers = count(last + 1)
        for server in self.servers.values():
            self._list(server)

    def rest(self, now: float) -> None:
        """Ask each server, known or still to be met, nothing before its pause has passed: it may have been asked until now."""
        self._terms.started = self._now = now
        for server in self.servers.values():
            if not server.is_cold:
                server.origin_pace.hold(now + server.pause)
            self._list_anew(server)

    def change_rates(self, rate_of: Callable[[str], float], now: float) -> None:
        """From now on servers have the set-points that ``rate_of`` gives for their keys, and addresses the highest of their servers'.

        All are put in their queues anew: with some millions of servers that takes seconds.
        """
        self._terms.rate_of = rate_of
        rates: dict[Address, float] = {}
        for server in self.servers.values():
            if server.is_cold:
                continue
            rate = rate_of(server.key)
            server.origin_pace.change(rate, now)
            rates[server.address] = max(rate, rates.get(server.address, 0.0))
        for address, rate in rates.items():
            address.pace.change(rate, now)
        for server in self.servers.values():
            self._list_anew(server)

    # Visits

    def open_visit(self, now: float) -> Server | None:
        """Choose the server of the highest rank among those that are ready, and count a visit to it; None when none is ready."""
        self._now = now
        while (item := self._lineup.pop(now)) is not None:
            server = self._chosen(item, now)
            if server is not None:
                server.visits += 1
                server.address.visits += 1
                self._visits += 1
                self._list(server)
                self._list_address(server.address)
                return server
        return None

    def wakeup(self) -> float | None:
        """Return the time before which `open_visit` has nothing; None while nothing waits for a time."""
        wakeup = self._lineup.wakeup()
        return None if wakeup == inf else wakeup

    def take(self, server: Server, now: float) -> Task | None:
        """Take the next URL of a visited server; None when it has none that is due."""
        if server.retries and (again := server.take_retry(now)):
            self.queued -= 1
            return Task(server, *again)
        if taken := server.take(self._read):
            self.queued -= 1
            task = Task(server, *taken)
            if self._waiting is not None:
                self._waiting.pop(urls.fingerprint(task.url), None)
            return task
        return None

    def learn(self, server: Server, visit: Measured) -> None:
        """Take what a visit to a server has measured."""
        server.estimate = self._estimates.learn(server.estimate, visit)

    def close_visit(self, server: Server) -> None:
        """A visit has ended; the server stands in the queue again if it has URLs."""
        server.visits -= 1
        server.address.visits -= 1
        self._visits -= 1
        self._list(server)
        self._list_address(server.address)

    def cool(self, server: Server) -> None:
        """The server was not asked for a while: forget what is only of use where it was, unless others share its address or it has a delay of its own."""
        address = server.address
        is_plain = address.shared is None and server.pause <= self._terms.pause
        if is_plain and not server.visits and server.next_time <= self._now:
            self._addresses.pop(address.key, None)
            server.cool()

    def bind(self, server: Server, key: str, now: float) -> bool:
        """The server was found at an IP address: from now on it shares the address's pace with the others there.

        Returns:
            Whether the visit may go on; false when as many others as are allowed are at the address already.
        """
        if not self._per_address:
            return True
        old, address = server.address, self._addresses.get(key)
        if address is None:
            address = self._addresses[key] = self._terms.address(server.key) if old.key else old
            address.key = key
            address.only = server
        if address is not old:
            self._move(server, old, address, now)
        return address.visits <= address.limit

    def widen(self, server: Server) -> None:
        """From now on the server may have as many visits at once as are allowed; until then it has one."""
        if not server.wide:
            server.wide = True
            self._list(server)

    def set_limit(self, server: Server, limit: int) -> None:
        """From now on the server's address may have so many visits at once; those above it should end (`Server.is_crowded`)."""
        server.address.limit = limit
        self._list(server)
        self._list_address(server.address)

    # Errands

    def send(self, server: Server, other: Server) -> None:
        """What must be known of a server is at another one: it is not visited until someone there has done its errand, and has called `back`."""
        self._absent.add(server)
        self._errands.setdefault(other, []).append(server)
        self._list_anew(server)
        self._list(other)

    def has_errand(self, server: Server) -> bool:
        """Tell whether another server needs something of this one."""
        return server in self._errands

    def take_errand(self, server: Server) -> Server | None:
        """Return a server that needs something of this one, which is visited; None when none does."""
        senders = self._errands.get(server)
        if senders is None:
            return None
        sender = senders.pop()
        if not senders:
            del self._errands[server]
        return sender

    def is_absent(self, server: Server) -> bool:
        """Tell whether the server waits for an errand of its own."""
        return server in self._absent

    def back(self, server: Server) -> None:
        """The errand of a server is done."""
        self._absent.discard(server)
        self._list(server)

    # URLs end

    def finish(self, task: Task) -> None:
        """The URL has ended, whatever its outcome."""
        block = task.block
        block.finish(task.index)
        self._touched[block.number] = block

    def retry(self, task: Task, due: float, *, attempts: int) -> None:
        """Queue the URL again, not before ``due``, with the attempts made so far."""
        server = task.server
        server.put_retry(due, task.block, task.index, task.link, attempts)
        self.queued += 1
        self._rank_again(server)

    # Commits

    def changes(self) -> Changes:
        """Return what has changed since the last call."""
        grown, progressed, finished = [], [], []
        for block in self._touched.values():
            if block.is_done:
                block.sealed = True
                self._grown.pop(block.number, None)
                self._resident -= block.size - block.base
                if block.stored:
                    finished.append(block)
            elif block.number not in self._grown:
                progressed.append(block)
        for server, block in self._grown.values():
            grown.append(Growth(server, block, block.unstored(), not block.stored))
            block.stored = block.size
        fingerprints = bytes(self._fingerprints)
        self._fingerprints.clear()
        self._grown.clear()
        self._touched.clear()
        return Changes(grown, progressed, finished, fingerprints)

    def committed(self, changes: Changes) -> None:
        """The changes are on disk: let go of what memory need not hold."""
        for server, block, _, _ in reversed(changes.grown):
            if self._resident <= self._resident_max:
                return
            if not server.visits:
                self._resident -= block.unload()

    # Inside

    def _next_number(self) -> int:
        return next(self._numbers)

    def _read(self, block: Block) -> list[Link]:
        self._resident += block.base
        return self._read_links(block)

    def _regrade(self, fingerprint: bytes, grade: int) -> None:
        """Let a URL that waits wait under another grade."""
        assert self._waiting is not None
        place = self._waiting.get(fingerprint)
        if place is not None and place.grade != grade:
            place.server.move(place.block, place.number, old=place.grade, new=grade)
            self._waiting[fingerprint] = place._replace(grade=grade)
            self._rank_again(place.server)

    # Who waits where

    def _rank(self, item: Server | Address) -> float:
        if isinstance(item, Server):
            return self._policy.rank(item)
        assert item.shared is not None
        best = item.shared.first(self._now)
        return -inf if best is None else self._policy.rank(best)

    def _rank_again(self, server: Server) -> None:
        """The queue of a server has changed."""
        if not server.entry or server.rank is None:
            self._list(server)
            return
        shared = server.address.shared if not server.is_cold else None
        if shared is None:
            self._lineup.rank_again(server)
        elif shared.rank_again(server):
            self._lineup.rank_again(server.address)

    def _chosen(self, item: Server | Address, now: float) -> Server | None:
        """Return the server to visit, of one that was at the head of the line; None when its time was put off while it waited."""
        if isinstance(item, Server):
            if item.next_time <= now and item.visits < item.limit:
                return item
            self._list(item)
            return None
        assert item.shared is not None
        while item.pace.next_time <= now and (server := item.shared.pop(now)):
            if server.next_time <= now:
                return server
            self._list(server)
        self._list_address(item)
        return None

    def _list(self, server: Server) -> None:
        """Put a server among those that wait, if it may be visited at some time."""
        waits = server.queued and server not in self._absent
        if not (waits or server in self._errands) or server.visits >= server.limit:
            return
        shared = None if server.is_cold else server.address.shared
        ready = max(server.next_time if shared is None else server.own_time, self._now)
        if waits and server.retries and len(server.retries) == server.queued:
            ready = max(ready, server.retries[0][0])
        if server.entry and server.ready_at <= ready:
            return
        if shared is None:
            self._lineup.put(server, ready)
        else:
            shared.put(server, ready)
            self._list_address(server.address)

    def _list_address(self, address: Address) -> None:
        """Put an address that servers share in the line of all, or where it should stand now."""
        if address.shared is None:
            return
        wakeup = address.shared.wakeup() if address.visits < address.limit else inf
        if wakeup == inf:
            self._lineup.remove(address)
            return
        ready = max(address.pace.next_time, wakeup, 0.0)
        if not address.entry or address.ready_at > ready:
            self._lineup.put(address, ready)

    def _list_anew(self, server: Server) -> None:
        shared = None if server.is_cold else server.address.shared
        (self._lineup if shared is None else shared).remove(server)
        self._list(server)

    def _move(self, server: Server, old: Address, address: Address, now: float) -> None:
        """Let a server move to another address, with what it owes to the old one."""
        (self._lineup if old.shared is None else old.shared).remove(server)
        if old.only is server:
            self._addresses.pop(old.key, None)
        old.visits -= server.visits
        address.visits += server.visits
        address.pace.hold(old.pace.next_time)
        own = server.origin_pace.set_point
        if own > address.pace.set_point:
            address.pace.change(own, now)
        server.address = address
        if address.only is not None and address.only is not server:
            other, address.only = address.only, None
            address.shared = Lineup(self._policy.rank, patience=self._patience)
            self._lineup.remove(other)
            self._list(other)
        self._list(server)
        self._list_address(old)


def remaining(server: Server, frontier: Frontier, now: float = inf) -> Iterator[Task]:
    """Take all that a server still has, as when it is given up."""
    while task := frontier.take(server, now):
        yield task
