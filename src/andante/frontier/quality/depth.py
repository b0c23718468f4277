"""Nearer to the seeds is better."""

from __future__ import annotations

from collections.abc import Sequence
from math import ldexp

from andante.frontier.quality.base import Found


class Depth:
    """Worth 2^-depth: a page is worth half as much as the page that links to it.

    Pages near the seeds have the highest PageRank on average (Najork and Wiener 2001). A power, not 1/(1 + depth), because that is
    almost flat where traps are: a calendar without end is one level deeper with every page, and its worth must go to nothing, not to a
    crawl. It is 0 from depth 1075 on.
    """

    wants_text = False
    rescores = False

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Return 1 for each."""
        return [1.0] * len(urls)

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Return 2^-depth for each."""
        del url, text
        return [ldexp(1.0, -link.depth) for link in found]

    def due(self) -> None:
        """Nothing changes."""
