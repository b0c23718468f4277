"""Limits on the requests in flight to a server, as published; `knee` has ours.

All have one interface, `Limit`. What is shown to them are responses to page requests, with the time to their first byte: robots.txt, cached
and failed answers are not shown, for a server gives them faster than pages, or without doing the work.
"""

from __future__ import annotations

from math import inf
from typing import Protocol

LIMIT_MAX = 1_000
"""Default of the most requests in flight: more than a server takes from one client, and few enough for its sockets."""


class Limit(Protocol):
    """How many requests may be in flight."""

    @property
    def limit(self) -> int:
        """Most requests in flight, at least 1."""

    def on_response(self, rtt: float, *, now: float, in_flight: int) -> None:
        """A response came ``rtt`` seconds after its request, while ``in_flight`` were under way, itself among them."""

    def on_failure(self, *, now: float, in_flight: int) -> None:
        """A request ended in a sign of overload: a time-out, a reset, a refusal."""


class Clocked:
    """What the limits share: a limit within bounds, and a clock that must not run back.

    Args:
        initial: the first limit.
        limit_min, limit_max: its bounds.

    Raises:
        ValueError: the bounds are not in order.
    """

    def __init__(self, initial: float, limit_min: int, limit_max: int) -> None:
        if not 1 <= limit_min <= limit_max:
            message = f"limits from {limit_min} to {limit_max}: write 1 <= limit_min <= limit_max"
            raise ValueError(message)
        self._bounds = (limit_min, limit_max)
        self._clock = -inf
        self._failed_at = -inf
        self._exact = 0.0
        self._set(initial)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.limit}>"

    @property
    def limit(self) -> int:
        """Most requests in flight."""
        return int(self._exact + 0.5)

    def _set(self, limit: float) -> None:
        low, high = self._bounds
        self._exact = min(max(limit, low), high)

    def _check(self, now: float, rtt: float = 0.0) -> None:
        if not (now >= self._clock and 0 <= rtt < inf):
            message = f"the clock must not run back: {now} after {self._clock}, response time {rtt}"
            raise ValueError(message)
        self._clock = now

    def _is_new_failure(self, now: float, rtt: float) -> bool:
        """Tell whether a failure counts: those of one round trip count once."""
        if now - self._failed_at < rtt:
            return False
        self._failed_at = now
        return True


class RttLimit(Clocked):
    """Source 2, patent CN106656840B, to the letter: its steps 1.1 to 1.8, on each response.

    ``SRTT = alpha * SRTT + (1 - alpha) * R`` (RFC 793); each ``interval`` its minimum and maximum are set to SRTT itself. If ``R < SRTT_min`` or
    ``R < rtt_min`` the limit grows by ``increase``; else if ``R > SRTT_max`` or ``R > rtt_max`` it falls by ``decrease``.

    The source leaves out bounds, and what a failure does: here it is as a large R. See docs/explanation/connection-limit.md for what the rule does.

    Args:
        alpha: weight of the past; 7/8 is RFC 6298's.
        interval: seconds, in which about ten responses should come; 1 s suits ten pages a second.
        rtt_min: below it the limit always grows; 0: never.
        rtt_max: above it the limit always falls; infinity: never.
        increase, decrease: steps, 1 in the source.
        limit_min, limit_max: bounds.
    """

    def __init__(
        self,
        *,
        alpha: float = 0.875,
        interval: float = 1.0,
        rtt_min: float = 0.0,
        rtt_max: float = inf,
        increase: int = 1,
        decrease: int = 1,
        limit_min: int = 1,
        limit_max: int = LIMIT_MAX,
    ) -> None:
        super().__init__(limit_min, limit_min, limit_max)
        if not (0 <= alpha < 1 and interval > 0 and 0 <= rtt_min <= rtt_max):
            raise ValueError("write 0 <= alpha < 1, interval > 0 and 0 <= rtt_min <= rtt_max")
        self._alpha, self._interval = alpha, interval
        self._rtt_min, self._rtt_max = rtt_min, rtt_max
        self._increase, self._decrease = increase, decrease
        self._srtt: float | None = None
        self._srtt_min = self._srtt_max = 0.0
        self._reset_at = -inf

    def on_response(
        self, rtt: float, *, now: float, in_flight: int
    ) -> None:  # the rule does not look at it
        """Take a response: steps 1.1 to 1.8."""
        self._check(now, rtt)
        srtt = rtt if self._srtt is None else self._alpha * self._srtt + (1 - self._alpha) * rtt
        self._srtt = srtt
        if now - self._reset_at >= self._interval:
            self._srtt_min = self._srtt_max = srtt
            self._reset_at = now
        else:
            self._srtt_min = min(self._srtt_min, srtt)
            self._srtt_max = max(self._srtt_max, srtt)
        if rtt < self._srtt_min or rtt < self._rtt_min:
            self._set(self._exact + self._increase)
        elif rtt > self._srtt_max or rtt > self._rtt_max:
            self._set(self._exact - self._decrease)

    def on_failure(self, *, now: float, in_flight: int) -> None:
        """Take a failure as a response that was far too slow."""
        self._check(now)
        self._set(self._exact - self._decrease)


