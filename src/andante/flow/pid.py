"""The classic controller of crawl speed: a delay between pages, corrected once a control period by what was measured."""

from __future__ import annotations

from math import inf, isfinite


class Pid:
    """Hold a set-point in pages a minute by the delay between pages (source 1).

    Once a control period, a minute in the source, `update` takes N, the pages crawled in it, and returns the delay T in seconds:

        e_k = S - N_k                                                        S: set-point
        T_k = T_{k-1} + KP e_k                                         (3.1)
        T_k = T_{k-1} + KP e_k + KI (e_1 + ... + e_k) + KD (e_k - e_{k-1})   (4.1)

    (3.1) is (4.1) with ``ki = kd = 0``. As in the source the delay and the accumulated error are limited. The accumulated error is
    cleared whenever the error is 0, and when the set-point changes. With the defaults the published record comes out to within 1 ms.

    Args:
        set_point: S, pages a minute.
        kp: seconds for each page a minute of error; negative, as a longer delay means fewer pages.
        ki: seconds for each page a minute of accumulated error.
        kd: seconds for each page a minute by which the error has grown in the last period.
        delay: T_0, seconds.
        delay_min: the delay is never shorter, seconds.
        delay_max: the delay is never longer, seconds. This bounds how long a new delay can go unmeasured as well.
        error_sum_max: bound of the accumulated error, pages a minute. 100 is 2.5 times what the published record needs, and limits
            what a site that cannot reach the set-point winds up to 2 s a period.

    Raises:
        ValueError: an argument is out of its range.
    """

    __slots__ = (
        "_delay",
        "_delay_max",
        "_delay_min",
        "_error",
        "_error_sum",
        "_error_sum_max",
        "_kd",
        "_ki",
        "_kp",
        "_set_point",
    )

    def __init__(
        self,
        set_point: float,
        *,
        kp: float = -0.05,
        ki: float = -0.02,
        kd: float = 0.0,
        delay: float = 1.0,
        delay_min: float = 0.0,
        delay_max: float = 60.0,
        error_sum_max: float = 100.0,
    ) -> None:
        for name, gain in (("kp", kp), ("ki", ki), ("kd", kd)):
            if not -inf < gain <= 0:
                raise ValueError(f"{name} {gain:g} is not a gain: it must be finite and at most 0")
        if not 0 <= delay_min <= delay <= delay_max < inf:
            raise ValueError(
                f"delay {delay:g} s is not in delay_min to delay_max, {delay_min:g} to {delay_max:g} s"
            )
        if not 0 <= error_sum_max < inf:
            raise ValueError(
                f"error_sum_max {error_sum_max:g} is not a bound: it must be finite and not negative"
            )
        self._kp = kp
        self._ki = ki
        self._kd = kd
        self._delay = delay
        self._delay_min = delay_min
        self._delay_max = delay_max
        self._error: float | None = None
        self._error_sum = 0.0
        self._error_sum_max = error_sum_max
        self._set_point = _checked(set_point)

    def __repr__(self) -> str:
        return f"<Pid: set-point {self._set_point:g}/min, delay {self._delay:.3f} s>"

    @property
    def delay(self) -> float:
        """The delay between pages now, seconds."""
        return self._delay

    @property
    def set_point(self) -> float:
        """Pages a minute to be held. A new one forgets the errors of the old."""
        return self._set_point

    @set_point.setter
    def set_point(self, value: float) -> None:
        self._set_point = _checked(value)
        self._error = None
        self._error_sum = 0.0

    def update(self, pages_per_minute: float) -> float:
        """A control period has ended in which so many pages a minute were crawled; return the delay from now on.

        Raises:
            ValueError: the measurement is negative, infinite or no number.
        """
        if not 0 <= pages_per_minute < inf:
            raise ValueError(
                f"{pages_per_minute:g} pages a minute is not a measurement: it must be finite and not negative"
            )
        error = self._set_point - pages_per_minute
        change = 0.0 if self._error is None else error - self._error
        self._error = error
        bound = self._error_sum_max
        self._error_sum = min(max(self._error_sum + error, -bound), bound) if error else 0.0
        delay = self._delay + self._kp * error + self._ki * self._error_sum + self._kd * change
        self._delay = min(max(delay, self._delay_min), self._delay_max)
        return self._delay


def _checked(set_point: float) -> float:
    if not (isfinite(set_point) and set_point > 0):
        raise ValueError(
            f"set-point {set_point:g} is not a rate: it must be a finite number of pages a minute above 0"
        )
    return set_point
