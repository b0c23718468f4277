"""What words between nodes cost: source 3's three experiments, on the engine and the peers as they are.

Three nodes crawl one simulated web, and share a store by a line of 10 Mbit/s each way with a delay. On that line a message costs its size. Other
than the source's, a node here can do without nothing but this, each a setting of the crawl:

- *The cache* (``recent``): without it, each link of each page is asked about.
- *Blocks* (``max_report``, ``max_unheard``): without them, each link, and each list of URLs of a server that have ended, is a report of its own, which is a
  round trip; the next report goes when the last was answered, and no page is asked for while links wait to be heard, as with the source's.
- *Balancing* (``balance``): without it, each server stays with the node that found it first.

The source's *smart queue* is blocks and balancing together, so what it calls load balancing is both here. "None" is without any of the three. What cannot be
taken away is that a node keeps the queues of its own servers at home and marks a URL seen in the same step in which it is queued: the source's "none" has a round
trip for each of these two besides, one or two to some thirty for the links of a page.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from math import inf
from multiprocessing import get_context
from random import Random
from typing import Any, NamedTuple

import msgspec

from andante.cluster.balance import RULES
from andante.cluster.memory import Memory, MemoryStore
from andante.crawl.cluster import Cluster
from andante.crawl.settings import Settings
from andante.crawl.start import engine, limits, open_job
from andante.observe import Event
from andante.sim.clock import Inline
from andante.sim.clock import run as run_virtually
from andante.sim.experiments.result import Figure, Result, Series, Table
from andante.sim.link import Line, Link, LinkedStore
from andante.sim.machine import Machine, MachineTraits
from andante.sim.network import Network
from andante.sim.population import Population
from andante.sim.process import Process
from andante.sim.simulation import EPOCH
from andante.sim.web import Web, WebTraits

NODES = 3

RATE = 1.25e6
"""Bytes a second of the line to the store, each way: 10 Mbit/s."""

MACHINE = MachineTraits(cpu_per_page=0.01)
"""A node: 100 pages a second at most, about what scrapy-redis does on one core where the store is near."""

POPULATION = Population(
    rtt=0.02, service_time=0.02, spread=0.5, one_request=0.0, hundred_requests=1.0
)
"""Servers that are not what is short."""

DELAYS = (0.01, 0.03, 0.05, 0.07, 0.09)
"""Round trips, seconds."""

BLOCKS = (1, *range(10, 201, 10), 500, 1_000, 2_000, 5_000)
"""Links in a report."""

BLOCK_DELAY = 0.05

WORKERS = 2
"""Processes that share the computing."""


class Variant(NamedTuple):
    """Which of the parts are there."""

    cache: bool
    blocks: bool
    balance: bool

    def settings(self, base: Settings) -> Settings:
        """Return the settings that make it so."""
        return replace(
            base,
            recent=base.recent if self.cache else 0,
            max_report=base.max_report if self.blocks else 1,
            max_unheard=base.max_unheard if self.blocks else 1,
            balance="vessels" if self.balance else "never",
        )


NONE = Variant(cache=False, blocks=False, balance=False)
BOTH = Variant(cache=True, blocks=True, balance=True)

VARIANTS = {
    "none": NONE,
    "balancing only": Variant(cache=False, blocks=True, balance=True),
    "cached deduplication only": Variant(cache=True, blocks=False, balance=False),
    "both": BOTH,
}
"""The source's four."""

PARTS = {
    "balancing without blocks": Variant(cache=False, blocks=False, balance=True),
    "blocks without balancing": Variant(cache=False, blocks=True, balance=False),
    "cache and balancing without blocks": Variant(cache=True, blocks=False, balance=True),
    "cache and blocks without balancing": Variant(cache=True, blocks=True, balance=False),
}
"""The other four that there are."""

BLOCK_VARIANTS = {"no cache": VARIANTS["balancing only"], "cache": BOTH}
"""For which the block is varied."""

