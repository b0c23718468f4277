"""Quality over time: what a crawl has, and what it could have."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Protocol

from andante.sim.simulation import Record
from andante.sim.web import Web

_STEPS = 200


class Curve:
    """The quality, and the pages, that a crawl has at each time.

    Args:
        times: when each page was there, seconds, in order.
        worths: what each is worth.
    """

    def __init__(self, times: Sequence[float], worths: Sequence[float]) -> None:
        self._times = times
        self._sums = list(accumulate(worths, initial=0.0))

    @classmethod
    def of(cls, record: Record, web: Web) -> Curve:
        """Return the curve of a crawl, by the quality of a web that has its pages."""
        pages = record.pages
        return cls([page.time for page in pages], [web.quality(page.url) for page in pages])

    @property
    def total(self) -> float:
        """Seconds until the last page."""
        return self._times[-1]

    def pages(self, at: float) -> int:
        """Return how many pages there are at a time."""
        return bisect_right(self._times, at)

    def quality(self, at: float) -> float:
        """Return the quality there is at a time."""
        return self._sums[self.pages(at)]

    def time(self, quality: float) -> float:
        """Return the time from which on there is so much quality."""
        return self._times[bisect_left(self._sums, quality) - 1]

    def area(self, until: float) -> float:
        """Return the area under the curve up to a time."""
        ends = [*self._times[: self.pages(until)], until]
        return sum(
            level * (after - before)
            for level, (before, after) in zip(self._sums, pairwise([0.0, *ends]), strict=False)
        )


class _HasQuality(Protocol):
    def quality(self, at: float) -> float: ...


def area(curve: _HasQuality, until: float) -> float:
    """Return the area under a smooth curve up to a time, by the trapezoid rule at 200 times, the denser the earlier."""
    times = [until * (step / _STEPS) ** 2 for step in range(_STEPS + 1)]
    levels = [curve.quality(time) for time in times]
    return sum(
        (after - before) * (low + high) / 2
        for (before, after), (low, high) in zip(pairwise(times), pairwise(levels), strict=True)
    )
