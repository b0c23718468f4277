"""The reader: from a response to a page with its body decoded and its links resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from andante import url as urls
from andante.fetch.coding import content_encoding, decode
from andante.fetch.outcome import Failure, Outcome
from andante.frontier.quality.base import Found
from andante.page import Page
from andante.parse import (
    Directives,
    header_directives,
    href_value,
    parse_html,
    parse_sitemap,
    sniff_encoding,
)
from andante.parse.collect import VALUE_MAX
from andante.parse.html import QUICK_BYTES
from andante.parse.sitemap import QUICK_BYTES as QUICK_SITEMAP_BYTES

if TYPE_CHECKING:
    from andante.crawl.settings import Settings

LINKS_SIZE_MAX = 4 * 2**20
"""Characters that the links of a page may have together; those after are ignored."""

QUICK_ENCODED = 512 * 1024
"""Bytes of a body with a content coding that may be decoded where others wait for it: decoders take up to 0.1 us for a byte that gives nothing, of which a
body may consist, and one coding inside another may have the next one do so again."""

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_SNIFFED = b"<"
"""What a body without a media type begins with, white space aside, to be taken as HTML."""

_GZIP = b"\x1f\x8b"


class Rules(msgspec.Struct, frozen=True):
    """What of the settings decides how responses are read."""

    agent: str
    """Product token, in lower case, under which pages may speak to this crawler."""
    ignore_robots: bool
    skip_nofollow: bool
    max_decoded: int
    max_links: int
    max_url_length: int

    @classmethod
    def of(cls, settings: Settings) -> Rules:
        """Return the rules that settings make."""
        return cls(
            settings.robots_name,
            settings.ignore_robots,
            settings.skip_nofollow,
            settings.max_decoded,
            settings.max_links,
            settings.max_url_length,
        )


class Reading(msgspec.Struct):
    """What a page says; or why it cannot be read."""

    directives: Directives = Directives()
    """What it asks of us."""
    problem: str = ""
    """The outcome of what cannot be read; empty: it was read."""
    detail: str = ""
    encoding: str = "utf-8"
    """Python codec of the body."""
    title: str = ""
    """As the page gives it; empty unless wanted."""
    links: list[str] = []
    """Canonical URLs, in document order, each once."""
    anchors: dict[str, str] = {}
    """Texts of links, by URL, where they were wanted."""
    text: str = ""
    """What the page says, likewise."""


class SitemapReading(msgspec.Struct):
    """The URLs that a sitemap lists; or why it cannot be read."""

    found: list[Found]
    is_index: bool = False
    problem: str = ""


class Reader:
    """Reads responses; keeps a memo of links, so there is one for the whole crawl."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.decoded_max = rules.max_decoded
        self._resolver = urls.LinkResolver(href_value, length_max=rules.max_url_length)
        self._value_max = max(VALUE_MAX, 4 * rules.max_url_length)

    def decoded(self, page: Page, *, quick: bool = False) -> bytes | Failure | None:
        """Return a body without its content codings, or why that is not possible; None: it may take long, and is to be quick."""
        return self._decoded(page, QUICK_BYTES if quick else None)

    def read(
        self, page: Page, *, title: bool, text: bool = False, quick: bool = False
    ) -> Reading | None:
        """Return what a page says, and give it its ``body``, ``encoding``, ``links`` and, if wanted, ``title``.

        Args:
            page: of which the payload is known.
            title: it is wanted.
            text: what the page and its links say is wanted.
            quick: give up, and return None, rather than take longer than about a tenth of a second.
        """
        body = self.decoded(page, quick=quick)
        if body is None:
            return None
        if isinstance(body, Failure):
            return Reading(problem=str(body.outcome), detail=body.detail)
        page.body = body
        return self.understood(page, title=title, text=text, quick=quick)

    def understood(
        self, page: Page, *, title: bool, text: bool, quick: bool = False
    ) -> Reading | None:
        """Do the same with a page that has its ``body``."""
        reading = Reading()
        if _is_html(page):
            read = self._read_html(page, title=title, text=text, quick=quick)
            if read is None:
                return None
            reading = read
        rules = self._rules
        if rules.ignore_robots:
            reading.directives = Directives()
        else:
            reading.directives |= header_directives(
                (
                    value.decode("latin-1")
                    for name, value in page.headers
                    if name.lower() == b"x-robots-tag"
                ),
                agent=rules.agent,
            )
        page.encoding, page.title, page.links = reading.encoding, reading.title, reading.links
        return reading

    def _read_html(self, page: Page, *, title: bool, text: bool, quick: bool) -> Reading | None:
        if quick and len(page.body) > QUICK_BYTES:
            return None
        rules = self._rules
        body = bytes(page.body)  # it may be in a file
        document = parse_html(
            body,
            encoding=sniff_encoding(body, page.header(b"content-type").decode("latin-1")),
            agent=rules.agent,
            drop_nofollow=rules.skip_nofollow,
            links_max=rules.max_links,
            value_max=self._value_max,
            want_text=text,
            quick=quick,
        )
        if document is None:
            return None
        base = urls.canonical(document.base, page.final_url) if document.base else None
        base = base or page.final_url
        anchors: dict[str, str] = {}
        for href, anchor in zip(document.hrefs, document.anchors, strict=False):
            for url in self._resolver.resolve(base, [href], document.encoding):
                anchors.setdefault(url, anchor)
        return Reading(
            document.robots,
            encoding=document.encoding,
            title=document.title if title else "",
            links=self._within(self._resolver.resolve(base, document.hrefs, document.encoding)),
            anchors=anchors,
            text=document.text,
        )

    def _within(self, links: list[str]) -> list[str]:
        """Return as many links as may be taken of a page by their length."""
        if len(links) * self._rules.max_url_length > LINKS_SIZE_MAX:
            room = LINKS_SIZE_MAX
            for count, url in enumerate(links):
                room -= len(url)
                if room < 0:
                    return links[:count]
        return links

    def sitemap(self, page: Page, *, quick: bool = False) -> SitemapReading | None:
        """Read a sitemap. None: it may take long, and is to be quick."""
        body = self.sitemap_body(page, quick=quick)
        if body is None or (
            not isinstance(body, Failure) and quick and len(body) > QUICK_SITEMAP_BYTES
        ):
            return None
        return self.listed(page, body)

    def sitemap_body(self, page: Page, *, quick: bool = False) -> bytes | Failure | None:
        """Return what a sitemap consists of; it may be gzipped, as a file or in transfer. None: as with `decoded`."""
        most = QUICK_SITEMAP_BYTES if quick else None
        body = self._decoded(page, most)
        if body is None or isinstance(body, Failure) or bytes(body[:2]) != _GZIP:
            return body
        return self._undone(body, b"gzip", most)

    def listed(self, page: Page, body: bytes | Failure) -> SitemapReading:
        """Return what a sitemap of this body lists."""
        if isinstance(body, Failure):
            return SitemapReading([], problem=f"{body.outcome} {body.detail}".strip())
        found = parse_sitemap(bytes(body))
        length_max = self._rules.max_url_length
        located = [
            Found(url, referrer=page.final_url, sitemap_priority=priority, lastmod=lastmod)
            for loc, priority, lastmod in zip(
                found.locs, found.priorities, found.lastmods, strict=True
            )
            if (url := urls.canonical(loc, page.final_url, length_max=length_max))
        ]
        return SitemapReading(
            located, found.kind == "index", "" if found.locs else found.problem or found.kind
        )

    def _decoded(self, page: Page, most: int | None) -> bytes | Failure | None:
        encoding = content_encoding(page.headers)
        return self._undone(page.payload, encoding, most) if encoding else page.payload

    def _undone(self, body: bytes, encoding: bytes, most: int | None) -> bytes | Failure | None:
        """Take codings off; None: the body, or what becomes of it, is larger than ``most``, or to decode it may take long."""
        limit = self._rules.max_decoded
        if most is None:
            return decode(body, encoding, limit=limit)
        if len(body) > min(most, QUICK_ENCODED) or b"," in encoding:
            return None
        decoded = decode(body, encoding, limit=min(limit, most))
        is_larger = isinstance(decoded, Failure) and decoded.outcome is Outcome.DECODED_TOO_LARGE
        return None if is_larger and most < limit else decoded


def _is_html(page: Page) -> bool:
    kind = page.content_type
    return kind in _HTML or (not kind and page.body[:256].lstrip().startswith(_SNIFFED))
