"""The loop monitor: whether the event loop turns, and what was taken up last when it does not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

from andante.observe import Event

STALL = 1.0
"""Seconds for which the loop may stand still without a word."""

_BEAT = 0.25
"""Seconds from one sign of life to the next."""


class LoopMonitor:
    """Sees how long the event loop of a crawl stands still; another thread may ask meanwhile.

    Args:
        clock: gives the time in seconds; not the loop's, which stands still with it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = inf
        self._last_read = "", 0
        self._suspect: tuple[str, int] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def stalled(self) -> float:
        """Seconds since the loop should have turned; 0 while it does, and while it is not watched."""
        return max(self._clock() - self._due, 0.0)

    @property
    def suspect(self) -> tuple[str, int]:
        """URL and bytes of the response that was taken up last before the loop stood still; an empty URL: there was none."""
        return self._suspect or self._last_read

    def reads(self, url: str, size: int) -> None:
        """A response is taken up, of so many bytes."""
        if self._suspect is None and self._clock() - self._due > STALL:
            self._suspect = (
                self._last_read
            )  # responses that have come meanwhile may be taken up before the loop turns
        self._last_read = url, size

    @contextmanager
    def watch(self, emit: Callable[[Event], None] | None) -> Iterator[None]:
        """Watch the running loop, and send an event when it has stood still for more than `STALL`."""
        self._turn(asyncio.get_running_loop(), emit)
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._due = inf

    def event(self, name: str) -> Event:
        """Return an event that says for how long the loop stands still, and what is to be suspected."""
        url, size = self.suspect
        return Event(event=name, seconds=round(self.stalled, 1), url=url, bytes=size)

    def _turn(self, loop: asyncio.AbstractEventLoop, emit: Callable[[Event], None] | None) -> None:
        if emit is not None and self.stalled > STALL:
            emit(self.event("loop.stalled"))
        self._suspect = None
        self._due = self._clock() + _BEAT
        self._timer = loop.call_later(_BEAT, self._turn, loop, emit)
