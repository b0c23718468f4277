"""A virtual clock under the ordinary asyncio interfaces: waiting costs no time, and a run can be had again.

Rules:

1. `VirtualLoop.time` begins at 0 and stands still while anything is ready to run; when nothing is, it jumps to the next timer.
2. Callbacks run in the order of their times, those of one time in the order they were made.
3. Work for other threads is done at once, in no virtual time.
4. There are no sockets, pipes or signals: nothing that happens outside can be seen. So when nothing is ready and no timer is set, nothing will
   ever happen again, and the loop says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from contextvars import Context
from heapq import heappush
from itertools import count
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_RESOLUTION = 1e-9
"""Seconds within which timers are due together: more than the rounding of times up to a year."""


class Deadlock(RuntimeError):  # noqa: N818  # the field's term
    """All tasks wait for each other: nothing is ready, and no timer is set."""


class Inline(Executor):
    """An executor that does the work at once, in the thread that asks."""

    def submit(self, fn: Callable[..., T], /, *arguments: Any, **keywords: Any) -> Future[T]:
        """Call; return what came of it."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*arguments, **keywords))
        except Exception as error:  # it is raised again where the result is wanted
            future.set_exception(error)
        return future


class _Jump:
    """Stands where a loop has its selector: instead of waiting for sockets it moves the clock."""

    def __init__(self) -> None:
        self.now = 0.0

    def select(self, timeout: float | None) -> tuple[()]:
        if timeout is None:
            raise Deadlock("deadlock: nothing is ready, and no timer is set")
        self.now += timeout
        return ()


class Timer(asyncio.TimerHandle):
    """A timer that stands behind those of its time that were made before it."""

    __slots__ = ("_number",)
    _when: float  # the base class's
    _scheduled: bool

    def __init__(self, number: int, when: float, *rest: Any) -> None:
        super().__init__(when, *rest)
        self._number = number

    def __lt__(self, other: Timer) -> bool:  # type: ignore[override]  # a loop's timers are all of this kind
        if self._when == other._when:
            return self._number < other._number
        return self._when < other._when


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop whose time is virtual; see the rules above."""

    _scheduled: list[Timer]  # the base class's heap
    _timer: type[Timer]

    def __init__(self) -> None:
        super().__init__()
        self._timer = Timer
        self._selector = _Jump()
        self._clock_resolution = _RESOLUTION
        self._numbers = count()

    def time(self) -> float:
        """Return the virtual time, seconds since the loop was made."""
        return self._selector.now

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call ``callback`` at a time."""
        timer = self._timer(next(self._numbers), when, callback, args, self, context)
        heappush(self._scheduled, timer)
        timer._scheduled = True  # noqa: SLF001  # as the base class does, so that cancelled timers are counted
        return timer

    def run_in_executor(  # type: ignore[override]  # typeshed has a coroutine's type for what is a future
        self, executor: Executor | None, func: Callable[..., T], *arguments: Any
    ) -> asyncio.Future[T]:
        """Call ``func`` at once; ``executor`` is not asked."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*arguments))
        except Exception as error:  # it is raised again where the result is awaited
            future.set_exception(error)
        return future

    # What the base class asks of a loop

    def _process_events(self, events: tuple[()]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken."""


def run(main: Coroutine[Any, Any, T], loop_factory: Callable[[], VirtualLoop] = VirtualLoop) -> T:
    """Run a coroutine under a virtual clock of its own, to its end.

    Raises:
        Deadlock: it waits for what can never happen.
    """
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(main)
