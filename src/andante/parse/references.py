"""Character references in attribute values, as the WHATWG tokenizer reads them.

``html.unescape`` reads text, where ``&copy=1`` is a copyright sign; in an attribute value it is a query parameter.
"""

from __future__ import annotations

import html
import re
from html.entities import html5

_REFERENCE = re.compile(
    r"&(?:#(?:([0-9]++)|[xX]([0-9a-fA-F]++));?|([a-zA-Z][a-zA-Z0-9]*+;?+)(?!(?<!;)=))"
)
_LONGEST_NUMBER = 8  # digits after leading zeros; longer ones are beyond U+10FFFF


def href_value(raw: bytes | str, encoding: str) -> str:
    """Return the value of an attribute.

    Args:
        raw: as in the source (bytes), or the value already (str, returned as it is).
        encoding: Python codec of the page.

    Returns:
        The value with its character references replaced, line ends as LF and NUL as U+FFFD. White space
        around it is left to the URL parser.
    """
    if isinstance(raw, str):
        return raw
    text = raw.decode(encoding, "replace")
    if "\0" in text or "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return _REFERENCE.sub(_replacement, text) if "&" in text else text


_DIGITS_MAX = 4_000
"""Digits of a number that the standard library takes for certain: it makes an int of them all, and raises where there are more than 4,300."""
_LEADING_ZEROS = re.compile(r"(&#)0++(?=[0-9])|(&#[xX])0++(?=[0-9a-fA-F])")
_LONG_NUMBERS = re.compile(
    rf"&#(?:[0-9]{{{_LONGEST_NUMBER + 1},}}+|[xX][0-9a-fA-F]{{{_LONGEST_NUMBER + 1},}}+);?"
)


def text_value(raw: bytes, encoding: str) -> str:
    """Return the text of an element from its source: references are replaced as in text, not as in attributes."""
    text = raw.decode(encoding, "replace")
    if len(text) > _DIGITS_MAX and "&#" in text:
        text = _LONG_NUMBERS.sub("\ufffd", _LEADING_ZEROS.sub(r"\1\2", text))
    return html.unescape(text)


def _replacement(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name is not None:
        # A legacy name (no semicolon) counts only where neither "=" nor a letter or digit follows:
        # the pattern takes all letters and digits, so the whole of it must be the name.
        return html5.get(name, match[0])
    digits = (decimal or hexadecimal).lstrip("0") or "0"
    if len(digits) > _LONGEST_NUMBER:
        return "\ufffd"
    return _character(int(digits, 10 if decimal else 16))


def _character(code: int) -> str:
    if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if 0x80 <= code <= 0x9F:  # C1 controls stand for windows-1252, where that has a character
        try:
            return bytes([code]).decode("cp1252")
        except UnicodeDecodeError:
            pass
    return chr(code)
