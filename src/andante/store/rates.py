"""Set-points that a user gives a job while it runs: a small file beside the journal, which the crawl looks at."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from andante import units
from andante import url as urls
from andante.store.journal import JobError

_NAME = "rates.json"

PAUSE = "pause"
"""Written for a set-point of 0: nothing is asked until another one is given."""

_ZERO = re.compile(r"0+(\.0+)?(\s*/\s*[a-z]+)?")


class Rates(msgspec.Struct):
    """Set-points, as written by users (``"40/min"``, ``"pause"``); what is not in it is as the settings say."""

    rate: str = ""
    """Of each server that has none of its own; empty: the settings' ``rate``."""
    total_rate: str = ""
    """Of the whole crawl; empty: the settings' ``total_rate``."""
    servers: dict[str, str] = {}
    """By host, host and port, or origin, the most exact one first; IPv6 addresses are in brackets."""

    def __post_init__(self) -> None:
        for written in filter(None, (self.rate, self.total_rate, *self.servers.values())):
            set_point(written)

    def total(self, default: float) -> float:
        """Return the set-point of the whole crawl, requests a minute."""
        return set_point(self.total_rate) if self.total_rate else default

    def of(self, key: str, default: float) -> float:
        """Return the set-point of the server of an origin, requests a minute."""
        for name in names(key):
            if name in self.servers:
                return set_point(self.servers[name])
        return set_point(self.rate) if self.rate else default

    @property
    def has_paused(self) -> bool:
        """Tell whether anything is paused."""
        given = filter(None, (self.rate, self.total_rate, *self.servers.values()))
        return not all(map(set_point, given))


def set_point(written: str) -> float:
    """Return requests a minute from a rate as `units.rate` has it; 0 from ``pause`` or ``0``.

    Raises:
        ValueError: in one line that says what is allowed.
    """
    text = written.strip().lower()
    return 0.0 if text == PAUSE or _ZERO.fullmatch(text) else units.rate(written)


def names(key: str) -> tuple[str, str, str]:
    """Return the names by which the server of an origin may be given a set-point, the most exact one first."""
    where = urls.parts(key + "/")
    host = f"[{where.host}]" if ":" in where.host else where.host
    return key, f"{host}:{where.port}", host


class RatesFile:
    """The file of a job; reading it again costs a look at its time."""

    def __init__(self, job: Path) -> None:
        self._path = job / _NAME
        self._seen: tuple[int, int] | None = None

    def changed(self) -> Rates | None:
        """Return what the file says if it has changed since the last call; None: it has not.

        Raises:
            JobError: the file does not hold rates.
        """
        try:
            found = self._path.stat()
            written = found.st_mtime_ns, found.st_ino
        except OSError:
            written = None
        if written == self._seen:
            return None
        self._seen = written
        return self.read()

    def read(self) -> Rates:
        """Return what the file says; without one, nothing.

        Raises:
            JobError: the file does not hold rates.
        """
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Rates)
        except FileNotFoundError:
            return Rates()
        except OSError as error:
            raise JobError(f"cannot read {self._path}: {error.strerror}") from None
        except (msgspec.MsgspecError, ValueError) as error:
            raise JobError(
                f"{self._path} does not hold rates: {error}; it may be removed"
            ) from None

    @contextmanager
    def change(self) -> Iterator[Rates]:
        """Give what the file says to be changed, and write it, while others who want the same wait.

        Raises:
            JobError: the file does not hold rates, or cannot be written; what was there stands.
        """
        try:
            directory = os.open(self._path.parent, os.O_RDONLY)
        except OSError as error:
            raise JobError(f"cannot read {self._path.parent}: {error.strerror}") from None
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            rates = self.read()
            yield rates
            self.write(rates)
        finally:
            os.close(directory)

    def write(self, rates: Rates) -> None:
        """Put the file in place as a whole, whatever it says now.

        Raises:
            JobError: it cannot be written; what was there stands.
        """
        new = self._path.with_suffix(f".{os.getpid()}.new")
        try:
            new.write_bytes(msgspec.json.format(msgspec.json.encode(rates), indent=2) + b"\n")
            new.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                new.unlink()
            raise JobError(f"cannot write {self._path}: {error.strerror}") from None
