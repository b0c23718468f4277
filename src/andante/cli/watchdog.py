"""The watchdog: says on standard error that the event loop stands still, while it does."""

from __future__ import annotations

import faulthandler
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from andante.crawl.loop_monitor import STALL, LoopMonitor
from andante.observe import Event
from andante.units import format_duration, format_size

_LOOK = 0.5
"""Seconds from one look at the loop to the next."""

_LOCKED = 3.0
"""Seconds without a look after which C code that holds the interpreter's lock is taken to be at fault."""

_STDERR = 2


class Watchdog:
    """A thread that looks at the loop. It speaks after `STALL`, and again each time when that has doubled.

    Where C code holds the interpreter's lock, as a regular expression does, no thread runs. So each look winds up a timer of
    `faulthandler`, which needs no lock: if it runs down it prints where each thread is.

    Args:
        monitor: of the loop.
        tell: takes events, where the user reads events; None: there are lines.
    """

    def __init__(self, monitor: LoopMonitor, tell: Callable[[Event], None] | None = None) -> None:
        self._monitor = monitor
        self._tell = tell
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="andante-watchdog", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        faulthandler.cancel_dump_traceback_later()

    def _run(self) -> None:
        speaks_at = STALL
        while True:
            faulthandler.dump_traceback_later(_LOCKED, file=_STDERR)
            if self._ended.wait(_LOOK):
                break
            stalled = self._monitor.stalled
            if stalled > speaks_at:
                self._speak(stalled)
                speaks_at = 2 * stalled
            elif not stalled:
                speaks_at = STALL

    def _speak(self, stalled: float) -> None:
        if self._tell is not None:
            self._tell(self._monitor.event("loop.stalling"))
            return
        url, size = self._monitor.suspect
        last = f"the last response was {url} ({format_size(size)})" if url else "no response yet"
        line = f"andante: the event loop has stood still for {format_duration(stalled)}; {last}\n"
        os.write(_STDERR, line.encode())
