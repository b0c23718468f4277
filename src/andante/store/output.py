"""Outputs: files that pages are appended to, and that can be cut back to what was committed.

An output and the journal agree by one rule: bytes count once the journal has committed the position behind them. Whatever a killed process
left beyond that position is cut off when the output is opened again, so each page is in the output exactly once.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from andante.page import Page

Position = tuple[int, int]
"""A place in an output: number of the file, from 0, and bytes into it."""

_WRITES_AT_ONCE = 1024  # IOV_MAX of Linux and macOS


class OutputDamaged(Exception):  # noqa: N818  # says what happened; JobError is what the user sees
    """An output is not what was committed; the message is one line for the user. Nothing was changed."""


class Sink(Protocol):
    """Turns pages into the bytes of one format. It touches no file."""

    wants_title: bool
    """It writes the titles of pages."""
    wants_redirects: bool
    """It writes redirects too, not only what they lead to."""

    def header(self, filename: str) -> bytes:
        """Return what each file begins with. Called in the thread that writes."""
        ...

    def encode(self, page: Page) -> bytes:
        """Return the records of a page, which are never parted between two files. Several threads may call it at once."""
        ...


class Output:
    """An append-only file, or several: when one is full, the next one starts (``pages.warc.gz``, ``pages-00001.warc.gz``, ...).

    Opening changes nothing except cutting off what was never committed; the first file is made by the first `append`. A new job commits
    position (0, 0) before that, so that what it leaves when it is killed at once is known to be its own.

    Only the file that is being written is looked at: those before it are complete, and may be moved away while the crawl goes on.

    Args:
        path: the first file.
        sink: gives the bytes.
        suffix: the end of the file's name that stays the end when files are numbered.
        position: as last committed; None if the output is new.
        size_max: bytes at which a file is full; it is passed by less than one page. None: one file for all.

    Raises:
        OutputDamaged: the file at the position is missing, or shorter than that.
        OSError: the output is new and its file is there already, or its directory cannot be written to.
    """

    _TAIL = ""
    """What the names of the files have behind the name of the output."""

    def __init__(
        self,
        path: Path,
        sink: Sink,
        *,
        suffix: str,
        position: Sequence[int] | None = None,
        size_max: int | None = None,
    ) -> None:
        self.path = path
        self.sink = sink
        self._stem = path.name.removesuffix(suffix)
        self._suffix = suffix + self._TAIL
        self._size_max = size_max
        self._index = self._offset = 0
        self._file: io.FileIO | None = None
        self._is_new_name = False
        if position is None:
            self._claim()
        else:
            self._cut_back(position)

    @property
    def position(self) -> Position:
        """The end of what was appended; commit it after a `sync`."""
        return self._index, self._offset

    def append(self, records: Sequence[bytes]) -> None:
        """Write records at the end.

        Raises:
            OSError: the disk is full or failing. The output is cut back to where it was, if the disk still does that.
        """
        before = self.position
        try:
            self._append(records)
        except FileExistsError:
            raise  # someone has put a file where the next one was to be: leave it there
        except OSError as error:
            error.filename = error.filename or str(self._name(self._index))
            with contextlib.suppress(OSError, OutputDamaged):
                self._cut_back(before)
            raise

    def sync(self) -> None:
        """Wait until all that was appended is on the disk, and can be found there.

        Raises:
            OSError: the disk is full or failing.
        """
        if self._file is not None:
            os.fsync(self._file.fileno())
        if self._is_new_name:
            sync_directory(self.path.parent)
            self._is_new_name = False

    def finish(self) -> None:
        """Complete the output, and close it. All that was appended has been committed.

        Raises:
            OSError: the disk is full or failing.
        """
        if self.position == (0, 0):
            self._write([self._header()])  # a crawl without a page leaves a valid file, not none
            self.sync()
        self.close()

    def close(self) -> None:
        """Close the file. What was appended since the last commit is cut off by the next opening."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _append(self, records: Sequence[bytes]) -> None:
        chunk: list[bytes] = []
        end = self._offset
        for record in records:
            if self._size_max is not None and end >= self._size_max:
                self._write(chunk)
                self._next_file()
                chunk, end = [], 0
            if not end:
                # With the first record, not before it, so that a committed position never lies behind a header alone.
                chunk.append(self._header())
                end = len(chunk[0])
            chunk.append(record)
            end += len(record)
        self._write(chunk)

    def _header(self) -> bytes:
        return self.sink.header(self._name(self._index).name)

    def _next_file(self) -> None:
        self.sync()
        self.close()
        self._index, self._offset = self._index + 1, 0

    def _write(self, records: list[bytes]) -> None:
        if not records:
            return
        if self._file is None:
            self._is_new_name |= not self._offset
            self._file = io.FileIO(self._name(self._index), "a" if self._offset else "x")
        for at in range(0, len(records), _WRITES_AT_ONCE):
            some = records[at : at + _WRITES_AT_ONCE]
            written = os.writev(self._file.fileno(), some)
            if written < sum(map(len, some)):
                # The disk is almost full, or the write was longer than the kernel takes at once: the next write tells which.
                rest = memoryview(b"".join(some))[written:]
                while rest:
                    count = self._file.write(rest)
                    written += count
                    rest = rest[count:]
            self._offset += written

    def _claim(self) -> None:
        """See that a new output can be written and overwrites nothing."""
        for path in self._claims():
            raise FileExistsError(
                f"{path} is there already: name another --output, or go on with the job that writes it"
            )
        if not os.access(self.path.parent, os.W_OK | os.X_OK):
            raise PermissionError(
                f"cannot write {self.path}: no right to make files in {self.path.parent}"
            )

    def _claims(self) -> Iterator[Path]:
        """Find files that have a name which this output may use."""
        return (path for _, path in self._files(0))

    def _cut_back(self, position: Sequence[int]) -> None:
        self.close()
        index, offset = position
        path = self._name(index)
        if offset:
            _check(path, offset)
        for number, file in self._files(index):
            if number > index or not offset:
                file.unlink()
        if offset:
            os.truncate(path, offset)
        self._index, self._offset = index, offset

    def _name(self, index: int) -> Path:
        return self.path.with_name(
            f"{self._stem}-{index:05}{self._suffix}" if index else f"{self._stem}{self._suffix}"
        )

    def _files(self, index: int) -> Iterator[tuple[int, Path]]:
        """Find the files of this output from number ``index`` on, in no order."""
        pattern = re.compile(rf"{re.escape(self._stem)}(?:-(\d{{5,}}))?{re.escape(self._suffix)}")
        for path in list(self.path.parent.iterdir()):
            match = pattern.fullmatch(path.name)
            if match and (number := int(match[1] or 0)) >= index:
                yield number, path


def sync_directory(path: Path) -> None:
    """Wait until the names of files made, moved or removed in a directory are on the disk."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _check(path: Path, offset: int) -> None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        message = f"{path} is missing: the job has committed {offset} bytes of it; put it back, or start another --job directory"
        raise OutputDamaged(message) from None
    if size < offset:
        message = f"{path} has {size} bytes, the job has committed {offset}: restore it from a copy, or start another --job directory"
        raise OutputDamaged(message)