STEP = 5.0
"""Seconds over which the figure of the whole takes means."""


class Size(msgspec.Struct, frozen=True):
    """How large the experiment is."""

    pages: int = 45_000
    servers: int = 300
    seconds: float = 120.0
    """Of the whole."""
    short: float = 60.0
    """Of a run with all parts at one delay."""
    few: int = 500
    """Pages whose time is taken at each delay."""
    many: int = 1_000
    """Pages whose time is taken for each size of block."""
    blocks: tuple[int, ...] = BLOCKS


class Course(NamedTuple):
    """A run: what is crawled, how, and until when."""

    variant: Variant
    delay: float
    seconds: float = inf
    pages: int = 0
    """Enough; 0: as many as there are."""
    block: int = 0
    """Links in a report; 0: as the variant has it."""
    same_seeds: bool = False
    """All nodes have all seeds, and start a second apart; else each has its part."""


class Crawled(NamedTuple):
    """What came of it."""

    times: tuple[float, ...]
    """When each page was fetched, seconds."""
    by_node: tuple[int, ...]
    messages: int
    """Questions and answers on the line."""
    carried: int
    """Bytes, both ways."""

    seconds: float
    """That the run took, or was given."""

    @property
    def speed(self) -> float:
        """Pages a second."""
        return len(self.times) / self.seconds

    def reached(self, pages: int) -> float:
        """Return when so many pages were fetched; the last, if there were not so many."""
        return self.times[min(pages, len(self.times)) - 1]


Found = dict[Course, Crawled]


def run(*, seed: int = 1, size: Size | None = None) -> Result:
    """Run the experiment: at full size some ten minutes of computing on two cores."""
    size = size or Size()
    found = _crawl_all(size, seed)
    limit = NODES / MACHINE.cpu_per_page
    return Result(
        title="What words between nodes cost (source 3)",
        tables=(
            _latency(size, found),
            _block_sizes(size, found),
            _whole("variants", VARIANTS, size, found),
            _whole("parts", PARTS, size, found),
        ),
        figures=(
            _latency_figure(size, found),
            _blocks_figure(size, found),
            _whole_figure(size, found),
        ),
        notes=(
            f"{NODES} nodes, which together do {limit:.0f} pages/s at most; {8 * RATE / 1e6:g} Mbit/s to the store; {size.pages:,} pages of 28 links on {size.servers} servers, no politeness.",
            "None: each link is asked about in a round trip of its own, one after another, and no server moves. Balancing: blocks and communicating vessels. Cached deduplication: links met before are not asked about.",
            "Seeds: each node has a third of them; or all nodes have the same, and start a second apart, so that the first one finds all servers.",
            "What a page costs falls as a crawl goes on, as fewer of its links are new; the quick ones get further.",
        ),
    )


def _crawl_all(size: Size, seed: int) -> Found:
    courses = [
        *(Course(NONE, delay, pages=size.few) for delay in DELAYS),
        *(Course(BOTH, delay, size.short) for delay in DELAYS),
        *(
            Course(variant, BLOCK_DELAY, pages=size.many, block=block)
            for variant in BLOCK_VARIANTS.values()
            for block in size.blocks
        ),
        *(
            Course(variant, DELAYS[0], size.seconds, same_seeds=same_seeds)
            for variant in (VARIANTS | PARTS).values()
            for same_seeds in (False, True)
        ),
    ]
    # The longest first, so that no processor waits for the other at the end.
    courses.sort(key=lambda each: (each.pages, not each.variant.blocks, -each.seconds))
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        crawled = pool.map(crawl, courses, [size] * len(courses), [seed] * len(courses))
        return dict(zip(courses, crawled, strict=True))


# Tables


