"""Bytes to links: HTML, encodings, robots directives, sitemaps."""

from andante.parse.encoding import sniff_encoding
from andante.parse.html import Document, href_value, parse_html
from andante.parse.robots_meta import Directives, header_directives
from andante.parse.sitemap import Sitemap, parse_sitemap

__all__ = [
    "Directives",
    "Document",
    "Sitemap",
    "header_directives",
    "href_value",
    "parse_html",
    "parse_sitemap",
    "sniff_encoding",
]
