"""The links of a page that is proven plain or nearly (``plain``): what the patterns find is what a browser finds."""

from __future__ import annotations

import html
import re

from andante.parse.collect import LINK_RELATIONS, Collector
from andante.parse.robots_meta import AGENT
from andante.parse.tokens import attributes

_HREFS = re.compile(rb'href="([^"#]*)').findall
# A "#" after "&" begins no fragment but a character reference.
_HREFS_WITH_REFERENCES = re.compile(rb'href="([^"#]*(?:(?<=&)#[^"#]*)*)').findall
_HREFS_HOWEVER_WRITTEN = re.compile(
    rb"""[hH][rR][eE][fF][\t\n\f\r ]*=[\t\n\f\r ]*
    (?: "([^"\#]*(?:(?<=&)\#[^"\#]*)*)
      | '([^'\#]*(?:(?<=&)\#[^'\#]*)*)
      | ([^\t\n\f\r >\#]*(?:(?<=&)\#[^\t\n\f\r >\#]*)*))""",
    re.VERBOSE,
).findall
_LINK_TAGS = re.compile(rb"<(link)([^>]*)").findall
_HEAD_TAGS = re.compile(rb"<(link|meta|base)([^>]*)").findall
_TITLE = re.compile(rb"<title(?:\s[^>]*)?>([^<]*)", re.IGNORECASE)
_FOLLOWED = tuple(relation.encode() for relation in sorted(LINK_RELATIONS))
_RARE = (b"<base", b"refresh", b"robots", AGENT.encode())


def scan_head(page: bytes, encoding: str, collector: Collector) -> int:
    """Give the elements of interest in a plain page's head to the collector; return where the body begins."""
    end = page.find(b"</head>")
    head = page[:end].lower()
    # Of a hundred meta elements seldom one matters, and most links are style sheets.
    is_rare = any(word in head for word in _RARE)
    for name, source in (_HEAD_TAGS if is_rare else _LINK_TAGS)(page, 0, end):
        text = source.lower()
        if name != b"link" or any(relation in text for relation in _FOLLOWED):
            collector.element(name.decode(), attributes(source, encoding))
    return end


def scan_body(page: bytes, start: int) -> list[bytes]:
    """Return the values of all ``a[href]`` in order, each once, as in the source, without fragments."""
    hrefs = list(dict.fromkeys(_HREFS(page, start)))
    if b'&"' in b'"'.join(hrefs) + b'"':
        hrefs = list(dict.fromkeys(_HREFS_WITH_REFERENCES(page, start)))
    return hrefs


def scan_nearly_plain_body(page: bytes, start: int) -> list[bytes]:
    """Return the same for a nearly plain page."""
    found = _HREFS_HOWEVER_WRITTEN(page, start)
    return list(dict.fromkeys(double or single or bare for double, single, bare in found))


def scan_title(page: bytes, encoding: str) -> str:
    """Return the text of a plain page's title, or ``""``."""
    match = _TITLE.search(page, 0, page.find(b"</head>"))
    return html.unescape(match[1].decode(encoding, "replace")) if match else ""
