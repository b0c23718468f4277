"""Focused crawling: what a link, its URL and its page say against the user's terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from andante.frontier.quality.base import Found
from andante.url import fingerprint

DECAY = 0.5
"""A link inherits so much of its page's relevance (delta of Shark-search)."""
INHERITED = 0.5
"""Weight of what is inherited; the rest is what the link itself says (gamma)."""
ANCHOR = 0.8
"""Weight of the link's text in what the link says; the rest is its URL (beta)."""

_WORD = re.compile(r"[^\W_]+")


class Keywords:
    """Shark-search (Hersovici et al. 1998), in [0, 1].

    worth = 0.5 inherited + 0.5 (0.8 anchor + 0.2 URL), where *anchor* and *URL* are the shares of the terms that occur there, and
    *inherited* is half the relevance of the page with the link or, if the page has none of the terms, half of what the page was worth
    before it was read: so a trail of interest goes cold by half with each page that says nothing. The relevance of a page is the mean over the terms
    of n / (n + 1), n times the term occurs. Of several links to one URL the best counts.

    The source compares by cosine, and reads the text around a link where this reads its URL.

    Args:
        terms: words, or phrases of several words. Words are runs of letters and digits; case and what is between them do not matter.

    Raises:
        ValueError: there is no word in them.
    """

    wants_text = True
    rescores = True

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = sorted({normal for term in terms if (normal := _normal(term)).strip()})
        if not self._terms:
            raise ValueError("quality keywords needs terms, as in keywords:solar,heat pump")
        self._worth: dict[bytes, float] = {}

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Return 1 for each: the user means them."""
        self._worth.update((fingerprint(url), 1.0) for url in urls)
        return [1.0] * len(urls)

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Return the worth of each link of a page that says ``text``."""
        before = self._worth.pop(fingerprint(url), 0.0)
        inherited = DECAY * (self._relevance(text) or before)
        return [self._link(link, inherited) for link in found]

    def due(self) -> None:
        """Nothing changes but by `page`."""

    def _link(self, link: Found, inherited: float) -> float:
        says = ANCHOR * self._share(link.anchor) + (1 - ANCHOR) * self._share(unquote(link.url))
        worth = INHERITED * inherited + (1 - INHERITED) * says
        key = fingerprint(link.url)
        worth = max(worth, self._worth.get(key, 0.0))
        if worth:
            self._worth[key] = worth
        return worth

    def _share(self, text: str) -> float:
        words = _normal(text)
        return sum(term in words for term in self._terms) / len(self._terms)

    def _relevance(self, text: str) -> float:
        words = _normal(text)
        counts = (words.count(term) for term in self._terms)
        return sum(count / (count + 1) for count in counts) / len(self._terms)


def _normal(text: str) -> str:
    """Return the words, each between two spaces of its own, so that a phrase is a substring and neighbours share nothing."""
    return f" {'  '.join(_WORD.findall(text.casefold()))} "
