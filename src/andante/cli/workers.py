"""``andante crawl --workers N``: peers on one machine, each a process of its own.

What the processes are to do comes to them by a pipe: passwords and headers in it are nobody else's business, and everybody can read the arguments of a command.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any

from andante.cli.own_redis import OwnRedis, ending_with_this
from andante.cli.signals import ENDING, is_nohup, terminals, write_nowhere
from andante.crawl import Settings
from andante.crawl.settings import default
from andante.errors import INTERRUPTED
from andante.observe import Stats
from andante.store import JobError, inspect
from andante.store.formats import SUFFIXES
from andante.units import counted, format_duration

_LOOK = 0.2
"""Seconds from one look at the processes to the next."""

_SAY = 10.0
"""Seconds from one line of progress to the next."""

_LEAVING = 15.0
"""Seconds that the processes are given to end in good order where this one cannot go on."""

_PATIENCE = 2
"""Signals that are passed on; with the one after these the processes are killed."""

_OWN = ("cluster", "job", "node", "output")
"""Settings that differ from process to process, or are made for them."""


def run(
    seeds: Sequence[str],
    settings: Settings,
    count: int,
    *,
    job: Path,
    outputs: Sequence[Path],
    is_quiet: bool,
    json_log: bool,
) -> int:
    """Crawl with so many processes; return the exit status.

    Args:
        seeds: where to start.
        settings: of the crawl. Where they name no Redis one is started, and stopped at the end; its data stay in the job's directory, so that the same command goes on.
        count: processes.
        job: directory of all; each process has its own below it.
        outputs: files; each process writes one of its own, named after it.
        is_quiet: nothing is printed.
        json_log: the processes write their events to standard error, and nothing else is printed.

    Raises:
        SettingsError: there is no Redis to start.
    """
    job.mkdir(parents=True, exist_ok=True)
    say = _silence if is_quiet or json_log else _say
    names = [f"w{number}" for number in range(1, count + 1)]
    crew = _Crew()
    with ExitStack() as stack:
        stack.enter_context(crew.hearing())
        url, own = settings.cluster, None
        if url is None:
            own = OwnRedis(job / "redis")
            stack.callback(own.stop)
            url = own.url
        stack.callback(crew.end)
        config = _config(seeds, settings, url)
        for name in names:
            command = _command(name, settings.node, job, outputs)
            crew.start(name, [*command, *(["--json-log"] if json_log else [])], config)
        if own is not None:
            say(f"how they do: andante status --cluster {url}")
        _watch(crew, own, [job / name for name in names], say)
    if crew.status == INTERRUPTED:
        say(f"andante: interrupted; the same command again goes on (job: {job})")
    return crew.status


class _Crew:
    """The processes, and the signals for them."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._signals = 0
        self._terminals = terminals()

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Pass signals on to the processes: all end in order, then this one. Ctrl-C comes to them by way of this process, once."""
        before = {
            number: signal.signal(number, self._pass_on)
            for number in ENDING
            if not is_nohup(number)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        self._signals += 1
        if number == signal.SIGHUP:
            write_nowhere(self._terminals)
        if not self._processes:
            raise SystemExit(INTERRUPTED)
        self._send(number if self._signals <= _PATIENCE else signal.SIGKILL)

    def _send(self, number: int) -> None:
        for process in self._processes.values():
            process.send_signal(number)  # not where it has ended

    def start(self, name: str, command: Sequence[str], config: bytes) -> None:
        """Start a process, and give it its configuration; not after a signal."""
        if self._signals:
            return
        process = self._processes[name] = subprocess.Popen(  # noqa: S603  # this program
            command,
            stdin=subprocess.PIPE,
            process_group=0,
            preexec_fn=ending_with_this(signal.SIGKILL),  # noqa: PLW1509  # no threads here
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as pipe:  # it has ended, and has said why
            pipe.write(config)

    @property
    def is_at_work(self) -> bool:
        """Some have not ended."""
        return any(process.poll() is None for process in self._processes.values())

    def killed(self) -> Iterator[tuple[str, int]]:
        """Yield the processes that were ended by a signal that came not by this one, and its number."""
        for name, process in self._processes.items():
            status = process.poll()
            if status is not None and status < 0 and not self._signals:
                yield name, -status

    @property
    def status(self) -> int:
        """The exit status of all, when they have ended: the worst."""
        by_signal = INTERRUPTED if self._signals else 1
        codes = [process.returncode for process in self._processes.values()]
        return max(code if code >= 0 else by_signal for code in codes)

    def end(self) -> None:
        """End those that have not ended: in good order, if that does not take too long."""
        self._send(signal.SIGTERM)
        give_up = time.monotonic() + _LEAVING
        while self.is_at_work and time.monotonic() < give_up:
            time.sleep(_LOOK)
        self._send(signal.SIGKILL)
        for process in self._processes.values():
            process.wait()


def _watch(
    crew: _Crew, own: OwnRedis | None, jobs: Sequence[Path], say: Callable[[str], None]
) -> None:
    """Say how far the crawl is, until all processes have ended; start their Redis again where it has ended."""
    begun = said = time.monotonic()
    gone: set[str] = set()
    while crew.is_at_work:
        time.sleep(_LOOK)
        if own is not None and own.see_to():
            say("andante: Redis had ended, and was started again")
        for name, number in crew.killed():
            if name not in gone:
                gone.add(name)
                say(
                    f"andante: {name} was killed ({signal.Signals(number).name}): the others take it for dead after its lease, and go on; the same command again has it back"
                )
        if time.monotonic() - said > _SAY:
            said = time.monotonic()
            say(f"{format_duration(said - begun):>8}  {_counts(jobs)}")
    if say is _silence:
        return
    print(_counts(jobs))
    for job in jobs:
        with suppress(JobError):  # it did not begin
            for path in inspect(job).outputs:
                print(f"output: {path}")


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _silence(_: str) -> None:
    pass


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


def _command(name: str, node: str | None, job: Path, outputs: Sequence[Path]) -> list[str]:
    """Return the command of a process. In it are names only."""
    full = f"{node}-{name}" if node else name
    command = [sys.executable, "-m", "andante", "crawl", "--quiet", "--config", "/dev/stdin"]
    command += ["--node", full, "--job", str(job / name)]
    for output in outputs:
        command += ["--output", str(_named(output, name))]
    return command


def _config(seeds: Sequence[str], settings: Settings, url: str) -> bytes:
    """Return the configuration of all processes, as TOML: what is not as usual."""
    given: dict[str, Any] = {"seeds": seeds, "cluster": url}
    for item in fields(Settings):
        value = getattr(settings, item.name)
        if item.name not in _OWN and value != default(item.name):
            given[item.name.replace("_", "-")] = value
    return "".join(f"{name} = {_toml(value)}\n" for name, value in given.items()).encode()


def _toml(value: object) -> str:
    """Write a value as TOML has it. Its texts are those of JSON, but for one character."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _named(output: Path, name: str) -> Path:
    """Put the name of a process in front of the suffix: pages.warc.gz becomes pages-w1.warc.gz."""
    suffix = next(each for each in SUFFIXES if output.name.endswith(each))
    return output.with_name(f"{output.name.removesuffix(suffix)}-{name}{suffix}")
