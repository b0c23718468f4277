"""The block: up to 1,000 URLs of one server, the one unit of bulk.

A block is a row of the store; later it is what peers send each other. Every URL of a crawl has an address from birth, (block,
index), by which it is marked done.
"""

from __future__ import annotations

import msgspec
import zstandard

BLOCK_SIZE = 1_000
"""Most URLs in one block."""


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
    """URLs of one server, in order; their entries are in memory, on disk, or both."""

    number: int
    size: int = 0
    done: int = 0
    """Bit i is set when URL i has ended."""
    links: list[Link] | None = None
    """None while they are on disk only."""
    sealed: bool = False
    """It is in the store, or on its way there, and takes no more URLs."""

    def __post_init__(self) -> None:
        self.sealed = self.links is None

    def __repr__(self) -> str:
        where = "on disk" if self.links is None else "in memory"
        return f"<Block {self.number}: {self.done.bit_count()} of {self.size} done, {where}>"

    @property
    def is_done(self) -> bool:
        """All its URLs have ended."""
        return self.done.bit_count() == self.size

    def append(self, link: Link) -> int:
        """Add a URL to an open block; return its index."""
        assert self.links is not None
        assert not self.sealed
        self.links.append(link)
        self.size += 1
        return self.size - 1

    def finish(self, index: int) -> None:
        """Mark a URL as ended."""
        self.done |= 1 << index


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Link]).decode
_compress = zstandard.ZstdCompressor(level=1).compress
_decompress = zstandard.ZstdDecompressor().decompress


def encode_links(links: list[Link]) -> bytes:
    """Pack and compress the URLs of a block: about 15 bytes each."""
    return _compress(_encode(links))


def decode_links(data: bytes) -> list[Link]:
    """Unpack a block."""
    return _decode(_decompress(data))


def encode_done(done: int) -> bytes:
    """Return a done mask as the store keeps it: little-endian, no longer than it must be."""
    return done.to_bytes((done.bit_length() + 7) // 8, "little")


def decode_done(data: bytes) -> int:
    """Undo `encode_done`."""
    return int.from_bytes(data, "little")
