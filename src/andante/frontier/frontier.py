"""The frontier: all URLs that wait, and the choice of the next server to visit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import NamedTuple

import msgspec

from andante import url as urls
from andante.flow import Pace
from andante.frontier.block import Block, Link
from andante.frontier.seen import Seen
from andante.frontier.server import Address, Server


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


class Changes(NamedTuple):
    """What a commit must write of the frontier."""

    sealed: list[tuple[Server, Block]]
    """New blocks, with their links."""
    progressed: list[Block]
    """Stored blocks of which more URLs have ended."""
    finished: list[Block]
    """Stored blocks that are done and may go."""
    fingerprints: bytes
    """Of the URLs first met since the last commit."""


class Frontier:
    """Seen test, server queue and URL queues: breadth-first at both levels.

    Choosing a server is O(log n): a heap of addresses keyed by the time when the address and one of its servers may both be asked, and
    in each address a heap of servers. Whoever is visited is not in the heaps, so no server gets more than ``per_server`` visits and
    no address more than that in all, by construction.

    Args:
        load: reads the links of a stored block.
        set_point: requests a minute to a server, and to an address; infinity: no bound.
        delay: least seconds from the end of a response to the next request.
        per_server: most visits to one server at once.
        per_address: politeness also by IP address.
        resident_max: links kept in memory beyond the heads of the queues.
    """

    def __init__(
        self,
        load: Callable[[Block], list[Link]],
        *,
        set_point: float = inf,
        delay: float = 0.0,
        per_server: int = 1,
        per_address: bool = True,
        resident_max: int = 50_000,
    ) -> None:
        self._load_links = load
        self._rate_of: Callable[[str], float] = lambda _: set_point
        self._delay = delay
        self._per_server = per_server
        self._per_address = per_address
        self._resident_max = resident_max
        self.seen = Seen()
        self.servers: dict[str, Server] = {}
        self.queued = 0
        """URLs that wait."""
        self._addresses: dict[str, Address] = {}
        self._heap: list[tuple[float, int, Address]] = []
        self._sequence = count()
        self._numbers = count(1)
        self._open: dict[int, tuple[Server, Block]] = {}
        self._touched: dict[int, Block] = {}
        self._visits = 0
        self._fingerprints = bytearray()
        self._resident = 0
        self._started = -inf

    def __repr__(self) -> str:
        return f"<Frontier: {len(self.seen)} URLs known, {self.queued} queued on {len(self.servers)} servers>"

    @property
    def visits(self) -> int:
        """Visits open now."""
        return self._visits

    def server(self, key: str) -> Server:
        """Return the server of an origin, known or new."""
        return self.servers.get(key) or self._new_server(key)

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
    ) -> int:
        """Queue those of the canonical URLs ``found`` that were never met; return how many. The rest is as in `Link`."""
        added = 0
        for url in found:
            fingerprint = urls.fingerprint(url)
            if not self.seen.add(fingerprint):
                continue
            self._fingerprints += fingerprint
            key = urls.origin(url)
            server = self.server(key)
            link = Link(url[len(key) :], depth, referrer, asked, hops, sitemap)
            block = server.append(link, self._next_number)
            if block.size == 1:
                self._open[block.number] = (server, block)
            added += 1
            if not server.listed:
                self._list(server)
        self.queued += added
        self._resident += added
        return added

    def restore(self, blocks: Iterable[tuple[str, Block]], fingerprints: Iterable[bytes]) -> None:
        """Take over the blocks (by server key, in order) and the known fingerprints of a stored job."""
        for fingerprint in fingerprints:
            self.seen.add(fingerprint)
        last = 0
        for key, block in blocks:
            server = self.server(key)
            before = server.queued
            server.restore([block])
            self.queued += server.queued - before
            last = max(last, block.number)
        self._numbers = count(last + 1)
        for server in self.servers.values():
            self._list(server)

    def rest(self, now: float) -> None:
        """Ask each server, known or still to be met, nothing before its pause has passed: it may have been asked until now."""
        self._started = now
        for server in self.servers.values():
            server.origin_pace.hold(now + self._pause(server.origin_pace))

    def change_rates(self, rate_of: Callable[[str], float], now: float) -> None:
        """From now on servers have the set-points that ``rate_of`` gives for their keys, and addresses the highest of their servers'.

        All are put in their queues anew: with some millions of servers that takes seconds.
        """
        self._rate_of = rate_of
        self._heap.clear()
        rates: dict[Address, float] = {}
        for server in self.servers.values():
            rate = rate_of(server.key)
            server.origin_pace.change(rate, now)
            server.listed = False
            server.address.waiting.clear()
            server.address.listed = inf
            rates[server.address] = max(rate, rates.get(server.address, 0.0))
        for address, rate in rates.items():
            address.pace.change(rate, now)
        for server in self.servers.values():
            self._list(server)

    # Visits

    def open_visit(self, now: float) -> Server | None:
        """Choose the server that has been ready longest and count a visit to it; None when none is ready."""
        while self._heap and self._heap[0][0] <= now:
            key, _, address = heappop(self._heap)
            if key != address.listed:
                continue  # listed again since, under another time
            address.listed = inf
            server = self._pop_ready(address, now)
            if server is not None:
                server.visits += 1
                address.visits += 1
                self._visits += 1
                self._list(server)
            self._list_address(address)
            if server is not None:
                return server
        return None

    def wakeup(self) -> float | None:
        """Return the time before which `open_visit` has nothing; None while nothing waits for a time."""
        return self._heap[0][0] if self._heap else None

    def take(self, server: Server, now: float) -> Task | None:
        """Take the next URL of a visited server; None when it has none that is due."""
        if server.retries and (again := server.take_retry(now)):
            self.queued -= 1
            return Task(server, *again)
        if taken := server.take(self._load):
            self.queued -= 1
            return Task(server, *taken)
        return None

    def close_visit(self, server: Server) -> None:
        """A visit has ended; the server stands in the queue again if it has URLs."""
        server.visits -= 1
        server.address.visits -= 1
        self._visits -= 1
        self._list(server)
        self._list_address(server.address)

    def bind(self, server: Server, address: str, now: float) -> bool:
        """The server was found at an IP address: from now on it shares the address's pace with the others there.

        Returns:
            Whether the visit may go on; false when as many others as are allowed are at the address already.
        """
        if not self._per_address:
            return True
        shared = self._addresses.get(address)
        if shared is None:
            self._addresses[address] = shared = self._new_address(server.address.pace.set_point)
        old = server.address
        if old is shared:
            return shared.visits <= shared.limit
        shared.pace.hold(old.pace.next_time)
        if old.pace.set_point > shared.pace.set_point:
            shared.pace.change(old.pace.set_point, now)
        shared.visits += server.visits
        old.visits -= server.visits
        old.waiting = [entry for entry in old.waiting if entry[2] is not server]
        heapify(old.waiting)
        server.address = shared
        server.listed = False
        self._list(server)
        return shared.visits <= shared.limit

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
        if not server.listed:
            self._list(server)

    # Commits

    def changes(self) -> Changes:
        """Return what has changed since the last call; blocks that were open are sealed by it."""
        sealed = []
        for server, block in self._open.values():
            block.sealed = True
            if not block.is_done:
                sealed.append((server, block))
        progressed: list[Block] = []
        finished: list[Block] = []
        for number, block in self._touched.items():
            if number not in self._open:
                (finished if block.is_done else progressed).append(block)
        fingerprints = bytes(self._fingerprints)
        self._fingerprints.clear()
        self._open.clear()
        self._touched.clear()
        return Changes(sealed, progressed, finished, fingerprints)

    def committed(self, changes: Changes) -> None:
        """The changes are on disk: let go of what memory need not hold."""
        for server, block in changes.sealed:
            if self._resident <= self._resident_max:
                return
            if block.links is not None and server.blocks and block is not server.blocks[0]:
                self._resident -= block.size
                block.links = None

    # Inside

    def _next_number(self) -> int:
        return next(self._numbers)

    def _new_address(self, rate: float) -> Address:
        return Address(Pace(set_point=rate, delay=self._delay), self._per_server)

    def _new_server(self, key: str) -> Server:
        rate = self._rate_of(key)
        pace = Pace(set_point=rate, delay=self._delay)
        pace.hold(self._started + self._pause(pace))
        server = self.servers[key] = Server(key, self._new_address(rate), pace)
        return server

    def _pause(self, pace: Pace) -> float:
        return max(60 / pace.set_point, self._delay)

    def _load(self, block: Block) -> list[Link]:
        self._resident += block.size
        return self._load_links(block)

    def _pop_ready(self, address: Address, now: float) -> Server | None:
        if address.pace.next_time > now:
            return None
        while address.waiting and address.waiting[0][0] <= now:
            server = heappop(address.waiting)[2]
            server.listed = False
            if server.next_time <= now:
                return server
            self._list(server)  # its time was put off while it waited
        return None

    def _list(self, server: Server) -> None:
        """Put a server among those that wait at its address, if it may be visited at some time."""
        if server.listed or not server.queued or server.visits >= server.limit:
            return
        ready = server.origin_pace.next_time
        if server.retries and len(server.retries) == server.queued:
            ready = max(ready, server.retries[0][0])
        server.listed = True
        heappush(server.address.waiting, (ready, next(self._sequence), server))
        self._list_address(server.address)

    def _list_address(self, address: Address) -> None:
        if not address.waiting or address.visits >= address.limit:
            return
        ready = max(address.pace.next_time, address.waiting[0][0])
        if ready < address.listed:
            address.listed = ready
            heappush(self._heap, (ready, next(self._sequence), address))


def remaining(server: Server, frontier: Frontier, now: float = inf) -> Iterator[Task]:
    """Take all that a server still has, as when it is given up."""
    while task := frontier.take(server, now):
        yield task
