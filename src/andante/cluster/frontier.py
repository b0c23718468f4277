"""The frontier of a node: the servers that it owns, and a way for links to all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from andante import url as urls
from andante.cluster.recent import Recent
from andante.frontier import Frontier, Server, Task
from andante.frontier.block import Block, Link, Read
from andante.frontier.frontier import Changes

ADDRESS = "ip "
"""Before the text of an IP address, where it is owned as servers are: a name that no server has."""

Found = Callable[[str, bytes, Link, int], None]
"""Takes a link that may be new: server, fingerprint, link, grade."""


class SharedFrontier(Frontier):
    """A frontier whose seen test is elsewhere.

    Links that were not met lately are handed on, to be asked about; those that are new and the node's own come back by `admit`.
    A server that the node does not own any more is withdrawn, and gone when no visit to it is open.

    Args:
        read: reads the links of a stored block.
        found: takes the links that may be new.
        recent: fingerprints of URLs met lately; None: they are not remembered.
        ended: URLs that this node has ended before.
        options: those of `Frontier`.
    """

    def __init__(
        self, read: Read, *, found: Found, recent: Recent | None, ended: int = 0, **options: Any
    ) -> None:
        super().__init__(read, **options)
        self._found = found
        self._recent = recent
        self._ended: dict[str, bytearray] = {}
        self._ended_here = bytearray()
        self._unsafe: dict[str, list[tuple[Link, int]]] = {}
        self._in_hand: dict[tuple[int, int], Task] = {}
        self._at: dict[str, set[Server]] = {}  # by IP address that is the node's
        self._where: dict[Server, str] = {}
        self._sought: dict[Server, str] = {}  # what they were put aside for
        self._held: dict[str, float] = {}  # until when new ones are left alone
        self._emptied: list[str] = []
        self.claim: Callable[[Server, str], None] = lambda _, __: None
        """Asks for what the server cannot be visited without: an IP address, by `ADDRESS` and its text, or another server."""
        self._gone: list[Block] = []
        self._has_lost = False
        self._done = ended

    @property
    def known(self) -> int:
        """URLs that were this node's at their end, or are now."""
        return self._done + self.queued + len(self._in_hand)

    def take(self, server: Server, now: float) -> Task | None:
        """Take the next URL of a visited server."""
        task = super().take(server, now)
        if task is not None:
            self._in_hand[task.block.number, task.index] = task
        return task

    def retry(self, task: Task, due: float, *, attempts: int) -> None:
        """Queue the URL again, unless its server was withdrawn."""
        self._in_hand.pop((task.block.number, task.index), None)
        if self._is_here(task.server):
            super().retry(task, due, attempts=attempts)

    def waiting(self, server: Server, *, unsafe: bool = False) -> list[tuple[Link, int]]:
        """Return what has not ended at a server, with the grades; what is in hand is among it, and if asked for what has ended since the last commit."""
        in_hand = [
            (task.link, task.block.grade(task.index))
            for task in self._in_hand.values()
            if task.server is server
        ]
        ended = self._unsafe.get(server.key, ()) if unsafe else ()
        return [*ended, *in_hand, *server.waiting(self._read_links)]

    # Addresses

    def bind(self, server: Server, key: str, now: float) -> bool:
        """The server was found at an IP address; no visit goes on before the address is the node's, too."""
        if not self._per_address or key in self._at:
            is_bound = super().bind(server, key, now)
            if self._per_address:
                self._move_to(server, key)
                if key in self._held:
                    server.address.pace.hold(self._held.pop(key))
            return is_bound
        self.put_aside(server, ADDRESS + key)
        return False

    def put_aside(self, server: Server, wanted: str) -> None:
        """A server is not visited until `back` is called: something else must be the node's first."""
        self._absent.add(server)
        self._list_anew(server)
        self._sought[server] = wanted
        self.claim(server, wanted)

    def back(self, server: Server) -> None:
        """What the server was put aside for is there, or is asked for again."""
        self._sought.pop(server, None)
        super().back(server)

    def own(self, wanted: str, servers: Sequence[Server], now: float) -> None:
        """What servers were put aside for is the node's. An IP address may have been another's until now: nothing is asked there for a full pause."""
        if wanted.startswith(ADDRESS):
            address = wanted.removeprefix(ADDRESS)
            if address not in self._at:
                self._at[address] = set()
                self._held[address] = now + max(server.pause for server in servers)
            for server in servers:
                self._move_to(server, address)
        else:
            self.server(wanted)

    def address(self, server: Server) -> str:
        """Return the IP address at which a server was last found; empty: none."""
        sought = self._sought.get(server, "")
        if sought.startswith(ADDRESS):
            return sought.removeprefix(ADDRESS)
        return self._where.get(server, "")

    def expect(self, server: Server, address: str) -> None:
        """Another node has found the server at an IP address. If that is this node's, they go together from now on, as otherwise the server would come again."""
        if address in self._at:
            self._move_to(server, address)

    @property
    def addresses(self) -> list[str]:
        """The IP addresses that are the node's."""
        return list(self._at)

    def emptied(self) -> list[str]:
        """Return the IP addresses that no server is left at since the last call; they are the node's no more."""
        emptied, self._emptied = self._emptied, []
        return emptied

    def neighbours(self, server: Server) -> list[Server]:
        """Return the servers that go where a server goes, as they share its address: it and others."""
        address = self._where.get(server)
        return [server] if address is None else sorted(self._at[address], key=lambda each: each.key)

    def stones(self) -> Iterator[tuple[str, int, bool]]:
        """Return what may be given away, in the order in which it will be reached: the servers at an address together, as they go together.

        Of each the key of one server, how many URLs wait, and whether any is being visited.
        """
        met = set()
        for server in self.servers.values():
            address = self._where.get(server)
            if address in met:
                continue
            group = {server} if address is None else self._at[address]
            if address is not None:
                met.add(address)
            if size := sum(each.queued for each in group):
                yield server.key, size, any(each.visits for each in group)

    def reach(self, server: Server, key: str) -> Server | None:
        """Return another server that this one needs something of; None: it is waited for, until it is the node's."""
        if key not in self.servers:
            self.put_aside(server, key)
            return None
        return self.servers[key]

    def _move_to(self, server: Server, key: str) -> None:
        if self._where.get(server) != key:
            self._leave_address(server)
            self._where[server] = key
            self._at[key].add(server)

    def _leave_address(self, server: Server) -> None:
        address = self._where.pop(server, None)
        if address is not None:
            self._at[address].discard(server)
            if not self._at[address]:
                del self._at[address]
                self._held.pop(address, None)
                self._emptied.append(address)

    # Servers come and go

    def admit(self, key: str, links: Iterable[tuple[Link, int]]) -> None:
        """Queue links of one of the node's servers that are new, with their grades."""
        for link, grade in links:
            self._queue(key, urls.fingerprint(key + link.target), link, grade)
        self._rank_grown()

    def finish(self, task: Task) -> None:
        """The URL has ended; that of a server that was withdrawn is another node's by now."""
        server = task.server
        self._in_hand.pop((task.block.number, task.index), None)
        if self._is_here(server):
            super().finish(task)
            self._done += 1
            fingerprint = urls.fingerprint(task.url)
            graded = task.link, task.block.grade(task.index)
            self._unsafe.setdefault(server.key, []).append(graded)
            self._ended.setdefault(server.key, bytearray()).extend(fingerprint)
            self._ended_here += fingerprint

    def note(self, key: str, fingerprints: bytes) -> None:
        """URLs of a server have ended that were taken elsewhere."""
        if fingerprints:
            self._ended.setdefault(key, bytearray()).extend(fingerprints)

    def withdraw(self, server: Server) -> bool:
        """Let no visit to a server begin, and those that are open end; tell whether none is, and the server is gone."""
        if server.visits:
            server.warmth.is_leaving = True
            self._list_anew(server)
            return False
        self._leave_address(server)
        self._sought.pop(server, None)
        self.forget(server)
        self.queued -= server.queued
        for block in {block.number: block for block in server.blocks()}.values():
            self._release(block)
            if block.stored and block.number not in self._touched:
                self._gone.append(block)
        self._has_lost = True
        return True

    def ended(self) -> dict[str, bytearray]:
        """Return the fingerprints of the URLs that have ended since the last call, by server."""
        ended, self._ended = self._ended, {}
        self._unsafe = {}
        return ended

    def doubt(self) -> None:
        """The store has lost its data: links met before may be unknown to it, and what was noted as ended waits nowhere."""
        if self._recent is not None:
            self._recent.clear()
        self._ended = {
            key: bytearray().join(urls.fingerprint(key + link.target) for link, _ in graded)
            for key, graded in self._unsafe.items()
        }

    def discard(self) -> None:
        """Forget which URLs have ended since the last commit."""
        self._ended.clear()
        self._unsafe.clear()
        self._ended_here.clear()

    def changes(self) -> Changes:
        """Return what a commit must write; blocks of servers that are gone may go.

        The fingerprints are of the URLs that have ended here. Those that wait may end elsewhere.
        """
        if self._has_lost:
            self._forget_lost()
        changes = super().changes()
        changes.finished.extend(self._gone)
        self._gone = []
        ended_here = bytes(self._ended_here)
        self._ended_here.clear()
        return changes._replace(fingerprints=ended_here)

    def _forget_lost(self) -> None:
        """Forget what is noted of servers that are gone: once for all of them, as a node may lose thousands at once."""
        for number, (server, block) in list(self._touched.items()):
            if not self._is_here(server):
                del self._touched[number]
                self._grown.pop(number, None)
                if block.stored:
                    self._gone.append(block)
        if self._waiting is not None:
            self._waiting = {
                fingerprint: place
                for fingerprint, place in self._waiting.items()
                if self._is_here(place.server)
            }
        self._has_lost = False

    def _is_here(self, server: Server) -> bool:
        return self.servers.get(server.key) is server

    def _regrade(self, fingerprint: bytes, grade: int) -> None:
        place = self._waiting.get(fingerprint) if self._waiting is not None else None
        if place is not None and self._is_here(place.server):
            super()._regrade(fingerprint, grade)

    def _is_new(self, fingerprint: bytes) -> bool:
        return self._recent is None or self._recent.add(fingerprint)

    def _admit(self, key: str, fingerprint: bytes, link: Link, grade: int) -> None:
        self._found(key, fingerprint, link, grade)
