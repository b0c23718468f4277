"""Source 1: is a stated speed held? The classic controller, ours, and what crawlers do otherwise, on the same plants.

About 2 s of CPU; the most goes into the crawls of 6,000 pages a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from math import inf
from random import Random

from andante.flow.pace import Pace
from andante.flow.pid import Pid
from andante.sim.experiments.pid_plant import (
    WINDOW,
    Pacer,
    Phase,
    Plant,
    crawl,
    held,
    settled,
)
from andante.sim.experiments.result import Figure, Result, Series, Table

PUBLISHED = (
    (80, 3799), (32, 4039), (30, 3980), (30, 3720), (32, 3400), (36, 3200), (36, 2920), (42, 2980), (40, 2980),
    (40, 2980), (40, 2980), (40, 2980), (40, 2980), (40, 2980), (40, 2980), (40, 2980), (40, 2980), (40, 2980),
    (39, 2910), (40, 2910), (41, 2980), (39, 2930), (41, 3000), (40, 3000), (39, 2930),
)  # fmt: skip
"""The record of source 1's experiment, set-point 40: pages in the last minute, and the delay that followed, in ms."""


class _Interval:
    """A fixed interval from request to request; also what the other rules have in common."""

    def __init__(self, set_point: float, connections: int) -> None:
        self.next_time = 0.0
        self.pause = 0.0
        self.interval = 60 / set_point
        self.connections = connections

    def change(self, set_point: float, now: float) -> None:
        self.interval = 60 / set_point

    def on_sent(self, now: float) -> None:
        self.next_time = now + self.interval

    def on_finished(self, now: float, took: float, *, ok: bool) -> None:
        pass


class _Andante(_Interval):
    """`andante.flow.Pace`."""

    def __init__(self, set_point: float, connections: int) -> None:
        super().__init__(set_point, connections)
        self.pace = Pace(set_point=set_point)

    def change(self, set_point: float, now: float) -> None:
        self.pace.change(set_point, now)
        self.next_time = self.pace.next_time

    def on_sent(self, now: float) -> None:
        self.pace.on_sent(now)
        self.next_time = self.pace.next_time


class _Classic(_Interval):
    """`andante.flow.Pid`: each connection waits after a page; each minute the wait is corrected."""

    def __init__(self, set_point: float, connections: int) -> None:
        super().__init__(set_point, connections)
        self.pid = Pid(set_point)
        self.pause = self.pid.delay
        self.delays: list[float] = []
        self.pages = 0

    def change(self, set_point: float, now: float) -> None:
        self.pid.set_point = set_point

    def on_sent(self, now: float) -> None:
        pass

    def on_finished(self, now: float, took: float, *, ok: bool) -> None:
        while now >= WINDOW * (len(self.delays) + 1):
            self.pause = self.pid.update(self.pages)
            self.delays.append(self.pause)
            self.pages = 0
        self.pages += 1


class _Bucket(_Interval):
    """A token bucket: a token each interval, and room for so many."""

    def __init__(self, set_point: float, connections: int, *, size: float) -> None:
        super().__init__(set_point, connections)
        self.size = self.tokens = size
        self.at = 0.0

    def on_sent(self, now: float) -> None:
        self.tokens = min(self.size, self.tokens + (now - self.at) / self.interval) - 1
        self.at = now
        self.next_time = now + max(0.0, 1 - self.tokens) * self.interval


class _FixedWait(_Interval):
    """Each connection waits so long that the set-point would be met if responses took no time."""

    def __init__(self, set_point: float, connections: int) -> None:
        super().__init__(set_point, connections)
        self.pause = connections * self.interval

    def change(self, set_point: float, now: float) -> None:
        self.pause = self.connections * 60 / set_point

    def on_sent(self, now: float) -> None:
        pass


class _AutoThrottle(_Interval):
    """Scrapy's AutoThrottle by its defaults: the delay follows the latency; failures never shorten it. It has no set-point."""

    def __init__(self, set_point: float, connections: int) -> None:
        super().__init__(set_point, connections)
        self.interval = 5.0

    def change(self, set_point: float, now: float) -> None:
        pass

    def on_finished(self, now: float, took: float, *, ok: bool) -> None:
        delay = min(max(took, (self.interval + took) / 2), 60.0)
        if ok or delay > self.interval:
            self.interval = delay


