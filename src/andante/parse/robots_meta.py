"""Robots directives of a page: meta elements and the X-Robots-Tag header field."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

DIRECTIVES_MAX = 1_000
"""Items of a list of directives that are read; those after are ignored."""

_PREFIX = re.compile(r"\s*+([A-Za-z][A-Za-z0-9_*.-]*+)\s*+:(.*+)", re.DOTALL)
_WITH_VALUE = {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}


class Directives(msgspec.Struct, frozen=True):
    """What a page asks of robots."""

    noindex: bool = False
    """Do not keep the page."""
    nofollow: bool = False
    """Do not follow its links."""

    def __or__(self, other: Directives) -> Directives:
        return Directives(self.noindex or other.noindex, self.nofollow or other.nofollow)


NONE = Directives()


def meta_directives(content: str) -> Directives:
    """Read the content of ``<meta name="robots">``: a comma-separated list; what is unknown is ignored."""
    words = {word.strip().lower() for word in content.split(",", DIRECTIVES_MAX)[:DIRECTIVES_MAX]}
    none = "none" in words
    return Directives(none or "noindex" in words, none or "nofollow" in words)


def header_directives(values: Iterable[str], *, agent: str) -> Directives:
    """Read X-Robots-Tag field values, one an item, for the crawler whose product token (lower case) is ``agent``.

    ``ourbot: nofollow`` speaks to the crawler of that name and ``googlebot: noindex`` to another: a name holds up to the next one in the same
    value. Directives that have a value of their own (``unavailable_after: 25 Jun 2030``) are ignored.
    """
    found = NONE
    room = DIRECTIVES_MAX
    for value in values:
        to_us = True
        parts = value.split(",", room)[:room]
        room -= len(parts)
        for part in parts:
            match = _PREFIX.match(part)
            words = part
            if match and match[1].lower() in _WITH_VALUE:
                continue
            if match:
                to_us = match[1].lower() in {agent, "*", "robots"}
                words = match[2]
            if to_us:
                found |= meta_directives(words)
    return found
