"""Which elements are links: one answer for every way of reading a page."""

from __future__ import annotations

import re
from collections.abc import Mapping

from andante.parse.robots_meta import NONE, meta_directives

LINK_RELATIONS = frozenset({"next", "canonical", "alternate"})
"""The ``rel`` values whose ``link`` elements are followed."""

# The steps of the WHATWG "shared declarative refresh" up to the URL.
_REFRESH = re.compile(
    r"""[\t\n\f\r ]*(?:[0-9]+[0-9.]*|(?=\.)[0-9.]*)(?:[;,][\t\n\f\r ]*|[\t\n\f\r ]+(?:[;,][\t\n\f\r ]*)?)
    (?:[uU][rR][lL][\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)|'([^']*)|(.*))|(.+))""",
    re.DOTALL | re.VERBOSE,
)


def refresh_url(content: str) -> str:
    """Return the URL in the content of ``<meta http-equiv="refresh">``, or ``""`` where there is none."""
    match = _REFRESH.match(content)
    if match is None:
        return ""
    return next((group for group in match.groups() if group is not None), "")


class Collector:
    """Takes the elements of a page in order and keeps what matters of them."""

    __slots__ = ("agent", "base", "drop_nofollow", "hrefs", "links_max", "robots")

    def __init__(self, *, agent: str, drop_nofollow: bool, links_max: int) -> None:
        self.agent = agent
        self.drop_nofollow = drop_nofollow
        self.links_max = links_max
        self.hrefs: list[bytes | str] = []
        self.base: str | None = None
        self.robots = NONE

    def element(self, name: str, attributes: Mapping[str, str | None]) -> None:
        """Take an element: its name and its attributes' names in lower case, values with references replaced."""
        if name in {"a", "area"}:
            if not (self.drop_nofollow and "nofollow" in _words(attributes.get("rel"))):
                self._link(attributes, "href")
        elif name == "link":
            if not LINK_RELATIONS.isdisjoint(_words(attributes.get("rel"))):
                self._link(attributes, "href")
        elif name in {"iframe", "frame"}:
            if attributes.get("src"):
                self._link(attributes, "src")
        elif name == "base":
            if self.base is None and "href" in attributes:
                self.base = attributes["href"] or ""
        elif name == "meta":
            self._meta(attributes)

    def _link(self, attributes: Mapping[str, str | None], attribute: str) -> None:
        if attribute in attributes:
            self.hrefs.append((attributes[attribute] or "").partition("#")[0])

    def _meta(self, attributes: Mapping[str, str | None]) -> None:
        content = attributes.get("content") or ""
        if (attributes.get("http-equiv") or "").lower() == "refresh":
            url = refresh_url(content)
            if url:
                self.hrefs.append(url.partition("#")[0])
        if (attributes.get("name") or "").lower() in {"robots", self.agent}:
            self.robots |= meta_directives(content)


def _words(value: str | None) -> list[str]:
    return value.lower().split() if value else []
