"""A crawl of a simulated web: the engine as it is, on a virtual clock and a simulated network."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec

from andante.crawl.settings import Settings
from andante.crawl.start import choose, engine, limits, open_job
from andante.crawl.usage import Usage
from andante.frontier import Policy
from andante.frontier.quality import Quality
from andante.observe import Event, Stats
from andante.sim.clock import Inline, run
from andante.sim.machine import Machine, MachineTraits
from andante.sim.network import Arrival, Network
from andante.sim.web import Web

EPOCH = 1_577_836_800.0
"""Time of day at which every simulation begins: 2020-01-01 00:00 UTC, seconds since 1970."""

_NEVER = 1e12
"""Commit interval of a job in memory, seconds: once, at the end."""

_ENDINGS = {"fetch.completed", "fetch.failed", "fetch.retried", "url.excluded"}


class Ended(msgspec.Struct, frozen=True, gc=False):
    """A URL that ended, or that will be tried again."""

    time: float
    """Seconds since the crawl began."""
    url: str
    outcome: str
    """Status, or the reason of a failure, of an exclusion, or for another attempt."""
    again: bool = False
    """It will be tried again."""


class Record(msgspec.Struct, kw_only=True):
    """What a simulated crawl did."""

    ended: list[Ended]
    """In order."""
    arrivals: list[Arrival]
    """All requests, robots.txt included, in the order they were sent."""
    stats: Stats
    seconds: float
    """Virtual time that the crawl took."""
    queued: int
    """URLs that were left."""
    processor: float
    """Seconds for which the machine's processor worked."""
    problems: list[str] = []
    """What is wrong with the user's policy or quality."""

    @property
    def pages(self) -> list[Ended]:
        """Pages with a 2xx status, in order."""
        return [each for each in self.ended if each.outcome.startswith("2") and not each.again]

    def trace(self) -> bytes:
        """Return all that was asked and all that came of it, as text: the same for the same seed."""
        lines = [f"{e.time!r} {e.server} {e.target} {e.connection}" for e in self.arrivals]
        lines += [f"{e.time!r} {e.url} {e.outcome} {e.again:d}" for e in self.ended]
        return "\n".join([*lines, repr(self.stats.to_dict())]).encode()


class Simulation:
    """A crawl of a simulated web, to run once or again: each run is the same.

    Args:
        web: what is crawled.
        settings: of the crawl.
        seeds: URLs to start from; the web's own unless given.
        seed: of the chances that the crawl takes.
        machine: what crawls; without limits unless given.
        store: directory of the job; None: it is kept in memory, and committed at the end only.
        policy, quality: objects in place of those that the settings name; of use for one run.
    """

    def __init__(
        self,
        web: Web,
        settings: Settings,
        *,
        seeds: Sequence[str] = (),
        seed: int = 1,
        machine: MachineTraits | None = None,
        store: Path | None = None,
        policy: Policy | None = None,
        quality: Quality | None = None,
    ) -> None:
        self._web = web
        self._settings = settings if store else replace(settings, commit_interval=_NEVER)
        self._seeds = list(seeds) or web.seeds
        self._seed = seed
        self._machine = machine or MachineTraits()
        self._store = store
        self._policy = policy
        self._quality = quality

    def run(self) -> Record:
        """Run the crawl to its end, in virtual time.

        Raises:
            SettingsError, JobError, OSError: as `andante.Crawl`.
        """
        return run(self._run())

    async def _run(self) -> Record:
        now = asyncio.get_running_loop().time
        settings = self._settings
        machine = None if self._machine.is_unlimited else Machine(self._machine)
        servers = self._web.serving()
        network = Network(
            lambda host, port: servers.get((host, port)), limits(settings), machine=machine
        )
        ended: list[Ended] = []
        problems: list[str] = []

        def note(event: Event) -> None:
            if event.event in _ENDINGS:
                outcome = str(event.status) if event.status else event.reason
                again = event.event == "fetch.retried"
                ended.append(Ended(now(), event.url, outcome, again))

        choice = choose(settings, wall=EPOCH, problem=problems.append)
        policy, quality = self._policy or choice.policy, self._quality or choice.quality
        job = open_job(settings, self._store, Inline())
        try:
            running = engine(
                settings,
                self._seeds,
                job=job,
                client=network,
                policy=policy,
                quality=quality,
                emit=note,
                clock=now,
                wall=lambda: EPOCH + now(),
                chance=Random(f"crawl {self._seed}").random,
                usage=lambda: Usage(machine.busy if machine else 0.0, 0),
            )
            await running.run()
        finally:
            job.close()
        state = running.state
        return Record(
            ended=ended,
            arrivals=network.arrivals,
            stats=state.stats,
            seconds=now(),
            queued=state.frontier.queued,
            processor=machine.busy if machine else 0.0,
            problems=problems,
        )
