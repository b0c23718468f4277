"""Links met not long ago: most links of a crawl repeat one of them, and the store need not be asked."""

from __future__ import annotations

from andante.frontier.seen import WIDTH

_WAYS = 32
"""Fingerprints in a set: enough that it forgets hardly anything sooner than one large set would, few enough to be searched in 0.1 us."""

_SET = _WAYS * WIDTH


class Recent:
    """A bounded set of 8-byte fingerprints that forgets those longest not met: 8 bytes each, all taken at the start.

    As caches of processors do it (set-associative): a fingerprint says in which small set it is kept, and each set, a stretch of one ``bytearray``, has the fingerprint
    met last in front and lets the one at its end go. What it holds, it holds exactly: nothing new is ever taken for known.

    Args:
        capacity: fingerprints, rounded up to whole sets, of which there are at least two.
    """

    def __init__(self, capacity: int = 1_000_000) -> None:
        self._sets = max(-(-capacity // _WAYS), 2)
        self.clear()

    def __repr__(self) -> str:
        return f"<Recent: {self._sets * _WAYS} places>"

    def clear(self) -> None:
        """Forget all."""
        self._table = bytearray(self._sets * _SET)
        # A place is empty when it holds what does not belong there: zeros are of the first set, ones of the last.
        self._table[:_SET] = b"\xff" * _SET

    def add(self, fingerprint: bytes) -> bool:
        """Add a fingerprint, or note that it was met again; tell whether it is new, as far as is known."""
        table = self._table
        start = self._start(fingerprint)
        at = _find(table, fingerprint, start)
        if at == start:
            return False
        last = at if at >= 0 else start + _SET - WIDTH
        table[start + WIDTH : last + WIDTH] = table[start:last]
        table[start : start + WIDTH] = fingerprint
        return at < 0

    def __contains__(self, fingerprint: bytes) -> bool:
        return _find(self._table, fingerprint, self._start(fingerprint)) >= 0

    def _start(self, fingerprint: bytes) -> int:
        """Return where its set begins. The high bits choose, in their order: 0 is of the first set, 2^64 - 1 of the last."""
        return (int.from_bytes(fingerprint, "big") * self._sets >> 64) * _SET


def _find(table: bytearray, fingerprint: bytes, start: int) -> int:
    """Return where in its set a fingerprint is, or -1."""
    at = table.find(fingerprint, start, start + _SET)
    while at >= 0 and (at - start) % WIDTH:  # found across two neighbours: look on
        at = table.find(fingerprint, at + 1, start + _SET)
    return at