class _FiveTimes(_Interval):
    """Heritrix by its defaults: one connection, and after each page a wait of five times its fetch time, 3 to 30 s. No set-point."""

    def on_sent(self, now: float) -> None:
        self.next_time = inf

    def on_finished(self, now: float, took: float, *, ok: bool) -> None:
        self.next_time = now + min(max(5 * took, 3.0), 30.0)


CONTENDERS: dict[str, Callable[[float, int], Pacer]] = {
    "Andante": _Andante,
    "PID (source 1)": _Classic,
    "fixed interval": _Interval,
    "token bucket, 2": partial(_Bucket, size=2.0),
    "token bucket, 10": partial(_Bucket, size=10.0),
    "fixed wait": _FixedWait,
    "AutoThrottle": _AutoThrottle,
    "5 x fetch time": _FiveTimes,
}

BEFORE = Phase(1500)
STEPS = {
    "nothing changes": Plant((BEFORE, BEFORE)),
    "responses take 5 x as long": Plant((BEFORE, BEFORE._replace(response=2.5))),
    "half of the connections gone": Plant((BEFORE, BEFORE._replace(connections=2, response=1.0))),
    "set-point 40 to 60": Plant((BEFORE, BEFORE._replace(set_point=60))),
    "set-point 40 to 20": Plant((BEFORE, BEFORE._replace(set_point=20))),
    "ten minutes out of reach": Plant(
        (BEFORE, Phase(600, response=20.0, reachable=False), BEFORE), failures=0.0
    ),
}
CONSTANT = {
    "2/min": Plant((Phase(1800, 2, 3.0, 1),), failures=0.1),
    "40/min, machine stalls": Plant((Phase(900, 40, 0.5, 1),), stalls=3),
    "40/min, 80 % busy": Plant((Phase(900, 40, 1.2, 1),), sigma=0.3, failures=0),
    "600/min": Plant((Phase(600, 600, 0.3, 16),)),
    "600/min, machine stalls": Plant((Phase(600, 600, 0.3, 16),), stalls=3),
    "6,000/min": Plant((Phase(300, 6_000, 0.05, 16),)),
    "6,000/min, machine stalls": Plant((Phase(300, 6_000, 0.05, 16),), stalls=3),
}
SCHEDULED = ("Andante", "fixed interval", "token bucket, 2", "token bucket, 10")


def run(*, seed: int = 1) -> Result:
    """Run the experiment."""
    return Result(
        title="A set-point in pages a minute (source 1)",
        tables=(
            _steps(seed),
            _constant(seed),
            _replayed(),
        ),
        figures=(_record(seed), *_step_figures(seed)),
        notes=(
            "Held: share of the 60 s windows that hold the set-point within 2.5 % or one page; judged from the second minute on, and from two minutes after a step.",
            "Over and under: pages by which the fullest window from the first second on, and the emptiest one that is judged, are off the set-point.",
            "Settled: minutes after the start and after the step from which on every window holds, for five minutes at least.",
            "While the machine is on time, a token bucket of two does as well as Andante: after a stall at high speed it does not make up for what was lost.",
            "A larger bucket makes up for more, and breaks the ceiling, most of all at the start. A fixed interval loses whatever each request is late.",
            "AutoThrottle and 5 x fetch time have no set-point: they are here because crawlers use them.",
        ),
    )


def _steps(seed: int) -> Table:
    rows = []
    for name, plant in STEPS.items():
        for contender, make in CONTENDERS.items():
            first = plant.phases[0]
            sent = crawl(make(first.set_point, first.connections), plant, Random(seed))
            rows.append((name, contender, *_judged(sent, plant)))
    columns = (
        "step",
        "rule",
        "held, %",
        "within 5 %, %",
        "over",
        "under",
        "settled, start",
        "settled, step",
    )
    return Table("steps", columns, tuple(rows))