def _latency(size: Size, found: Found) -> Table:
    rows = []
    for delay in DELAYS:
        none, both = _at(delay, size, found)
        first = size.few / both.reached(size.few)
        rows.append(
            (
                round(1000 * delay),
                round(none.speed, 2),
                round(first, 1),
                round(both.speed, 1),
                round(first / none.speed, 1),
            )
        )
    columns = (
        "round trip, ms",
        f"none: pages/s of the first {size.few}",
        f"both: pages/s of the first {size.few}",
        f"both: pages/s in {size.short:g} s",
        "both by none, first pages",
    )
    return Table("latency", columns, tuple(rows))


def _at(delay: float, size: Size, found: Found) -> tuple[Crawled, Crawled]:
    """Return the runs without and with all parts."""
    return found[Course(NONE, delay, pages=size.few)], found[Course(BOTH, delay, size.short)]


def _block_sizes(size: Size, found: Found) -> Table:
    rows = tuple(
        (
            block,
            *(
                round(figure, 2)
                for variant in BLOCK_VARIANTS.values()
                for figure in _of_block(found[_block_course(variant, block, size)])
            ),
        )
        for block in size.blocks
    )
    columns = tuple(
        f"{name}: {what}"
        for name in BLOCK_VARIANTS
        for what in (f"{size.many} pages, s", "pages/s")
    )
    return Table("blocks", ("links in a report", *columns), rows)


def _of_block(crawled: Crawled) -> tuple[float, float]:
    return crawled.times[-1], len(crawled.times) / crawled.times[-1]


def _block_course(variant: Variant, block: int, size: Size) -> Course:
    return Course(variant, BLOCK_DELAY, pages=size.many, block=block)


def _whole(name: str, variants: dict[str, Variant], size: Size, found: Found) -> Table:
    none, same_none = _wholes(NONE, size, found)
    rows = []
    for label, variant in variants.items():
        each, same = _wholes(variant, size, found)
        rows.append(
            (
                label,
                round(each.speed, 1),
                round(each.speed / none.speed, 1),
                float(f"{each.messages / 2 / len(each.times):.3g}"),
                round(each.carried / len(each.times)),
                round(same.speed, 1),
                round(same.speed / same_none.speed, 1),
                round(min(same.by_node) / max(same.by_node), 2),
            )
        )
    columns = (
        "variant",
        "pages/s",
        "by none",
        "round trips a page",
        "bytes a page",
        "same seeds: pages/s",
        "same seeds: by none",
        "same seeds: least by most of a node",
    )
    return Table(name, columns, tuple(rows))


def _wholes(variant: Variant, size: Size, found: Found) -> tuple[Crawled, Crawled]:
    first, second = (
        found[Course(variant, DELAYS[0], size.seconds, same_seeds=same)] for same in (False, True)
    )
    return first, second


# Figures


def _latency_figure(size: Size, found: Found) -> Figure:
    runs = [_at(delay, size, found) for delay in DELAYS]
    milliseconds = tuple(1000 * delay for delay in DELAYS)
    series = [
        Series(name, milliseconds, tuple(run[at].speed / runs[0][at].speed for run in runs))
        for at, name in enumerate(("none", "both"))
    ]
    title = "Pages a second, as a share of those at the first round trip"
    return Figure("latency", title, "round trip to the store, ms", "share", tuple(series))


def _blocks_figure(size: Size, found: Found) -> Figure:
    blocks = [block for block in size.blocks if 10 <= block <= 200]
    series = tuple(
        Series(
            name,
            tuple(map(float, blocks)),
            tuple(found[_block_course(variant, block, size)].times[-1] for block in blocks),
        )
        for name, variant in BLOCK_VARIANTS.items()
    )
    return Figure("blocks", f"Time for {size.many} pages", "links in a report", "seconds", series)


def _whole_figure(size: Size, found: Found) -> Figure:
    series = []
    for name, variant in VARIANTS.items():
        times = _wholes(variant, size, found)[0].times
        counts = Counter(int(time / STEP) for time in times)
        x = tuple(STEP * (number + 1) for number in range(int(size.seconds / STEP)))
        y = tuple(counts[number] / STEP for number in range(len(x)))
        series.append(Series(name, x, y))
    return Figure("variants", "The four variants", "seconds", "pages a second", tuple(series))


