"""The frontier: all URLs that wait, and the choice of the next server to visit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, repeat
from math import inf
from typing import NamedTuple

import msgspec

from andante import url as urls
from andante.frontier.ahead import ReadAhead
from andante.frontier.block import Block, Link, Read
from andante.frontier.policy import BreadthFirst, Policy
from andante.frontier.queue import USUAL
from andante.frontier.queue import grade as grade_of
from andante.frontier.seen import WIDTH, Seen
from andante.frontier.server import Server
from andante.frontier.servers import ServerQueue

RESIDENT_MAX = 50_000
"""Links in memory that are on disk too: so many that have not left it since they were found, and so many that were read again to be taken next."""


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
    grades: bytes
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


class Frontier(ServerQueue):
    """Both levels: the server queue, and below it the URL queues with the seen test.

    Args:
        read: reads the links of a stored block.
        policy: ranks the servers that are ready, and orders URLs; breadth-first unless given.
        rescores: the scores of URLs that wait may change; it is remembered where each waits, about 300 bytes a URL.
        resident_max: links in memory that are on disk too, see `RESIDENT_MAX`.
        patience, set_point, delay, per_server, per_address, pipelined: see `ServerQueue`.
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
        pipelined: bool = False,
        rescores: bool = False,
        resident_max: int = RESIDENT_MAX,
    ) -> None:
        super().__init__(
            policy or BreadthFirst(),
            patience=patience,
            set_point=set_point,
            delay=delay,
            per_server=per_server,
            per_address=per_address,
            pipelined=pipelined,
        )
        self.seen = Seen()
        self.queued = 0
        """URLs that wait."""
        self._read_links = read
        self._ahead = ReadAhead(read, size_max=resident_max)
        self._resident_max = resident_max
        self._waiting: dict[bytes, _Place] | None = {} if rescores else None
        self._numbers = count(1)
        self._grown: dict[int, tuple[Server, Block]] = {}
        self._touched: dict[int, tuple[Server, Block]] = {}
        self._fingerprints = bytearray()
        self._resident = 0  # links in blocks
        self._richer: dict[Server, None] = {}  # in order
        self._spare: dict[int, Block] = {}  # on disk and in memory, by number

    @property
    def known(self) -> int:
        """URLs met."""
        return len(self.seen)

    @property
    def unstored(self) -> int:
        """URLs queued since the last commit began: their links are in memory only."""
        return len(self._fingerprints) // WIDTH

    @property
    def resident(self) -> int:
        """Links in memory, of URLs that wait and of others in their blocks."""
        return self._resident + self._ahead.size

    def __repr__(self) -> str:
        return f"<Frontier: {self.known} URLs known, {self.queued} queued on {len(self.servers)} servers>"

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
        grades = (
            repeat(USUAL) if scores is None or not self._policy.by_score else map(grade_of, scores)
        )
        added = 0
        for url, grade in zip(found, grades, strict=False):
            fingerprint = urls.fingerprint(url)
            if not self._is_new(fingerprint):
                if self._waiting is not None:
                    self._regrade(fingerprint, grade)
                continue
            key = urls.origin(url)
            link = Link(url[len(key) :], depth, referrer, asked, hops, sitemap)
            self._admit(key, fingerprint, link, grade)
            added += 1
        self._rank_grown()
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

    # URLs go

    def take(self, server: Server, now: float) -> Task | None:
        """Take the next URL of a visited server; None when it has none that is due."""
        if server.retries and (again := server.take_retry(now)):
            self.queued -= 1
            return Task(server, *again)
        if taken := server.take(self._ahead.take):
            self.queued -= 1
            task = Task(server, *taken)
            if self._waiting is not None:
                self._waiting.pop(urls.fingerprint(task.url), None)
            return task
        return None

    def finish(self, task: Task) -> None:
        """The URL has ended, whatever its outcome."""
        block = task.block
        block.finish(task.index)
        self._touched[block.number] = (task.server, block)

    def retry(self, task: Task, due: float, *, attempts: int) -> None:
        """Queue the URL again, not before ``due``, with the attempts made so far."""
        server = task.server
        server.put_retry(due, task.block, task.index, task.link, attempts)
        self.queued += 1
        self.changed(server)

    # Commits

    def changes(self) -> Changes:
        """Return what has changed since the last call."""
        grown, progressed, finished = [], [], []
        for server, block in self._touched.values():
            if block.is_done:
                server.close(block)
                self._release(block)
                if block.stored:
                    finished.append(block)
            elif block.number not in self._grown:
                progressed.append(block)
        for server, block in self._grown.values():
            grown.append(Growth(server, block, block.unstored(), block.grades, not block.stored))
            block.stored = block.size
        fingerprints = bytes(self._fingerprints)
        self._fingerprints.clear()
        self._grown.clear()
        self._touched.clear()
        return Changes(grown, progressed, finished, fingerprints)

    def committed(self, changes: Changes) -> None:
        """The changes are on disk: let go of what memory need not hold.

        The newest goes first, as it is the last to be taken. Servers being visited are no exception: at full speed all are, all the time.
        """
        for server, block, *_ in changes.grown:
            # Otherwise it has gone meanwhile, with its blocks.
            if self.servers.get(server.key) is server:
                self._spare[block.number] = block
        while self._spare and self._resident > self._resident_max:
            _, block = self._spare.popitem()
            self._resident -= block.unload()

    # Inside

    def _is_new(self, fingerprint: bytes) -> bool:
        """Tell whether a URL was never met; it is now."""
        return self.seen.add(fingerprint)

    def _admit(self, key: str, fingerprint: bytes, link: Link, grade: int) -> None:
        """A link was found that is new."""
        self._queue(key, fingerprint, link, grade)

    def _queue(self, key: str, fingerprint: bytes, link: Link, grade: int) -> None:
        """Let a URL wait. When all that were found together do, `_rank_grown` is called."""
        self._fingerprints += fingerprint
        server = self.server(key)
        block = server.append(link, grade, self._next_number)
        if block.size == block.stored + 1:
            self._grown[block.number] = (server, block)
        if self._waiting is not None:
            self._waiting[fingerprint] = _Place(server, block, block.size - 1, grade)
        self.queued += 1
        self._resident += 1
        self._richer[server] = None

    def _rank_grown(self) -> None:
        """Rank the servers for which links came: each once."""
        for server in self._richer:
            self.changed(server)
        self._richer.clear()

    def _next_number(self) -> int:
        return next(self._numbers)

    def _release(self, block: Block) -> None:
        """Nothing of a block waits here any more: memory need not hold its links."""
        self._grown.pop(block.number, None)
        self._spare.pop(block.number, None)
        self._ahead.forget(block.number)
        self._resident -= block.size - block.base

    def _regrade(self, fingerprint: bytes, grade: int) -> None:
        """Let a URL that waits wait under another grade."""
        assert self._waiting is not None
        place = self._waiting.get(fingerprint)
        if place is not None and place.grade != grade:
            place.server.move(place.block, place.number, old=place.grade, new=grade)
            self._waiting[fingerprint] = place._replace(grade=grade)
            self.changed(place.server)


def remaining(server: Server, frontier: Frontier, now: float = inf) -> Iterator[Task]:
    """Take all that a server still has, as when it is given up."""
    while task := frontier.take(server, now):
        yield task
