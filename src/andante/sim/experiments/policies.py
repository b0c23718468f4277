"""Which server next: source 5's policies on its web (figures 6 and 7), under politeness, with estimated quality, and against an upper bound.

A policy's score is (A - B) / (C - B): A is the area under its curve of quality over time up to the end of the breadth-first crawl,
B that of breadth-first, C that of the upper bound (`andante.sim.experiments.bound`). So breadth-first scores 0, and 1 cannot be passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from math import inf
from multiprocessing import get_context
from statistics import mean, stdev
from typing import NamedTuple

from andante.crawl.settings import Settings
from andante.frontier.policy import BreadthFirst, Capability, PerformanceFirst, Policy, QualityFirst
from andante.frontier.quality import Opic, PageRank, Quality
from andante.sim.experiments.bound import Bound
from andante.sim.experiments.campus import Foreseen, Kind, Known, Size, campus
from andante.sim.experiments.curve import Curve, area
from andante.sim.experiments.result import Figure, Result, Series, Table
from andante.sim.simulation import Simulation
from andante.sim.web import Web

SPEEDS = {"no pauses": inf, "60/min": 60.0}
"""Requests a minute to a server, by the name of the setting."""

KINDS: tuple[Kind, ...] = ("pagerank", "zipf")

_WORKERS = 2
_POINTS = 150


class _Whole:
    """A policy as in source 5, where a visit takes all pages that the connection serves."""

    turn: int | None = None

    def __init__(self, policy: Policy) -> None:
        self.by_score = policy.by_score
        self.rank = policy.rank


class Contender(NamedTuple):
    """A way to crawl."""

    policy: Callable[[], Policy]
    quality: Callable[[Web], Quality] | None = None
    """None: it goes by none."""
    is_known: bool = False
    """Its quality is the web's own."""
    finds_links: bool = True
    """If not, it is given all URLs at the start."""


CONTENDERS = {
    "breadth-first": Contender(BreadthFirst),
    "performance": Contender(PerformanceFirst),
    "performance, whole visits": Contender(lambda: _Whole(PerformanceFirst())),
    "quality": Contender(QualityFirst, Known, is_known=True),
    "capability": Contender(Capability, Known, is_known=True),
    "capability, whole visits": Contender(lambda: _Whole(Capability()), Known, is_known=True),
    "capability, all URLs given": Contender(Capability, Known, is_known=True, finds_links=False),
    "capability, new links foreseen": Contender(Capability, Foreseen, is_known=True),
    "quality by opic": Contender(QualityFirst, lambda _: Opic()),
    "capability by opic": Contender(Capability, lambda _: Opic()),
    "capability by pagerank": Contender(Capability, lambda _: PageRank()),
}

_FIGURES = (
    "total, s",
    "pages at 1/2",
    "80 % at, own",
    "80 % at",
    "1/3, own",
    "1/3",
    "1/2, own",
    "1/2",
    "score",
    "score 2",
)

_DRAWN = ("breadth-first", "performance", "quality", "capability", "capability by opic")


class Crawled(NamedTuple):
    """What the contenders have done in one setting with one seed."""

    figures: dict[tuple[Kind, str], tuple[float, ...]]
    """By kind of quality and contender."""
    curves: dict[tuple[Kind, str], tuple[tuple[float, ...], tuple[float, ...]]]
    """The same: times and shares of the quality, to be drawn."""


def run(*, seed: int = 1, seeds: int = 5, size: Size | None = None) -> Result:
    """Run the experiment with so many seeds, ``seed`` the first: at full size a quarter of an hour, on two processors."""
    jobs = [
        (speed, each, size or Size()) for speed, each in product(SPEEDS, range(seed, seed + seeds))
    ]
    with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool:
        crawled = dict(
            zip([job[:2] for job in jobs], pool.map(crawl, *zip(*jobs, strict=True)), strict=True)
        )
    by_speed = {
        speed: [crawled[speed, each] for each in range(seed, seed + seeds)] for speed in SPEEDS
    }
    tables = [_table("policies", by_speed, mean)]
    if seeds > 1:
        tables.append(_table("deviations", by_speed, stdev))
    figures = [_figure(speed, kind, by_speed[speed][0]) for speed in SPEEDS for kind in KINDS]
    return Result(
        title=f"Which server next (source 5): means over {seeds} seeds, and standard deviations",
        tables=tuple(tables),
        figures=tuple(figures),
        notes=(
            "pages at 1/2: pages at half of breadth-first's total time, times those of breadth-first; for the bound, the most that is possible.",
            "80 % at: when 80 % of the quality of all pages is there. 1/3, 1/2: share of the quality there then. All are shares of breadth-first's total time; 'own': of the policy's own.",
            "score: area under quality over time up to breadth-first's total time; breadth-first = 0, the upper bound = 1.",
            "score 2: the same with capability in the place of the bound, all URLs and their quality given at the start; that still has to learn how fast servers are.",
            "new links foreseen: it knows how many new URLs each page would show, and counts each for what URLs not found are worth in the mean.",
            "Quality is known unless 'by' names what estimates it. With Zipf at random no estimate can know anything: what is left is speed.",
        ),
    )


