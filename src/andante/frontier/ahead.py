"""Links that wait on disk, read a few at a time shortly before they are taken."""

from __future__ import annotations

from itertools import islice

from andante.frontier.block import Block, Link, Read

RUN_MAX = 64
"""Most links of a block that are read at once. To unpack a block takes some 70 us, however many of its links are kept; one that is kept takes 300 bytes."""

RUN_MIN = 8
"""Links of a block that are read at once, however many blocks are being taken from."""


class ReadAhead:
    """The next links of the blocks that are being taken from: a run of each.

    The more blocks there are, the shorter are their runs. When these are at their shortest and still too many, that which was read first goes, and its
    block is read again when it is taken from.

    Args:
        read: reads links of a stored block.
        size_max: links kept in memory, or one run of `RUN_MIN` if that is more.
    """

    def __init__(self, read: Read, *, size_max: int) -> None:
        self.size = 0
        """Links in memory."""
        self._read = read
        self._size_max = size_max
        self._longest = 0  # no run has more links
        self._runs: dict[int, dict[int, Link]] = {}
        """By block number, that read first before the others; their links by index."""

    def take(self, block: Block, index: int) -> Link:
        """Return a link of a block that is on disk; it is not kept."""
        run = self._runs.get(block.number)
        if run is None or index not in run:
            run = self._load(block, index)
        link = run.pop(index)
        self.size -= 1
        if not run:
            del self._runs[block.number]
        return link

    def forget(self, number: int) -> None:
        """Nothing more is taken of the block of this number, or not soon."""
        self.size -= len(self._runs.pop(number, ()))

    def _load(self, block: Block, index: int) -> dict[int, Link]:
        """Read the run of a block that begins at an index; of a short block all, as its URLs may be of several grades and come in any order."""
        self.forget(block.number)
        count = max(RUN_MIN, min(RUN_MAX, self._size_max // (len(self._runs) + 1)))
        start = 0 if block.base <= count else index
        links = self._read(block, start, min(start + count, block.base))
        run = self._runs[block.number] = dict(enumerate(links, start))
        self.size += len(run)
        self._longest = max(self._longest, len(run))
        if self.size > self._size_max:
            self._make_room(keep=index)
        return run

    def _make_room(self, *, keep: int) -> None:
        """Shorten all runs to half of their share, so that this is seldom done; if they are short, let go of those read first."""
        if self._longest > RUN_MIN:
            self._longest = max(RUN_MIN, self._size_max // (2 * len(self._runs)))
            for run in self._runs.values():
                for index in list(islice(run, self._longest, None)):
                    if index != keep:
                        del run[index]
                        self.size -= 1
        while self.size > self._size_max and len(self._runs) > 1:
            self.forget(next(iter(self._runs)))
