"""PageRank of the known graph, recomputed as it grows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from andante.frontier.quality.base import Found
from andante.url import fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

DAMPING = 0.85
"""Chance that the random surfer follows a link (Brin and Page 1998)."""
GROWTH = 1.2
"""The graph is ranked again when it has so many times the pages and links it had."""
TOLERANCE = 1e-4
"""The iteration ends when the ranks, 1 in the mean, change by less than this in the mean."""
ITERATIONS_MAX = 100
CHANGE = 0.1
"""A waiting URL's worth is told again when it has changed by this part of it."""


class PageRank:
    """PageRank of all known URLs, fetched or not, times their number: 1 is the mean.

    Between two computations each page read adds what it would give to its links: damping x its rank / its number of links. A URL met
    for the first time begins with 1 - damping.

    Raises:
        ValueError: scipy is not installed.
    """

    wants_text = False
    rescores = True

    def __init__(self) -> None:
        try:
            import scipy.sparse  # noqa: F401, PLC0415  # an extra
        except ImportError as error:
            raise ValueError("quality pagerank needs scipy: pip install 'andante[rank]'") from error
        self._numbers: dict[bytes, int] = {}
        self._waiting: dict[int, str] = {}
        self._rank = array("d")
        self._told = array("d")
        self._sources = array("I")
        self._targets = array("I")
        self._ranked_at = 1_000

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Return 1, the mean, for each."""
        for url in urls:
            self._rank[self._number(url)] = 1.0
        return [1.0] * len(urls)

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Add a page's links to the graph; return the rank of each as far as it is known."""
        del text
        page = self._number(url)
        self._waiting.pop(page, None)
        numbers = [self._number(link.url) for link in found]
        targets = dict.fromkeys(numbers)
        targets.pop(page, None)
        share = DAMPING * self._rank[page] / len(targets) if targets else 0.0
        for target in targets:
            self._sources.append(page)
            self._targets.append(target)
            self._rank[target] += share
            self._told[target] = self._rank[target]
        return [self._rank[number] for number in numbers]

    def due(self) -> Iterable[tuple[str, float]] | None:
        """Rank again if the graph has grown by a fifth; return the waiting URLs whose rank has changed by a tenth."""
        size = len(self._rank) + len(self._targets)
        if size < self._ranked_at:
            return None
        self._ranked_at = int(size * GROWTH)
        ranks = pagerank(self._sources, self._targets, start=self._rank)
        self._rank = array("d", ranks.tobytes())
        return list(self._changed())

    def _changed(self) -> Iterable[tuple[str, float]]:
        for number, url in self._waiting.items():
            rank, told = self._rank[number], self._told[number]
            if abs(rank - told) > CHANGE * told:
                self._told[number] = rank
                yield url, rank

    def _number(self, url: str) -> int:
        key = fingerprint(url)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._rank)
            self._rank.append(1 - DAMPING)
            self._told.append(1 - DAMPING)
            self._waiting[number] = url
        return number


def pagerank(sources: array[int], targets: array[int], *, start: array[float]) -> Vector:
    """Return the PageRank of each node, 1 in the mean, by power iteration.

    Nodes without links give to all alike.

    Args:
        sources: for each link the number of the page it is on; a link repeated counts as often.
        targets: for each link the number of the page it leads to.
        start: a first guess for each node.
    """
    import numpy as np  # noqa: PLC0415
    from scipy.sparse import csr_array  # noqa: PLC0415

    nodes = len(start)
    rows, columns = np.frombuffer(targets, np.uint32), np.frombuffer(sources, np.uint32)
    degree = np.bincount(columns, minlength=nodes)
    give = DAMPING / np.maximum(degree, 1)
    dangling = degree == 0
    links = csr_array((np.ones(len(rows)), (rows, columns)), shape=(nodes, nodes))
    rank: Vector = np.array(start)
    rank *= nodes / rank.sum()
    for _ in range(ITERATIONS_MAX):
        before = rank
        spread = 1 - DAMPING + DAMPING * before[dangling].sum() / nodes
        rank = links @ (before * give) + spread
        if np.abs(rank - before).sum() < TOLERANCE * nodes:
            break
    return rank
