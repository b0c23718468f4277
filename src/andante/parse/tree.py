"""The links and texts of a page by Lexbor: tokens and tree as browsers build them."""

from __future__ import annotations

import re

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from andante.parse.collect import Collector

MAX_TREE_BYTES = 1 << 20
"""A larger page is not made into a tree."""
MAX_TREE_TAGS = 20_000
"""Nor is one with more tags: a block element looks at all open elements above it, so 20,000 nested ones take half a second."""
MAX_TREE_COPIES = 500_000
"""Nor one that could make more elements than this: each block may copy all open formatting elements into itself."""
MAX_TAG_BYTES = 8192
"""Nor one with a longer tag: each attribute is compared with those before it."""

ANCHOR_MAX = 300
"""Characters kept of the text of a link."""
TEXT_MAX = 100_000
"""Characters kept of the text of a page."""


class Texts(msgspec.Struct):
    """What a page says to its readers; filled in by `read_tree`."""

    anchors: dict[bytes | str, str] = msgspec.field(default_factory=dict)
    """For each reference the text of the first link with it that has one."""
    page: str = ""
    """The title, then the body without scripts and styles, white space folded."""


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


def read_tree(page: bytes, collector: Collector, texts: Texts | None = None) -> str:
    """Give the elements of interest of a page in UTF-8 to the collector in tree order; return its title.

    Where texts are wanted they are filled in; what the collector is given is the same.
    """
    tree = LexborHTMLParser(page)
    title = tree.css_first("title")
    name = title.text() if title else ""
    inner: set[int] = set()
    if texts is not None:
        tree.strip_tags(["script", "style"])
        # Those in a table in a link: what the outer ones say is said once, so all texts together are no longer than the page.
        inner = {node.mem_id for node in tree.css("a a[href]")}
    for node in tree.css(_SELECTOR):
        taken = len(collector.hrefs)
        collector.element(node.tag or "", node.attributes)
        if texts is not None and len(collector.hrefs) > taken and node.mem_id not in inner:
            href = collector.hrefs[-1]
            texts.anchors[href] = texts.anchors.get(href) or fold(_link_text(node), ANCHOR_MAX)
    if texts is not None and tree.body is not None:
        texts.page = fold(f"{name} {tree.body.text(separator=' ')}", TEXT_MAX)
    return name


def _link_text(node: LexborNode) -> str:
    """Return what a link says; one that is an image says its ``alt``."""
    if node.tag != "a":
        return node.attributes.get("alt") or ""
    text = node.text(separator=" ")
    if not text or text.isspace():
        image = node.css_first("img[alt]")
        text = (image.attributes.get("alt") or "") if image else ""
    return text


def fold(text: str, length_max: int) -> str:
    """Return a text with its white space folded, cut to a length."""
    return " ".join(text[: 4 * length_max].split())[:length_max]
