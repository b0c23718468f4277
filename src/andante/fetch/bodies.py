"""The memory that bodies may take, over all connections of a crawl; what is beyond it goes into files.

Rules:

1. A body counts from its first `UNCOUNTED` bytes on until its response is let go. Shorter ones do not: no connection holds more of
   them than one, and they cost nothing here.
2. A body that would pass the limit goes into a file from there on, with what has come of it, and reading goes on: to wait would
   run into time-outs at both ends. The file has no name, so nothing of it is left when the process ends, however it ends.
3. Where no file may be opened, as too many are, the body stays in memory.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import io
    from pathlib import Path

    from andante.page import Payload

UNCOUNTED = 256 * 1024
"""Bytes of a response after which its body is counted: most pages are shorter."""

STEP = 64 * 1024
"""Bytes after which a body that is counted is looked at again."""

_MAPPED = 2**19
"""Bytes from which a body has memory of its own, that goes back to the system with it, once a fourth of all is in use."""

_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_TOO_MANY = (errno.EMFILE, errno.ENFILE)

BODY_MEMORY = 256 * 2**20
"""Bytes of bodies in memory, unless the settings say otherwise."""


class BodyMemory:
    """What the bodies in memory take; one for all connections of a crawl.

    Args:
        limit: bytes.
        directory: where the files go; None: where the system keeps temporary files.
    """

    __slots__ = ("_directory", "held", "limit")

    def __init__(self, limit: int = BODY_MEMORY, directory: Path | None = None) -> None:
        self.limit = limit
        self.held = 0
        """Bytes of all `Body` that live."""
        self._directory = directory

    def file(self) -> io.FileIO | None:
        """Return a new file without a name; None: no more may be opened.

        Raises:
            OSError: the disk is full or failing.
        """
        try:
            return tempfile.TemporaryFile(buffering=0, dir=self._directory)
        except OSError as error:
            if error.errno in _TOO_MANY:
                return None
            raise


class Body:
    """A body under way, and then what its payload takes in memory: counted for as long as this object lives."""

    __slots__ = ("_blocks", "_file", "_held", "_map", "_memory", "_size")

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._held = 0
        self._size = 0
        self._blocks: list[bytes] = []
        self._map: mmap.mmap | None = None  # what comes after so many blocks, with these
        self._file: io.FileIO | None = None  # or there

    def __len__(self) -> int:
        return self._size

    def __del__(self) -> None:
        self._memory.held -= self._held
        if self._map is not None:
            self._map.close()
        if self._file is not None:
            self._file.close()

    def add(self, block: bytes) -> None:
        """Add the next bytes.

        Raises:
            OSError: the disk is full or failing.
        """
        memory = self._memory
        if self._file is None and memory.held + len(block) > memory.limit:
            self._file = memory.file()
            if self._file is not None:
                self._move_to(self._file)
        if self._file is not None:
            _write(self._file, block)
        else:
            self._held += len(block)
            memory.held += len(block)
            self._keep(block)
        self._size += len(block)

    def finish(self, limit: int) -> Payload:
        """Return the body, or its first ``limit`` bytes; no more may be added.

        Raises:
            OSError: the file cannot be read.
        """
        size = min(self._size, limit)
        if self._file is not None:
            return self._finish_file(self._file, size)
        payload: Payload = b"".join(self._blocks)[:size]
        self._blocks.clear()
        if self._map is not None and size:
            payload, self._map = _resized(self._map, size), None
        return payload

    def _keep(self, block: bytes) -> None:
        """Keep a block in memory."""
        end = self._size + len(block)
        if self._map is None and (end < _MAPPED or self._memory.held < self._memory.limit // 4):
            self._blocks.append(block)
            return
        # Blocks cost less, but to join them takes as much again, and what they leave behind is not soon given back.
        if self._map is None:
            self._map = mmap.mmap(-1, 2 * end, flags=_ANONYMOUS)
            self._map.write(b"".join(self._blocks))
            self._blocks.clear()
        elif end > len(self._map):
            self._map = _resized(self._map, 2 * end)
            self._map.seek(self._size)
        self._map.write(block)

    def _move_to(self, file: io.FileIO) -> None:
        """Put what has come into the file, and out of memory."""
        for block in self._blocks:
            _write(file, block)
        self._blocks.clear()
        if self._map is not None:
            with memoryview(self._map) as view:
                _write(file, view[: self._size])
            self._map.close()
            self._map = None
        self._memory.held -= self._held
        self._held = 0

    def _finish_file(self, file: io.FileIO, size: int) -> Payload:
        if not size:
            return b""
        try:
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except OSError as error:
            if error.errno not in _TOO_MANY:
                raise
            return os.pread(file.fileno(), size, 0)
        finally:
            file.close()  # the map has its own


def _resized(old: mmap.mmap, size: int) -> mmap.mmap:
    """Return a map with what the old one has up to ``size``, and close that unless it is the same."""
    try:
        old.resize(size)
    except SystemError:  # a system without mremap
        new = mmap.mmap(-1, size, flags=_ANONYMOUS)
        new.write(old[:size])
        old.close()
        return new
    return old


def _write(file: io.FileIO, data: bytes | memoryview) -> None:
    with memoryview(data) as view:
        at = 0
        while at < len(view):
            at += file.write(view[at:])
