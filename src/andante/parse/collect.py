"""Which elements are links: one answer for every way of reading a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from andante.parse.robots_meta import NONE, meta_directives
from andante.url import without_fragment

VALUE_MAX = 8192
"""Bytes of an attribute value, as in the source, that is read, or four times the longest URL, if that is more. One with a
longer value is as if it were not there. A tree is made only of pages in which no value is longer, so all ways agree."""

LINK_RELATIONS = frozenset({"next", "canonical", "alternate"})
"""The ``rel`` values whose ``link`` elements are followed."""

# The steps of the WHATWG "shared declarative refresh": the time, then the URL. Nothing is gone back over.
_SPACES = r"[\t\n\f\r ]*+"
_REFRESH_TIME = re.compile(
    rf"{_SPACES}(?:[0-9]|(?=\.))[0-9]*+[0-9.]*+(?=[;,\t\n\f\r ]){_SPACES}[;,]?+{_SPACES}"
)
_REFRESH_URL = re.compile(
    rf"""(?:[uU][rR][lL]{_SPACES}={_SPACES}|(?![uU]))(?:"([^"]*+)|'([^']*+)|(?!["'])(.*+))|(.*+)""",
    re.DOTALL,
)


def refresh_url(content: str) -> str:
    """Return the URL in the content of ``<meta http-equiv="refresh">``, or ``""`` where there is none."""
    wait = _REFRESH_TIME.match(content)
    url = _REFRESH_URL.match(content, wait.end()) if wait else None
    return next((group for group in url.groups() if group is not None), "") if url else ""


class Collector:
    """Takes the elements of a page in order and keeps what matters of them."""

    __slots__ = ("agent", "base", "drop_nofollow", "hrefs", "links_max", "robots", "value_max")

    def __init__(
        self, *, agent: str, drop_nofollow: bool, links_max: int, value_max: int = VALUE_MAX
    ) -> None:
        self.agent = agent
        self.drop_nofollow = drop_nofollow
        self.links_max = links_max
        self.value_max = value_max
        self.hrefs: dict[bytes | str, None] = {}
        """References in the order of the page, each once."""
        self.base: str | None = None
        self.robots = NONE

    def take(self, hrefs: Iterable[bytes | str]) -> None:
        """Take references that were found to be links."""
        self.hrefs.update(dict.fromkeys(hrefs))

    def element(self, name: str, attributes: Mapping[str, str | None]) -> str | None:
        """Take an element: its name and its attributes' names in lower case, values with references replaced.

        Returns:
            The reference that it makes a link; None: it is none.
        """
        if name in {"a", "area"}:
            if not (self.drop_nofollow and "nofollow" in _words(attributes.get("rel"))):
                return self._link(attributes, "href")
        elif name == "link":
            if not LINK_RELATIONS.isdisjoint(_words(attributes.get("rel"))):
                return self._link(attributes, "href")
        elif name in {"iframe", "frame"}:
            if attributes.get("src"):
                return self._link(attributes, "src")
        elif name == "base":
            if self.base is None and "href" in attributes:
                self.base = attributes["href"] or ""
        elif name == "meta":
            return self._meta(attributes)
        return None

    def _link(self, attributes: Mapping[str, str | None], name: str) -> str | None:
        return self._reference(attributes[name] or "") if name in attributes else None

    def _reference(self, value: str) -> str | None:
        if len(self.hrefs) >= self.links_max:
            return None
        href = without_fragment(value)
        self.hrefs[href] = None
        return href

    def _meta(self, attributes: Mapping[str, str | None]) -> str | None:
        content = attributes.get("content") or ""
        if (attributes.get("name") or "").lower() in {"robots", self.agent}:
            self.robots |= meta_directives(content)
        if (attributes.get("http-equiv") or "").lower() == "refresh":
            url = refresh_url(content)
            return self._reference(url) if url else None
        return None


def _words(value: str | None) -> list[str]:
    return value.lower().split() if value else []
