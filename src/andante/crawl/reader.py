"""The reader: from a response to a page with its body decoded and its links resolved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from andante import url as urls
from andante.crawl.settings import Settings
from andante.fetch import Failure, content_encoding, decode
from andante.frontier.quality import Found
from andante.page import Page
from andante.parse import (
    Directives,
    header_directives,
    href_value,
    parse_html,
    parse_sitemap,
    sniff_encoding,
)

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_SNIFFED = b"<"
"""What a body without a media type begins with, white space aside, to be taken as HTML."""

_GZIP = b"\x1f\x8b"


class Reading(NamedTuple):
    """What a page asks of us; or why it cannot be read."""

    directives: Directives = Directives()
    failure: Failure | None = None
    anchors: Mapping[str, str] = {}
    """Texts of links, by URL, where they were wanted."""
    text: str = ""
    """What the page says, likewise."""


class SitemapReading(NamedTuple):
    """The URLs that a sitemap lists; or why it cannot be read."""

    found: list[Found]
    is_index: bool = False
    problem: str = ""


class Reader:
    """Reads responses; keeps a memo of links, so there is one for the whole crawl."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._resolver = urls.LinkResolver(href_value, length_max=settings.max_url_length)

    def read(self, page: Page, *, want_title: bool, want_text: bool = False) -> Reading:
        """Fill in what the body of a page says: ``body``, ``encoding``, ``links`` and, if wanted, ``title``."""
        body = decode(
            page.payload, content_encoding(page.headers), limit=self._settings.max_decoded
        )
        if isinstance(body, Failure):
            return Reading(failure=body)
        page.body = body
        directives = header_directives(
            (
                value.decode("latin-1")
                for name, value in page.headers
                if name.lower() == b"x-robots-tag"
            ),
            agent=self._settings.robots_name,
        )
        found = Reading()
        if _is_html(page):
            found = self._read_html(page, want_title=want_title, want_text=want_text)
        obeyed = not self._settings.ignore_robots
        return found._replace(directives=directives | found.directives if obeyed else Directives())

    def _read_html(self, page: Page, *, want_title: bool, want_text: bool) -> Reading:
        content_type = page.header(b"content-type").decode("latin-1")
        document = parse_html(
            page.body,
            encoding=sniff_encoding(page.body, content_type),
            agent=self._settings.robots_name,
            drop_nofollow=self._settings.skip_nofollow,
            links_max=self._settings.max_links,
            want_text=want_text,
        )
        page.encoding = document.encoding
        if want_title:
            page.title = document.title
        base = urls.canonical(document.base, page.final_url) if document.base else None
        base = base or page.final_url
        page.links = self._resolver.resolve(base, document.hrefs, document.encoding)
        anchors: dict[str, str] = {}
        for href, anchor in zip(document.hrefs, document.anchors, strict=False):
            for url in self._resolver.resolve(base, [href], document.encoding):
                anchors.setdefault(url, anchor)
        return Reading(document.robots, anchors=anchors, text=document.text)

    def sitemap(self, page: Page) -> SitemapReading:
        """Read a sitemap; it may be gzipped, as a file or in transfer."""
        limit = self._settings.max_decoded
        body = decode(page.payload, content_encoding(page.headers), limit=limit)
        if isinstance(body, bytes) and body.startswith(_GZIP):
            body = decode(body, b"gzip", limit=limit)
        if isinstance(body, Failure):
            return SitemapReading([], problem=f"{body.outcome} {body.detail}".strip())
        found = parse_sitemap(body)
        length_max = self._settings.max_url_length
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


def _is_html(page: Page) -> bool:
    kind = page.content_type
    return kind in _HTML or (not kind and page.body[:256].lstrip().startswith(_SNIFFED))
