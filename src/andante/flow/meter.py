"""What is seen of a server's meter: the requests it let through, and how long it refused for."""

from __future__ import annotations

from collections import deque
from math import inf
from operator import sub

_MEMORY = 120.0
"""Seconds, at most, over which requests are counted before the first refusal."""

_IDLE = 10.0
"""Seconds without a request that count, at most, as time in which requests were served; before the first refusal nothing is known of the window."""

_RECENT = 1_024
"""Send times that are kept of a server that has refused."""

_BAN_MAX = 120.0
"""Longest ban, seconds, that is waited for from memory: longer ones may have been outages."""


class Served:
    """What was served since refusals ended, or since the beginning."""

    __slots__ = ("_last", "_recent", "_since", "count")

    def __init__(self) -> None:
        self.count = 0
        self._since = self._last = inf
        self._recent: deque[float] | None = None

    def add(self, sent_at: float, *, in_full: bool = True) -> None:
        """Count a request; ``in_full``: keep when it was sent, too."""
        self.count += 1
        self._since = min(self._since, sent_at)
        if in_full:
            if self._recent is None:
                self._recent = deque(maxlen=_RECENT)
            self._recent.append(sent_at)
            return
        self.skip_idle(sent_at)
        self._last = sent_at
        if sent_at - self._since > _MEMORY:
            self._since += (sent_at - self._since) / 2
            self.count //= 2

    def skip_idle(self, until: float) -> None:
        """Leave out of account what is more than `_IDLE` of the time from the last request until ``until``."""
        self._since += max(0.0, until - self._last - _IDLE)

    def seconds(self, until: float) -> float:
        """Return how long it lasted; at least 0.1 s, for a shorter time says nothing of a rate."""
        return max(until - self._since, 0.1)

    def rate(self, burst: int, refused_at: float, *, slack: float) -> float:
        """Return the rate of a meter that let ``burst`` through in its window and refused what was sent at ``refused_at``.

        Its window is longer than the time since the burst-th last, and shorter than any in which one more was served; it is taken as
        the latter. ``slack`` seconds are added: by so much may requests arrive closer together than they were sent.
        """
        sent = sorted(time for time in self._recent or () if time < refused_at)
        burst = min(burst, len(sent) - 1)
        if burst < 1:
            return inf
        shortest: float = min(map(sub, sent[burst:], sent))
        return burst / (max(refused_at - sent[-burst], shortest) + slack)


class Ban:
    """How long a server refuses once it has begun to."""

    __slots__ = ("length", "refused_after")

    def __init__(self) -> None:
        self.length = 0.0
        """Seconds after which the last one was found to be over; 0: there was none."""
        self.refused_after = 0.0
        """Seconds after which it was found not to be over."""

    @property
    def known(self) -> float:
        """Seconds that one is known to last."""
        return min(self.length, _BAN_MAX)

    def left(self, elapsed: float) -> float:
        """Return how long the present one is known to last still.

        It ends between ``refused_after`` and ``length``: half-way is tried, which may save time, and tells more.
        """
        half = min((self.refused_after + self.length) / 2, _BAN_MAX)
        return max(0.0, (half if elapsed < half else self.known) - elapsed)

    def end(self, elapsed: float) -> None:
        """A request that was sent ``elapsed`` seconds after the first refused one was served."""
        self.length = elapsed
        if self.refused_after >= elapsed:
            self.refused_after = 0.0
