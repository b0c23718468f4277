"""A server and the queue of its URLs; an address and the servers behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from andante.flow.pace import Pace
from andante.frontier.block import BLOCK_SIZE, Block, Link


class Address:
    """What politeness by IP address is kept for: the servers that share one, and when it may be asked again.

    Before a server's name is resolved it has an address of its own.
    """

    __slots__ = ("limit", "listed", "pace", "visits", "waiting")

    def __init__(self, pace: Pace, limit: int) -> None:
        self.pace = pace
        self.limit = limit
        """Most visits at once."""
        self.visits = 0
        """Visits open to it now."""
        self.waiting: list[tuple[float, int, Server]] = []
        """Heap of its servers that could be visited, by the time when each may be."""
        self.listed = float("inf")
        """The time under which the frontier's heap has it; infinity: not there."""


class Server:
    """An origin: the URLs that wait for it, in order, and its pace."""

    __slots__ = (
        "_at",
        "address",
        "blocks",
        "given_up",
        "key",
        "listed",
        "origin_pace",
        "queued",
        "retries",
        "visits",
        "wide",
    )

    def __init__(self, key: str, address: Address, pace: Pace) -> None:
        self.key = key
        """Scheme, host and port: ``https://example.org``."""
        self.address = address
        self.origin_pace = pace
        self.wide = False
        """It may have more than one visit at once."""
        self.visits = 0
        self.queued = 0
        """URLs that wait: in blocks or to be tried again."""
        self.given_up = ""
        """Why the crawl has given the server up; empty: it has not."""
        self.blocks: list[Block] = []
        """First in, first out; the last one may be open."""
        self.retries: list[tuple[float, int, int, Block, Link, int]] | None = None
        """Heap of URLs to be tried again: not before, address of the URL, block, link, attempts made."""
        self.listed = False
        self._at = 0  # the next URL of the first block

    def __repr__(self) -> str:
        return f"<Server {self.key}: {self.queued} queued, {self.visits} visits, next at {self.next_time:.3f}>"

    @property
    def limit(self) -> int:
        """Most visits at once."""
        return self.address.limit if self.wide else 1

    @property
    def is_crowded(self) -> bool:
        """There are more visits to it, or at its address, than may be: one should end."""
        return self.visits > self.limit or self.address.visits > self.address.limit

    @property
    def next_time(self) -> float:
        """When both its own time and its address's time have come."""
        return max(self.origin_pace.next_time, self.address.pace.next_time)

    def append(self, link: Link, number: Callable[[], int]) -> Block:
        """Queue a URL; return its block. ``number`` gives a new block its number."""
        block = self.blocks[-1] if self.blocks else None
        if block is None or block.sealed or block.size >= BLOCK_SIZE:
            block = Block(number(), links=[])
            self.blocks.append(block)
        block.append(link)
        self.queued += 1
        return block

    def restore(self, blocks: Iterable[Block]) -> None:
        """Take over blocks from the store."""
        self.blocks.extend(blocks)
        self.queued = sum(block.size - block.done.bit_count() for block in self.blocks)

    def take(self, load: Callable[[Block], list[Link]]) -> tuple[Block, int, Link] | None:
        """Take the next URL that was never tried; None when there is none. ``load`` reads a block from disk."""
        while self.blocks:
            block = self.blocks[0]
            if block.links is None:
                block.links = load(block)
            while self._at < block.size:
                index = self._at
                self._at += 1
                if not block.done >> index & 1:
                    self.queued -= 1
                    return block, index, block.links[index]
            if not block.sealed and block.size < BLOCK_SIZE:
                return None  # links may still come
            self.blocks.pop(0)
            self._at = 0
        return None

    def put_retry(self, due: float, block: Block, index: int, link: Link, attempts: int) -> None:
        """Queue a URL that is to be tried again, not before ``due``."""
        if self.retries is None:
            self.retries = []
        heappush(self.retries, (due, block.number, index, block, link, attempts))
        self.queued += 1

    def take_retry(self, now: float) -> tuple[Block, int, Link, int] | None:
        """Take a URL that is due to be tried again, with the attempts made."""
        if not self.retries or self.retries[0][0] > now:
            return None
        _, _, index, block, link, attempts = heappop(self.retries)
        self.queued -= 1
        return block, index, link, attempts
