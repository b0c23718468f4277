"""A look at a job from outside, while it runs or not."""

from __future__ import annotations

import fcntl
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from andante.flow import Sample
from andante.store.formats import files
from andante.store.job import JOURNAL
from andante.store.journal import Ended, JobError, Journal
from andante.store.rates import names

_LARGEST = 10


class Met(msgspec.Struct, frozen=True):
    """A server that the job has met."""

    server: str
    queued: int
    """URLs of it that wait."""
    crawl_delay: float
    """Of its robots.txt, seconds."""


class Inspection(msgspec.Struct, kw_only=True):
    """What a job held at its last commit."""

    stats: dict[str, Any]
    known: int
    queued: int
    met: list[Met]
    """The servers met."""
    servers_waiting: int
    """Those that have URLs waiting."""
    largest: list[tuple[str, int]]
    """The servers with most URLs waiting, and how many."""
    outputs: list[Path]
    ended: list[Ended]
    """URLs that ended without a page."""
    is_running: bool

    @property
    def servers(self) -> int:
        """How many servers it has met."""
        return len(self.met)


def inspect(directory: Path) -> Inspection:
    """Read a job without changing it.

    Raises:
        JobError: there is no job, it is damaged, or of another version.
    """
    with closing(_journal(directory)) as journal:
        queues: Counter[str] = Counter()
        for block in journal.blocks():
            queues[block.server] += block.size - int.from_bytes(block.done, "little").bit_count()
        meta = journal.meta()
        return Inspection(
            stats=meta.get("stats", {}),
            known=sum(map(len, journal.fingerprints())) // 8,
            queued=queues.total(),
            met=[
                Met(server, queues[server], state.crawl_delay)
                for server, state in journal.servers().items()
            ],
            servers_waiting=len(queues),
            largest=queues.most_common(_LARGEST),
            outputs=[
                file
                for output, position in meta.get("positions", {}).items()
                for file in files(directory.absolute() / output, position)
            ],
            ended=list(journal.ended()),
            is_running=_is_locked(directory / "lock"),
        )


def series(directory: Path) -> Iterator[Sample]:
    """Return how the servers of a job have fared, oldest first.

    Raises:
        JobError: as `inspect`; at once, not with the first sample.
    """
    return _samples(_journal(directory))


def _samples(journal: Journal) -> Iterator[Sample]:
    with closing(journal):
        yield from journal.samples()


def has_met(directory: Path, server: str) -> bool:
    """Tell whether a job has met a server of a name, as `Rates` has them, by its last commit.

    Raises:
        JobError: as `inspect`.
    """
    with closing(_journal(directory)) as journal:
        return any(server in names(key) for key in journal.servers())


def is_running(directory: Path) -> bool:
    """Tell whether a process has the job of a directory.

    Raises:
        JobError: there is no job.
    """
    _path(directory)
    return _is_locked(directory / "lock")


def _journal(directory: Path) -> Journal:
    return Journal(_path(directory), read_only=True)


def _path(directory: Path) -> Path:
    path = directory / JOURNAL
    try:
        is_there = path.exists()
    except OSError as error:
        message = f"cannot read {directory}: {error.strerror}"
        raise JobError(message) from None
    if not is_there:
        message = f"{directory} holds no job: there is no {JOURNAL} in it"
        if below := sorted(str(each.parent) for each in directory.glob(f"*/{JOURNAL}")):
            message += f", but in {', '.join(below)}"
        raise JobError(message)
    return path


def _is_locked(path: Path) -> bool:
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False
