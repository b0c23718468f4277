"""The known part of the web, as far as qualities that follow links need it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

from andante.url import fingerprint

CHANGE = 0.1
"""A waiting URL's worth is told again when it has changed by more than this part of it."""


class Graph:
    """URLs by number, the links of those that were read, and the worth that was last told of those that wait.

    Numbers count from 0 in the order in which URLs were met. Links are one flat array of 4 bytes each.
    """

    def __init__(self) -> None:
        self.read = array("I")
        """The URLs that were read, in order."""
        self.ends = array("Q", [0])
        """Where the links of the first, second ... of ``read`` begin in ``targets``; and the end of the last."""
        self.targets = array("I")
        self._numbers: dict[bytes, int] = {}
        self._place = array("i")  # in `read`; -1: waiting
        self._waiting: list[str | None] = []  # a dictionary would take 70 bytes more
        self._told = array("f")

    def __len__(self) -> int:
        return len(self._place)

    def number(self, url: str) -> int:
        """Return the number of a URL, the next one if it is new."""
        key = fingerprint(url)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._place)
            self._place.append(-1)
            self._told.append(0.0)
            self._waiting.append(url)
        return number

    def is_read(self, number: int) -> bool:
        """Say whether the URL was read."""
        return self._place[number] >= 0

    def links(self, number: int) -> array[int]:
        """Return what a URL that was read links to."""
        place = self._place[number]
        return self.targets[self.ends[place] : self.ends[place + 1]]

    def add(self, page: int, links: Iterable[int]) -> None:
        """A URL was read: each of its links counts once, that to itself not. When it is read again the first time counts."""
        if self.is_read(page):
            return
        targets = dict.fromkeys(links)
        targets.pop(page, None)
        self._place[page] = len(self.read)
        self.read.append(page)
        self.targets.extend(targets)
        self.ends.append(len(self.targets))
        self._waiting[page] = None

    def tell(self, numbers: Sequence[int], worth: Sequence[float]) -> list[float]:
        """Return the worth of URLs, and remember that it was told."""
        scores = [worth[number] for number in numbers]
        for number, score in zip(numbers, scores, strict=True):
            self._told[number] = score
        return scores

    def changed(
        self, worth: Sequence[float], numbers: Iterable[int] | None = None
    ) -> Iterator[tuple[str, float]]:
        """Tell those of some (or all) URLs that wait whose worth has changed much since it was told."""
        for number in range(len(self)) if numbers is None else numbers:
            url, told = self._waiting[number], self._told[number]
            if url is not None and abs(worth[number] - told) > CHANGE * told:
                self._told[number] = worth[number]
                yield url, worth[number]
