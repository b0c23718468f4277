"""Cookies, kept per site: RFC 6265 as the standard library has it (`http.cookiejar`), within bounds.

Rules:

1. Each registrable domain has its own jar, and only hosts of that domain see it. So no cookie crosses sites, even one that
   is set for a whole public suffix.
2. A jar holds at most 50 cookies, each of at most 4 KiB; the oldest goes first. At most 5,000 sites have a jar.
"""

from __future__ import annotations

import re
from email.message import Message
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.request import Request

from andante import url as urls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from andante.page import Header

COOKIES_MAX = 50
"""Cookies kept of a site, and taken from one response."""

COOKIE_SIZE_MAX = 4096
"""Bytes of a Set-Cookie value; a larger one is ignored, and so is one with control characters."""

SITES_MAX = 5_000
"""Sites of which cookies are kept."""

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")

_HOSTS_MAX = 50_000


class Cookies:
    """The cookies of a crawl. Falsy while there are none."""

    def __init__(self) -> None:
        self._jars: dict[str, CookieJar] = {}
        self._sites: dict[str, str] = {}  # host to site: finding it costs some microseconds

    def __bool__(self) -> bool:
        return bool(self._jars)

    def header(self, url: str) -> str:
        """Return the value of the Cookie field for a request, or ``""``."""
        jar = self._jars.get(self._site(url))
        if jar is None:
            return ""
        request = Request(url)  # noqa: S310  # never opened
        jar.add_cookie_header(request)
        return str(request.get_header("Cookie", ""))

    def store(self, url: str, headers: Iterable[Header]) -> None:
        """Take the cookies that a response to ``url`` sets."""
        lines = [
            value
            for name, value in headers
            if len(name) == 10 and name.lower() == b"set-cookie" and _is_acceptable(value)
        ]
        if lines:
            self._take(url, lines[:COOKIES_MAX])

    def _take(self, url: str, lines: list[bytes]) -> None:
        site = self._site(url)
        jar = self._jars.pop(site, None)
        if jar is None:
            jar = CookieJar(DefaultCookiePolicy(rfc2965=False, hide_cookie2=True))
            if len(self._jars) >= SITES_MAX:
                del self._jars[next(iter(self._jars))]
        jar.extract_cookies(_Answer(lines), Request(url))  # type: ignore[arg-type]  # noqa: S310
        cookies = list(jar)
        for cookie in cookies[: max(0, len(cookies) - COOKIES_MAX)]:
            _drop(jar, cookie)
        if cookies:
            self._jars[site] = jar  # last, hence the last to go

    def _site(self, url: str) -> str:
        host = urls.host(url)
        site = self._sites.get(host)
        if site is None:
            if len(self._sites) >= _HOSTS_MAX:
                self._sites.clear()
            site = self._sites[host] = urls.site(host)
        return site


def _is_acceptable(line: bytes) -> bool:
    return len(line) <= COOKIE_SIZE_MAX and not _CONTROL.search(line)


class _Answer:
    """The part of a response that `CookieJar` looks at."""

    def __init__(self, lines: list[bytes]) -> None:
        self._message = Message()
        for line in lines:
            self._message["Set-Cookie"] = line.decode("latin-1")

    def info(self) -> Message:
        return self._message


def _drop(jar: CookieJar, cookie: Cookie) -> None:
    jar.clear(cookie.domain, cookie.path, cookie.name)
