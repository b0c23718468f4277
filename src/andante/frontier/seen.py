"""The seen test: has this URL been met before?"""

from __future__ import annotations

from collections.abc import Iterator

WIDTH = 8
"""Bytes in a fingerprint."""

_FILL = 32
"""Mean fingerprints in a bucket: so many that a bucket's own 40 bytes hardly count, so few that it is searched and copied in 0.1 us, and that nearly all are
objects of at most 512 bytes, for which Python has an allocator of its own that leaves no gaps between them and buffers that come and go."""


class Seen:
    """An exact set of 8-byte fingerprints, about 10 bytes each, that grows without ever stopping to rehash.

    Linear hashing (Litwin 1980): bucket numbers come from the low bits of the fingerprint; each time the mean fill passes its
    bound, one bucket is split in two, in order, so that no insertion costs more than one split. A bucket is the fingerprints,
    packed, in one ``bytes``: searched by ``find``, and made anew for each that comes.
    """

    def __init__(self, fingerprints: bytes = b"") -> None:
        self._buckets = [b""]
        self._level = 1  # buckets at the start of this round, a power of two
        self._split = 0  # the next bucket to split: those before it already use twice the range
        self._count = 0
        for fingerprint in unpack(fingerprints):
            self.add(fingerprint)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, fingerprint: bytes) -> bool:
        return _holds(self._buckets[self._index(fingerprint)], fingerprint)

    def add(self, fingerprint: bytes) -> bool:
        """Add a fingerprint; tell whether it is new."""
        index = self._index(fingerprint)
        bucket = self._buckets[index]
        if _holds(bucket, fingerprint):
            return False
        self._buckets[index] = bucket + fingerprint
        self._count += 1
        if self._count > _FILL * len(self._buckets):
            self._split_next()
        return True

    def _index(self, fingerprint: bytes) -> int:
        number = int.from_bytes(fingerprint, "little")
        index = number & (self._level - 1)
        return index if index >= self._split else number & (2 * self._level - 1)

    def _split_next(self) -> None:
        low: list[bytes] = []
        high: list[bytes] = []
        for fingerprint in unpack(self._buckets[self._split]):
            is_high = int.from_bytes(fingerprint, "little") & self._level
            (high if is_high else low).append(fingerprint)
        self._buckets[self._split] = b"".join(low)
        self._buckets.append(b"".join(high))
        self._split += 1
        if self._split == self._level:
            self._level *= 2
            self._split = 0


def unpack(packed: bytes) -> Iterator[bytes]:
    """Take packed fingerprints apart."""
    return (packed[at : at + WIDTH] for at in range(0, len(packed), WIDTH))


def _holds(bucket: bytes, fingerprint: bytes) -> bool:
    at = bucket.find(fingerprint)
    while at > 0 and at % WIDTH:  # found across two neighbours: not aligned, look on
        at = bucket.find(fingerprint, at + 1)
    return at >= 0