def _judged(sent: Sequence[float], plant: Plant) -> tuple[str | float, ...]:
    """Judge all phases in which the set-point can be reached."""
    ends = list(accumulate(phase.seconds for phase in plant.phases))
    phases = [
        (end - phase.seconds, end, phase.set_point)
        for end, phase in zip(ends, plant.phases, strict=True)
        if phase.reachable
    ]
    judged = [(start + (120 if start else 60), end, set_point) for start, end, set_point in phases]
    shares = [
        round(100 * sum(held(sent, *each, tolerance=tolerance).share for each in judged) / 2, 1)
        for tolerance in (0.025, 0.05)
    ]
    after = [settled(sent, *phase) for phase in (phases[0], phases[-1])]
    return (
        *shares,
        max(held(sent, *phase).over for phase in phases),
        max(held(sent, *each).under for each in judged),
        *("never" if periods is None else periods for periods in after),
    )


def _constant(seed: int) -> Table:
    rows: list[tuple[str | float, ...]] = []
    for name, plant in CONSTANT.items():
        phase = plant.phases[0]
        for contender in SCHEDULED:
            pacer = CONTENDERS[contender](phase.set_point, phase.connections)
            sent = crawl(pacer, plant, Random(seed))
            result = held(sent, 60, phase.seconds, phase.set_point)
            over = held(sent, 0, phase.seconds, phase.set_point).over
            wanted = phase.set_point * phase.seconds / 60
            figures = (100 * result.share, 100 * len(sent) / wanted, over, result.under)
            rows.append((name, contender, *(round(figure, 1) for figure in figures)))
    columns = ("plant", "rule", "held, %", "pages sent, %", "over", "under")
    return Table("set-points", columns, tuple(rows))


def _replayed() -> Table:
    pid = Pid(40)
    rows = tuple(
        (period, pages, delay, round(1000 * pid.update(pages), 1))
        for period, (pages, delay) in enumerate(PUBLISHED, start=1)
    )
    columns = ("period", "pages in the last minute", "published delay, ms", "delay, ms")
    return Table("record", columns, rows)


def _record(seed: int) -> Figure:
    """Source 1's figure 3: pages a minute and delay over time, published and in a plant that begins with 80 pages too."""
    plant = Plant((Phase(60.0 * len(PUBLISHED), connections=2),))
    classic = _Classic(40, 2)
    minutes = tuple(float(minute) for minute in range(1, len(PUBLISHED) + 1))
    in_plant = _per_minute(crawl(classic, plant, Random(seed)), minutes)
    ours = _per_minute(crawl(_Andante(40, 2), plant, Random(seed)), minutes)
    delays = tuple(10 * delay for delay in classic.delays)
    return Figure(
        "record",
        "A set-point of 40 pages a minute: published record and simulated crawl",
        "minutes",
        "pages in the last minute; delay in 0.1 s",
        (
            Series("pages, published", minutes, tuple(float(pages) for pages, _ in PUBLISHED)),
            Series("delay, published", minutes, tuple(delay / 100 for _, delay in PUBLISHED)),
            Series("pages, PID in the plant", minutes, in_plant),
            Series("delay, PID in the plant", minutes[: len(delays)], delays),
            Series("pages, Andante in the plant", minutes, ours),
        ),
    )


def _step_figures(seed: int) -> tuple[Figure, ...]:
    shown = ("Andante", "PID (source 1)", "fixed wait", "AutoThrottle", "5 x fetch time")
    figures = []
    for name, plant in STEPS.items():
        minutes = tuple(float(minute) for minute in range(1, int(plant.seconds / 60) + 1))
        series = []
        for contender in shown:
            sent = crawl(CONTENDERS[contender](40, 4), plant, Random(seed))
            series.append(Series(contender, minutes, _per_minute(sent, minutes)))
        title = f"Pages a minute; after 25 minutes: {name}"
        figures.append(
            Figure(
                name.replace(" ", "-"), title, "minutes", "pages in the last minute", tuple(series)
            )
        )
    return tuple(figures)


def _per_minute(sent: Sequence[float], minutes: Sequence[float]) -> tuple[float, ...]:
    """Count the pages of each minute."""
    counts = [0.0] * (len(minutes) + 1)
    for at in sent:
        counts[int(at / WINDOW)] += 1
    return tuple(counts[: len(minutes)])
