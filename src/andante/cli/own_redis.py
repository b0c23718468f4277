"""The Redis that ``andante crawl --workers`` starts for itself.

It listens on a Unix socket in a directory of its own within the job's, which nobody but the user may enter, and on no port: whoever can write to it decides what
is crawled.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

from andante.cluster.unix import SocketPath
from andante.crawl import SettingsError
from andante.store.lock import Lock

_READY = 10.0
"""Seconds that it is given to start; one with much data answers before it has read them."""

_STEADY = 2.0
"""Seconds after its start before which it is not started again: it cannot read its data, most likely, and would end again."""

_ENDING = 10.0
"""Seconds that it is given to end in good order."""

_SOCKET = "redis.sock"

_CONF = f"""\
port 0
unixsocket {_SOCKET}
unixsocketperm 600
daemonize no
save ""
appendonly yes
appendfsync everysec
maxmemory 0
"""

_PR_SET_PDEATHSIG = 1


class OwnRedis:
    """A Redis for the processes of one crawl; its data stay in its directory.

    Args:
        folder: its directory, made where it is not there.

    Raises:
        SettingsError: it cannot be started.
        JobError: another process uses the directory.
    """

    def __init__(self, folder: Path) -> None:
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        if program is None:
            raise SettingsError(
                "workers: there is no redis-server here: install it (apt install redis-server), or give --cluster with the URL of one"
            )
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)  # one of an earlier version was open to all
        except OSError as error:
            raise SettingsError(
                f"workers: cannot use {folder} for a Redis: {error.strerror}"
            ) from None
        self._program = program
        self._folder = folder.absolute()
        self._lock = Lock(folder / "lock")
        (folder / "redis.conf").write_text(_CONF)
        self._path = self._folder / _SOCKET
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        """Where it is, for ``--cluster``."""
        return f"unix://{quote(str(self._path))}"

    def see_to(self) -> bool:
        """Start it again where it has ended by itself, with what it has on disk; tell whether it had.

        Raises:
            SettingsError: it cannot be started.
        """
        if self._process is None or self._process.poll() is None:
            return False
        if time.monotonic() < self._started + _STEADY:
            raise self._failed()
        self._start()
        return True

    def stop(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._path.unlink(missing_ok=True)  # one that was killed leaves it
        self._lock.release()

    def _start(self) -> None:
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  # found in the path
                [self._program, "redis.conf"],
                cwd=self._folder,  # a path in its settings is from there: a long one would not do for a socket
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=ending_with_this(signal.SIGTERM),  # noqa: PLW1509  # no threads here
            )
        self._started = time.monotonic()
        while time.monotonic() < self._started + _READY and self._process.poll() is None:
            if self._answers():
                return
            time.sleep(0.01)
        raise self._failed()

    def _failed(self) -> SettingsError:
        log = self._folder / "redis.log"
        return SettingsError(f"workers: redis-server does not start; see {log}")

    def _answers(self) -> bool:
        path = SocketPath(self._path)
        try:
            with suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
                probe.connect(path.short)
                return True
        finally:
            path.close()
        return False


def ending_with_this(number: int) -> Callable[[], None]:
    """Return what a child is to do first: have the kernel, where it can, send it a signal when this process ends, even by ``kill -9``: nobody else would."""
    return partial(_end_with, os.getpid(), number)


def _end_with(parent: int, number: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it has ended before
            os.kill(os.getpid(), number)
