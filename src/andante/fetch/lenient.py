"""Responses as browsers read them: a parser for those that llhttp refuses.

It takes the place of `httptools.HttpResponseParser` for the rest of a connection, and tells the same protocol the same events.

Rules, which are Chromium's:

1. Header: a bare LF ends a line; a line that begins with a space or tab goes on with the one before; white space around a name
   is not part of it; a line without a colon, or whose name is no token, is dropped. A NUL is an error.
2. Length: ``chunked`` as the last transfer coding beats Content-Length; any other transfer coding says nothing about the length.
   Content-Length fields, and the members of one, must be equal; an empty one counts as none.
3. Chunks: a bare LF ends a line; spaces after the size and extensions of any form are passed over; so are all trailers.
4. The connection is never used again: where the message ends was a guess.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_START = b"http/1."
_STATUS_LINE = re.compile(rb"HTTP/1\.(\d) ++(\d{3})(?: ++([^\r\0]*+))?+", re.IGNORECASE)
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LENGTH = re.compile(rb"\d{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_WHOLE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_SPACE = b" \t"

AGAIN_MAX = 64 * 1024
"""Bytes of a response within which it is read again."""

_LINE_MAX = 16 * 1024
"""Bytes of a line between chunks, extensions included."""


class BadResponseError(Exception):
    """No browser takes this for an HTTP/1 response; the message says why."""


class Events(Protocol):
    """What is told of a response, in this order; `Connection` takes it."""

    def on_message_begin(self) -> None:
        """A response begins, interim or not."""

    def on_status(self, reason: bytes) -> None:
        """Its reason phrase."""

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field; trailers are not told."""

    def on_headers_complete(self) -> None:
        """The header has ended."""

    def on_body(self, piece: bytes) -> None:
        """A piece of the body."""

    def on_message_complete(self) -> None:
        """The response has ended."""


