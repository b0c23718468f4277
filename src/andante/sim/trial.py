"""A trial of the cluster: web, settings and faults drawn from one seed, a run of it, and what the checks say."""

from __future__ import annotations

import tempfile
from collections import Counter
from math import inf
from pathlib import Path
from random import Random

import msgspec

from andante.crawl.settings import Settings
from andante.sim.checks import Verdict, check
from andante.sim.cluster import ClusterSimulation
from andante.sim.faults import Fault, draw
from andante.sim.population import Population
from andante.sim.server import Traits
from andante.sim.web import Web, WebTraits

_SPAN = 0.8
"""Share of the time that the crawl takes at least within which faults begin."""

NODES_MAX = 26
"""Most nodes: each has a letter for its name."""

_MEMORY = Path("/dev/shm")  # noqa: S108  # where there is one: hundreds of trials write as many jobs
"""A file system that is in memory."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What one seed stands for."""

    seed: int
    web: WebTraits
    settings: Settings
    crawl_delay: float
    """Of all servers, by their robots.txt."""
    addresses: int
    """IP addresses that the servers share; as many as there are servers: each has its own."""
    nodes: int
    members: bool
    """A service says who is alive, besides the store."""
    faults: list[Fault]

    def __str__(self) -> str:
        web, settings = self.web, self.settings
        judge = "with members" if self.members else "without members"
        return f"{self.nodes} nodes {judge}, {web.pages} pages on {web.servers} servers, {settings.rate:g} requests/min, lease {settings.lease:g} s"


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a trial."""

    verdict: Verdict
    trace: bytes
    """All that happened: the same for the same seed."""


def draw_trial(seed: int, nodes: int | None = None) -> Trial:
    """Return the trial of a seed.

    Args:
        seed: of everything.
        nodes: how many; chosen by the seed unless given.
    """
    random = Random(f"trial {seed}")
    chosen = random.randint(2, 4)
    nodes = nodes or chosen
    members = random.random() < 0.5
    web = WebTraits(
        servers=random.randint(8, 24),
        pages=random.randint(40, 160),
        links=random.uniform(2.0, 8.0),
        size=500.0,
        seeds=random.choice((1, 1, 3)),
    )
    more = Random(f"more {seed}")
    settings = Settings(
        scope="any",
        total_rate=more.choice((inf, inf, inf, 90.0, 240.0)),
        rate=random.choice((20.0, 60.0, 120.0)),
        delay=random.choice((0.0, 0.0, 2.0)) + more.choice((0.0,) * 7 + (10.0,)),
        connections=random.choice((4, 64)),
        ignore_robots=random.random() < 0.7,
        commit_interval=random.choice((1.0, 3.0)),
        recent=random.choice((50, 10_000)),
        lease=random.choice((4.0, 8.0, 16.0)),
    )
    crawl_delay = random.choice((0.0, 3.0))
    trial = Trial(
        seed=seed,
        web=web,
        settings=settings,
        crawl_delay=crawl_delay,
        addresses=more.choice((web.servers, web.servers, web.servers // 2)),
        nodes=nodes,
        members=members,
        faults=[],
    )
    span = _SPAN * _shortest(trial, Web(web, [Traits()] * web.servers, seed=seed))
    faults = draw(seed, nodes, members=members, span=max(span, 10.0))
    return msgspec.structs.replace(trial, faults=faults)


def attempt(trial: Trial) -> Tried:
    """Run a trial, and check it."""
    population = Population(crawl_delay=trial.crawl_delay)
    servers = population.draw(trial.web.servers, seed=trial.seed, alive=trial.web.seeds)
    for number, server in enumerate(servers):  # those at one address are as far away
        servers[number] = msgspec.structs.replace(server, rtt=servers[number % trial.addresses].rtt)
    web = Web(trial.web, servers, seed=trial.seed)
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as directory:
        simulation = ClusterSimulation(
            web,
            trial.settings,
            trial.nodes,
            directory=Path(directory),
            seed=trial.seed,
            members=trial.members,
            addresses=trial.addresses,
            faults=trial.faults,
            bound=_bound(trial, web),
        )
        watch = simulation.run()
        verdict = check(
            watch,
            trial.settings,
            web=web,
            outputs=[node.output for node in simulation.nodes],
            crawl_delay=0.0 if trial.settings.ignore_robots else trial.crawl_delay,
            quiet=not trial.faults,
            seconds=max((life.ended for life in watch.lives), default=0.0),
        )
    return Tried(verdict=verdict, trace="\n".join(watch.trace).encode())


def _bound(trial: Trial, web: Web) -> float:
    """Return the seconds within which a trial must end: all is healed, the dead are buried, and the largest server is crawled, twice."""
    healed = max((fault.until for fault in trial.faults), default=0.0)
    return healed + 3 * (trial.settings.lease or 0.0) + 2 * _shortest(trial, web) + 120.0


def _shortest(trial: Trial, web: Web) -> float:
    """Return about the seconds that the largest server takes at the rate, its IP address, or the whole at the total rate."""
    settings, robots = trial.settings, not trial.settings.ignore_robots
    by_server = Counter(map(web.server_of, range(web.traits.pages)))
    by_address: Counter[int] = Counter()
    for server, pages in by_server.items():
        by_address[server % trial.addresses] += pages + robots
    delay = max(settings.delay, trial.crawl_delay if robots else 0.0)
    return max(
        max(by_server.values()) * max(60.0 / settings.rate, delay + 0.5),
        max(by_address.values()) * max(60.0 / settings.rate, settings.delay + 0.5),
        by_address.total() * 60.0 / settings.total_rate,
    )
