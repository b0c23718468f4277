"""Start tags by a linear tokenizer without a tree.

For pages whose tree could cost time or memory out of proportion (see ``tree``), and for the few tags of a plain page's head. Each
token is matched in one pass without going back, so the time is linear in the page whatever is in it. What
it does not know is what only a tree knows: SVG and MathML have scripts read as in HTML, and go on to their end tags whatever is in
them; framesets do not hide links.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from andante.parse.collect import VALUE_MAX, Collector
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
    b"|".join((*sorted(_NAMES), *_RAW_TEXT, b"plaintext", b"svg", b"template")),
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
_READ = rb"(?:charset|content|href|http-equiv|name|rel|src)(?=[\t\n\f\r />=]|\Z)"
"""The attributes that anybody asks for. Of the others, of which there may be millions, nothing is kept."""
# Those that nobody asks for, as many as there are, and then one that is read.
_ATTRIBUTE = re.compile(
    rb"""(?:[\t\n\f\r />]*+ (?!%b)[^\t\n\f\r />][^\t\n\f\r />=]*+
        (?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*+"|'[^']*+'|[^\t\n\f\r >]*+))?+
    )*+
    [\t\n\f\r />]*+ (%b)
    (?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >]*+)))?+"""
    % (_READ, _READ),
    re.VERBOSE | re.IGNORECASE,
).match


TAG_MAX = 2**20
"""Bytes of a tag in which attributes are looked for."""


def attributes(
    source: bytes, encoding: str, value_max: int = VALUE_MAX
) -> Mapping[str, str | None]:
    """Return those attributes in the source of a tag after its name that are ever read.

    The first of a name counts. One whose value is longer than ``value_max`` bytes is left out.
    """
    if len(source) < _REMEMBERED:
        return _attributes_again(source, encoding)
    return _attributes(source, encoding, value_max)


def _attributes(
    source: bytes, encoding: str, value_max: int = VALUE_MAX
) -> Mapping[str, str | None]:
    found: dict[str, str | None] = {}
    position = 0
    while match := _ATTRIBUTE(source, position, TAG_MAX):
        position = match.end()
        if position == TAG_MAX:  # it may go on
            break
        name = match[1].lower().decode()
        if name not in found:
            raw = match[2] or match[3] or match[4] or b""
            found[name] = href_value(raw, encoding) if len(raw) <= value_max else None
    if None in found.values():
        return {name: value for name, value in found.items() if value is not None}
    return found


TITLE_SOURCE_MAX = 64 * 1024
"""Bytes of the source of a title that are read."""

_REMEMBERED = 300
"""Bytes of a tag whose attributes are remembered: those in the heads of a site's pages are mostly the same."""

_attributes_again = lru_cache(maxsize=1_000)(_attributes)


def read_tokens(page: bytes, encoding: str, collector: Collector) -> bytes:
    """Give a page's elements of interest to the collector; return the source of its title, or the beginning of that."""
    title: bytes | None = None
    opened = {b"template": 0, b"svg": 0}
    position = 0
    while match := _NEXT_TAG.match(page, position):
        position = match.end()
        name = match[2].lower()
        if name in opened and not (name == b"svg" and match[3].endswith(b"/>")):
            opened[name] = max(0, opened[name] - 1) if match[1] else opened[name] + 1
        if match[1]:
            continue
        templates, drawings = opened.values()
        if name in _NAMES and not templates:
            collector.element(name.decode(), attributes(match[3], encoding, collector.value_max))
        if name == b"plaintext":
            break
        if name in _RAW_TEXT and not (name == b"title" and drawings):
            content = _RAW_TEXT[name].match(page, position)
            stop = content.end() if content else position
            if name == b"title" and title is None and not templates:
                title = page[position : min(stop, position + TITLE_SOURCE_MAX)]
            position = stop
    return title or b""
