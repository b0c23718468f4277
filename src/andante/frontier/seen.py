"""The seen test: has this URL been met before?"""

from __future__ import annotations

from collections.abc import Iterator

WIDTH = 8
"""Bytes in a fingerprint."""

_FILL = 64
"""Mean fingerprints in a bucket: large enough that a bucket's own 60 bytes do not count, small enough to search in 0.1 us."""


class Seen:
    """An exact set of 8-byte fingerprints, about 10 bytes each, that grows without ever stopping to rehash.

    Linear hashing (Litwin 1980): bucket numbers come from the low bits of the fingerprint; each time the mean fill passes its
    bound, one bucket is split in two, in order, so that no insertion costs more than one split. A bucket is a ``bytearray``
    of packed fingerprints, searched by ``find``.
    """

    def __init__(self, fingerprints: bytes = b"") -> None:
        self._buckets = [bytearray()]
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
        bucket = self._buckets[self._index(fingerprint)]
        if _holds(bucket, fingerprint):
            return False
        bucket += fingerprint
        self._count += 1
        if self._count > _FILL * len(self._buckets):
            self._split_next()
        return True

    def _index(self, fingerprint: bytes) -> int:
        number = int.from_bytes(fingerprint, "little")
        index = number & (self._level - 1)
        return index if index >= self._split else number & (2 * self._level - 1)

    def _split_next(self) -> None:
        old, low, high = self._buckets[self._split], bytearray(), bytearray()
        for fingerprint in unpack(old):
            if int.from_bytes(fingerprint, "little") & self._level:
                high += fingerprint
            else:
                low += fingerprint
        self._buckets[self._split] = low
        self._buckets.append(high)
        self._split += 1
        if self._split == self._level:
            self._level *= 2
            self._split = 0


def unpack(packed: bytes | bytearray) -> Iterator[bytes]:
    """Take packed fingerprints apart."""
    view = bytes(packed)
    return (view[at : at + WIDTH] for at in range(0, len(view), WIDTH))


def _holds(bucket: bytearray, fingerprint: bytes) -> bool:
    at = bucket.find(fingerprint)
    while at > 0 and at % WIDTH:  # found across two neighbours: not aligned, look on
        at = bucket.find(fingerprint, at + 1)
    return at >= 0
