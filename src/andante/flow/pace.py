"""Pace: the controller that holds a set-point. It says when the next request may go."""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from math import floor, inf
from typing import NamedTuple

PERIOD = 60.0
"""The control period, seconds: no window of this length holds more than the set-point and one request."""

CREDIT = 3.0
"""Seconds by which a request may be late and the schedule still be kept: what is missed is then made up for."""

_NEVER = -inf  # one object for all paces: a million of them count

_ROUNDING = 1e-6
"""Seconds: more than a schedule can be off by adding up its slots."""


class Pace:
    """When the next request may go to a server, an address, or out at all.

    The rules; S is the set-point, T = 60 s / S, and all times are seconds of one monotone clock:

    1. What counts is a request, at the moment it is sent, whatever becomes of it.
    2. *Schedule.* Requests have slots, T apart, from the first request on. None goes before its slot.
    3. *Catching up.* A slot that was missed stays due: later requests go T/2 apart until the schedule is met. A request that is late
       by more than `CREDIT`, or T where that is longer, starts the schedule anew.
    4. *Ceiling.* No window of 60 s holds more than S + 1 requests.
    5. *Delay.* A request goes at least ``delay`` after the last response has ended, and after the last request.
    6. *Hold.* None goes before the end of a hold (Retry-After, back-off), and the schedule goes on from there.
    7. *Change.* Under a new set-point the first slot is the new T after the last request, or now, and the count for rule 4 starts anew.
    8. *Pause.* Under a set-point of 0 none goes, until another one is given.

    Of all these times the latest wins: `next_time`. Who sends earlier breaks the ceiling, but pays back: slots are used up all the same.

    Why rule 4 costs next to nothing: let N = floor(S) + 1. The slots of request k and request k + N are N T apart, which is 60 s and a
    rest (T, for a whole S). As long as a request is late by no more than the rest, the schedule itself keeps request k + N out of
    its window. So only those that were later are noted: a server that is on time, or idle, has no record at all.

    Args:
        set_point: S, requests a minute; ``math.inf``: none; 0: a pause.
        delay: seconds; may be changed at any time.
        next_time: nothing goes before.

    Raises:
        ValueError: the set-point is negative or no number.
    """

    __slots__ = ("_floor", "_last", "_late", "_law", "_slot", "delay", "next_time")

    def __init__(
        self, *, set_point: float = inf, delay: float = 0.0, next_time: float = 0.0
    ) -> None:
        self.delay = delay
        self.next_time = next_time
        """The earliest time at which a request may go."""
        self._law = _law(set_point)
        self._floor = next_time  # what delay and holds allow
        self._slot = _NEVER  # of the next request; before the first one there is no schedule
        if not set_point:
            self._slot = self.next_time = inf
        self._last = _NEVER  # when the last request was sent
        self._late: deque[_Late] | None = None

    def __repr__(self) -> str:
        return f"<Pace: next at {self.next_time:.3f}, set-point {self.set_point:g}/min, delay {self.delay:g} s>"

    @property
    def set_point(self) -> float:
        """Requests a minute; infinity: none; 0: a pause."""
        return self._law.set_point

    @property
    def slot(self) -> float:
        """When the next request is due by the set-point alone. It may have passed; with no schedule it is minus infinity."""
        return self._slot

    @property
    def pause(self) -> float:
        """Seconds from a request to the next one, at least, by set-point and delay; by the delay alone under a set-point of 0."""
        interval = self._law.interval
        return max(interval, self.delay) if interval < inf else self.delay

    @property
    def owed(self) -> float:
        """The time before which nothing goes, without the pause that a set-point of 0 is: that is nothing which somebody else has to wait for."""
        return self.next_time if self._law.interval < inf else self._floor

    @property
    def gap(self) -> float:
        """The least seconds between two requests that the set-point allows; 0 without one."""
        return self._law.gap

    def on_sent(self, now: float) -> None:
        """A request is sent.

        Raises:
            ValueError: the clock went back.
        """
        self._check(now)
        self._last = now
        self._floor = ready = max(self._floor, now + self.delay)
        law = self._law
        if law.interval:
            ready = max(ready, now + law.gap, self._next_slot(law, now))
            if self._late is not None:
                ready = max(ready, self._window_end(law, self._late))
        self.next_time = ready

    def on_finished(self, now: float) -> None:
        """A response, or the failure to get one, has ended.

        Raises:
            ValueError: the clock went back.
        """
        self._check(now)
        self._wait(now + self.delay)

    def hold(self, until: float) -> None:
        """Nothing goes before ``until``."""
        if _NEVER < self._slot < until:
            self._slot = until
        self._wait(until)

    def change(self, set_point: float, now: float) -> None:
        """From now on another set-point holds; the same one again changes nothing.

        Raises:
            ValueError: the set-point is negative or no number, or the clock went back.
        """
        self._check(now)
        law = _law(set_point)
        if law.set_point == self._law.set_point:
            return
        self._law = law
        under_way = law.interval and self._last > _NEVER
        self._slot = max(now, self._last + law.interval) if under_way else _NEVER
        if not set_point:
            self._slot = inf
        self._late = None
        self.next_time = max(self._slot, self._floor)

    def _check(self, now: float) -> None:
        if now < self._last:
            raise ValueError(f"the clock went back from {self._last:.6f} to {now:.6f}")

    def _wait(self, until: float) -> None:
        self._floor = max(self._floor, until)
        self.next_time = max(self.next_time, until)

    def _next_slot(self, law: _Law, now: float) -> float:
        """Use up a slot; return the next one."""
        late = now - self._slot
        if late > law.credit:
            self._slot = now
            self._late = None  # all slots have moved by more than any request noted there was late
        elif late > law.rest:
            if self._late is None:
                self._late = deque()
            self._late.append(_Late(self._slot + law.span, now + PERIOD))
        self._slot += law.interval
        return self._slot

    def _window_end(self, law: _Law, late: deque[_Late]) -> float:
        """Return the time before which the next request would be one too many in the window of one that was late."""
        end = _NEVER
        while late and late[0].slot <= self._slot + law.gap:
            end = late.popleft().window_end
        if not late:
            self._late = None
        return end


class _Late(NamedTuple):
    """A request that was so late that the schedule alone does not keep the N-th one after it out of its window."""

    slot: float
    """Of the N-th request after it."""
    window_end: float
    """That one does not go before."""


class _Law(NamedTuple):
    """What follows from a set-point; one for all the paces that have it."""

    set_point: float
    interval: float
    """T: seconds between slots; 0: no set-point."""
    gap: float
    """Least seconds between requests."""
    span: float
    """Seconds from a slot to that of the first request that does not belong in the same window."""
    rest: float
    """Seconds by which a request may be late without being noted."""
    credit: float
    """Seconds by which a request may be late without starting the schedule anew."""


@lru_cache(maxsize=256)
def _law(set_point: float) -> _Law:
    if not set_point >= 0:
        raise ValueError(
            f"set-point {set_point:g} is not a rate: it must be a number of pages a minute, infinity for none, or 0 for a pause"
        )
    if not set_point:
        return _Law(set_point, inf, inf, inf, inf, inf)
    interval = PERIOD / set_point
    if not interval:
        return _Law(set_point, interval, 0.0, 0.0, 0.0, 0.0)
    span = (floor(set_point) + 1) * interval
    rest = span - PERIOD - _ROUNDING
    return _Law(set_point, interval, interval / 2, span, rest, max(CREDIT, interval))
