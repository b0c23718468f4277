"""What sitemaps say: priority and last change."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp2

from andante.frontier.quality.base import Found
from andante.url import fingerprint

DEFAULT = 0.5
"""Priority of what states none (sitemaps.org), and freshness of what states no last change."""
HALF_LIFE = 30 * 86_400.0
"""Seconds after which a change is worth half."""


class SitemapQuality:
    """The mean of priority and freshness, in [0, 1]; each is 0.5 where a sitemap does not state it.

    Freshness is 2^(-age / 30 days), age being the time since the last change. Of URLs that several sitemaps list the last
    word counts; a link on a page says nothing.

    Args:
        now: seconds since 1970. A change later than that counts as made now.
    """

    wants_text = False
    rescores = True

    def __init__(self, now: float) -> None:
        self._now = now
        self._stated: dict[bytes, float] = {}

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Return 1 for each: the user means them."""
        return [1.0] * len(urls)

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Return the worth of each link of a page, or of each entry of a sitemap."""
        del text
        self._stated.pop(fingerprint(url), None)
        return [self._link(link) for link in found]

    def due(self) -> None:
        """Nothing changes but by `page`."""

    def _link(self, link: Found) -> float:
        if link.sitemap_priority is None and link.lastmod is None:
            return self._stated.get(fingerprint(link.url), DEFAULT) if self._stated else DEFAULT
        priority = DEFAULT if link.sitemap_priority is None else link.sitemap_priority
        worth = (priority + self._freshness(link.lastmod)) / 2
        self._stated[fingerprint(link.url)] = worth
        return worth

    def _freshness(self, lastmod: float | None) -> float:
        if lastmod is None:
            return DEFAULT
        return exp2(-max(0.0, self._now - lastmod) / HALF_LIFE)
