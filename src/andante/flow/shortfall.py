"""Why a server, or the crawl as a whole, is below its set-point."""

from __future__ import annotations

from collections import deque
from math import floor

from andante.flow.pace import PERIOD

REASONS = {
    "server": "the server: its responses take too long for the connections that it may have",
    "robots": "Crawl-delay of robots.txt",
    "delay": "`--delay`",
    "back-off": "the server, or another one at its IP address, asked for time (Retry-After, 429, 503), or fails",
    "no-urls": "no URL of it was waiting",
    "address": "other servers at its IP address had their turn",
    "connections": "all `--connections` were at work elsewhere",
    "total-rate": "`--total-rate`: other servers had their turn",
    "servers": "of the whole crawl: all servers were at their own set-points, or had to wait",
    "paused": "`andante rate`: it is paused",
    "machine": "this machine: the request could have gone, but the crawler was busy",
}
"""What may hold a request back after it was due."""

_WIDTH = PERIOD / 10


class Shortfall:
    """Finds the reason that cost the most time in the last 60 s.

    A request is *due* at its slot, by the set-point alone (`Pace.slot`). From then until it is sent time is lost, and each second of it
    is the fault of what holds the request back in that second. Who feeds this says when something begins to hold the next request
    back (`on_held`); if nobody has said anything, the request could have gone, and it is this machine that was late.

    Time and requests are kept in eleven boxes of 6 s, of which the oldest counts in part, so the cost of a call does not depend on the speed.

    Args:
        now: seconds of a monotone clock: the first request is due.
    """

    __slots__ = ("_boxes", "_due", "_now", "_reason", "_started")

    def __init__(self, now: float) -> None:
        self._started = now
        self._now = now
        self._due = now
        self._reason = "machine"
        self._boxes = deque([_Box(floor(now / _WIDTH))])

    def on_held(self, reason: str, now: float) -> None:
        """From now on ``reason``, one of `REASONS`, holds the next request back."""
        self._account(now)
        self._reason = reason

    def on_sent(self, now: float, due: float) -> None:
        """A request is sent; the next one is due at ``due``, which may have passed."""
        self._account(now)
        self._boxes[-1].sent += 1
        self._due = due
        self._reason = "machine"

    def sent(self, now: float) -> int:
        """Return the requests sent in the last 60 s, give or take one."""
        self._account(now)
        return round(sum(self._weight(box) * box.sent for box in self._boxes))

    def reason(self, set_point: float, now: float) -> str:
        """Return what cost the most time in the last 60 s; empty while the set-point is held.

        It is held when it was sent within 2.5 % or one request, or when no more than 2.5 % of the time was lost.
        """
        sent = self.sent(now)
        wanted = set_point * min(now - self._started, PERIOD) / PERIOD if now > self._started else 0
        lost: dict[str, float] = {}
        for box in self._boxes:
            for reason, seconds in box.lost.items():
                lost[reason] = lost.get(reason, 0.0) + self._weight(box) * seconds
        if sent >= min(wanted - 1, 0.975 * wanted) > 0 or sum(lost.values()) <= 0.025 * PERIOD:
            return ""
        return max(lost, key=lambda reason: lost[reason])

    def _account(self, now: float) -> None:
        """Book the time up to now, box by box, to what held the request back."""
        if now < self._now:
            raise ValueError(f"the clock went back from {self._now:.6f} to {now:.6f}")
        at = max(self._now, now - PERIOD - _WIDTH)
        self._now = now
        while True:
            box = self._box(floor(at / _WIDTH))
            until = min(now, (box.number + 1) * _WIDTH)
            seconds = until - max(at, self._due)
            if seconds > 0:
                box.lost[self._reason] = box.lost.get(self._reason, 0.0) + seconds
            if until == now:
                return
            at = until

    def _box(self, number: int) -> _Box:
        if self._boxes[-1].number != number:
            self._boxes.append(_Box(number))
            while self._boxes[0].number < number - 10:
                self._boxes.popleft()
        return self._boxes[-1]

    def _weight(self, box: _Box) -> float:
        """Return the share of a box that lies in the last 60 s."""
        inside = (box.number + 1) * _WIDTH - (self._now - PERIOD)
        return min(max(inside / _WIDTH, 0.0), 1.0)


class _Box:
    __slots__ = ("lost", "number", "sent")

    def __init__(self, number: int) -> None:
        self.number = number
        self.sent = 0
        self.lost: dict[str, float] = {}
