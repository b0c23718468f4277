"""A server as a process of its own: ready when it says so, and gone with the test, even when that is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

READY_WITHIN, STOPPED_WITHIN = 20.0, 10.0
"""Seconds after which a start, or a stop in good order, has failed."""

_POLL = 0.002


class Place:
    """Where a process runs: this machine, unless a subclass says otherwise."""

    address = "127.0.0.1"
    prefix: Sequence[str] = ()
    """What is put before a command that is to run there."""

    def entered(self) -> AbstractContextManager[None]:
        """Sockets made in this context are there, and stay there."""
        return nullcontext()

    def free_port(self) -> int:
        """Return a TCP port that nobody has now."""
        with self.entered(), socket.create_server((self.address, 0)) as probe:
            return int(probe.getsockname()[1])


HERE = Place()


class Service:
    """A server process; it does not run yet.

    A subclass says by `is_ready` whether it answers. The kernel kills the process when the thread that started it ends: start it in
    one that lasts.
    """

    def __init__(self, folder: Path, command: Sequence[str | Path], place: Place = HERE) -> None:
        self.folder = folder
        self.place = place
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self.folder}, process {self._process and self.pid}>"

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None, "it has not been started"
        return self._process.pid

    @property
    def printed(self) -> str:
        """What it has printed."""
        path = self.folder / "printed"
        return path.read_text(errors="replace") if path.exists() else ""

    def is_ready(self) -> bool:
        """Tell whether it answers."""
        raise NotImplementedError

    def start(self) -> Self:
        """Start it, and wait until it answers.

        Raises:
            AssertionError: it has ended, or does not answer; with what it printed.
        """
        with (self.folder / "printed").open("ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self.place.prefix, *self._command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(self._answers, READY_WITHIN, self)
        return self

    def kill(self) -> None:
        """End it as ``kill -9`` does; does nothing where it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End it in good order.

        Raises:
            subprocess.TimeoutExpired: it takes too long.
        """
        assert self._process is not None
        self._process.terminate()
        self._process.send_signal(signal.SIGCONT)
        self._process.wait(STOPPED_WITHIN)

    def pause(self) -> None:
        """Let it hang: its connections stay open, and nobody answers."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        """Let it go on after a `pause`."""
        os.kill(self.pid, signal.SIGCONT)

    def _answers(self) -> bool:
        assert self._process is not None
        status = self._process.poll()
        assert status is None, f"{self} has ended with {status}:\n{self.printed}"
        return self.is_ready()


def wait_until(
    is_so: Callable[[], object],
    within: float = READY_WITHIN,
    what: Service | str = "what was awaited",
) -> None:
    """Wait until a function returns something true.

    Raises:
        AssertionError: that took longer.
    """
    give_up = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < give_up, (
            f"not within {within:g} s: {what}\n{what.printed if isinstance(what, Service) else ''}"
        )
        time.sleep(_POLL)


@contextmanager
def folder() -> Iterator[Path]:
    """Make a folder for a server; its name is short enough for Unix sockets in it."""
    with TemporaryDirectory(prefix="andante-") as name:
        yield Path(name)
