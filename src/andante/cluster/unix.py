"""Unix sockets whose paths are longer than the system takes."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PATH_MAX = 107
"""Bytes of a path that the address of a Unix socket has room for (unix(7))."""


class SocketPath:
    """A path by which a Unix socket can be reached, however long its own is: by way of its directory, which is kept open.

    Args:
        path: of the socket.
    """

    def __init__(self, path: Path) -> None:
        self._folder = -1
        self.short = str(path)
        """What to connect to, until `close`."""
        if len(os.fsencode(path)) > PATH_MAX:
            with suppress(OSError):  # then the connection fails, and says why
                self._folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
                self.short = f"/proc/self/fd/{self._folder}/{path.name}"

    def close(self) -> None:
        """Let go of the directory."""
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1
