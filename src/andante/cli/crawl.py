"""``andante crawl``: crawl sites into files."""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvloop

from andante import url as urls
from andante.cli.flags import add_settings, given
from andante.cli.fruitless import why_nothing
from andante.cli.signals import stop_on_signals
from andante.cli.watchdog import Watchdog
from andante.crawl import Crawl, Settings, SettingsError, load
from andante.crawl.settings import from_strings
from andante.errors import INTERRUPTED
from andante.observe import Event, EventLog
from andante.observe.progress import LiveProgress, PlainProgress, Progress
from andante.observe.report import summary
from andante.printed import printed
from andante.store import inspect
from andante.units import counted

_STOPPING = "andante: stopping when the responses under way have come, in 2 s at most; the same signal again ends it at once"


def add_to(parser: argparse.ArgumentParser) -> None:
    """Give the parser of the command its description and arguments."""
    parser.description = "Crawl sites into files. The same command again goes on with the same job."
    parser.epilog = (
        "Times are written 500ms, 10s, 10m, 2h; sizes 64KiB, 10MB; rates 40/min, 2/s, max."
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="where to start")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="TOML file with settings by the names of these flags, and seeds; flags win",
    )
    parser.add_argument("--quiet", action="store_true", help="No progress and no summary")
    parser.add_argument(
        "--json-log",
        action="store_true",
        help="Events as JSON lines on standard error, instead of progress",
    )
    parser.add_argument(
        "--workers",
        type=_count,
        metavar="N",
        help="Crawl with N processes; they share the work by the Redis of --cluster, or by one that is started for them",
    )
    add_settings(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    seeds, settings = _settings(arguments)
    if arguments.workers:
        return _run_workers(arguments, seeds, settings)
    log = EventLog(sys.stderr.buffer) if arguments.json_log else None
    observer: Callable[[Event], None] | None = log
    if log is None and settings.cluster and not arguments.quiet:
        observer = _say
    crawl = Crawl(seeds, settings=settings, on_event=observer)
    progress = None if arguments.quiet or arguments.json_log else _progress()
    try:
        with _warnings(said=not arguments.json_log):
            uvloop.run(_crawl(crawl, progress, log, is_quiet=progress is None))
    except OSError as error:
        print(printed(f"andante: {error}"), file=sys.stderr)
        print(f"andante: what was committed is safe; {_again(crawl)}", file=sys.stderr)
        return 1
    if not arguments.quiet:
        print(
            summary(
                crawl.stats,
                known=crawl.known,
                queued=crawl.queued,
                servers=crawl.servers,
                outputs=crawl.outputs,
            )
        )
    if crawl.interrupted:
        if not arguments.quiet:
            print(f"andante: interrupted; {_again(crawl)}", file=sys.stderr)
        return INTERRUPTED
    if crawl.queued and not arguments.quiet:
        waiting = counted(crawl.queued, "URL")
        print(f"\n{waiting} left by a limit: the same command with a higher one goes on")
    if crawl.settings.cluster and not crawl.known and not arguments.quiet:
        print(
            "\nNothing was left to do: the other nodes do the rest, or the crawl is over; to crawl the same anew, see andante forget"
        )
    if not crawl.settings.cluster and not crawl.stats.pages:
        assert crawl.settings.job is not None
        ended = inspect(crawl.settings.job).ended
        print(printed(f"andante: {why_nothing(crawl.stats, ended, crawl.seeds)}"), file=sys.stderr)
        return 1
    return 0


def _run_workers(arguments: argparse.Namespace, seeds: list[str], settings: Settings) -> int:
    assert settings.job is not None
    from andante.cli import workers  # noqa: PLC0415  # they need the cluster

    return workers.run(
        seeds,
        settings,
        arguments.workers,
        job=settings.job,
        outputs=settings.output if settings.output != _usual(settings.job) else (),
        is_quiet=arguments.quiet,
        json_log=arguments.json_log,
    )


def _usual(job: Path) -> tuple[Path, ...]:
    """Return the outputs of a job for which none are named."""
    return (job / "pages.warc.gz",)


def _count(written: str) -> int:
    if not written.isdigit() or not int(written):
        raise argparse.ArgumentTypeError(f"{written!r} is not a number of processes")
    return int(written)


def _settings(arguments: argparse.Namespace) -> tuple[list[str], Settings]:
    from_file: dict[str, Any] = load(arguments.config) if arguments.config else {}
    seeds = arguments.urls or from_file.pop("seeds", [])
    from_file.pop("seeds", None)
    settings = Settings(**from_file | from_strings(given(arguments), where="--"))
    job = settings.job or _directory(seeds)
    sys.path.append(str(Path.cwd()))  # for a policy or a quality of the user's own
    return seeds, replace(settings, job=job, output=settings.output or _usual(job))


def _directory(seeds: list[str]) -> Path:
    """Name the job after the first seed's host, and its port where that is not the usual one: those are two sites."""
    url = urls.canonical(seeds[0]) if seeds else None
    if url is None and not seeds:
        raise SettingsError(
            "no seeds: give at least one URL to start from, or --job with a job to go on with"
        )
    return Path(urls.file_name(url) if url else "job")


@contextlib.contextmanager
def _warnings(*, said: bool) -> Iterator[None]:
    """Say warnings of the crawl in a line each; or not, where they are in the log."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if said:
            print(printed(f"andante: {message}"), file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _say(event: Event) -> None:
    """Say what befalls the cluster; all else is in the progress."""
    if event.event.startswith("cluster."):
        print(printed(f"andante: {event.detail}"), file=sys.stderr)


def _progress() -> Progress:
    return LiveProgress() if sys.stderr.isatty() else PlainProgress()


async def _crawl(
    crawl: Crawl, progress: Progress | None, log: EventLog | None, *, is_quiet: bool
) -> None:
    """Run to the end, or until a signal comes."""

    def stop() -> None:
        crawl.interrupt()
        if not is_quiet:
            print(_STOPPING, file=sys.stderr)

    stop_on_signals(stop)
    with progress or contextlib.nullcontext(), Watchdog(crawl.loop_monitor, log):
        await crawl.run(progress)


def _again(crawl: Crawl) -> str:
    return f"the same command again goes on (job: {crawl.settings.job})"
