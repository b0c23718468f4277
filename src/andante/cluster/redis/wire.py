"""What a report, its answers and the entries of a log are as bytes. The other side of this is in the scripts.

Numbers below 255 are one byte, others five; a text is its length and its bytes; a server that was named before in the same message is an
empty text and its number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache

from andante.cluster.exchange import (
    POOL,
    Ended,
    Entry,
    Give,
    Grant,
    Heard,
    Keep,
    Known,
    Links,
    Marked,
    Node,
    Own,
    Part,
    Rewrite,
    Take,
)
from andante.frontier.seen import WIDTH

NUMBER_MAX = 0xFFFF_FFFF

POOLED = 0xFFFF_FFFF
"""In the place of an owner's epoch: the server is in the pool."""


def number(value: int) -> bytes:
    """Pack a number."""
    if value < 255:
        return value.to_bytes(1, "little")
    return b"\xff" + min(value, NUMBER_MAX).to_bytes(4, "little")


def text(value: bytes) -> bytes:
    """Pack a text."""
    return number(len(value)) + value


class Reader:
    """Reads packed values one after another."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        """Return so many bytes."""
        self._at += size
        return self._data[self._at - size : self._at]

    def rest(self) -> bytes:
        """Return all that is left."""
        return self._data[self._at :]

    def number(self) -> int:
        """Read a number."""
        value = self.take(1)[0]
        return value if value < 255 else int.from_bytes(self.take(4), "little")

    def text(self) -> bytes:
        """Read a text."""
        return self.take(self.number())

    def seconds(self) -> float:
        """Read a number of seconds."""
        return float(struct.unpack("<d", self.take(8))[0])


# Names of servers. Those that no node has made may be any bytes: they come out as they went in.


def encoded(server: str) -> bytes:
    """Return the bytes of a server's name."""
    return server.encode("utf-8", "surrogateescape")


def decoded(server: bytes) -> str:
    """Undo `encoded`."""
    return server.decode("utf-8", "surrogateescape")


# A report


def pack_parts(parts: Sequence[Part]) -> bytes:
    """Pack what a node says."""
    numbers: dict[str, int] = {}
    return b"".join(piece for part in parts for piece in _pieces(part, numbers))


def _pieces(part: Part, numbers: dict[str, int]) -> Iterable[bytes]:
    if isinstance(part, Take):
        yield from (b"T", number(part.urls), number(part.servers))
        return
    if isinstance(part, Known):
        yield from (b"N", *_fingerprints(part.fingerprints))
        return
    yield _LETTERS[type(part)] if not isinstance(part, Links) or part.takes else b"l"
    yield _server(part.server, numbers)
    match part:
        case Links():
            yield from (*_fingerprints(part.fingerprints), text(part.entry))
        case Ended():
            yield from _fingerprints(part.fingerprints)
        case Keep():
            yield text(part.state)
        case Give():
            yield number(part.to)
        case Rewrite():
            yield number(len(part.entries))
            for fingerprints, entry in part.entries:
                yield from (*_fingerprints(fingerprints), text(entry))
        case Heard():
            yield number(part.length)
        case Own():
            pass


_LETTERS = {Links: b"L", Ended: b"E", Keep: b"K", Give: b"G", Rewrite: b"R", Heard: b"H", Own: b"O"}


def _server(name: str, numbers: dict[str, int]) -> bytes:
    known = numbers.get(name)
    if known is not None:
        return b"\0" + number(known)
    numbers[name] = len(numbers) + 1
    return text(encoded(name))


def _fingerprints(fingerprints: bytes) -> tuple[bytes, bytes]:
    return number(len(fingerprints) // WIDTH), fingerprints


# Its answers


def unpack_answers(data: bytes, parts: Sequence[Part]) -> list[object]:
    """Take apart what is answered to the parts of a report."""
    reader = Reader(data)
    return [_answer(part, reader) for part in parts]


def _answer(part: Part, reader: Reader) -> object:
    if isinstance(part, Links):
        return _marked(len(part.fingerprints) // WIDTH, reader)
    if isinstance(part, Take):
        return unpack_grants(reader)
    if isinstance(part, Heard | Known):
        return None
    return reader.take(1) == b"\1"


def _marked(count: int, reader: Reader) -> Marked:
    owner, length, kind = reader.number(), reader.number(), reader.take(1)
    fresh = _mask(count, reader) if kind == b"\2" else kind * count
    taken = reader.take(1)
    if taken != b"\2":
        return Marked(owner, fresh, length, taken == b"\1")
    return Marked(owner, fresh, length, True, reader.text(), reader.seconds())  # noqa: FBT003


def _mask(count: int, reader: Reader) -> bytes:
    """Return a byte for each of so many bits."""
    return b"".join(map(_bits, reader.take(-(-count // 8))))[:count]


@cache
def _bits(byte: int) -> bytes:
    return bytes(byte >> bit & 1 for bit in range(8))


def unpack_grants(reader: Reader) -> list[Grant]:
    """Take grants apart."""
    return [
        Grant(decoded(reader.text()), reader.number(), reader.text(), reader.seconds())
        for _ in range(reader.number())
    ]


# What is kept


def unpack_entry(data: bytes) -> Entry:
    """Take an entry of a log apart; one that no node has written is `UNREADABLE`."""
    reader = Reader(data)
    try:
        kind, author = reader.take(1), reader.number()
        fresh = _mask(reader.number(), reader) if kind == b"M" else b""
    except IndexError:
        return UNREADABLE
    rest = reader.rest()
    if not rest or kind not in _KINDS or (kind == b"E" and len(rest) % WIDTH):
        return UNREADABLE
    return Entry(author, rest) if kind == b"E" else Entry(author, entry=rest, fresh=fresh)


_KINDS = (b"E", b"L", b"M")

UNREADABLE = Entry(POOL, entry=b"\0")
"""What takes the place of an entry that no node has written; it cannot be unpacked."""


def unpack_nodes(packed: Mapping[bytes, bytes]) -> dict[int, Node]:
    """Take what is known of nodes apart; in the order of their epochs. What no node has written is left out."""
    nodes = []
    for epoch, data in packed.items():
        with suppress(ValueError, IndexError):
            nodes.append(_node(int(epoch), Reader(data)))
    return {node.epoch: node for node in sorted(nodes, key=lambda node: node.epoch)}


def _node(epoch: int, reader: Reader) -> Node:
    count = int.from_bytes(reader.take(4), "little")
    return Node(epoch, reader.take(reader.take(1)[0]).decode(), count, reader.rest())


def unpack_record(data: bytes) -> tuple[int, int]:
    """Return owner and URLs waiting of a server."""
    owner, waiting = struct.unpack("<II", data)
    return owner, waiting
