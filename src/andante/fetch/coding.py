"""Content codings: gzip, deflate, br and zstd taken off a body, within a limit.

Rules:

1. Codings are undone in the reverse of their order, at most three. The result of each is within the limit: a bomb costs at
   most twice the limit in memory, and the time to fill it once.
2. A stream that stops early gives what it held: the rest was lost on the way. A stream that is damaged is an error.
3. ``deflate`` may be with the zlib header, as the standard says, or without, as some servers do.
4. Further gzip members (at most 100) and zstd frames belong to the body; anything else after a gzip or zlib stream is dropped.
5. An HTML page under a header that names a coding it does not have is taken as it is: such servers are common.
6. A name that is no registered coding (as ``utf-8``) is passed over, as browsers do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import brotli
import zstandard
from isal import isal_zlib

from andante.fetch.outcome import Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from andante.page import Header, Payload

_CODINGS_MAX = 3
_MEMBERS_MAX = 100
_UNSUPPORTED = frozenset({b"compress", b"x-compress", b"exi", b"pack200-gzip", b"dcb", b"dcz"})
_ZSTD_WINDOW_MAX = 8 * 2**20  # RFC 9659
_ZSTD_STEP = 2**17
_INFLATE_STEP = 2**16
_SNIFFED = 1024
"""Bytes of a body in which an HTML page has begun."""


class _DamagedError(Exception):
    """A stream does not follow its format."""


def content_encoding(headers: Iterable[Header]) -> bytes:
    """Return the value of the Content-Encoding fields, joined if there are several, or ``b""``."""
    values = [
        value for name, value in headers if len(name) == 16 and name.lower() == b"content-encoding"
    ]
    return b",".join(values)


def decode(payload: Payload, encoding: bytes, *, limit: int, cut: bool = False) -> bytes | Failure:
    """Return a body without its content codings, or ``decoded-too-large`` or ``bad-encoding``.

    Args:
        payload: the body as transferred.
        encoding: value of Content-Encoding; without one ``payload`` itself comes back, whatever its size.
        limit: most bytes of the result.
        cut: return the first ``limit`` bytes of a larger result, in place of a failure.
    """
    if not encoding or not payload:
        return bytes(payload)  # which copies a map only
    names = [name for item in encoding.split(b",") if (name := item.strip().lower())]
    if len(names) > _CODINGS_MAX:
        return Failure(Outcome.BAD_ENCODING, f"{len(names)} codings")
    body: Payload | Failure = payload
    for name in reversed(names):
        if isinstance(body, Failure) or not body:
            break
        body = _undo(name, body, limit=limit, cut=cut)
    return body if isinstance(body, Failure) else bytes(body)


def _undo(name: bytes, body: Payload, *, limit: int, cut: bool) -> Payload | Failure:
    if name in _UNSUPPORTED:
        return Failure(Outcome.BAD_ENCODING, f"{name.decode()} is not supported")
    decoder = _DECODERS.get(name)
    if decoder is None:
        return body
    pieces = []
    room = limit
    try:
        for piece in decoder(body, limit + 1):
            pieces.append(piece)
            room -= len(piece)
            if room < 0:
                break
    except _DamagedError as error:
        if body[:_SNIFFED].lstrip()[:1] == b"<":
            return body
        return Failure(Outcome.BAD_ENCODING, f"{name.decode()}: {error}")
    if room < 0 and not cut:
        return Failure(Outcome.DECODED_TOO_LARGE, f"more than {limit} bytes")
    decoded = b"".join(pieces)
    return decoded if room >= 0 else decoded[:limit]


# Decoders yield pieces of at most ``limit`` bytes (brotli's may be a little larger); who takes them stops when it has enough.


def _gunzip(data: Payload, limit: int) -> Iterator[bytes]:
    at = 0
    for _ in range(_MEMBERS_MAX):
        member, at = _inflate_stream(data, at, 31, limit)
        yield member
        if data[at : at + 2] != b"\x1f\x8b":
            return
    raise _DamagedError(f"more than {_MEMBERS_MAX} members")


def _inflate(data: Payload, limit: int) -> Iterator[bytes]:
    has_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
    yield _inflate_stream(data, 0, 15 if has_header else -15, limit)[0]


def _inflate_stream(data: Payload, at: int, wbits: int, limit: int) -> tuple[bytes, int]:
    """Return the output of the stream at ``at``, at most ``limit`` bytes of it, and where it ends.

    It is read in steps, as what follows a stream is copied when it ends: with many streams that would be quadratic.
    """
    stream = isal_zlib.decompressobj(wbits)
    pieces = []
    try:
        while at < len(data) and limit > 0 and not stream.eof:
            piece = stream.decompress(data[at : at + _INFLATE_STEP], limit)
            at = min(at + _INFLATE_STEP, len(data))
            limit -= len(piece)
            pieces.append(piece)
    except isal_zlib.IsalError as error:  # type: ignore[misc]  # the stub takes it for an instance
        raise _DamagedError(str(error)) from error
    return b"".join(pieces), at - len(stream.unused_data)


def _unbrotli(data: Payload, limit: int) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    try:
        piece = stream.process(data, output_buffer_limit=limit)
        while piece:
            yield piece
            piece = stream.process(b"", output_buffer_limit=limit)
    except brotli.error as error:
        raise _DamagedError(str(error)) from error


def _unzstd(data: Payload, limit: int) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX)
    try:
        with decompressor.stream_reader(memoryview(data), read_across_frames=True) as reader:
            while piece := reader.read(min(_ZSTD_STEP, limit)):
                yield piece
    except zstandard.ZstdError as error:
        raise _DamagedError(str(error)) from error


_DECODERS: dict[bytes, Callable[[Payload, int], Iterator[bytes]]] = {
    b"gzip": _gunzip,
    b"x-gzip": _gunzip,
    b"deflate": _inflate,
    b"br": _unbrotli,
    b"zstd": _unzstd,
}
