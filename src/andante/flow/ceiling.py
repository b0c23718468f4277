"""The learnt ceiling: how many requests a minute go to a server that meters them and refuses what is too much.

Neither the rate that such a server allows nor the window over which it counts is told; what it refuses tells both. C1 to C9 are the
rules of docs/explanation/back-off.md. Rates here are requests a second.
"""

from __future__ import annotations

from math import inf

import msgspec

from andante.flow.meter import Ban, Served

_WINDOW = 10.0
"""Seconds: the window that is assumed first. Most meters count over 1, 10 or 60 s; from 10 s both ends are near."""

_FIRST = 1.0
"""Requests a second: the first guess is not lower. What was asked for more slowly tells little, as hardly any server is that strict."""

_LEAST = 1 / 60
"""Requests a second: the ceiling is never lower."""

_MARGIN = 0.98
"""Share of what a meter is believed to allow that is used."""

_PROOF, _PROOF_MIN = 1.2, 10
"""A rate has proven itself when 1.2 times the burst, and at least 10 requests, have been served at it."""

_CLIMB = 1 / 16
"""Step by which more than the known ceiling is tried."""

_COST = 0.02
"""Share of the time that trying for more may cost. A vain attempt costs one ban, and never less than ..."""

_VAIN = 4
"""... the time of so many requests."""


_SHORT, _RARE = 5.0, 50
"""A refusal is not yet taken for a meter's when it was over within so many seconds, and so many requests had been served before it."""

_BRIEF = 0.2
"""A refusal is odd if, though the rate is no higher than it should be, it lasted less than this share of the time before it ..."""

_FINE = 300
"""... and fewer requests than this had been served: more is fine, whatever the reason."""

_ODD = 3
"""So many odd refusals are not a meter's."""

_ALIKE, _CONVINCING = 0.3, 3
"""After that so many runs in a row must be alike, up to this share of their length, before a meter is believed in again."""


class Learnt(msgspec.Struct, frozen=True, array_like=True):
    """What a job keeps of a ceiling."""

    rate: float
    """Requests a second that may go."""
    is_known: bool
    """Whether that is the ceiling, or still a step of the search for it."""
    burst: int
    """Requests that the meter lets through at once."""
    ban: float
    """Seconds that it refuses for."""
    peak: float
    """Requests a second that were served before it first refused."""


