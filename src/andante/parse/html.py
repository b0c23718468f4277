"""Links, base, title, texts and robots directives of an HTML page.

Three ways lead to the same answer. Most pages are scanned by a tokenizer, as their tree makes no difference; the others are
read into a tree by Lexbor; those whose tree could cost out of proportion are read token by token.
"""

from __future__ import annotations

import msgspec

from andante.parse.collect import VALUE_MAX, Collector
from andante.parse.encoding import is_ascii_extension
from andante.parse.references import href_value, text_value
from andante.parse.robots_meta import Directives
from andante.parse.scan import read_scanned
from andante.parse.tokens import read_tokens
from andante.parse.tree import (
    QUICK_TREE_COPIES,
    QUICK_TREE_TAGS,
    Texts,
    fits_tree,
    fold,
    read_tree,
)

__all__ = ["Document", "href_value", "parse_html"]

TITLE_MAX = 2_000
"""Characters kept of a title."""
QUICK_BYTES = 8 * 2**20
"""Bytes of a page that may be read where others wait for it: at most a tenth of a second, whatever is in the page. A fourth in an encoding that is decoded first."""

QUICK_VALUES = 256 * 1024
"""Bytes of attribute values that may be turned into text and URLs there: it takes up to half a microsecond for each where they have
character references, or are not ASCII."""

_QUICK = {"tags_max": QUICK_TREE_TAGS, "copies_max": QUICK_TREE_COPIES}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Document(msgspec.Struct, kw_only=True):
    """What a page says about other pages and about itself."""

    hrefs: list[bytes | str]
    """References in document order, each once, without fragments: as in the source (``bytes``: give them to
    ``href_value``) or as values (``str``). One may come in both forms, and different ones may mean one URL."""
    base: str | None
    """Value of the first ``base[href]``, which the references are relative to; None where there is none."""
    robots: Directives
    """What the page's meta elements ask of robots."""
    encoding: str
    """Python codec of the bytes in ``hrefs``."""
    way: str
    """How the page was read: ``"scan"``, ``"tree"`` or ``"tokens"``."""
    anchors: list[str]
    """The text of each of ``hrefs``, white space folded; empty unless texts were wanted and a tree was made."""
    text: str
    """Title and body, white space folded; ``""`` unless texts were wanted and a tree was made."""
    _title: bytes | str
    """Source of the title, or its text."""

    @property
    def title(self) -> str:
        """Text of the first title element that is not a drawing's, white space folded; ``""`` where there is none."""
        if isinstance(self._title, bytes):
            self._title = text_value(self._title, self.encoding)
        return fold(self._title, TITLE_MAX)


def parse_html(
    body: bytes,
    *,
    encoding: str,
    agent: str = "andante",
    drop_nofollow: bool = False,
    links_max: int = 10_000,
    value_max: int = VALUE_MAX,
    want_text: bool = False,
    quick: bool = False,
) -> Document | None:
    """Read a page.

    Args:
        body: the page, without content coding. Any bytes: what is not HTML has no links.
        encoding: Python codec of the page, as ``sniff_encoding`` returns it.
        agent: product token, in lower case, under which meta elements may speak to this crawler.
        drop_nofollow: leave out ``a`` and ``area`` elements with ``rel=nofollow``.
        links_max: most references taken; those after are left out.
        value_max: most bytes of an attribute value; one with a longer value is as if it were not there. At least `VALUE_MAX`.
        want_text: also read what the page and its links say; it takes the time of a tree.
        quick: give up rather than take longer than about a tenth of a second.

    Returns:
        The document; None: it was given up. References are not resolved; order is that of the source, and in a tree that of the tree.
    """
    if quick and len(body) > QUICK_BYTES:
        return None
    page = body.removeprefix(_BYTE_ORDER_MARK)
    if not is_ascii_extension(encoding):
        if quick and len(body) > QUICK_BYTES // 4:
            return None
        page = page.decode(encoding, "replace").removeprefix("\ufeff").encode()
        encoding = "utf-8"
    collector = Collector(
        agent=agent, drop_nofollow=drop_nofollow, links_max=links_max, value_max=value_max
    )
    way = "scan"
    texts = Texts() if want_text else None
    title: bytes | str | None = None
    if not want_text:
        title = read_scanned(
            page, encoding, collector, elements_size_max=QUICK_VALUES if quick else None
        )
    if title is None and fits_tree(page, **(_QUICK if quick else {})):
        way = "tree"
        utf8 = page if encoding == "utf-8" else page.decode(encoding, "replace").encode()
        title = read_tree(utf8, collector, texts)
    elif title is None and quick:
        return None
    elif title is None:
        way = "tokens"
        title = read_tokens(page, encoding, collector)
    hrefs = list(collector.hrefs)[:links_max]
    if quick and _take_long(hrefs, len(page)):
        return None
    return Document(
        hrefs=hrefs,
        base=collector.base,
        robots=collector.robots,
        encoding=encoding,
        way=way,
        anchors=[texts.anchors.get(href, "") for href in hrefs] if texts else [],
        text=texts.page if texts else "",
        _title=title,
    )


def _take_long(hrefs: list[bytes | str], page_size: int) -> bool:
    """Tell whether it may take long to resolve the references of a page."""
    return page_size > QUICK_VALUES and sum(map(len, filter(_is_costly, hrefs))) > QUICK_VALUES


def _is_costly(href: bytes | str) -> bool:
    return not href.isascii() or (b"&" in href if isinstance(href, bytes) else "&" in href)
