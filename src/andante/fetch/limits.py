"""The limits of one connection and of each exchange on it."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds and bytes that a connection and each exchange on it keep to."""

    connect_timeout: float = 10.0
    """Time to connect, over all addresses of the host, TLS included."""
    first_byte_timeout: float = 30.0
    """Time from sending a request to the first byte of the response."""
    idle_timeout: float = 15.0
    """Time between two reads within a response."""
    total_timeout: float = 120.0
    """Time from sending a request to the end of the response. A body under way is cut then, and kept."""
    max_header: int = 64 * 1024
    """Bytes of the response header, with its status line and any interim (1xx) responses before it."""
    max_body: int = 10 * 2**20
    """Bytes of the body as transferred (after chunked, before gzip). A longer one is cut there, and kept."""
