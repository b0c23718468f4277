"""Plain pacing: the next request goes when the rate, the delay and the back-off all allow it."""

from __future__ import annotations


class Pace:
    """When the next request may go to a server, an address, or out at all.

    Rules: (1) requests start at least ``interval`` apart; (2) a request starts at least ``delay`` after the response before it
    has ended; (3) none starts before the end of a hold (Retry-After, back-off). What is later wins. Times are seconds of one clock.
    """

    __slots__ = ("delay", "interval", "next_time")

    def __init__(
        self, *, interval: float = 0.0, delay: float = 0.0, next_time: float = 0.0
    ) -> None:
        self.interval = interval
        self.delay = delay
        self.next_time = next_time

    def __repr__(self) -> str:
        return f"<Pace: next at {self.next_time:.3f}, interval {self.interval:g} s, delay {self.delay:g} s>"

    def on_sent(self, now: float) -> None:
        """A request starts. Others on other connections must not start together with it, so the delay counts here too."""
        self.next_time = max(self.next_time, now + max(self.interval, self.delay))

    def on_finished(self, now: float) -> None:
        """A response, or the failure to get one, has ended."""
        self.next_time = max(self.next_time, now + self.delay)

    def hold(self, until: float) -> None:
        """Nothing starts before ``until``."""
        self.next_time = max(self.next_time, until)
