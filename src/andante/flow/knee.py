"""Our connection limit: where throughput is full and no queue stands at the server."""

from __future__ import annotations

from enum import Enum, auto
from math import inf, log, sqrt

from andante.flow.limit import LIMIT_MAX, Clocked

_OF_BASE, _OF_SPREAD = 0.1, 0.24
"""Wait at the server that is allowed, as shares of the unloaded latency R0 and of its spread, p90 - R0: uneven work needs a longer queue."""

_ROUND, _ROUND_AT_START, _ROUND_OF_DIP = 50, 6, 32
"""Responses that a round has at least; it has at least two for each request in flight."""

_MEMORY = 300
"""Responses over which the unloaded latency is averaged."""

_GAIN = 0.25
"""Share of the way to the target that a round goes."""

_LOW, _GROWTH = 0.25, 1.1
"""Where the wait was below this share of what is allowed for two rounds, the limit grows by a tenth besides."""

_HIGH = 1.3
"""Above so many times the latency that is allowed something has changed."""

_SURE = 0.5
"""A wait within this share of what is allowed, either way, is none."""

_EVERY = 60
"""Rounds between dips, where the unloaded latency is well known."""

_DIP, _FALL = 0.75, 0.75
"""A dip goes to this share of the knee, and comes early where the limit has fallen to that share of what was last checked."""

_DRIFT = 0.5
"""Elasticity of latency below which the latency itself has changed: at a queue it is 1, without one 0."""


class _Mode(Enum):
    START = auto()
    """Doubling, until a queue stands."""
    CRUISE = auto()
    """At the target."""
    DIP = auto()
    """Below it for a round, to see the latency without a queue."""


