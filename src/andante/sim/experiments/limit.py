"""How many requests in flight a server can take: source 2's rule, ours, and others, at servers with c workers.

A client keeps as many requests in flight as its limit allows. Service times are lognormal (50 ms, sigma 0.5) and the network takes
30 ms, unless the server's name says otherwise; a phase lasts 100 s, and is judged by its last half.
"""

from __future__ import annotations

from collections.abc import Callable

from andante.flow.knee import KneeLimit
from andante.flow.limit import AimdLimit, GradientLimit, Limit, RttLimit, VegasLimit
from andante.sim.experiments.limit_plant import (
    Judged,
    Phase,
    Plant,
    Run,
    judge,
    lognormal,
    pareto,
    two_classes,
)
from andante.sim.experiments.result import Figure, Result, Series, Table


class FixedLimit:
    """A limit that somebody has set."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def on_response(self, rtt: float, *, now: float, in_flight: int) -> None:
        """See `Limit`."""

    def on_failure(self, *, now: float, in_flight: int) -> None:
        """See `Limit`."""


def _falls_and_rises(workers: int = 16, low: int = 4, **more: object) -> list[Phase]:
    return [Phase(workers=each, **more) for each in (workers, low, workers)]  # type: ignore[arg-type]  # fields of Phase


STEP = "16, 4, 16 workers"

SERVERS: dict[str, list[Phase]] = {
    STEP: _falls_and_rises(),
    "1 worker": [Phase(workers=1)],
    "2 workers": [Phase(workers=2)],
    "64 workers": [Phase(workers=64)],
    "5 ms, 16 workers": [Phase(mean=0.005, seconds=30)],
    "5 ms, 1 worker": [Phase(workers=1, mean=0.005, seconds=60)],
    "500 ms, 16, 4, 16, 1000 s each": _falls_and_rises(mean=0.5, seconds=1_000),
    "2 s, 16 workers": [Phase(mean=2.0)],
    "2 s, 16, 4, 16, 4000 s each": _falls_and_rises(mean=2.0, seconds=4_000),
    "sigma 1.2": _falls_and_rises(service=lognormal(0.05, 1.2)),
    "Pareto, alpha 2.5": _falls_and_rises(service=pareto(0.05, 2.5)),
    "Pareto, alpha 1.5": _falls_and_rises(service=pareto(0.05, 1.5)),
    "half of the pages cost tenfold": _falls_and_rises(service=two_classes(0.05, share=0.5)),
    "a tenth of them costs tenfold": _falls_and_rises(service=two_classes(0.05, share=0.1)),
    "base latency 80, 120, 80 ms": [Phase(), Phase(network=0.07), Phase()],
    "others take 0, 0.5, 0 of it": [Phase(), Phase(others=0.5), Phase()],
}
"""The servers, by name."""

CONTENDERS: dict[str, Callable[[], Limit]] = {
    "KneeLimit": KneeLimit,
    "fixed 7": lambda: FixedLimit(7),
    "fixed 26": lambda: FixedLimit(26),
    "RttLimit (source 2)": RttLimit,
    "RttLimit, rtt_min 0.08, rtt_max 0.2": lambda: RttLimit(rtt_min=0.08, rtt_max=0.2),
    "AimdLimit": lambda: AimdLimit(limit_max=200),
    "VegasLimit": VegasLimit,
    "GradientLimit": lambda: GradientLimit(limit_max=200),
}
"""The limits that are compared at the server that falls and rises."""


def run(*, seed: int = 1, servers: dict[str, list[Phase]] = SERVERS) -> Result:
    """Run the experiment: some 40 s of computing, most of it for the long phases."""
    step = servers[STEP]
    runs = {name: Plant(make(), step, seed).run() for name, make in CONTENDERS.items()}
    compared = Table("limits", ("limit", *_COLUMNS), tuple(_rows(runs, step)))
    ours = []
    for name, phases in servers.items():
        found = runs["KneeLimit"] if phases is step else Plant(KneeLimit(), phases, seed).run()
        ours += list(_rows({name: found}, phases))
    return Result(
        title="How many requests in flight a server can take",
        tables=(compared, Table("servers", ("KneeLimit at", *_COLUMNS), tuple(ours))),
        figures=(_figure(runs, sum(phase.seconds for phase in step)),),
        notes=(
            "Asked of ours: throughput at least 95 %, p95 at most 1.3 times the unloaded one (1.4 with one worker), not above 3 times for over 10 s.",
            "A fixed limit that somebody knows to be right does as well, until the server changes.",
            "AIMD and Gradient2 are bound to 200, as nothing fails here and they would grow without end.",
        ),
    )


_COLUMNS = ("phase", "workers", "throughput, %", "p95, x unloaded", "s above 3 x")


def _rows(runs: dict[str, Run], phases: list[Phase]) -> list[tuple[str | float, ...]]:
    return [
        (name, number, phase.workers, *_figures(judged))
        for name, each in runs.items()
        for number, (phase, judged) in enumerate(zip(phases, judge(each, phases), strict=True), 1)
    ]


def _figures(judged: Judged) -> tuple[float, float, float]:
    return round(100 * judged.share, 1), round(judged.p95, 2), round(judged.above, 1)


def _figure(runs: dict[str, Run], end: float) -> Figure:
    """Draw the limits over time, as steps."""
    lines = []
    for name in ("KneeLimit", "fixed 26", "RttLimit (source 2)", "VegasLimit", "GradientLimit"):
        changes = runs[name].limits
        x: list[float] = []
        y: list[float] = []
        for (at, limit), (until, _) in zip(changes, [*changes[1:], (end, 0)], strict=True):
            x += [at, until]
            y += [limit, limit]
        lines.append(Series(name, tuple(x), tuple(y)))
    return Figure(
        "limits", "Requests in flight that are allowed", "seconds", "requests", tuple(lines)
    )
