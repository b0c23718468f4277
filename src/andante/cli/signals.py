"""Signals that end a crawl: the first one cleanly, a second one of its kind at once, whatever the process is doing then."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
from collections.abc import Callable, Iterable

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, `kill`, and the end of the terminal or of the session."""


def is_nohup(number: int) -> bool:
    """Tell whether a signal was to be ignored from the start, as ``nohup`` asks."""
    return number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Call ``stop`` in the running loop at the first of the signals; from then on each has its default action: it ends the process.

    A signal reaches ``stop`` by way of the loop, so one that stands still learns of none. The kernel takes the handler away
    with the first delivery, so the next signal of the same kind ends the process without a line of Python.

    SIGHUP that was ignored at the start, as under ``nohup``, stays ignored.
    """
    loop = asyncio.get_running_loop()
    handled = [number for number in ENDING if not is_nohup(number)]
    shown = terminals()

    def first(number: int) -> None:
        for each in handled:
            signal.signal(each, signal.SIG_DFL)
        if number == signal.SIGHUP:
            write_nowhere(shown)
        stop()

    for number in handled:
        loop.add_signal_handler(number, first, number)
        _reset_when_delivered(number)


def terminals() -> list[int]:
    """Return those of standard output and error that are a terminal."""
    return [file for file in (1, 2) if os.isatty(file)]


def write_nowhere(files: Iterable[int]) -> None:
    """Let what is written to files that were a terminal be lost: after SIGHUP it would be an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for file in files:
        os.dup2(nowhere, file)
    os.close(nowhere)


def _reset_when_delivered(number: int) -> None:
    """Let the handler of a signal, which is Python's own, serve once (SA_RESETHAND): what `signal.signal` cannot ask for.

    glibc has it in ``sysv_signal``. Elsewhere only a loop that turns sees to the second signal.
    """
    install = getattr(ctypes.CDLL(None), "sysv_signal", None)
    if install is None:
        return
    install.argtypes, install.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
    handler = install(number, None)
    install(number, handler)
