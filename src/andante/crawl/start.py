"""What every run begins with, whatever web it is on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from andante import url as urls
from andante.crawl.engine import Engine
from andante.crawl.settings import Settings, SettingsError
from andante.crawl.state import State
from andante.fetch import Connector, Limits
from andante.frontier import Policy
from andante.frontier.policy import load as load_policy
from andante.frontier.quality import Quality
from andante.frontier.quality import load as load_quality
from andante.store import Job

if TYPE_CHECKING:
    from andante.crawl.cluster import Cluster

QUALITY = "opic"
"""The quality of a policy that goes by scores, unless the settings name another."""


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


class Choice(NamedTuple):
    """What decides what comes next."""

    policy: Policy
    quality: Quality | None
    """None: the policy does not go by scores."""


def choose(
    settings: Settings,
    *,
    wall: float,
    problem: Callable[[str], None],
    clock: Callable[[], float] | None = None,
) -> Choice:
    """Return the policy and the quality that the settings ask for.

    Args:
        settings: of the crawl.
        wall: seconds since 1970.
        problem: is told in one line what is wrong with a user's class or function.
        clock: seconds, to see whether these are slow.

    Raises:
        SettingsError: there is none such, or a file of scores cannot be read.
    """
    try:
        policy = load_policy(settings.policy, problem=problem, clock=clock)
    except ValueError as error:
        raise SettingsError(f"policy: {error}") from None
    if not policy.by_score:
        if settings.quality is not None:
            raise SettingsError(
                f"quality: it is of no use with the policy {settings.policy}; give --policy quality or capability, or leave it out"
            )
        return Choice(policy, None)
    name = QUALITY if settings.quality is None else settings.quality
    try:
        return Choice(
            policy, load_quality(name, read=_lines, now=wall, problem=problem, clock=clock)
        )
    except OSError as error:
        raise SettingsError(f"quality: cannot read {error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise SettingsError(f"quality: {error}") from None


def _lines(path: str) -> list[str]:
    """Read a file of scores."""
    return Path(path).read_text(encoding="utf-8").splitlines()


def engine(
    settings: Settings,
    seeds: Iterable[str],
    *,
    job: Job,
    client: Connector,
    cluster: Cluster | None = None,
    **options: Any,
) -> Engine:
    """Return the engine of a run, in a running loop.

    Args:
        settings: what the crawl keeps to.
        seeds: canonical URLs to start from, besides those that the job has.
        job: where the crawl is kept.
        client: opens the connections.
        cluster: whom the crawl is shared with; None: nobody.
        options: the others of `State`.

    Raises:
        SettingsError: there are no seeds.
    """
    given, kept = dict.fromkeys(seeds), job.seeds
    moved = [seed for seed in kept if seed not in given]
    seeds = list(dict.fromkeys([*kept, *given]))
    if not seeds:
        raise SettingsError("no seeds: give at least one URL to start from")
    scope = urls.Scope(settings.scope, include=settings.include, exclude=settings.exclude)
    for seed in seeds:
        scope.add(seed)
    job.seed_origins = list(dict.fromkeys([*job.seed_origins, *map(urls.origin, given)]))
    options |= {"job": job, "client": client, "scope": scope, "seeds": seeds}
    if cluster is None:
        return Engine(State(settings, **options))
    from andante.cluster.outbox import Outbox  # noqa: PLC0415  # a crawl alone needs nothing of the cluster
    from andante.crawl.peer import Peer  # noqa: PLC0415

    outbox = Outbox(settings.max_report)
    state = State(settings, outbox=outbox, **options)
    return Engine(state, Peer(state, cluster, outbox, moved))
