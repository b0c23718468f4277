"""The links of a page that is proven plain (``plain``): what the patterns find is what a browser finds."""

from __future__ import annotations

import html
import re

from andante.parse.collect import Collector
from andante.parse.tokens import attributes

_HREFS = re.compile(rb'href="([^"#]*)').findall
# A "#" after "&" begins no fragment but a character reference.
_HREFS_WITH_REFERENCES = re.compile(rb'href="((?:[^"#]|(?<=&)#)*)').findall
_HEAD_TAGS = re.compile(rb"<(link|meta|base)([^>]*)>", re.IGNORECASE).findall
_MATTERS = re.compile(
    rb"<base|next|canonical|alternate|refresh|robots|andante|&", re.IGNORECASE
).search
_TITLE = re.compile(rb"<title(?:\s[^>]*)?>([^<]*)", re.IGNORECASE)


def scan_head(page: bytes, encoding: str, collector: Collector) -> int:
    """Give the elements of interest in a plain page's head to the collector; return where the body begins."""
    end = page.find(b"</head>")
    for name, source in _HEAD_TAGS(page, 0, end):
        if name == b"base" or _MATTERS(source):
            collector.element(name.decode(), attributes(source, encoding))
    return end


def scan_body(page: bytes, start: int) -> list[bytes]:
    """Return the values of all ``a[href]`` in order, each once, as in the source, without fragments."""
    hrefs = list(dict.fromkeys(_HREFS(page, start)))
    if any(href.endswith(b"&") for href in hrefs):
        hrefs = list(dict.fromkeys(_HREFS_WITH_REFERENCES(page, start)))
    return hrefs


def scan_title(page: bytes, encoding: str) -> str:
    """Return the text of a plain page's title, or ``""``."""
    match = _TITLE.search(page, 0, page.find(b"</head>"))
    return html.unescape(match[1].decode(encoding, "replace")) if match else ""