class AimdLimit(Clocked):
    """Additive increase, multiplicative decrease (Chiu and Jain 1989; RFC 5681): one more each round trip, half after a failure.

    It knows overload only when the server fails.
    """

    def __init__(self, *, limit_min: int = 1, limit_max: int = LIMIT_MAX) -> None:
        super().__init__(limit_min, limit_min, limit_max)
        self._rtt = 0.0

    def on_response(self, rtt: float, *, now: float, in_flight: int) -> None:
        """Grow by one in as many responses as are in flight, if the limit is what holds back."""
        self._check(now, rtt)
        self._rtt = rtt
        if in_flight >= self.limit:
            self._set(self._exact + 1 / self._exact)

    def on_failure(self, *, now: float, in_flight: int) -> None:
        """Halve the limit, at most once in a round trip."""
        self._check(now)
        if self._is_new_failure(now, self._rtt):
            self._set(self._exact / 2)


class VegasLimit(Clocked):
    """TCP Vegas (Brakmo, O'Malley and Peterson 1994): keep between ``alpha`` and ``beta`` requests in the server's queue.

    Once in a round trip, with the mean R of it: ``queue = limit * (1 - R_min / R)``; below ``alpha`` the limit grows by one, above ``beta`` it falls by one.
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        beta: float = 3.0,
        limit_min: int = 1,
        limit_max: int = LIMIT_MAX,
    ) -> None:
        super().__init__(max(2, limit_min) if limit_max > 1 else 1, limit_min, limit_max)
        self._alpha, self._beta = alpha, beta
        self._base = inf
        self._sum, self._count = 0.0, 0

    def on_response(self, rtt: float, *, now: float, in_flight: int) -> None:
        """Take a response; each round trip is as many as the limit."""
        self._check(now, rtt)
        self._base = min(self._base, rtt)
        self._sum += rtt
        self._count += 1
        if self._count < self.limit:
            return
        mean = self._sum / self._count
        self._sum, self._count = 0.0, 0
        queue = self._exact * (1 - self._base / mean) if mean else 0.0
        if queue < self._alpha and in_flight >= self.limit:
            self._set(self._exact + 1)
        elif queue > self._beta:
            self._set(self._exact - 1)

    def on_failure(self, *, now: float, in_flight: int) -> None:
        """Halve the limit, at most once in a round trip, as after a time-out."""
        self._check(now)
        if self._is_new_failure(now, self._base if self._base < inf else 0.0):
            self._set(self._exact / 2)


class GradientLimit(Clocked):
    """Gradient2 of Netflix's concurrency-limits (2018): the ratio of the long-term to the present round-trip time steers.

    ``gradient = max(0.5, min(1, tolerance * long / R))``, ``limit = (1 - smoothing) * limit + smoothing * (limit * gradient + queue)``, where
    ``long`` is an exponential mean over ``window`` responses, which falls by 5 % where it is more than twice R. Nothing changes while less
    than half of the limit is used.
    """

    def __init__(
        self,
        *,
        tolerance: float = 1.5,
        queue: int = 4,
        smoothing: float = 0.2,
        window: int = 600,
        initial: int = 20,
        limit_min: int = 1,
        limit_max: int = LIMIT_MAX,
    ) -> None:
        super().__init__(initial, limit_min, limit_max)
        self._tolerance, self._queue, self._smoothing = tolerance, queue, smoothing
        self._window = window
        self._long = 0.0
        self._count = 0

    def on_response(self, rtt: float, *, now: float, in_flight: int) -> None:
        """Take a response."""
        self._check(now, rtt)
        self._count = min(self._count + 1, (self._window + 1) // 2)
        self._long += (rtt - self._long) / self._count
        if not rtt or in_flight < self._exact / 2:
            return
        if self._long > 2 * rtt:
            self._long *= 0.95
        gradient = max(0.5, min(1.0, self._tolerance * self._long / rtt))
        wanted = self._exact * gradient + self._queue
        self._set((1 - self._smoothing) * self._exact + self._smoothing * wanted)

    def on_failure(self, *, now: float, in_flight: int) -> None:
        """Do nothing but check the clock: the published rule sees response times only."""
        self._check(now)