def crawl(speed: str, seed: int, size: Size) -> Crawled:
    """Let all contenders crawl the web of a seed."""
    rate = SPEEDS[speed]
    webs = {kind: campus(size, seed=seed, quality=kind) for kind in KINDS}
    curves: dict[tuple[Kind, str], Curve] = {}
    for name, contender in CONTENDERS.items():
        for kind, curve in _curves(contender, webs, rate, size.connections):
            curves[kind, name] = curve
    figures: dict[tuple[Kind, str], tuple[float, ...]] = {}
    drawn: dict[tuple[Kind, str], tuple[tuple[float, ...], tuple[float, ...]]] = {}
    for kind, web in webs.items():
        first = curves[kind, "breadth-first"]
        bound = Bound(web, connections=size.connections, rate=rate / 60)
        pages = Bound(
            web, connections=size.connections, rate=rate / 60, qualities=[1.0] * size.pages
        )
        low, high = first.area(first.total), area(bound, first.total)
        known = curves[kind, "capability, all URLs given"].area(first.total)
        times = [first.total * point / _POINTS for point in range(_POINTS + 1)]
        for name in CONTENDERS:
            curve = curves[kind, name]
            above = curve.area(first.total) - low
            scores = above / (high - low), above / (known - low)
            figures[kind, name] = (*_figures(curve, first), *scores)
        figures[kind, "upper bound"] = _figures_of_bound(
            bound, pages, first, (high - low) / (known - low)
        )
        for name in _DRAWN:
            drawn[kind, name] = (tuple(times), tuple(map(curves[kind, name].quality, times)))
        drawn[kind, "upper bound"] = (tuple(times), tuple(map(bound.quality, times)))
    return Crawled(figures, drawn)


def _curves(
    contender: Contender, webs: dict[Kind, Web], rate: float, connections: int
) -> Iterator[tuple[Kind, Curve]]:
    """Crawl; once only where the quality of the web makes no difference."""
    record = None
    for kind, web in webs.items():
        if record is None or contender.is_known:
            record = crawl_one(contender, web, rate=rate, connections=connections).run()
        yield kind, Curve.of(record, web)


def crawl_one(contender: Contender, web: Web, *, rate: float, connections: int) -> Simulation:
    """Return the crawl of a web by a contender."""
    settings = Settings(scope="any", rate=rate, connections=connections, ignore_robots=True)
    return Simulation(
        web,
        settings,
        seeds=() if contender.finds_links else list(web.urls()),
        policy=contender.policy(),
        quality=contender.quality(web) if contender.quality else None,
    )


def _figures(curve: Curve, first: Curve) -> tuple[float, ...]:
    own, total = curve.total, first.total
    return (
        own,
        curve.pages(total / 2) / first.pages(total / 2),
        curve.time(0.8) / own,
        curve.time(0.8) / total,
        curve.quality(own / 3),
        curve.quality(total / 3),
        curve.quality(own / 2),
        curve.quality(total / 2),
    )


def _figures_of_bound(bound: Bound, pages: Bound, first: Curve, score: float) -> tuple[float, ...]:
    """Return the same of the bound, whose total time is the time from which it has all pages."""
    total = first.total
    own = _earliest(lambda at: pages.quality(at) > pages.quality(inf) - 0.5)
    return (
        own,
        pages.quality(total / 2) / first.pages(total / 2),
        _earliest(lambda at: bound.quality(at) >= 0.8) / own,
        _earliest(lambda at: bound.quality(at) >= 0.8) / total,
        bound.quality(own / 3),
        bound.quality(total / 3),
        bound.quality(own / 2),
        bound.quality(total / 2),
        1.0,
        score,
    )


def _earliest(holds: Callable[[float], bool]) -> float:
    """Return the time, to 10 ms, from which something holds."""
    high = 1.0
    while not holds(high):
        high *= 2
    low = 0.0
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _table(
    name: str, crawled: dict[str, list[Crawled]], summary: Callable[[list[float]], float]
) -> Table:
    rows: list[tuple[str | float, ...]] = []
    for speed, each in crawled.items():
        for kind, contender in each[0].figures:
            seeds = [one.figures[kind, contender] for one in each]
            cells = [round(summary(list(values)), 3) for values in zip(*seeds, strict=True)]
            rows.append((f"{speed}, {kind}", contender, round(cells[0], 1), *cells[1:]))
    return Table(name, ("setting", "policy", *_FIGURES), tuple(rows))


def _figure(speed: str, kind: Kind, crawled: Crawled) -> Figure:
    lines = tuple(
        Series(name, *points) for (of, name), points in crawled.curves.items() if of == kind
    )
    pace = "no pauses" if SPEEDS[speed] == inf else f"{speed} to a server"
    return Figure(
        f"{kind}-{'free' if SPEEDS[speed] == inf else 'polite'}",
        f"Quality over time: {kind}, {pace}",
        "seconds",
        "share of the quality of all pages",
        lines,
    )
