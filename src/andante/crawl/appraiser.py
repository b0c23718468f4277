"""The appraiser: tells the quality of a crawl what was found, and the frontier what it is worth."""

from __future__ import annotations

from collections.abc import Sequence

from andante.frontier import Frontier
from andante.frontier.quality import Found, Quality


class Appraiser:
    """Joins a quality to a frontier; one for a crawl whose policy goes by scores."""

    def __init__(self, quality: Quality, frontier: Frontier) -> None:
        self._quality = quality
        self._frontier = frontier
        self.wants_text = quality.wants_text
        """Pages are to be read with the texts of their links."""
        self.wants_all = quality.rescores
        """Links that were met before count too."""

    def offer_seeds(self, seeds: Sequence[str]) -> None:
        """Offer the seeds to the frontier."""
        self._frontier.offer(seeds, depth=0, scores=self._quality.seeds(seeds))

    def scores(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """A URL has ended as something with links; return what each of them is worth now."""
        scores = self._quality.page(url, found, text=text)
        self._pass_on()
        return scores

    def ended(self, url: str) -> None:
        """A URL has ended without links."""
        self._quality.page(url, ())
        self._pass_on()

    def _pass_on(self) -> None:
        """Tell the frontier which URLs that wait are worth more or less than before."""
        for url, score in self._quality.due() or ():
            self._frontier.rescore(url, score)
