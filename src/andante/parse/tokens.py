"""Start tags by a linear tokenizer without a tree.

For pages whose tree could cost time or memory out of proportion (see ``tree``), and for the few tags of a plain page's head. Each
token is matched in one pass without going back, so the time is linear in the page whatever is in it. What
it does not know is what only a tree knows: SVG and MathML have scripts and titles read as in HTML, framesets do not hide links.
"""

from __future__ import annotations

import re

from andante.parse.collect import Collector
from andante.parse.references import href_value

_NAMES = frozenset({b"a", b"area", b"base", b"frame", b"iframe", b"link", b"meta"})
_TOKEN = re.compile(
    rb"""<(?:
      !--(?:-?>|.*?(?:--!?>|\Z))
    | (/?)([a-zA-Z][^\t\n\f\r />]*+)
      ((?:[^>=]++|=[\t\n\f\r ]*+(?:"[^"]*+"|'[^']*+')?+)*+)(>|\Z)
    | [!?/][^>]*+
    )""",
    re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = re.compile(
    rb"""([^\t\n\f\r />][^\t\n\f\r />=]*+)
    (?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >]*+)))?""",
    re.VERBOSE,
)
_RAW_TEXT = {
    name: re.compile(rb"</%b[\t\n\f\r />]" % name, re.IGNORECASE)
    for name in (
        b"iframe",
        b"noembed",
        b"noframes",
        b"script",
        b"style",
        b"textarea",
        b"title",
        b"xmp",
    )
}


def attributes(source: bytes, encoding: str) -> dict[str, str | None]:
    """Return the attributes in the source of a tag after its name; the first of a name counts."""
    found: dict[str, str | None] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(source):
        found.setdefault(
            name.lower().decode("latin-1"), href_value(double or single or bare, encoding)
        )
    return found


def read_tokens(page: bytes, encoding: str, collector: Collector) -> bytes:
    """Give a page's elements of interest to the collector; return the source of its title."""
    title: bytes | None = None
    templates = 0
    position = 0
    while match := _TOKEN.search(page, position):
        position = match.end()
        slash, name, source, end = match.groups()
        if name is None:
            continue
        name = name.lower()
        if not end:
            break  # a tag that never ends is none
        if name == b"template":
            templates = max(0, templates - 1) if slash else templates + 1
        if slash:
            continue
        if name in _NAMES and not templates:
            collector.element(name.decode(), attributes(source, encoding))
        if name == b"plaintext":
            break
        if name in _RAW_TEXT:
            closing = _RAW_TEXT[name].search(page, position)
            stop = closing.start() if closing else len(page)
            if name == b"title" and title is None and not templates:
                title = page[position:stop]
            position = stop
    return title or b""
