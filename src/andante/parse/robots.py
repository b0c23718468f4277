"""robots.txt: from its bytes to the rules for one crawler, by the grammar of RFC 9309.

1. A line is what ends in CR, LF or both; a comment begins at ``#``. A key is compared without regard to case, and ends at a colon, or at white space where there is none.
2. A group begins with user-agent lines and goes on until the next of them that follows a rule. No other line, known or not, empty or not, ends either (2.2.4).
3. A user-agent line names us if the letters, ``-`` and ``_`` that it begins with are our product token, whatever comes after. The rules of all groups that name us
   count together; where none does, those of the groups that name ``*`` (2.2.1).
4. Rules before the first group do not count. An empty one matches nothing, but is one.
5. Crawl-delay is not in the RFC: it holds for the user-agent lines before it, as far back as the last rule or Crawl-delay. Of several the longest counts.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import NamedTuple

from andante.parse import robots_rules

LINE_MAX = 16 * 1024
"""Bytes of a line that count; what is beyond is cut off."""

SITEMAPS_MAX = 1_000
"""Sitemaps that are taken from one file."""

_KEYS = (
    dict.fromkeys((b"user-agent", b"useragent", b"user agent", b"useg-agent"), "agent")
    | dict.fromkeys(
        (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw", b"desallow"),
        "disallow",
    )
    | {b"allow": "allow"}
    | dict.fromkeys((b"crawl-delay", b"crawl delay"), "delay")
    | dict.fromkeys((b"sitemap", b"sitemaps", b"site-map"), "sitemap")
)
"""Keys as they are written; misspelt ones say what their authors want kept from crawlers."""

_KEY_MIN = min(map(len, _KEYS))

_NO_COLON = re.compile(rb"(user agent|crawl delay|\S+)\s+(\S.*)", re.IGNORECASE | re.DOTALL)

_TOKEN = re.compile(rb"[A-Za-z_-]+")

_ANY = re.compile(rb"\*(?:\s|\Z)")

_SECONDS = re.compile(rb"(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(?=\s|\Z)")


class RobotsTxt(NamedTuple):
    """What a robots.txt says to one crawler."""

    rules: str = ""
    """As `robots_rules.write` gives them; empty: all is allowed."""
    crawl_delay: float | None = None
    """Least seconds between requests that the server asks for."""
    sitemaps: tuple[str, ...] = ()
    """URLs of sitemaps as written, absolute or not."""


class _Groups:
    """The groups of one name, taken together."""

    __slots__ = ("delay", "is_there", "rules")

    def __init__(self) -> None:
        self.is_there = False
        self.rules: dict[bytes, bool] = {}
        self.delay: float | None = None


def parse(body: bytes, agent: str) -> RobotsTxt:
    """Read a robots.txt, in one pass.

    Args:
        body: all of it that counts.
        agent: product token of the crawler.
    """
    names_us = _names(agent)
    ours, others = _Groups(), _Groups()
    group: list[_Groups] = []  # that the rules to come are for
    delayed: list[_Groups] = []  # that a Crawl-delay to come is for
    has_rules = has_delay = False  # since the last user-agent line
    sitemaps: dict[bytes, None] = {}
    for line in _utf_8(body).splitlines():
        if len(line) < _KEY_MIN:
            continue
        key, value = _split(line[:LINE_MAX])
        if key == "agent":
            if has_rules:
                group = []
            if has_rules or has_delay:
                delayed = []
            has_rules = has_delay = False
            named = ours if names_us(value) else others if _ANY.match(value) else None
            if named is not None:
                named.is_there = True
                group = [*group, named] if named not in group else group
                delayed = [*delayed, named] if named not in delayed else delayed
        elif key in ("allow", "disallow"):
            has_rules = True
            for each in group:
                each.rules[value] = key == "allow" or each.rules.get(value, False)
        elif key == "delay":
            has_delay = True
            if match := _SECONDS.match(value):
                for each in delayed:
                    each.delay = max(each.delay or 0.0, float(match[0]))
        elif key == "sitemap" and value and len(sitemaps) < SITEMAPS_MAX:
            sitemaps[value] = None
    chosen = ours if ours.is_there else others
    return RobotsTxt(
        _rules(chosen.rules),
        chosen.delay,
        tuple(sitemap.decode("utf-8", "replace") for sitemap in sitemaps),
    )


def _names(agent: str) -> Callable[[bytes], object]:
    """Return what tells whether the value of a user-agent line names a crawler.

    A product token is letters, ``-`` and ``_``. Where a user has chosen a name with digits, these go on with a token, too.
    """
    name = agent.encode()
    goes_on = rb"[A-Za-z_-]" if _TOKEN.fullmatch(name) else rb"[A-Za-z0-9_-]"
    return re.compile(re.escape(name) + rb"(?!" + goes_on + rb")", re.IGNORECASE).match


def _split(line: bytes) -> tuple[str, bytes]:
    """Return what kind of line it is, empty if it says nothing to us, and its value."""
    line = line.partition(b"#")[0]
    name, colon, value = line.partition(b":")
    if colon and (key := _KEYS.get(name.strip().lower())):
        return key, value.strip()
    if match := _NO_COLON.match(line.strip()):
        return _KEYS.get(match[1].lower(), ""), match[2]
    return "", b""


def _rules(values: dict[bytes, bool]) -> str:
    rules: dict[str, bool] = {}
    for value, allows in values.items():
        if pattern := robots_rules.pattern(value):
            rules[pattern] = allows or rules.get(pattern, False)
    return robots_rules.write(rules)


def _utf_8(body: bytes) -> bytes:
    """Return the file in UTF-8, without its byte order mark; one in UTF-16 is known by that and by the zeros in it."""
    if body[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and b"\0" in body[2:4]:
        return body.decode("utf-16", "replace").encode("utf-8", "replace")
    return body.lstrip(codecs.BOM_UTF8)
