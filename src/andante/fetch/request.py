"""Requests as bytes: rendered once for each server, so that a URL costs one formatting."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ACCEPT_ENCODING = "gzip, deflate, br, zstd"

_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)")
_VALUE = re.compile(r"[^\r\n\0]*")
_SERVERS_MAX = 10_000
"""Servers whose rendered header is kept."""


class RequestTemplate:
    """Renders GET requests.

    Args:
        user_agent: value of the User-Agent field.
        headers: further fields, each as ``Name: value``; one with the name of a field of ours replaces it.

    Raises:
        ValueError: a field or the user agent is malformed, or would smuggle in another line.
    """

    def __init__(self, *, user_agent: str, headers: Iterable[str] = ()) -> None:
        if not _VALUE.fullmatch(user_agent):
            raise ValueError("the user agent must be one line")
        fields = {
            "host": "",  # first, as RFC 9110 advises; filled in for each server
            "user-agent": f"User-Agent: {user_agent}",
            "accept": f"Accept: {_ACCEPT}",
            "accept-encoding": f"Accept-Encoding: {_ACCEPT_ENCODING}",
        }
        for line in headers:
            match = _FIELD.fullmatch(line)
            if match is None:
                raise ValueError(f"{line!r} is not of the form 'Name: value'")
            fields[match[1].lower()] = f"{match[1]}: {match[2].rstrip()}"
        self._host = fields.pop("host")
        self._rest = "\r\n".join(fields.values())
        self._tails: dict[str, bytes] = {}

    def render(self, server: str, target: str, cookie: str = "") -> bytes:
        """Return a request.

        Args:
            server: origin of the URL, canonical: ``scheme://host[:port]``, without the scheme's own port.
            target: path and query, canonical, so free of spaces and control characters.
            cookie: value of the Cookie field; none if empty.
        """
        tail = self._tails.get(server)
        if tail is None:
            tail = self._tail(server)
        if cookie:
            return b"GET %b HTTP/1.1\r\n%bCookie: %b\r\n\r\n" % (
                target.encode("ascii"),
                tail,
                cookie.encode("latin-1"),
            )
        return b"GET %b HTTP/1.1\r\n%b\r\n" % (target.encode("ascii"), tail)

    def _tail(self, server: str) -> bytes:
        if len(self._tails) >= _SERVERS_MAX:
            self._tails.clear()
        host = self._host or f"Host: {server.partition('://')[2]}"
        tail = self._tails[server] = f"{host}\r\n{self._rest}\r\n".encode("latin-1")
        return tail
