"""What a server's latency is without load, so that latencies of different servers can be compared."""

from __future__ import annotations

from math import inf

_AVERAGED = 32
"""Responses over which a server's latency is averaged: fewer are so uneven that the least average lies far below the usual one."""

_LEAST = 0.001
"""Seconds that a latency is taken for at least: what is below is this machine's."""


class Unloaded:
    """The unloaded latency of one server: the least that its latency, averaged over some responses, has been.

    What its first `_AVERAGED` responses take on average is its latency so far; from then on it can only fall.
    """

    __slots__ = ("_count", "_mean", "_unloaded")

    def __init__(self) -> None:
        self._count = 0
        self._mean = 0.0
        self._unloaded = inf

    def load(self, latency: float, *, lag: float = 0.0) -> float:
        """Take a response; return how many times the unloaded latency it took.

        Args:
            latency: seconds from the request to the first byte of its response.
            lag: seconds of them for which this machine is to blame. They are not the server's, so they are load in full.
        """
        self._count = min(self._count + 1, _AVERAGED + 1)
        own = max(latency - lag, _LEAST)
        self._mean += (own - self._mean) / min(self._count, _AVERAGED)
        if self._count <= _AVERAGED:
            self._unloaded = self._mean
        else:
            self._unloaded = min(self._unloaded, self._mean)
        return max(latency, _LEAST) / self._unloaded
