"""Start tags by a linear tokenizer without a tree.

For pages whose tree could cost time or memory out of proportion (see ``tree``), and for the few tags of a plain page's head. Each
token is matched in one pass without going back, so the time is linear in the page whatever is in it. What
it does not know is what only a tree knows: SVG and MathML have scripts and titles read as in HTML, framesets do not hide links.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from andante.parse.collect import Collector
from andante.parse.references import href_value

_NAMES = frozenset({b"a", b"area", b"base", b"frame", b"iframe", b"link", b"meta"})
_NAME_END = rb"(?=[\t\n\f\r />])"
# A script may hold "<!-- <script> </script> -->", and the end tag in there is not its own.
_ESCAPED = rb"""<!--(?:-?>
    | (?:(?!-->|</?script%b).
        | <script%b(?:(?!-->|</script%b).)*+(?:</script%b|(?=-->)|\Z)
      )*+ (?:-->|(?=</script)|\Z))""" % (_NAME_END, _NAME_END, _NAME_END, _NAME_END)
_RAW_NAMES = (b"iframe", b"noembed", b"noframes", b"style", b"textarea", b"title", b"xmp")
_FLAGS = re.DOTALL | re.VERBOSE | re.IGNORECASE
_RAW_TEXT = {
    name: re.compile(rb"(?:[^<]++|<(?!/%b%b))*+" % (name, _NAME_END), _FLAGS) for name in _RAW_NAMES
}
_RAW_TEXT[b"script"] = re.compile(
    rb"(?:[^<]++|%b|<(?!!--|/script%b))*+" % (_ESCAPED, _NAME_END), _FLAGS
)
_SPECIAL = rb"(?:%b)%b" % (
    b"|".join((*sorted(_NAMES), *_RAW_TEXT, b"plaintext", b"template")),
    _NAME_END,
)
_REST = rb"""(?:[^>=]++|=[\t\n\f\r ]*+(?:"[^"]*+"?+|'[^']*+'?+)?+)*+>"""
# What matters not, as much of it as there is, and then one tag that does.
_NEXT_TAG = re.compile(
    rb"""(?:[^<]++
    | <(?![a-zA-Z!/?])
    | </?+(?!%b)[a-zA-Z]%b
    | <!--(?:-?>|(?!-?>)(?>.*?(?:--!?>|\Z)))
    | <(?:!(?!--)|[?]|/(?![a-zA-Z]))[^>]*+>?
    )*+
    <(/?)(%b)(%b)"""
    % (_SPECIAL, _REST, _SPECIAL, _REST),
    _FLAGS,
)
_ATTRIBUTE = re.compile(
    rb"""([^\t\n\f\r />][^\t\n\f\r />=]*+)
    (?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >]*+)))?""",
    re.VERBOSE,
)


def attributes(source: bytes, encoding: str) -> Mapping[str, str | None]:
    """Return the attributes in the source of a tag after its name; the first of a name counts."""
    read = _attributes_again if len(source) < _REMEMBERED else _attributes
    return read(source, encoding)


def _attributes(source: bytes, encoding: str) -> Mapping[str, str | None]:
    found: dict[str, str | None] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(source):
        found.setdefault(
            name.lower().decode("latin-1"), href_value(double or single or bare, encoding)
        )
    return found


_REMEMBERED = 300
"""Bytes of a tag whose attributes are remembered: those in the heads of a site's pages are mostly the same."""

_attributes_again = lru_cache(maxsize=1_000)(_attributes)


def read_tokens(page: bytes, encoding: str, collector: Collector) -> bytes:
    """Give a page's elements of interest to the collector; return the source of its title."""
    title: bytes | None = None
    templates = 0
    position = 0
    while match := _NEXT_TAG.match(page, position):
        position = match.end()
        name = match[2].lower()
        if name == b"template":
            templates = max(0, templates - 1) if match[1] else templates + 1
        if match[1]:
            continue
        if name in _NAMES and not templates:
            collector.element(name.decode(), attributes(match[3], encoding))
        if name == b"plaintext":
            break
        if name in _RAW_TEXT:
            content = _RAW_TEXT[name].match(page, position)
            stop = content.end() if content else position
            if name == b"title" and title is None and not templates:
                title = page[position:stop]
            position = stop
    return title or b""
