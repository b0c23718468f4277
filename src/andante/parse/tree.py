"""The links of a page by Lexbor: tokens and tree as browsers build them."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser

from andante.parse.collect import Collector

MAX_TREE_BYTES = 1 << 20
"""A larger page is not made into a tree."""
MAX_TREE_TAGS = 20_000
"""Nor is one with more tags: a block element looks at all open elements above it, so 20,000 nested ones take half a second."""
MAX_TREE_COPIES = 500_000
"""Nor one that could make more elements than this: each block may copy all open formatting elements into itself."""
MAX_TAG_BYTES = 8192
"""Nor one with a longer tag: each attribute is compared with those before it."""

_SELECTOR = "a[href], area[href], base[href], frame[src], iframe[src], link[href], meta[content]"
_FORMATTING = re.compile(
    rb"<(?:[bB](?:[iI][gG])?|[cC][oO][dD][eE]|[eE][mM]|[fF][oO][nN][tT]|[iIuU]|[nN][oO][bB][rR]|[tT][tT]"
    rb"|[sS](?:[mM][aA][lL][lL]|[tT][rR][iI][kK][eE]|[tT][rR][oO][nN][gG])?)(?=[\s/>])[^<>]*"
)
_SIMPLE = re.compile(rb"""(?:[^"'=]++|=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"']++))*+""")
_LONG_QUOTED = re.compile(rb"""=\s*(?:"[^">]*>|'[^'>]*>)""")


def fits_tree(page: bytes) -> bool:
    """Say whether the tree of a page has a bounded cost, whatever is in the page. Linear in its length."""
    tags = page.count(b"<")
    if len(page) > MAX_TREE_BYTES or tags > MAX_TREE_TAGS:
        return False
    if len(page) > MAX_TAG_BYTES and (
        _LONG_QUOTED.search(page) or max(map(len, page.split(b">"))) > MAX_TAG_BYTES
    ):
        return False
    if tags * tags // 4 <= MAX_TREE_COPIES:
        return True
    # Of equal formatting elements at most three are open at once, and one a (WHATWG, "Noah's Ark clause").
    found = _FORMATTING.findall(page)
    distinct = set(found)
    open_at_once = 3 * len(distinct) if all(map(_SIMPLE.fullmatch, distinct)) else len(found)
    return tags * (open_at_once + 1) <= MAX_TREE_COPIES


def read_tree(page: bytes, collector: Collector) -> str:
    """Give the elements of interest of a page in UTF-8 to the collector in tree order; return its title."""
    tree = LexborHTMLParser(page)
    for node in tree.css(_SELECTOR):
        collector.element(node.tag or "", node.attributes)
    title = tree.css_first("title")
    return title.text() if title else ""