# A run


def crawl(course: Course, size: Size, seed: int) -> Crawled:
    """Run a course."""
    return run_virtually(_crawl(course, size, seed))


@cache
def web_of(size: Size, seed: int) -> Web:
    """Return the web that all courses of a seed are on."""
    traits = WebTraits(
        pages=size.pages,
        servers=size.servers,
        seeds=min(20 * NODES, size.servers),
        navigation=8,
        links=21.0,
        locality=0.9,
        server_exponent=0.3,
        size=8_000.0,
    )
    return Web(traits, POPULATION.draw(size.servers, seed=seed, alive=size.servers), seed=seed)


class _Trial:
    """What the nodes of a run share."""

    def __init__(self, course: Course, web: Web, seed: int) -> None:
        self.course = course
        self.web = web
        self.seed = seed
        self.now = asyncio.get_running_loop().time
        self.servers = web.serving()
        self.memory = Memory(self.now)
        self.line = Line(RATE)
        self.times: list[float] = []
        self.by_node = [0] * NODES
        self.is_enough = asyncio.Event()
        settings = course.variant.settings(
            Settings(
                scope="any", rate=inf, connections=8, ignore_robots=True, policy="breadth-first"
            )
        )
        if course.block:
            # A node stops when a block waits to be heard, so that it cannot run ahead of its words.
            settings = replace(settings, max_report=course.block, max_unheard=course.block)
        self.settings = settings

    async def run(self, number: int) -> None:
        """Run a node."""
        if self.course.same_seeds:
            await asyncio.sleep(number)
        machine, name = Machine(MACHINE), f"node{number}"
        network = Network(
            lambda host, port: self.servers.get((host, port)),
            limits(self.settings),
            machine=machine,
        )
        way = Link(
            Process(name, (self.seed, name)),
            (),
            delay=self.course.delay,
            seed=(self.seed, name),
            line=self.line,
        )
        cluster = Cluster(
            store=LinkedStore(lambda: MemoryStore(self.memory), way, lambda _: None),
            node=name,
            balance=RULES[self.settings.balance](),
            busy=lambda: machine.busy,
        )
        job = open_job(self.settings, None, Inline())
        try:
            running = engine(
                self.settings,
                self._seeds(number),
                job=job,
                client=network,
                cluster=cluster,
                emit=lambda event: self._note(number, event),
                clock=self.now,
                wall=lambda: EPOCH + self.now(),
                chance=Random(f"{self.seed} {name}").random,
            )
            await running.run()
        finally:
            job.close()

    def _seeds(self, number: int) -> Sequence[str]:
        seeds = self.web.seeds
        return seeds if self.course.same_seeds else seeds[number::NODES]

    def _note(self, number: int, event: Event) -> None:
        if event.event == "fetch.completed":
            self.times.append(self.now())
            self.by_node[number] += 1
            if len(self.times) == self.course.pages:
                self.is_enough.set()


async def _crawl(course: Course, size: Size, seed: int) -> Crawled:
    trial = _Trial(course, web_of(size, seed), seed)
    nodes = [asyncio.create_task(trial.run(number)) for number in range(NODES)]
    enough = asyncio.create_task(trial.is_enough.wait())
    together = asyncio.gather(*nodes)
    both: list[asyncio.Future[Any]] = [together, enough]
    await asyncio.wait(
        both,
        timeout=course.seconds if course.seconds < inf else None,
        return_when=asyncio.FIRST_COMPLETED,
    )
    line, seconds = trial.line, trial.now()
    crawled = Crawled(
        tuple(trial.times), tuple(trial.by_node), line.messages, line.carried, seconds
    )
    for task in both:
        task.cancel()
    await asyncio.gather(*both, return_exceptions=True)
    for node in nodes:
        if not node.cancelled() and (error := node.exception()) is not None:
            raise error
    return crawled
