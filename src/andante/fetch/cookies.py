"""Cookies by RFC 6265 with what browsers have added since (6265bis), kept in memory, within bounds.

Rules:

1. A cookie without ``Domain`` goes back to its host only; one with it to that domain and all below, if the host is one of them. A
   public suffix (of both sections of the list) is no such domain. Ports make no difference.
2. ``Secure`` cookies are set and sent by https only, and nothing that came by http replaces them.
3. The host of a URL, its path and the time decide what is sent: longer paths first, then older cookies.
4. Of a site (registrable domain) at most `COOKIES_MAX` are kept, of all sites together `BYTES_MAX` bytes. Those that have ended go first, then
   the oldest of the site; and the site that has set cookies longest ago. A request has at most `HEADER_MAX` bytes of them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from andante import url as urls
from andante.fetch.set_cookie import SetCookie

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from andante.page import Header

COOKIES_MAX = 50
"""Cookies kept of a site, and taken from one response."""

BYTES_MAX = 32 * 2**20
"""Bytes of all cookies together, each with `_OVERHEAD`."""

HEADER_MAX = 8 * 1024
"""Bytes of a Cookie field, about what servers take; the cookies that would come last are left out."""

_OVERHEAD = 800
"""Bytes that a cookie takes besides what it says, with those of a site that has no other."""


class _Key(NamedTuple):
    """What tells cookies of a site apart: setting one with the same key replaces it."""

    name: bytes
    domain: bytes
    is_host_only: bool
    path: bytes


class _Cookie(NamedTuple):
    value: bytes
    expires: float
    secure: bool


_Jar = dict[_Key, _Cookie]
"""The cookies of a site, oldest first."""


class Cookies:
    """The cookies of a crawl. Falsy while there are none.

    Args:
        wall: gives the time of day, in seconds since 1970.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._jars: dict[str, _Jar] = {}  # by site; the one that was changed last is the last
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._jars)

    def header(self, url: str) -> str:
        """Return the value of the Cookie field for a request, or ``""``."""
        scheme, name, _, target = urls.parts(url)
        jar = self._jars.get(urls.site(name))
        if jar is None:
            return ""
        host, path = name.encode(), target.partition("?")[0].encode()
        now, is_secure = self._wall(), scheme == "https"
        sent = [
            (len(key.path), b"%b=%b" % (key.name, cookie.value))
            for key, cookie in jar.items()
            if cookie.expires > now
            and (is_secure or not cookie.secure)
            and (host == key.domain if key.is_host_only else _is_within(host, key.domain))
            and _is_below(path, key.path)
        ]
        sent.sort(key=lambda each: -each[0])
        pairs = [pair for _, pair in sent]
        size = sum(map(len, pairs)) + len("; ") * len(pairs)
        while size > HEADER_MAX:
            size -= len(pairs.pop()) + len("; ")
        return b"; ".join(pairs).decode("latin-1")

    def store(self, url: str, headers: Iterable[Header]) -> None:
        """Take the cookies that a response to ``url`` sets."""
        lines = [
            value for name, value in headers if len(name) == 10 and name.lower() == b"set-cookie"
        ]
        if lines:
            self._take(url, lines[:COOKIES_MAX])

    def _take(self, url: str, lines: list[bytes]) -> None:
        where, now = urls.parts(url), self._wall()
        site = urls.site(where.host)
        jar = self._jars.pop(site, {})
        self._bytes -= _size(jar)
        for line in lines:
            cookie = SetCookie.parse(line, now=now)
            key = cookie and _key(cookie, where)
            if not cookie or not key or (where.scheme == "http" and _would_hide(jar, key)):
                continue
            if cookie.expires <= now:
                jar.pop(key, None)
            else:
                jar[key] = _Cookie(cookie.value, cookie.expires, cookie.secure)
        _make_room(jar, now)
        if jar:
            self._jars[site] = jar
            self._bytes += _size(jar)
        while self._bytes > BYTES_MAX:
            self._bytes -= _size(self._jars.pop(next(iter(self._jars))))


def _key(cookie: SetCookie, where: urls.Parts) -> _Key | None:
    """Return what a cookie is kept by; None: who has set it may not."""
    if cookie.secure and where.scheme != "https":
        return None
    host, domain = where.host.encode(), cookie.domain
    if domain and domain != host:
        if not _is_within(host, domain) or urls.is_public_suffix(domain.decode()):
            return None
    elif domain and urls.is_public_suffix(where.host):
        domain = b""
    path = cookie.path if cookie.path.startswith(b"/") else _directory(where.target)
    return _Key(cookie.name, domain or host, not domain, path)


def _directory(target: str) -> bytes:
    """Return the path of a cookie that names none (section 5.1.4)."""
    return target.partition("?")[0].rpartition("/")[0].encode() or b"/"


def _is_within(host: bytes, domain: bytes) -> bool:
    """Tell whether a host is a domain or below it (section 5.1.3); an IP address is below nothing."""
    return host == domain or (
        host.endswith(domain) and host[: -len(domain)].endswith(b".") and not host[-1:].isdigit()
    )


def _is_below(path: bytes, other: bytes) -> bool:
    """Tell whether a path is another one or below it (section 5.1.4)."""
    return path.startswith(other) and (
        len(path) == len(other) or other.endswith(b"/") or path[len(other)] == ord("/")
    )


def _would_hide(jar: _Jar, key: _Key) -> bool:
    """Tell whether a cookie that came by http would stand in the way of a secure one (6265bis, 5.7)."""
    return any(
        cookie.secure
        and other.name == key.name
        and (_is_within(key.domain, other.domain) or _is_within(other.domain, key.domain))
        and _is_below(key.path, other.path)
        for other, cookie in jar.items()
    )


def _make_room(jar: _Jar, now: float) -> None:
    if len(jar) > COOKIES_MAX:
        for key in [key for key, cookie in jar.items() if cookie.expires <= now]:
            del jar[key]
    for key in list(jar)[: max(0, len(jar) - COOKIES_MAX)]:
        del jar[key]


def _size(jar: _Jar) -> int:
    return sum(
        _OVERHEAD + len(key.name) + len(key.domain) + len(key.path) + len(cookie.value)
        for key, cookie in jar.items()
    )
