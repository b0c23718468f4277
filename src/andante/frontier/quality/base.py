"""What every quality is given, and what it must answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec


class Found(msgspec.Struct, frozen=True, gc=False):
    """A link as a quality sees it: what the page or the sitemap on which it stands says about it."""

    url: str
    """Canonical URL."""
    depth: int = 0
    """Links followed from a seed."""
    referrer: str = ""
    """URL of the page with the link; empty for a seed."""
    anchor: str = ""
    """Text of the link, white space folded; empty unless the quality wants text."""
    sitemap_priority: float | None = None
    """Priority a sitemap states, 0 to 1."""
    lastmod: float | None = None
    """Last change a sitemap states, seconds since 1970."""


class Quality(Protocol):
    """Says what a URL is worth before it is fetched.

    Scores are finite and not negative; larger is better, and only their ratios matter. All methods are quick and none raises,
    whatever stands on a page.
    """

    wants_text: bool
    """Pages are to be read with the texts of their links and their own."""
    rescores: bool
    """The score of a URL that waits may change. Where it does not, the first answer stays, and links met before may be left out of
    ``found``."""

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Return the worth of URLs that the user names."""
        ...

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """A URL has ended.

        Args:
            url: the URL, which waits no longer.
            found: the links on it, in order; a redirect is a page with one link, a failure one with none.
            text: what the page says, its title first; empty unless wanted.

        Returns:
            The worth of each link now, also of those met before.
        """
        ...

    def due(self) -> Iterable[tuple[str, float]] | None:
        """Return the URLs still waiting whose worth has changed by other ways than `page`; None: no change."""
        ...
