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

SECRET = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Further fields, in lower case, that go only to the servers which the user means them for."""


class RequestTemplate:
    """Renders GET requests.

    Args:
        user_agent: value of the User-Agent field.
        headers: further fields, each as ``Name: value``; one with the name of a field of ours replaces it.
        secret: names of further fields that are treated as those of `SECRET`.
        origins: servers that get the secret fields, each as ``scheme://host[:port]``; no other does.

    Raises:
        ValueError: a field or the user agent is malformed, or would smuggle in another line.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        headers: Iterable[str] = (),
        secret: Iterable[str] = (),
        origins: Iterable[str] = (),
    ) -> None:
        if not _VALUE.fullmatch(user_agent):
            raise ValueError("the user agent must be one line")
        fields = {
            "host": "",  # first, as RFC 9110 advises; filled in for each server
            "user-agent": f"User-Agent: {user_agent}",
            "accept": f"Accept: {_ACCEPT}",
            "accept-encoding": f"Accept-Encoding: {_ACCEPT_ENCODING}",
        }
        secrets: dict[str, str] = {}
        names = SECRET.union(map(str.lower, secret))
        for line in headers:
            match = _FIELD.fullmatch(line)
            if match is None:
                raise ValueError(f"{line!r} is not of the form 'Name: value'")
            name = match[1].lower()
            (secrets if name in names else fields)[name] = f"{match[1]}: {match[2].rstrip()}"
        self._origins = frozenset(origins) if secrets else frozenset()
        self._has_secrets = bool(secrets)
        self._cookie = secrets.pop("cookie", "").partition(":")[2].strip()
        self._fields = fields
        self._all_fields = fields | secrets
        self._heads: dict[str, tuple[bytes, str]] = {}

    def withholds_from(self, server: str) -> bool:
        """Tell whether there are secret fields that a server does not get."""
        return self._has_secrets and server not in self._origins

    def render(self, server: str, target: str, cookie: str = "") -> bytes:
        """Return a request.

        Args:
            server: origin of the URL, canonical: ``scheme://host[:port]``, without the scheme's own port.
            target: path and query, canonical, so free of spaces and control characters.
            cookie: value of the Cookie field; none if empty.
        """
        head = self._heads.get(server)
        if head is None:
            head = self._head(server)
        fields, own = head
        if own:
            cookie = f"{own}; {cookie}" if cookie else own
        if cookie:
            return b"GET %b HTTP/1.1\r\n%bCookie: %b\r\n\r\n" % (
                target.encode("ascii"),
                fields,
                cookie.encode("latin-1"),
            )
        return b"GET %b HTTP/1.1\r\n%b\r\n" % (target.encode("ascii"), fields)

    def _head(self, server: str) -> tuple[bytes, str]:
        """Return the fields for a server, and the cookies that the user has for it."""
        if len(self._heads) >= _SERVERS_MAX:
            self._heads.clear()
        is_told = server in self._origins
        fields = dict(self._all_fields if is_told else self._fields)
        fields["host"] = fields["host"] or f"Host: {server.partition('://')[2]}"
        lines = "".join(f"{line}\r\n" for line in fields.values())
        head = self._heads[server] = lines.encode("latin-1"), self._cookie if is_told else ""
        return head
