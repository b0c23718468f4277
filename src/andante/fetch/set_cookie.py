"""Set-Cookie as RFC 6265, section 5.2, reads it: any bytes have one meaning, and none raise.

What RFC 6265bis adds holds too where browsers have it: limits on size, no control characters, and the prefixes of names. A cookie
without a name is none, as RFC 6265 has it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import inf
from typing import NamedTuple

SIZE_MAX = 4096
"""Bytes of a cookie's name and value together; a larger cookie is ignored."""

ATTRIBUTE_MAX = 1024
"""Bytes of an attribute's value; a larger attribute is ignored."""

LINE_MAX = 16 * 1024
"""Bytes of a Set-Cookie value; a larger one is ignored, before anybody looks for cookie and attributes in it."""

AGE_MAX = 400 * 86_400
"""Seconds after which every cookie ends, whatever it says."""

_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_AGE = re.compile(rb"-?[0-9]+")


class SetCookie(NamedTuple):
    """A cookie as a server sets it; nothing is said yet of whether it may."""

    name: bytes
    value: bytes
    expires: float
    """When it ends, seconds since 1970; infinite: with the crawl."""
    domain: bytes
    """Lower case, without a leading dot; empty: the host that has set it, and no other."""
    path: bytes
    """Empty: that of the URL that has set it."""
    secure: bool

    @classmethod
    def parse(cls, line: bytes, *, now: float) -> SetCookie | None:
        """Read the value of a Set-Cookie field; None: it sets no cookie.

        Args:
            line: as received, without CR and LF.
            now: seconds since 1970.
        """
        if len(line) > LINE_MAX or _CONTROL.search(line):
            return None
        pair, *attributes = line.split(b";")
        name, equals, value = pair.partition(b"=")
        name, value = name.strip(_SPACE), value.strip(_SPACE)
        if not equals or not name or len(name) + len(value) > SIZE_MAX:
            return None
        age = date = None
        domain = path = b""
        secure = False
        for attribute in attributes:  # of each kind the last one that says something counts
            key, _, text = attribute.partition(b"=")
            text = text.strip(_SPACE)
            if len(text) > ATTRIBUTE_MAX:
                continue
            match key.strip(_SPACE).lower():
                case b"max-age" if _AGE.fullmatch(text):
                    age = int(text)
                case b"expires" if (found := cookie_date(text)) is not None:
                    date = found
                case b"domain" if text:
                    domain = text.removeprefix(b".").lower()
                case b"path":
                    path = text
                case b"secure":
                    secure = True
        cookie = cls(name, value, _end(age, date, now), domain, path, secure)
        return cookie if cookie._keeps_its_prefix() else None

    def _keeps_its_prefix(self) -> bool:
        """Tell whether the cookie is what the prefix of its name promises."""
        name = self.name.lower()
        if name.startswith(b"__host-"):
            return self.secure and not self.domain and self.path == b"/"
        return self.secure or not name.startswith(b"__secure-")


_SPACE = b" \t"


def _end(age: int | None, date: float | None, now: float) -> float:
    """Return when a cookie ends. Max-Age goes before Expires."""
    if age is not None:
        return now + min(max(age, 0), AGE_MAX)
    return inf if date is None else min(date, now + AGE_MAX)


# Dates, section 5.1.1: tokens in any order, of which the first of each kind counts

_TOKENS = re.compile(rb"[^\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = re.compile(rb"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?![0-9])")
_DAY = re.compile(rb"([0-9]{1,2})(?![0-9])")
_YEAR = re.compile(rb"([0-9]{2,4})(?![0-9])")
_MONTHS = {
    month: number
    for number, month in enumerate(
        b"jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1
    )
}


def cookie_date(text: bytes) -> float | None:
    """Return a date as cookies write it, in seconds since 1970; None: it is none."""
    clock: list[int] | None = None
    day = month = year = None
    for token in _TOKENS.findall(text):
        if clock is None and (match := _TIME.match(token)):
            clock = [int(part) for part in match.groups()]
        elif day is None and (match := _DAY.match(token)):
            day = int(match[1])
        elif month is None and (number := _MONTHS.get(token[:3].lower())):
            month = number
        elif year is None and (match := _YEAR.match(token)):
            year = int(match[1])
    if clock is None or day is None or month is None or year is None:
        return None
    if year < 100:
        year += 1900 if year >= 70 else 2000
    if year < 1601:
        return None
    hour, minute, second = clock
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:  # there is no such day, or hour
        return None
