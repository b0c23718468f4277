"""What every run begins with, whatever web it is on."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from andante import url as urls
from andante.crawl.engine import Engine
from andante.crawl.settings import Settings, SettingsError
from andante.crawl.state import State
from andante.fetch import Connector, Limits
from andante.store import Job


def limits(settings: Settings) -> Limits:
    """Return what each connection keeps to."""
    return Limits(
        connect_timeout=settings.connect_timeout,
        first_byte_timeout=settings.first_byte_timeout,
        idle_timeout=settings.idle_timeout,
        total_timeout=settings.total_timeout,
        max_header=settings.max_header,
        max_body=settings.max_body,
    )


def open_job(settings: Settings, directory: Path | None, executor: Executor | None = None) -> Job:
    """Open the job in a directory, or one in memory; see `Job`.

    Raises:
        JobError: the job cannot be opened.
    """
    return Job(
        directory,
        settings.output,
        warc_size=settings.warc_size,
        about={
            "user_agent": settings.user_agent,
            "robots": "ignore" if settings.ignore_robots else "obey",
        },
        executor=executor,
    )


def engine(
    settings: Settings, seeds: Iterable[str], *, job: Job, client: Connector, **options: Any
) -> Engine:
    """Return the engine of a run, in a running loop.

    Args:
        settings: what the crawl keeps to.
        seeds: canonical URLs to start from, besides those that the job has.
        job: where the crawl is kept.
        client: opens the connections.
        options: the others of `State`.

    Raises:
        SettingsError: there are no seeds.
    """
    seeds = list(dict.fromkeys([*job.seeds, *seeds]))
    if not seeds:
        raise SettingsError("no seeds: give at least one URL to start from")
    scope = urls.Scope(settings.scope, include=settings.include, exclude=settings.exclude)
    for seed in seeds:
        scope.add(seed)
    return Engine(State(settings, job=job, client=client, scope=scope, seeds=seeds, **options))
