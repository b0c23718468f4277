"""The URL queue of a server: best grade first, and first in, first out within a grade.

Two URLs are of the same *grade* when their scores differ by less than a fifth. So URLs need no heap: a queue of millions takes and gives
each in constant time, its blocks can stay on disk until they are reached, and it knows what its best URLs are worth without looking at them.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import floor, log2

from andante.frontier.block import Block, Link

Read = Callable[[Block], list[Link]]
"""Reads the links of a block from disk."""

_STEPS = 4
"""Grades between a score and its double."""

_LOWEST, _HIGHEST = -40 * _STEPS, 40 * _STEPS
"""Of scores up to 1e-12, and from 1e12 on."""


def grade(score: float) -> int:
    """Return the grade of a score: floor(4 log2 score), from -160 (0 and less than 1e-12) to 160."""
    if score <= 0:
        return _LOWEST
    return max(_LOWEST, min(floor(_STEPS * log2(score)), _HIGHEST))


_WORTH = {each: 2 ** ((each + 0.5) / _STEPS) for each in range(_LOWEST + 1, _HIGHEST + 1)}
_WORTH[_LOWEST] = 0.0


def worth(grade: int) -> float:
    """Return the score in the middle of a grade; 0 for the lowest."""
    return _WORTH[grade]


class Chain:
    """The URLs of one grade: blocks one behind the other."""

    __slots__ = ("_at", "_first", "_last", "grade", "moved_in", "next", "waiting")

    def __init__(self, grade: int, after: Chain | None) -> None:
        self.grade = grade
        self.next = after
        """The chain of the next lower grade that there is."""
        self.waiting = 0
        """URLs in it that have not been taken."""
        self.moved_in: dict[tuple[int, int], Block] | None = None
        """URLs whose grade has become this one, by block number and index; they come first."""
        self._first: Block | None = None
        self._last: Block | None = None
        self._at = 0  # the next URL of the first block

    @property
    def is_over(self) -> bool:
        """Nothing waits, and its last block takes no more."""
        return not self.waiting and (self._last is None or self._last.sealed)

    def append(self, link: Link, number: Callable[[], int]) -> Block:
        """Add a URL at the end; return its block."""
        block = self._last
        if block is None or block.sealed:
            block = Block(number(), self.grade)
            self.put(block)
        block.append(link)
        self.waiting += 1
        return block

    def put(self, block: Block) -> None:
        """Add a block at the end."""
        if self._last is None:
            self._first = block
        else:
            self._last.next = block
        self._last = block

    def take(self, read: Read) -> tuple[Block, int, Link]:
        """Take the first URL that waits; there must be one."""
        self.waiting -= 1
        if self.moved_in:
            number, index = next(iter(self.moved_in))
            moved = self.moved_in.pop((number, index))
            return moved, index, moved.load(read)[index]
        while True:
            assert self._first is not None
            block = self._first
            links = block.load(read)
            gone = block.done | block.moved
            while self._at < block.size:
                index = self._at
                self._at += 1
                if not gone >> index & 1:
                    return block, index, links[index]
            self._first = block.next
            if self._first is None:
                self._last = None
            self._at = 0


class UrlQueue:
    """The URLs that wait for a server; those to be tried again wait besides, until each is due."""

    __slots__ = ("_chains", "queued", "retries")

    def __init__(self) -> None:
        self.queued = 0
        """URLs that wait, those to be tried again among them."""
        self.retries: list[tuple[float, int, int, Block, Link, int]] | None = None
        """Heap: not before, address of the URL (block and index), block, link, attempts made."""
        self._chains: Chain | None = None  # by grade, the highest first

    # What is in it

    @property
    def best(self) -> float:
        """What its best URL is worth; 0 when none waits."""
        return self.worth(1)

    def worth(self, count: float) -> float:
        """Return what its best URLs, at most ``count``, are worth together."""
        total = 0.0
        if self.retries:
            total = worth(self.retries[0][3].grade)
            count -= 1
        chain = self._chains
        while chain is not None and count > 0:
            if chain.waiting:
                total += min(chain.waiting, count) * worth(chain.grade)
                count -= chain.waiting
            chain = chain.next
        return total

    # URLs come

    def append(self, link: Link, grade: int, number: Callable[[], int]) -> Block:
        """Queue a URL; return its block. ``number`` gives a new block its number."""
        self.queued += 1
        return self._chain(grade).append(link, number)

    def restore(self, block: Block) -> int:
        """Take over a block from the store; return how many of its URLs wait."""
        chain = self._chain(block.grade)
        chain.put(block)
        chain.waiting += block.waiting
        self.queued += block.waiting
        return block.waiting

    def move(self, block: Block, index: int, *, old: int, new: int) -> None:
        """Let a URL that waits under one grade wait under another."""
        chain = self._chain(old)
        chain.waiting -= 1
        if chain.moved_in is None or chain.moved_in.pop((block.number, index), None) is None:
            block.moved |= 1 << index
        chain = self._chain(new)
        chain.waiting += 1
        if chain.moved_in is None:
            chain.moved_in = {}
        chain.moved_in[block.number, index] = block

    def put_retry(self, due: float, block: Block, index: int, link: Link, attempts: int) -> None:
        """Queue a URL that is to be tried again, not before ``due``."""
        if self.retries is None:
            self.retries = []
        heappush(self.retries, (due, block.number, index, block, link, attempts))
        self.queued += 1

    # URLs go

    def take(self, read: Read) -> tuple[Block, int, Link] | None:
        """Take the best URL that was never tried; None when there is none. ``read`` reads a block from disk."""
        while (chain := self._chains) is not None and chain.is_over:
            self._chains = chain.next
        while chain is not None and not chain.waiting:
            chain = chain.next
        if chain is None:
            return None
        self.queued -= 1
        return chain.take(read)

    def take_retry(self, now: float) -> tuple[Block, int, Link, int] | None:
        """Take a URL that is due to be tried again, with the attempts made."""
        if not self.retries or self.retries[0][0] > now:
            return None
        _, _, index, block, link, attempts = heappop(self.retries)
        if not self.retries:
            self.retries = None
        self.queued -= 1
        return block, index, link, attempts

    def _chain(self, grade: int) -> Chain:
        """Return the chain of a grade, there or new. There are few: as many as there are grades of URLs that wait."""
        before, chain = None, self._chains
        while chain is not None and chain.grade > grade:
            before, chain = chain, chain.next
        if chain is not None and chain.grade == grade:
            return chain
        chain = Chain(grade, chain)
        if before is None:
            self._chains = chain
        else:
            before.next = chain
        return chain
