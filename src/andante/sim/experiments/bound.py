"""The most quality that any crawl of a simulated web can have at each time: an oracle that knows all pages and all times beforehand.

Three facts hold for every crawl with one connection to a server:

1. A server that has been asked for k pages by time t has worked for C(k) <= t seconds on them: its k-th request takes the same time whatever the
   policy (each simulated server has chances of its own), and k requests need at least k / RequestsPerConnection connections.
2. All connections together have been in use for at most n t seconds, n being how many the crawl may have open.
3. With a set-point of r requests a second, the k-th request to a server is sent (k - 1) / r seconds after the start or later, so less than 1 + r t
   of its pages are there.

The oracle keeps to these and to nothing else: it needs to find no link, and may stop in the middle of a page. So what it has by t is the solution of a
knapsack with divisible goods, which is greedy: the best pages of each server first, over all servers those of the most quality for a second
of connection. With the concave envelope of a server's quality over its time no crawl can have more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import inf
from typing import NamedTuple

from andante.sim.web import Web


class _Piece(NamedTuple):
    """Some pages of a server that are best taken together: a side of the concave envelope."""

    slope: float
    """Quality a second."""
    server: int
    start: float
    """Seconds that the server has worked before."""
    end: float


class Bound:
    """The upper bound on the quality that a crawl of a web can have.

    Args:
        web: what is crawled; its servers must not fail, nor have tarpits among them.
        connections: most connections open at once.
        rate: requests a second to a server; infinity: no bound.
        qualities: what each page is worth, in the order of `Web.urls`; the web's own unless given.
    """

    def __init__(
        self,
        web: Web,
        *,
        connections: int,
        rate: float = inf,
        qualities: Sequence[float] | None = None,
    ) -> None:
        self._connections = connections
        self._times: list[list[float]] = []
        self._finishes: list[list[float]] = []
        pieces: list[_Piece] = []
        for number, worths in enumerate(_by_server(web, qualities or web.qualities)):
            times = _times(web, number, len(worths))
            self._times.append(times)
            self._finishes.append(_finishes(times, rate))
            pieces += _envelope(number, times, [0.0, *accumulate(worths)])
        self._pieces = sorted(pieces, key=lambda piece: -piece.slope)

    def quality(self, at: float) -> float:
        """Return the most quality there can be at a time, seconds."""
        until = [
            times[bisect_right(finishes, at) - 1]
            for times, finishes in zip(self._times, self._finishes, strict=True)
        ]
        left = self._connections * at
        quality = 0.0
        for slope, server, start, end in self._pieces:
            seconds = min(end, until[server]) - start
            if seconds > 0:
                seconds = min(seconds, left)
                quality += slope * seconds
                left -= seconds
                if left <= 0:
                    break
        return quality


def _by_server(web: Web, qualities: Sequence[float]) -> list[list[float]]:
    """Return the qualities of each server's pages, the best first."""
    found: list[list[float]] = [[] for _ in range(web.traits.servers)]
    for page, quality in enumerate(qualities):
        found[web.server_of(page)].append(quality)
    return [sorted(each, reverse=True) for each in found]


def _times(web: Web, number: int, pages: int) -> list[float]:
    """Return C(0), C(1), ...: seconds of connection that a server's first requests take."""
    server = web.server(number)
    traits = server.traits
    times = [0.0]
    for request in range(pages):
        opening = traits.connect_time if request % traits.requests == 0 else 0.0
        times.append(times[-1] + opening + traits.rtt + server.work())
    return times


def _finishes(times: Sequence[float], rate: float) -> list[float]:
    """Return when at the earliest a server's pages are there, one, two ... of them, if it is asked as early as its set-point allows."""
    finishes = [0.0]
    for request, (before, after) in enumerate(pairwise(times)):
        finishes.append(max(finishes[-1], request / rate) + after - before)
    return finishes


def _envelope(server: int, times: Sequence[float], worths: Sequence[float]) -> list[_Piece]:
    """Return the concave envelope of quality over time, from left to right."""
    corners = [0]
    for count in range(1, len(times)):
        while len(corners) > 1 and _slope(times, worths, corners[-2], corners[-1]) <= _slope(
            times, worths, corners[-1], count
        ):
            corners.pop()
        corners.append(count)
    return [
        _Piece(_slope(times, worths, before, after), server, times[before], times[after])
        for before, after in pairwise(corners)
    ]


def _slope(times: Sequence[float], worths: Sequence[float], before: int, after: int) -> float:
    return (worths[after] - worths[before]) / (times[after] - times[before])
