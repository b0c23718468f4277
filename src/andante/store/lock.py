"""One process at a time on a job."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from andante.store.journal import JobError


class Lock:
    """An advisory lock on a file, held until it is released or the process ends, however it ends.

    Raises:
        JobError: another process holds it, or it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            message = f"cannot write {path}: {error.strerror}"
            raise JobError(message) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(self._file, 20).decode(errors="replace").strip()
            os.close(self._file)
            message = f"{path.parent} is in use by another process ({owner or 'unknown'}): wait for it, or give another --job directory"
            raise JobError(message) from None
        os.ftruncate(self._file, 0)
        os.write(self._file, b"%d\n" % os.getpid())

    def release(self) -> None:
        """Let others take the job."""
        os.close(self._file)
