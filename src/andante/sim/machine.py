"""The machine that crawls: its processor and its line, which all connections share.

A response that arrives passes the downlink (size / downlink seconds), then the processor: ``cpu_per_page`` and, for each connection that
is open, ``cpu_per_connection``, as with `select`, whose cost grows with the connections it watches. Both serve first come, first served. To
open a connection costs ``cpu_per_open`` of the same processor.
"""

from __future__ import annotations

from math import inf

import msgspec

from andante.sim.ranges import SPEED, TIME, check


class MachineTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What the crawling machine is like: without limits unless said."""

    cpu_per_page: float = 0.0
    """Seconds of processor for a response."""
    cpu_per_open: float = 0.0
    """Seconds of processor for opening a connection."""
    cpu_per_connection: float = 0.0
    """Seconds of processor for a response, for each open connection."""
    downlink: float = inf
    """Bytes a second."""

    def __post_init__(self) -> None:
        times = ("cpu_per_page", "cpu_per_open", "cpu_per_connection")
        check(self, {"downlink": SPEED} | dict.fromkeys(times, TIME))

    @property
    def is_unlimited(self) -> bool:
        """It costs nothing."""
        return self == MachineTraits()


class Machine:
    """The machine at work."""

    def __init__(self, traits: MachineTraits) -> None:
        self._traits = traits
        self._line_free = 0.0
        self._cpu_free = 0.0
        self.connections = 0
        """Open now."""
        self.busy = 0.0
        """Seconds that the processor has worked."""

    def opens(self, now: float) -> float:
        """Open a connection; return when the processor has done so."""
        return self._work(now, self._traits.cpu_per_open)

    def receives(self, now: float, size: int, *, ends: bool) -> float:
        """Take bytes that arrive; return when they have been read, and worked on if the response ends with them."""
        traits = self._traits
        self._line_free = max(now, self._line_free) + size / traits.downlink
        if not ends:
            return max(self._line_free, self._cpu_free)
        cost = traits.cpu_per_page + traits.cpu_per_connection * self.connections
        return self._work(self._line_free, cost)

    def _work(self, at: float, seconds: float) -> float:
        self._cpu_free = max(at, self._cpu_free) + seconds
        self.busy += seconds
        return self._cpu_free
