"""The URL queue of a server: best grade first, and first in, first out within a grade.

Two URLs are of the same *grade* when their scores differ by less than a quarter. So URLs need no heap: a queue of millions takes and gives
each in constant time, its blocks can stay on disk until they are reached, and it knows what its best URLs are worth without looking at them.

The first URLs of a server, up to 64, share a block whatever their grades: most servers never have more. Those that come when it is full go to
blocks of one grade each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from math import floor, log2
from typing import Self

import msgspec

from andante.frontier.block import Block, Fetch, Link, Read

MIXED = 64
"""Most URLs in a block of several grades."""

USUAL = 128
"""The grade of a score of 1, and of all URLs where scores do not count."""

_STEPS = 3
"""Grades between a score and its double."""

_LOWEST, _HIGHEST = 1, 255
"""Of scores up to 2^-42 and from 2^42 on."""


def grade(score: float) -> int:
    """Return the grade of a score: 128 + floor(3 log2 score), at least 1 (0, and what is no number) and at most 255."""
    if not score > 0:
        return _LOWEST
    return max(_LOWEST, min(USUAL + floor(_STEPS * log2(min(score, 2.0**50))), _HIGHEST))


_WORTH = [0.0, 0.0] + [2 ** ((each + 0.5 - USUAL) / _STEPS) for each in range(2, _HIGHEST + 1)]


def worth(grade: int) -> float:
    """Return the score in the middle of a grade; 0 for the lowest."""
    return _WORTH[grade]


class Mixed(Block, eq=False, gc=False):
    """The first URLs of a server, in one block whatever their grades."""

    waiting_grades: bytes = b""
    """Their grades; 0 for those that wait no longer."""

    @classmethod
    def of(cls, block: Block) -> Self:
        """Return a block from the store as one of these."""
        waiting = (
            0 if block.done >> index & 1 else grade for index, grade in enumerate(block.grades)
        )
        mixed = cls.from_disk(block.number, grades=block.grades, size=block.size, done=block.done)
        mixed.waiting_grades = bytes(waiting)
        return mixed

    @property
    def is_open(self) -> bool:
        """It takes more."""
        return len(self.waiting_grades) < MIXED

    def add(self, link: Link, grade: int) -> None:
        """Add a URL."""
        self.append(link)
        grades = self.grades + bytes((grade,))
        # One object while none has been taken: most servers wait long for their first visit.
        self.waiting_grades = (
            grades if self.waiting_grades == self.grades else self.waiting_grades + bytes((grade,))
        )
        self.grades = grades

    def set(self, index: int, grade: int) -> None:
        """Change the grade under which a URL waits; 0: it does so no more."""
        waiting = self.waiting_grades
        self.waiting_grades = waiting[:index] + bytes((grade,)) + waiting[index + 1 :]

    def take(self, best: int, fetch: Fetch) -> tuple[Block, int, Link]:
        """Take the first URL of a grade."""
        index = self.waiting_grades.index(best)
        self.set(index, 0)
        return self, index, self.link(index, fetch)


class Chain(msgspec.Struct, eq=False, gc=False):
    """The URLs of one grade: blocks one behind the other."""

    grade: int
    next: Chain | None
    """The chain of the next lower grade that there is."""
    waiting: int = 0
    """URLs in it that have not been taken."""
    first: Block | None = None
    last: Block | None = None
    is_closed: bool = False
    """The last block takes no more, though it is not full."""
    at: int = 0
    """The next URL of the first block."""
    moved_in: dict[tuple[int, int], Block] | None = None
    """URLs whose grade has become this one, by block number and index; they come first."""
    moved_out: set[tuple[int, int]] | None = None
    """URLs in its blocks whose grade has become another."""

    @property
    def is_over(self) -> bool:
        """Nothing waits, and nothing will be added to its blocks."""
        return not self.waiting and not self._takes_more

    @property
    def _takes_more(self) -> bool:
        return self.last is not None and not self.last.is_full and not self.is_closed

    def append(self, link: Link, number: Callable[[], int]) -> Block:
        """Add a URL at the end; return its block."""
        if not self._takes_more:
            self.put(Block(number(), bytes((self.grade,))))
        assert self.last is not None
        self.last.append(link)
        self.waiting += 1
        return self.last

    def put(self, block: Block) -> None:
        """Add a block at the end."""
        if self.last is None:
            self.first = block
        else:
            self.last.next = block
        self.last = block
        self.is_closed = False

    def take(self, fetch: Fetch) -> tuple[Block, int, Link]:
        """Take the first URL that waits; there must be one."""
        self.waiting -= 1
        if self.moved_in:
            number, index = next(iter(self.moved_in))
            moved = self.moved_in.pop((number, index))
            return moved, index, moved.link(index, fetch)
        while True:
            assert self.first is not None
            block, done = self.first, self.first.done
            while self.at < block.size:
                index = self.at
                self.at += 1
                if done >> index & 1:
                    continue
                if self.moved_out and (block.number, index) in self.moved_out:
                    self.moved_out.discard((block.number, index))
                    continue
                # Read only now: a block of which nothing waits may be gone from the disk.
                return block, index, block.link(index, fetch)
            self.first = block.next
            if self.first is None:
                self.last = None
            self.at = 0

    def links(self, read: Read) -> Iterator[Link]:
        """Return the URLs that wait."""
        for (_, index), block in (self.moved_in or {}).items():
            yield block.peek(read)[index]
        block_, at = self.first, self.at
        out = self.moved_out or ()
        while block_ is not None:
            waiting = [
                index
                for index in range(at, block_.size)
                if not block_.done >> index & 1 and (block_.number, index) not in out
            ]
            if waiting:
                links = block_.peek(read)
                yield from (links[index] for index in waiting)
            block_, at = block_.next, 0

    def move_out(self, block: Block, index: int) -> None:
        """A URL that waits in it does so no more."""
        self.waiting -= 1
        if self.moved_in and self.moved_in.pop((block.number, index), None) is not None:
            return
        if self.moved_out is None:
            self.moved_out = set()
        self.moved_out.add((block.number, index))

    def move_in(self, block: Block, index: int) -> None:
        """A URL of another grade has this one now."""
        self.waiting += 1
        if self.moved_in is None:
            self.moved_in = {}
        self.moved_in[block.number, index] = block

    def close(self, block: Block) -> None:
        """A block is done, and away: nothing may be added to it. URLs of blocks before it may still wait, as its own may have moved out."""
        if block is self.last:
            self.is_closed = True
        if self.is_over:  # nor need memory hold them
            self.first = self.last = self.moved_out = None
            self.at = 0


class UrlQueue:
    """The URLs that wait for a server; those to be tried again wait besides, until each is due."""

    __slots__ = ("_chains", "_mixed", "queued", "retries")

    def __init__(self) -> None:
        self.queued = 0
        """URLs that wait, those to be tried again among them."""
        self.retries: list[tuple[float, int, int, Block, Link, int]] | None = None
        """Heap: not before, address of the URL (block and index), block, link, attempts made."""
        self._mixed: Mixed | None = None
        self._chains: Chain | None = None  # by grade, the highest first

    # What is in it

    @property
    def best(self) -> float:
        """What its best URL is worth; 0 when none waits."""
        return self.worth(1)

    def worth(self, count: int) -> float:
        """Return what its best URLs, at most ``count``, are worth together."""
        grades = self._mixed.waiting_grades if self._mixed else b""
        if self.retries:
            _, _, index, block, _, _ = self.retries[0]
            grades += bytes((block.grade(index),))
        chain, wanted = self._chains, count
        while chain is not None and wanted > 0:
            grades += bytes((chain.grade,)) * min(chain.waiting, wanted)
            wanted -= chain.waiting
            chain = chain.next
        if count == 1:
            return _WORTH[max(grades, default=0)]
        best = grades if len(grades) <= count else sorted(grades, reverse=True)[:count]
        return sum(map(_WORTH.__getitem__, best))

    def waiting(self, read: Read) -> Iterator[tuple[Link, int]]:
        """Return the URLs that wait, with their grades; in no order."""
        if self._mixed is not None:
            for link, each in zip(self._mixed.peek(read), self._mixed.waiting_grades, strict=True):
                if each:
                    yield link, each
        chain = self._chains
        while chain is not None:
            for link in chain.links(read):
                yield link, chain.grade
            chain = chain.next
        for _, _, index, block, link, _ in self.retries or ():
            yield link, block.grade(index)

    def blocks(self) -> Iterator[Block]:
        """Return all blocks in which URLs wait, some perhaps more than once."""
        if self._mixed is not None:
            yield self._mixed
        chain = self._chains
        while chain is not None:
            block = chain.first
            while block is not None:
                yield block
                block = block.next
            yield from (chain.moved_in or {}).values()
            chain = chain.next
        for retry in self.retries or ():
            yield retry[3]

    # URLs come

    def append(self, link: Link, grade: int, number: Callable[[], int]) -> Block:
        """Queue a URL; return its block. ``number`` gives a new block its number."""
        self.queued += 1
        if self._mixed is None and self._chains is None:
            self._mixed = Mixed(number())
        if self._mixed is not None and self._mixed.is_open:
            self._mixed.add(link, grade)
            return self._mixed
        return self._chain(grade).append(link, number)

    def restore(self, block: Block) -> int:
        """Take over a block from the store; return how many of its URLs wait."""
        if len(block.grades) == 1:
            chain = self._chain(block.grades[0])
            chain.put(block)
            chain.waiting += block.waiting
        elif self._mixed is None:
            self._mixed = Mixed.of(block)
        else:
            for index, each in enumerate(block.grades):
                if not block.done >> index & 1:
                    self._chain(each).move_in(block, index)
        self.queued += block.waiting
        return block.waiting

    def move(self, block: Block, index: int, *, old: int, new: int) -> None:
        """Let a URL that waits under one grade wait under another."""
        mixed = self._mixed
        if mixed is not None and block is mixed and mixed.waiting_grades[index]:
            mixed.set(index, new)
        else:
            self._chain(old).move_out(block, index)
            self._chain(new).move_in(block, index)

    def put_retry(self, due: float, block: Block, index: int, link: Link, attempts: int) -> None:
        """Queue a URL that is to be tried again, not before ``due``."""
        if self.retries is None:
            self.retries = []
        heappush(self.retries, (due, block.number, index, block, link, attempts))
        self.queued += 1

    # URLs go

    def take(self, fetch: Fetch) -> tuple[Block, int, Link] | None:
        """Take the best URL that was never tried; None when there is none. ``fetch`` returns a link that is on disk."""
        while (chain := self._chains) is not None and chain.is_over:
            self._chains = chain.next
        while chain is not None and not chain.waiting:
            chain = chain.next
        best = max(self._mixed.waiting_grades, default=0) if self._mixed else 0
        if self._mixed and not best and not self._mixed.is_open:
            self._mixed = None
        if self._mixed and best and (chain is None or best >= chain.grade):
            self.queued -= 1
            return self._mixed.take(best, fetch)
        if chain is None:
            return None
        self.queued -= 1
        return chain.take(fetch)

    def take_retry(self, now: float) -> tuple[Block, int, Link, int] | None:
        """Take a URL that is due to be tried again, with the attempts made."""
        if not self.retries or self.retries[0][0] > now:
            return None
        _, _, index, block, link, attempts = heappop(self.retries)
        if not self.retries:
            self.retries = None
        self.queued -= 1
        return block, index, link, attempts

    def close(self, block: Block) -> None:
        """All URLs of a block have ended: it takes no more."""
        if block is self._mixed:
            self._mixed = None
        chain = self._chains
        while chain is not None:
            chain.close(block)
            chain = chain.next

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