class KneeLimit(Clocked):
    """Finds the number of requests in flight at which throughput is full and no queue stands, and follows it.

    The knee (Kleinrock 1979) is ``L* = X * R0``: what the server can deliver, times its latency without a queue; as BBR (Cardwell et al. 2016)
    does for a network path. By Little's law X is N / R for N requests in flight at latency R, so with W, the wait that is allowed,

        target = N * (R0 + W) / R,    W = 0.1 * R0 + 0.24 * (p90 - R0),    p90 without a queue.

    It works in rounds of responses to requests that were sent since the last change. Of each round, R is the *mean of the lower of two*: the expected
    minimum of two samples drawn from it, on which single slow pages have little weight.

    - *Start*: the limit doubles each round, until R of its n responses is (1.5 + 2 / sqrt(n)) R0; then it goes to the target. Its
      rounds are short.
    - *Cruise*: each round goes a quarter of the way to the target; where hardly any wait was seen twice, a tenth up besides: the server
      may have become faster. Where R is far too high, it goes to the target at once.
    - *Dip*: each 60 rounds, and early when the limit has fallen far or R stays high, one round goes below the knee. If R falls with N, a queue stands, and the
      capacity is less than it was. If R stays, the latency itself has changed: that is R0 from now on.

    Rounds in which fewer were in flight than the limit allows never let it grow. A failure takes three tenths off, once in a round trip.

    Args:
        limit_min, limit_max: bounds.
    """

    def __init__(self, *, limit_min: int = 1, limit_max: int = LIMIT_MAX) -> None:
        super().__init__(limit_min, limit_min, limit_max)
        self._mode = _Mode.START
        self._changed_at = -inf
        self._to_skip = 0  # responses after a change that say nothing yet
        self._times: list[float] = []
        self._load = 0  # sum of the requests in flight at each of them
        self._base = self._p90 = 0.0  # latency without a queue
        self._weight = 0  # responses that it is known from
        self._rounds = 0  # since the last dip
        self._quiet = 0  # of them, the last ones in a row that saw hardly any wait
        self._was_cut = False
        self._home = self._exact
        self._checked = 0.0  # the limit that the last dip has confirmed
        self._before_dip = (1.0, 1.0)  # requests in flight, and latency

    def on_response(self, rtt: float, *, now: float, in_flight: int, lag: float = 0.0) -> None:
        """Take the response to a page request.

        Args:
            rtt: seconds from the request to the first byte of its response.
            now: seconds of a monotone clock.
            in_flight: requests under way, this one among them.
            lag: seconds of ``rtt`` for which this machine, not the server, is to blame.

        Raises:
            ValueError: the clock ran back, or ``rtt`` is no time.
        """
        self._check(now, rtt)
        if self._to_skip:
            self._to_skip -= now - rtt >= self._changed_at
            return
        self._times.append(max(rtt - lag, 0.0))
        self._load += in_flight
        least = {_Mode.START: _ROUND_AT_START, _Mode.DIP: _ROUND_OF_DIP}.get(self._mode, _ROUND)
        if len(self._times) < max(least, 2 * self.limit):
            return
        times, load = sorted(self._times), self._load / len(self._times)
        self._clear()
        before = self.limit
        self._round(_lower_of_two(times), times[int(0.9 * len(times))], load, len(times))
        if self.limit != before:
            self._skip(now)

    def on_failure(self, *, now: float, in_flight: int) -> None:
        """Take a sign of overload: a time-out, a reset, a refusal.

        Raises:
            ValueError: the clock ran back.
        """
        self._check(now)
        if self._is_new_failure(now, self._base):
            self._mode = _Mode.CRUISE
            self._set(0.7 * self._exact)
            self._clear()
            self._skip(now)

    @property
    def _allowed(self) -> float:
        return _OF_BASE * self._base + _OF_SPREAD * (self._p90 - self._base)

    def _clear(self) -> None:
        self._times, self._load = [], 0

    def _skip(self, now: float) -> None:
        """The responses to what is in flight, and as many after them, belong to no round; at the start, those up to the first that was sent since."""
        self._changed_at = now
        self._to_skip = 1 if self._mode is _Mode.START else self.limit

    def _round(self, latency: float, p90: float, load: float, count: int) -> None:
        """A round has ended, with ``load`` requests in flight on average."""
        is_used = load >= 0.9 * self.limit
        if not self._weight:
            self._learn(latency, p90, count)
        if self._mode is _Mode.START:
            self._start(latency, p90, load, count, is_used=is_used)
            return
        wait = latency - self._base
        if self.limit == 1 or wait < -_SURE * self._allowed:  # there cannot be a queue
            self._learn(latency, p90, count, anew=abs(wait) > self._allowed)
        target = load * (self._base + self._allowed) / latency if latency else load
        if self._mode is _Mode.DIP:
            self._end_dip(latency, p90, load, count, target)
        else:
            self._cruise(latency, load, target, is_used=is_used)

    def _learn(self, latency: float, p90: float, count: int, *, anew: bool = False) -> None:
        """Take a round without a queue into the unloaded latency."""
        self._weight = count if anew else min(self._weight + count, _MEMORY)
        share = count / self._weight
        self._base += (latency - self._base) * share
        self._p90 += (p90 - self._p90) * share

    def _start(self, latency: float, p90: float, load: float, count: int, *, is_used: bool) -> None:
        if latency > (1.5 + 2 / sqrt(count)) * self._base:
            self._mode = _Mode.CRUISE
            self._set(load * (self._base + self._allowed) / latency)
            return
        if self.limit == 1 or latency - self._base < _SURE * self._allowed:
            self._learn(latency, p90, count)
        if is_used:
            self._set(2 * self._exact)

    def _cruise(self, latency: float, load: float, target: float, *, is_used: bool) -> None:
        self._rounds += 1
        is_high = latency > _HIGH * (self._base + self._allowed)
        if is_high and not self._was_cut:
            self._was_cut = True
            self._set(min(target, self._exact))
            return
        self._was_cut = False
        is_due = self._rounds >= _EVERY * self._weight / _MEMORY
        if self.limit > 1 and (is_high or is_due or self._exact < _FALL * self._checked):
            self._mode = _Mode.DIP
            self._home, self._before_dip = self._exact, (load, latency)
            self._set(int(_DIP * load * self._base / latency + 0.5))
            return
        has_no_wait = latency - self._base < _LOW * self._allowed
        self._quiet = self._quiet + 1 if has_no_wait and is_used else 0
        if is_used or target < self._exact:
            growth = _GROWTH if self._quiet >= 2 else 1.0
            self._set((self._exact + (target - self._exact) * _GAIN) * growth)

    def _end_dip(self, latency: float, p90: float, load: float, count: int, target: float) -> None:
        self._mode = _Mode.CRUISE
        load_before, latency_before = self._before_dip
        elasticity = 0.0
        if load < load_before and latency:
            elasticity = log(latency_before / latency) / log(load_before / load)
        if abs(latency - self._base) < _SURE * self._allowed:  # it is as it was
            self._learn(latency, p90, count)
            self._checked, self._rounds = self._home, 0
            self._set(self._home)
        elif abs(elasticity) < _DRIFT:
            self._learn(latency, p90, count, anew=True)
            self._checked, self._rounds = max(self._home, self._checked), 0
            self._set(self._checked)
        else:
            self._set(target)


def _lower_of_two(times: list[float]) -> float:
    """Return the expected minimum of two different ones of sorted samples."""
    count = len(times)
    if count == 1:
        return times[0]
    total = sum(time * (count - 1 - place) for place, time in enumerate(times))
    return 2 * total / (count * (count - 1))
