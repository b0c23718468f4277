"""The counts of a crawl: every URL ends in one state with a reason, and the sum is what is known."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import msgspec


class Stats(msgspec.Struct, kw_only=True):
    """Counts of a job since its first start; committed with what they count."""

    fetched: Counter[str] = msgspec.field(default_factory=Counter)
    """URLs that ended with a final response, by status."""
    redirected: int = 0
    """URLs that ended with a redirect to another URL."""
    failed: Counter[str] = msgspec.field(default_factory=Counter)
    """URLs that ended without a response, by reason."""
    excluded: Counter[str] = msgspec.field(default_factory=Counter)
    """URLs that were not asked for, or whose page was not kept, by reason."""
    requests: int = 0
    """Requests sent, robots.txt and further attempts included."""
    connections: int = 0
    """Connections opened."""
    bytes: int = 0
    """Bytes of payload received, as transferred."""
    seconds: float = 0.0
    """Time that the crawl has run, all its starts together."""
    processor: float = 0.0
    """Seconds of processor time that it has used, all its starts together."""
    memory: int = 0
    """Most memory that it had, bytes."""

    @property
    def pages(self) -> int:
        """Pages with a 2xx status: what ``max_pages`` counts."""
        return sum(count for status, count in self.fetched.items() if status.startswith("2"))

    @property
    def ended(self) -> int:
        """URLs that have ended, whatever their state."""
        return self.fetched.total() + self.redirected + self.failed.total() + self.excluded.total()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for the store and for ``--json``."""
        return dict(msgspec.to_builtins(self))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Stats:
        """Undo `to_dict`."""
        counters = {
            name: Counter(value) for name, value in values.items() if isinstance(value, dict)
        }
        return msgspec.structs.replace(cls(**values), **counters)


class Speed:
    """By how much a count grows in a second over the last ten seconds, from readings; it was ``first`` at time ``at``."""

    __slots__ = ("_readings",)

    def __init__(self, first: int = 0, at: float = 0.0) -> None:
        self._readings: deque[tuple[float, int]] = deque([(at, first)])

    def read(self, count: int, now: float) -> float:
        """Take a reading; return the present speed."""
        self._readings.append((now, count))
        while len(self._readings) > 2 and self._readings[0][0] < now - 10:
            self._readings.popleft()
        start, first = self._readings[0]
        return (count - first) / (now - start) if now > start else 0.0
