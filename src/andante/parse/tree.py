"""The links and texts of a page by Lexbor: tokens and tree as browsers build them."""

from __future__ import annotations

import re

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from andante.parse.collect import VALUE_MAX, Collector

MAX_TREE_BYTES = 1 << 20
"""A larger page is not made into a tree."""
MAX_TREE_TAGS = 20_000
"""Nor is one with more tags: a block element looks at all open elements above it, so 20,000 nested ones take half a second."""
MAX_TREE_COPIES = 500_000
"""Nor one that could make more elements than this: each block may copy all open formatting elements into itself."""
MAX_TAG_BYTES = VALUE_MAX
"""Nor one with a longer tag: each attribute is compared with those before it."""
QUICK_TREE_TAGS = 5_000
"""Tags of a page whose tree takes less than a tenth of a second."""
QUICK_TREE_COPIES = 50_000
"""Elements that such a page could make; each takes about 730 bytes, so these take 36 MB."""
TITLES_MAX = 16
"""Title elements that are looked at for one that is not in a drawing."""

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


def fits_tree(
    page: bytes, *, tags_max: int = MAX_TREE_TAGS, copies_max: int = MAX_TREE_COPIES
) -> bool:
    """Say whether the tree of a page has a bounded cost, whatever is in the page. Linear in its length."""
    tags = page.count(b"<")
    if len(page) > MAX_TREE_BYTES or tags > tags_max:
        return False
    if len(page) > MAX_TAG_BYTES and (
        _LONG_QUOTED.search(page) or max(map(len, page.split(b">"))) > MAX_TAG_BYTES
    ):
        return False
    if tags * tags // 4 <= copies_max:
        return True
    # Of equal formatting elements at most three are open at once, and one a (WHATWG, "Noah's Ark clause").
    found = _FORMATTING.findall(page)
    distinct = set(found)
    open_at_once = 3 * len(distinct) if all(map(_SIMPLE.fullmatch, distinct)) else len(found)
    return tags * (open_at_once + 1) <= copies_max


def read_tree(page: bytes, collector: Collector, texts: Texts | None = None) -> str:
    """Give the elements of interest of a page in UTF-8 to the collector in tree order; return its title.

    Where texts are wanted they are filled in; what the collector is given is the same.
    """
    tree = LexborHTMLParser(page)
    name = _title(tree)
    inner: set[int] = set()
    if texts is not None:
        tree.strip_tags(["script", "style"])
        # Those in a table in a link: what the outer ones say is said once, so all texts together are no longer than the page.
        inner = {node.mem_id for node in tree.css("a a[href]")}
    for node in tree.css(_SELECTOR):
        href = collector.element(node.tag or "", node.attributes)
        if texts is not None and href is not None and node.mem_id not in inner:
            texts.anchors[href] = texts.anchors.get(href) or fold(_link_text(node), ANCHOR_MAX)
    if texts is not None and tree.body is not None:
        texts.page = fold(f"{name} {tree.body.text(separator=' ')}", TEXT_MAX)
    return name


_DRAWING_OR_NOT = frozenset({"svg", "foreignObject", "desc", "title"})
"""Whether a title in one of these is one of HTML's; the nearest decides."""


def _title(tree: LexborHTMLParser) -> str:
    """Return the text of the first title that is not a drawing's."""
    for title in tree.css("title")[:TITLES_MAX]:
        above = title.parent
        while above is not None and above.tag not in _DRAWING_OR_NOT:
            above = above.parent
        if above is None or above.tag != "svg":
            return title.text()
    return ""


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
