"""The page: one response and what was found in it, as it goes to the outputs and to the user."""

from __future__ import annotations

import mmap

import msgspec

Header = tuple[bytes, bytes]

Payload = bytes | mmap.mmap
"""A body as transferred: a map of a file where there was no memory for it."""


class Page(msgspec.Struct, kw_only=True):
    """One finished response: what was asked, what came, and what the page says.

    A redirect is not a page but leads to one: ``url`` is what was asked first, ``final_url`` the URL that answered.
    """

    url: str
    """The URL that was asked first, before redirects; canonical."""
    final_url: str
    """The URL that gave this response; canonical."""
    status: int
    """HTTP status code, 100 to 999."""
    reason: str
    """HTTP reason phrase, may be empty."""
    headers: list[Header]
    """Response header fields in the order received, names and values as received."""
    request: bytes
    """The request as sent: request line and header fields, with the empty line."""
    payload: bytes
    """The body as transferred: content coding still on, transfer coding (chunked) taken off. While the crawl itself has the
    page, a map of a file may stand for one that there was no memory for; who is given the page has bytes."""
    body: bytes
    """The body without its content coding; mostly the same object as ``payload`` where there was none."""
    fetched_at: float
    """When the request was sent: seconds since 1970-01-01 UTC."""
    elapsed: float
    """Seconds from sending the request to the last byte of the response."""
    address: str = ""
    """IP address that was connected to."""
    http_version: str = "1.1"
    truncated: str = ""
    """Why the payload is not complete: ``""`` (it is), ``"length"`` or ``"time"``."""
    depth: int = 0
    """Links followed from a seed; a redirect adds none."""
    referrer: str = ""
    """The page on which the URL was first found; empty for a seed."""
    encoding: str = "utf-8"
    """Character encoding of the body, by its Python codec name."""
    title: str = ""
    """Text of the first title element, white space folded."""
    links: list[str] = msgspec.field(default_factory=list)
    """Canonical URLs the page links to, in document order, each once, in scope or not."""

    def header(self, name: str | bytes) -> bytes:
        """Return the first value of a header field, as received, or ``b""``.

        Args:
            name: in upper or lower case.
        """
        wanted = (name.encode("latin-1", "replace") if isinstance(name, str) else name).lower()
        size = len(wanted)  # tells most names apart, at less cost
        for key, value in self.headers:
            if len(key) == size and key.lower() == wanted:
                return value
        return b""

    @property
    def content_type(self) -> str:
        """The media type without parameters, lower case, or ``""``."""
        return self.header(b"content-type").split(b";", 1)[0].strip().lower().decode("latin-1")

    @property
    def text(self) -> str:
        """The body as text in its encoding; undecodable bytes become U+FFFD."""
        return self.body.decode(self.encoding, "replace")