class LenientParser:
    """Parses one response, with the interim ones before it; what follows it is dropped.

    Args:
        events: is told what was read.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        self._buffer = bytearray()
        self._searched = 0  # bytes of the buffer without a line feed
        self._read: Callable[[], bool] = self._read_status_line
        self._version = "1.1"
        self._status = 0
        self._reason = b""
        self._lines: list[list[bytes]] = []  # of the header, each with those that go on with it
        self._left = 0  # bytes of the body, or of the chunk

    def get_status_code(self) -> int:
        """Return the status of the response under way."""
        return self._status

    def get_http_version(self) -> str:
        """Return its HTTP version."""
        return self._version

    def should_keep_alive(self) -> bool:
        """Tell that the connection cannot be used again."""
        return False

    def feed_data(self, data: bytes | memoryview) -> None:
        """Read on.

        Raises:
            BadResponseError: this is no response.
        """
        self._buffer += data
        while self._buffer and self._read():
            pass

    # What may come next; each takes it off the buffer and tells whether it was all there.

    def _read_status_line(self) -> bool:
        if self._buffer[0] in b"\r\n":  # an empty line before it
            self._drop(1)
            return True
        start = bytes(self._buffer[: len(_START)]).lower()
        if not _START.startswith(start):
            raise BadResponseError(f"no status line: {start!r}")
        line = self._line()
        if line is None:
            return False
        match = _STATUS_LINE.fullmatch(line)
        if match is None:
            raise BadResponseError(f"no status line: {line[:80]!r}")
        self._version = "1.0" if match[1] == b"0" else "1.1"
        self._status, self._reason = int(match[2]), match[3] or b""
        self._lines = []
        self._events.on_message_begin()
        self._read = self._read_header_line
        return True

    def _read_header_line(self) -> bool:
        line = self._line()
        if line is None:
            return False
        if not line:
            self._end_head()
        elif line[0] in _SPACE and self._lines:
            self._lines[-1].append(line.strip(_SPACE))
        else:
            self._lines.append([line])
        return True

    def _end_head(self) -> None:
        headers = _fields(self._lines)
        self._lines = []
        self._events.on_status(self._reason)
        for name, value in headers:
            self._events.on_header(name, value)
        self._events.on_headers_complete()
        if self._status == 101:
            raise BadResponseError("switched protocols")
        if self._status < 200:
            self._read = self._read_status_line
            self._events.on_message_complete()
            return
        length = None if is_chunked(headers) else _length(headers)
        if self._status in (204, 304) or length == 0:
            self._end()
        elif length is not None:
            self._left, self._read = length, self._read_body
        else:
            self._read = self._read_chunk_size if is_chunked(headers) else self._read_rest

    def _read_rest(self) -> bool:
        """The body goes on until the connection ends."""
        self._take_body(len(self._buffer))
        return True

    def _read_body(self) -> bool:
        self._take_body(min(self._left, len(self._buffer)))
        if not self._left:
            self._end()
        return True

    def _read_chunk_size(self) -> bool:
        self._take_chunks()
        line = self._line(_LINE_MAX)
        if line is None:
            return False
        match = _CHUNK_SIZE.fullmatch(line)
        if match is None:
            raise BadResponseError(f"no chunk size: {line[:80]!r}")
        self._left = int(match[1], 16)
        self._read = self._read_chunk if self._left else self._read_trailer
        return True

    def _take_chunks(self) -> None:
        """Take what is there as whole chunks, without a turn of the parser for each: they may be of one byte."""
        buffer, at = self._buffer, 0
        while line := _WHOLE_LINE.match(buffer, at):
            begin, size = line.end(), int(line[1], 16)
            end = _LINE_END.match(buffer, begin + size)
            if not size or end is None:
                break
            self._events.on_body(bytes(buffer[begin : begin + size]))
            at = end.end()
        if at:
            self._drop(at)

    def _read_chunk(self) -> bool:
        self._take_body(min(self._left, len(self._buffer)))
        if not self._left:
            self._read = self._read_chunk_end
        return True

    def _read_chunk_end(self) -> bool:
        line = self._line(_LINE_MAX)
        if line:
            raise BadResponseError("a chunk is longer than its size")
        self._read = self._read_chunk_size if line is not None else self._read
        return line is not None

    def _read_trailer(self) -> bool:
        line = self._line(_LINE_MAX)
        if line is None:
            return False
        if not line:
            self._end()
        return True

    def _end(self) -> None:
        self._read = self._read_nothing
        self._events.on_message_complete()

    def _read_nothing(self) -> bool:
        self._buffer.clear()
        return True

    # Inside

    def _take_body(self, size: int) -> None:
        self._left -= size
        self._events.on_body(bytes(self._buffer[:size]))
        self._drop(size)

    def _line(self, size_max: int | None = None) -> bytes | None:
        """Take a line off the buffer, without its end; None if it is not all there."""
        end = self._buffer.find(b"\n", self._searched)
        if size_max is not None and max(end, len(self._buffer) if end < 0 else 0) > size_max:
            raise BadResponseError(f"a line of more than {size_max} bytes between chunks")
        if end < 0:
            self._searched = len(self._buffer)
            return None
        line = bytes(self._buffer[:end])
        self._drop(end + 1)
        return line.removesuffix(b"\r")

    def _drop(self, size: int) -> None:
        del self._buffer[:size]
        self._searched = 0


def is_chunked(headers: list[tuple[bytes, bytes]]) -> bool:
    """Tell whether ``chunked`` is the last transfer coding of a message."""
    codings = b",".join(value for name, value in headers if name.lower() == b"transfer-encoding")
    return codings.rpartition(b",")[2].strip().lower() == b"chunked"


def _fields(lines: list[list[bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the header fields of lines by rule 1."""
    fields = []
    for parts in lines:
        name, colon, value = b" ".join(parts).partition(b":")
        name = name.strip(_SPACE)
        if b"\0" in value:
            raise BadResponseError("a NUL in the header")
        if colon and _TOKEN.fullmatch(name):
            fields.append((name, value.replace(b"\r", b" ").strip(_SPACE)))
    return fields


def _length(headers: list[tuple[bytes, bytes]]) -> int | None:
    """Return the length that the Content-Length fields agree on; None: there are none."""
    values = b",".join(value for name, value in headers if name.lower() == b"content-length")
    lengths = {length for each in values.split(b",") if (length := each.strip(_SPACE))}
    if not lengths:
        return None
    if not all(map(_LENGTH.fullmatch, lengths)):
        raise BadResponseError(f"no Content-Length: {values[:80]!r}")
    if len(set(map(int, lengths))) > 1:
        raise BadResponseError(f"Content-Lengths that differ: {values[:80]!r}")
    return int(lengths.pop())
