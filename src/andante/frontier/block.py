"""The block: up to 1,000 URLs of one server, the one unit of bulk.

A block is a row of the store; later it is what peers send each other. Every URL of a crawl has an address from birth, (block,
index), by which it is marked done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import msgspec
import zstandard

BLOCK_SIZE = 1_000
"""Most URLs in one block."""

UNPACKED_MAX = 2**28
"""Bytes of the links of a block; what says that it is larger is damaged."""


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A URL that waits: where on its server it points, and how the crawl came to it."""

    target: str
    """Path and query: the URL without its origin."""
    depth: int
    """Links followed from a seed."""
    referrer: str = ""
    """URL of the page on which it was first found; empty for a seed."""
    asked: str = ""
    """Where a redirect led here, the URL that was asked first."""
    hops: int = 0
    """Redirects followed since ``asked``."""
    sitemap: bool = False
    """It is a sitemap: a list of URLs, no page."""


class Block(msgspec.Struct, eq=False, gc=False):
    """URLs of one server, in order. Those before ``stored`` are on disk, those from ``base`` on in memory; the two may overlap."""

    number: int
    grades: bytes = b""
    """Of its URLs: a byte for each; or one byte, that of them all. See `andante.frontier.queue.grade`."""
    size: int = 0
    done: int = 0
    """Bit i is set when URL i has ended."""
    stored: int = 0
    base: int = 0
    links: list[Link] | None = None
    """Those in memory; None: none of them are."""
    next: Self | None = None
    """The block behind it in the queue."""

    def __repr__(self) -> str:
        where = "on disk" if self.base else "in memory"
        return f"<Block {self.number}: {self.done.bit_count()} of {self.size} done, {where}>"

    @classmethod
    def from_disk(cls, number: int, *, grades: bytes, size: int, done: int) -> Self:
        """Return a block as it was stored, its links left there."""
        return cls(number, grades, size, done, stored=size, base=size)

    def grade(self, index: int) -> int:
        """Return the grade that a URL came with."""
        return self.grades[index if len(self.grades) > 1 else 0]

    @property
    def is_full(self) -> bool:
        """It takes no more URLs."""
        return self.size >= BLOCK_SIZE

    @property
    def is_done(self) -> bool:
        """All its URLs have ended."""
        return self.done.bit_count() == self.size

    @property
    def waiting(self) -> int:
        """URLs that have not ended."""
        return self.size - self.done.bit_count()

    def append(self, link: Link) -> int:
        """Add a URL; return its index."""
        assert not self.is_full
        if self.links is None:
            self.links = []
        self.links.append(link)
        self.size += 1
        return self.size - 1

    def finish(self, index: int) -> None:
        """Mark a URL as ended."""
        self.done |= 1 << index

    def unstored(self) -> list[Link]:
        """Return the links that are not on disk yet."""
        return (self.links or [])[self.stored - self.base :]

    def load(self, read: Callable[[Self], list[Link]]) -> list[Link]:
        """Return all links, having read from disk those that are not in memory."""
        if self.base:
            self.links = read(self)[: self.base] + (self.links or [])
            self.base = 0
        assert self.links is not None
        return self.links

    def peek(self, read: Callable[[Self], list[Link]]) -> list[Link]:
        """Return all links, and keep no more of them in memory than before."""
        return read(self)[: self.base] + (self.links or []) if self.base else self.links or []

    def unload(self) -> int:
        """Let go of the links that are on disk; return how many of them were in memory."""
        freed = self.stored - self.base
        self.links = self.unstored() or None
        self.base = self.stored
        return freed


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Link]).decode
_compress = zstandard.ZstdCompressor(level=1, write_checksum=True).compress
_decompress = zstandard.ZstdDecompressor().decompress

_LENGTH = 4  # bytes before each packed part


def encode_links(links: list[Link]) -> bytes:
    """Pack and compress links of a block: about 15 bytes each. Parts that follow each other may be put together."""
    packed = _compress(_encode(links))
    return len(packed).to_bytes(_LENGTH, "little") + packed


def decode_links(data: bytes) -> list[Link]:
    """Unpack the links of a block, one part or more.

    Raises:
        ValueError: they are not what was packed.
    """
    links: list[Link] = []
    at = 0
    while at < len(data):
        start = at + _LENGTH
        at = start + int.from_bytes(data[at:start], "little")
        part = data[start:at]
        try:
            if zstandard.frame_content_size(part) > UNPACKED_MAX:
                raise ValueError("links that are larger than any")
            links += _decode(_decompress(part))
        except (zstandard.ZstdError, msgspec.MsgspecError) as error:
            raise ValueError(f"links that cannot be unpacked: {error}") from error
    targets = "".join([link.target for link in links])
    if not (targets.isascii() and targets.isprintable()) or " " in targets:
        raise ValueError("links that are no URLs")
    return links


def encode_done(done: int) -> bytes:
    """Return a done mask as the store keeps it: little-endian, no longer than it must be."""
    return done.to_bytes((done.bit_length() + 7) // 8, "little")


def decode_done(data: bytes) -> int:
    """Undo `encode_done`."""
    return int.from_bytes(data, "little")
