"""``andante crawl --workers N``: peers on one machine, each a process of its own."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

from andante.cli.signals import ENDING, is_nohup, terminals, write_nowhere
from andante.crawl import SettingsError
from andante.errors import INTERRUPTED
from andante.observe import Stats
from andante.store import JobError, inspect
from andante.store.formats import SUFFIXES
from andante.store.lock import Lock
from andante.units import counted, format_duration

_LOOK = 0.2
"""Seconds from one look at the processes to the next."""

_SAY = 10.0
"""Seconds from one line of progress to the next."""

_READY = 10.0
"""Seconds that a Redis is given to start; one with much data answers before it has read them."""

_PR_SET_PDEATHSIG = 1

_CONF = """\
bind 127.0.0.1 -::1
port {port}
dir "{folder}"
daemonize no
save ""
appendonly yes
appendfsync everysec
maxmemory 0
"""


def run(
    arguments: Sequence[str],
    count: int,
    *,
    job: Path,
    outputs: Sequence[Path],
    node: str | None,
    redis: str | None,
    is_quiet: bool,
) -> int:
    """Crawl with so many processes; return the exit status.

    Args:
        arguments: of the command, without those that differ from process to process.
        count: processes.
        job: directory of all; each process has its own below it.
        outputs: files; each process writes one of its own, named after it.
        node: name of this machine, for theirs: ``small-1-w1`` is the first process of ``small-1``; None: ``w1``.
        redis: URL of a Redis; None: one is started, and stopped at the end. Its data stay in the job's directory, so that the same command goes on.
        is_quiet: nothing is printed.

    Raises:
        SettingsError: there is no Redis to start.
    """
    job.mkdir(parents=True, exist_ok=True)
    names = [f"w{number}" for number in range(1, count + 1)]
    with _redis(job / "redis", redis) as url:
        processes = [
            subprocess.Popen(  # noqa: S603  # this program
                [*_command(arguments), *_own(name, node, job, outputs, url)],
                process_group=0,  # Ctrl-C comes to them by way of this process, once
                preexec_fn=partial(_end_with_this, signal.SIGKILL),  # noqa: PLW1509  # no threads here
            )
            for name in names
        ]
        if redis is None and not is_quiet:
            print(f"how they do: andante status --cluster {url}", file=sys.stderr)
        with _passed_on(processes):
            _watch(processes, [job / name for name in names], is_quiet=is_quiet)
    status = max(_status(process.returncode) for process in processes)
    if status == INTERRUPTED and not is_quiet:
        print(f"andante: interrupted; the same command again goes on (job: {job})", file=sys.stderr)
    return status


def _status(code: int) -> int:
    """Return the exit status of a process; one that a second signal has ended was interrupted too."""
    if code >= 0:
        return code
    return INTERRUPTED if -code in ENDING else 1


def _watch(
    processes: Sequence[subprocess.Popen[bytes]], jobs: Sequence[Path], *, is_quiet: bool
) -> None:
    """Say how far the crawl is, until all processes have ended."""
    begun = said = time.monotonic()
    while any(process.poll() is None for process in processes):
        time.sleep(_LOOK)
        if not is_quiet and time.monotonic() - said > _SAY:
            said = time.monotonic()
            print(f"{format_duration(said - begun):>8}  {_counts(jobs)}", file=sys.stderr)
    if not is_quiet:
        print(_counts(jobs))
        for job in jobs:
            for path in inspect(job).outputs if job.exists() else ():
                print(f"output: {path}")


def _counts(jobs: Sequence[Path]) -> str:
    """Return what the processes have done, by the jobs' last commits."""
    stats, queued = [], 0
    for job in jobs:
        with suppress(JobError):
            held = inspect(job)
            stats.append(Stats.from_dict(held.stats))
            queued += held.queued
    pages = [each.pages for each in stats]
    parts = " + ".join(f"{each:,}" for each in pages)
    waiting = f", {queued:,} queued" if queued else ""  # at the end that is with Redis
    return f"{counted(sum(pages), 'page')} ({parts}){waiting}, {counted(sum(each.failed.total() for each in stats), 'URL')} failed"


def _command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "andante", *arguments, "--quiet"]


def _own(
    name: str, node: str | None, job: Path, outputs: Sequence[Path], url: str
) -> Iterator[str]:
    """Return what differs from process to process."""
    full = f"{node}-{name}" if node else name
    yield from ("--node", full, "--cluster", url, "--job", str(job / name))
    for output in outputs:
        yield from ("--output", str(_named(output, name)))


def without(arguments: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Return arguments without some flags and their values."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if not skip and argument.partition("=")[0] not in flags:
            kept.append(argument)
        skip = not skip and argument in flags
    return kept


def _named(output: Path, name: str) -> Path:
    """Put the name of a process in front of the suffix: pages.warc.gz becomes pages-w1.warc.gz."""
    suffix = next(each for each in SUFFIXES if output.name.endswith(each))
    return output.with_name(f"{output.name.removesuffix(suffix)}-{name}{suffix}")


@contextmanager
def _redis(folder: Path, url: str | None) -> Iterator[str]:
    """Give the URL of a Redis: the one that is there, or one started for the crawl."""
    if url is not None:
        yield url
        return
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise SettingsError(
            "workers: there is no redis-server here: install it (apt install redis-server), or give --cluster with the URL of one"
        )
    folder.mkdir(exist_ok=True)
    lock = Lock(folder / "lock")
    port = _free_port()
    (folder / "redis.conf").write_text(_CONF.format(port=port, folder=folder.absolute()))
    with (folder / "redis.log").open("ab") as log:
        server = subprocess.Popen(  # noqa: S603  # found in the path
            [program, "redis.conf"],
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=partial(_end_with_this, signal.SIGTERM),  # noqa: PLW1509  # no threads here
        )
    try:
        _wait_for(server, port, folder / "redis.log")
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()
        lock.release()


def _end_with_this(number: int) -> None:
    """Have the kernel, where it can, send the process a signal when this one ends, even by ``kill -9``: nobody else would."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until Redis answers."""
    end = time.monotonic() + _READY
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.01)
    raise SettingsError(f"workers: redis-server does not start; see {log}")


@contextmanager
def _passed_on(processes: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Pass signals on to the processes: all end in order, then this one."""
    shown = terminals()

    def pass_on(number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP:
            write_nowhere(shown)
        for process in processes:
            if process.poll() is None:
                os.kill(process.pid, number)

    before = {number: signal.signal(number, pass_on) for number in ENDING if not is_nohup(number)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
