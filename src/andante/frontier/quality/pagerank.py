"""PageRank of the known graph, recomputed as it grows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from andante.extras import how_to_install
from andante.frontier.quality.base import Found
from andante.frontier.quality.graph import Graph

DAMPING = 0.85
"""Chance that the random surfer follows a link (Brin and Page 1998)."""
GROWTH = 1.2
"""The graph is ranked again when it has so many times the pages and links it had."""
TOLERANCE = 1e-4
"""The iteration ends when the ranks, 1 in the mean, change by less than this in the mean."""
ITERATIONS_MAX = 100
_FIRST = 1_000  # URLs and links known before the first computation


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
            raise ValueError(f"quality pagerank needs scipy; {how_to_install('rank')}") from error
        self._graph = Graph()
        self._rank = array("d")
        self._due_at = _FIRST

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Return 1, the mean, for each."""
        numbers = [self._number(url) for url in urls]
        for number in numbers:
            self._rank[number] = 1.0
        return self._graph.tell(numbers, self._rank)

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Add a page's links to the graph; return the rank of each as far as it is known."""
        del text
        page = self._number(url)
        numbers = [self._number(link.url) for link in found]
        if not self._graph.is_read(page):
            self._graph.add(page, numbers)
            links = self._graph.links(page)
            for link in links:
                self._rank[link] += DAMPING * self._rank[page] / len(links)
        return self._graph.tell(numbers, self._rank)

    def due(self) -> Iterable[tuple[str, float]] | None:
        """Rank again if the graph has grown by a fifth; return the waiting URLs whose rank has changed by a tenth."""
        size = len(self._graph) + len(self._graph.targets)
        if size < self._due_at:
            return None
        self._due_at = int(size * GROWTH)
        self._rank = pagerank(self._graph, self._rank)
        return self._graph.changed(self._rank)

    def _number(self, url: str) -> int:
        number = self._graph.number(url)
        if number == len(self._rank):
            self._rank.append(1 - DAMPING)
        return number


def pagerank(graph: Graph, start: array[float]) -> array[float]:
    """Return the PageRank of each URL, 1 in the mean, by power iteration from a first guess.

    A URL without links, which one that waits is too, gives to all alike.
    """
    import numpy as np  # noqa: PLC0415  # comes with scipy
    from scipy.sparse import csr_array  # noqa: PLC0415

    nodes = len(graph)
    degree = np.zeros(nodes, np.int64)
    degree[np.frombuffer(graph.read, np.uint32)] = np.diff(
        np.frombuffer(graph.ends, np.uint64).astype(np.int64)
    )
    sources = np.repeat(
        np.frombuffer(graph.read, np.uint32), degree[np.frombuffer(graph.read, np.uint32)]
    )
    targets = np.frombuffer(graph.targets, np.uint32)
    links = csr_array((np.ones(len(targets)), (targets, sources)), shape=(nodes, nodes))
    give = DAMPING / np.maximum(degree, 1)
    rank = np.array(start) * (nodes / sum(start))
    for _ in range(ITERATIONS_MAX):
        before = rank
        rank = links @ (before * give) + (1 - DAMPING + DAMPING * before[degree == 0].sum() / nodes)
        if np.abs(rank - before).sum() < TOLERANCE * nodes:
            break
    return array("d", rank.tobytes())
