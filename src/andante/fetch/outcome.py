"""What a fetch ends in: a response, or a failure with one outcome of a closed set. Values, not exceptions."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from andante.fetch.bodies import Body
    from andante.page import Header, Payload


class Outcome(StrEnum):
    """How a fetch ended. The value is the name under which it is recorded and counted."""

    OK = "ok"
    """A response came; it may have been cut at a limit, see `Response.truncated`."""

    NO_SUCH_HOST = "no-such-host"
    """The host name does not exist, or has no address."""
    DNS = "dns"
    """The name servers gave no answer, or an error."""
    FORBIDDEN_ADDRESS = "forbidden-address"
    """The host's addresses are not public, and connecting to such is not allowed."""
    REFUSED = "refused"
    """Nothing listens on the port."""
    UNREACHABLE = "unreachable"
    """There is no way to the address, or this machine could not open a connection."""
    CONNECT_TIMEOUT = "connect-timeout"
    """The connection was not made in time, TLS included."""
    TLS = "tls"
    """The TLS handshake failed: no trust in the certificate, or no common protocol."""

    STALE = "stale"
    """The server closed a kept-alive connection before the first byte of this response. Nothing is wrong with the request:
    it may be sent again at once on a new connection."""
    RESET = "reset"
    """The connection was reset."""
    CLOSED = "closed"
    """The server closed the connection before the response was whole."""
    FIRST_BYTE_TIMEOUT = "first-byte-timeout"
    """Not a byte of the response came in time."""
    IDLE_TIMEOUT = "idle-timeout"
    """The server fell silent within the response."""
    TOTAL_TIMEOUT = "total-timeout"
    """The response did not get as far as its body within the time for the whole."""

    BAD_RESPONSE = "bad-response"
    """What came is not HTTP/1: wrong start line or header, wrong length, broken chunks, an upgrade nobody asked for."""
    HEADER_TOO_LARGE = "header-too-large"
    """The response header, with interim (1xx) responses, is larger than its limit."""
    BAD_ENCODING = "bad-encoding"
    """The body is not in the content coding that its header names, or the coding is unknown."""
    DECODED_TOO_LARGE = "decoded-too-large"
    """The body without its content coding is larger than its limit."""


class Response(msgspec.Struct):
    """One HTTP response, whole or cut at a limit."""

    status: int
    """Status code, 200 to 999."""
    reason: str
    """Reason phrase, may be empty."""
    http_version: str
    """``"1.1"`` or ``"1.0"``."""
    headers: list[Header]
    """Header fields in the order received, names and values as received (so white space may end a value), those of odd lines
    as `andante.fetch.lenient` reads them; no trailers."""
    payload: Payload
    """The body: transfer coding (chunked) taken off, content coding still on."""
    sent_at: float
    """When the request was sent: seconds of the monotonic clock, as ``loop.time()`` but finer."""
    first_byte: float
    """Seconds from sending the request to the first byte of the response."""
    total: float
    """Seconds from sending the request to the last byte of the response."""
    bytes_received: int
    """Bytes read for this response, header and chunk framing included (TLS not)."""
    truncated: str = ""
    """``"length"`` or ``"time"`` if the payload was cut at that limit, else ``""``."""
    lag: float = 0.0
    """Seconds of ``first_byte`` for which it may have waited for this machine to read it."""
    memory: Body | None = None
    """Keeps what the payload takes in memory counted while the response lives; None: too little to count."""


class Failure(msgspec.Struct, frozen=True):
    """No response: what went wrong."""

    outcome: Outcome
    detail: str = ""
    """What exactly, for people; one line, may be empty."""