class Ceiling:
    """What one server lets through.

    It sees every request that is answered or refused, by the time at which it was sent; answers may come in any order. Until one is refused
    there is no ceiling. While refusals last the ceiling stays as it is: back-off holds the server, and the first answer after them teaches.

    Invariant: ``set_point`` is above 0, and infinite until a request has been refused. No call takes longer than a sort of 1,024 numbers.

    Args:
        learnt: what an earlier run learnt of the server.
        now: the time, where there is something learnt.
    """

    __slots__ = (
        "_ban",
        "_before",
        "_burst",
        "_clock",
        "_doubt",
        "_known",
        "_lag",
        "_last",
        "_low",
        "_peak",
        "_proof",
        "_proof_from",
        "_quiet_until",
        "_rate",
        "_refused_at",
        "_served",
        "_told_at",
    )

    def __init__(self, learnt: Learnt | None = None, *, now: float = 0.0) -> None:
        self._rate = inf
        self._last = -inf  # when the last request was sent
        self._known = 0.0  # the ceiling; 0 while it is not known
        self._burst = 0  # most requests that are let through at once; 0 while none was refused
        self._peak = inf  # served before the first refusal
        self._low = 0.0  # proven in the search
        self._before = 0  # requests served before the last refusal, while there is no ceiling
        self._doubt = 0  # that what refuses is a meter
        self._served = Served()
        self._proof = 0  # requests served at the present rate
        self._proof_from = 0.0
        self._quiet_until = 0.0  # no attempt at more before
        self._refused_at: float | None = None  # the first request refused; None while all is well
        self._told_at = 0.0  # when the last refusal was heard
        self._lag = 0.0  # the longest round trip of a refusal
        self._ban = Ban()
        self._clock = -inf
        if learnt is not None:
            self._rate, self._burst, self._peak = learnt.rate, learnt.burst, learnt.peak
            self._known = learnt.rate if learnt.is_known else 0.0
            self._ban.length = learnt.ban
            self._quiet_until = now + self._quiet

    def __repr__(self) -> str:
        if self._rate == inf:
            return "<Ceiling: none>"
        state = "known" if self._known else "searched for"
        return f"<Ceiling: {self.set_point:.1f}/min, {state}; refuses for {self._ban.length:.0f} s>"

    @property
    def set_point(self) -> float:
        """Requests a minute that may go now; infinite while the server has refused none."""
        return self._rate * 60

    @property
    def next_time(self) -> float:
        """Nothing should be sent before: requests go evenly, and what was missed is not made up for."""
        return self._last + 1 / self._rate

    @property
    def learnt(self) -> Learnt | None:
        """What a job should keep; None while there is nothing."""
        if self._rate == inf:
            return None
        return Learnt(self._rate, bool(self._known), self._burst, self._ban.length, self._peak)

    def on_sent(self, now: float) -> None:
        """A request is sent.

        Raises:
            ValueError: ``now`` is before that of an earlier call.
        """
        self._check(now, now)
        self._last = now

    def on_success(self, sent_at: float, *, now: float) -> None:
        """A request was answered, and not refused.

        Raises:
            ValueError: as in `on_sent`, or ``now`` is before ``sent_at``.
        """
        self._check(sent_at, now)
        if self._refused_at is None:
            self._served.add(sent_at, in_full=self._burst > 0)
            if self._burst:
                self._count_proof(sent_at, now)
        elif sent_at >= self._told_at:
            self._end_refusals(sent_at, now)
        elif sent_at < self._refused_at:
            self._served.add(sent_at, in_full=self._burst > 0)

    def on_refused(self, sent_at: float, *, now: float) -> float:
        """A request was refused.

        Returns:
            The seconds from now that refusals are known to last; 0 when that is not known.

        Raises:
            ValueError: as in `on_success`.
        """
        self._check(sent_at, now)
        if self._refused_at is None:
            self._refused_at = sent_at
            self._lag = 0.0
        elif sent_at >= self._told_at:
            self._ban.refused_after = sent_at - self._refused_at
        self._refused_at = min(self._refused_at, sent_at)
        self._lag = max(self._lag, now - sent_at)
        self._told_at = now
        return self._ban.left(now - self._refused_at)

    def _check(self, sent_at: float, now: float) -> None:
        if not (now >= self._clock and now >= sent_at):
            message = f"the clock must not run back: {now} after {self._clock}, sent at {sent_at}"
            raise ValueError(message)
        self._clock = now

    @property
    def _quiet(self) -> float:
        """Seconds between attempts at more."""
        return max(self._ban.known, _VAIN / self._rate) / _COST

    # What refusals teach

    def _end_refusals(self, sent_at: float, now: float) -> None:
        """Requests are answered again; all that were in flight at the first refusal have come back by now."""
        assert self._refused_at is not None
        self._ban.end(sent_at - self._refused_at)
        if self._burst:
            self._learn(self._served, self._refused_at)
        else:
            self._begin(self._served, self._refused_at)
        self._refused_at = None
        self._served = Served()
        self._served.add(sent_at, in_full=self._burst > 0)
        self._proof, self._proof_from = 0, now
        self._quiet_until = now + self._quiet

    def _begin(self, served: Served, refused_at: float) -> None:
        """C1: is it a meter? There is no ceiling yet, or not any more."""
        count, before = max(1, served.count), self._before
        self._before = count
        if self._doubt:
            is_alike = abs(count - before) <= max(1, _ALIKE * max(count, before))
            self._doubt = self._doubt - 1 if is_alike else _CONVINCING
            is_meter = not self._doubt
        else:
            is_meter = self._ban.length >= _SHORT or 0 < before < _RARE > count
        if is_meter:
            self._guess(served, refused_at)

    def _learn(self, served: Served, refused_at: float) -> None:
        if self._is_none(served, refused_at):
            self._forget()
            self._doubt, self._before = _CONVINCING, served.count
            return
        if self._known:
            self._correct(served)
        elif served.count < _PROOF * self._burst:
            self._widen(served, refused_at)
        else:
            self._find(served, refused_at)
        self._rate = max(self._rate, _LEAST)

    def _is_none(self, served: Served, refused_at: float) -> bool:
        """C8: tell whether refusals go on, though the rate is lowered time and again."""
        is_climbing = 0 < self._known < self._rate
        if served.count >= _FINE:
            self._doubt = 0
        elif not is_climbing and self._ban.length <= _BRIEF * served.seconds(refused_at):
            self._doubt += 1
        return self._doubt >= _ODD

    def _guess(self, served: Served, refused_at: float) -> None:
        """C2: the first refusal. The burst is known now, the window is not."""
        served.skip_idle(refused_at)
        seconds = served.seconds(refused_at)
        self._burst = max(1, served.count)
        self._peak = self._burst / seconds
        window = max(_WINDOW, 1.3 * seconds) + self._lag / 2
        self._rate = _MARGIN * max(self._burst / window, _FIRST)

    def _widen(self, served: Served, refused_at: float) -> None:
        """C3: hardly more than the burst was let through since the last ban, so the window is longer than that time."""
        self._rate = min(self._rate, self._burst / served.seconds(refused_at)) / 2
        self._burst = max(1, min(self._burst, served.count))

    def _find(self, served: Served, refused_at: float) -> None:
        """C4: so much was let through that older requests have left the window, so it is as long as one burst took."""
        rate = _MARGIN * served.rate(self._burst, refused_at, slack=self._lag / 2)
        self._rate = self._known = max(self._low, min(rate, 0.95 * self._rate))

    def _correct(self, served: Served) -> None:
        """C6 if more than the known ceiling was tried; else C5: the ceiling is lower."""
        if self._rate > self._known:
            if self._rate > self._known * (1 + _CLIMB) ** 2:
                self._known *= 1 + _CLIMB
        else:
            if self._low > 0.99 * self._known:
                self._low = 0.0
            without_burst = 1 - self._burst / max(1, served.count)
            self._known = max(self._low, self._known * min(0.95, max(0.5, without_burst)))
        self._rate = self._known

    # What answers teach

    def _count_proof(self, sent_at: float, now: float) -> None:
        if sent_at < self._proof_from:
            return
        self._proof += 1
        if self._proof < max(_PROOF * self._burst, _PROOF_MIN):
            return
        was_used = sent_at - self._proof_from < 1.5 * self._proof / self._rate
        self._proof, self._proof_from = 0, now
        if was_used:
            self._proceed(now)

    def _proceed(self, now: float) -> None:
        """The present rate has proven itself: try more, if it is time."""
        if not self._known:  # C4
            self._low = self._rate
            self._rate *= 2
            if self._rate > 2 * self._peak:  # C7
                self._forget()
        elif now >= self._quiet_until:  # C6
            self._rate *= 1 + _CLIMB
            if self._rate > 2 * self._known:
                self._known = 0.0

    def _forget(self) -> None:
        """There is no ceiling (any more)."""
        self._rate = self._peak = inf
        self._burst, self._known, self._low = 0, 0.0, 0.0
        self._served = Served()
