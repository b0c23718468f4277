"""How near the planner comes to the optimum, and how long it takes.

Seeded problems: resources that are uniform, correlated, anti-correlated, or few large and many small; two to five types of nodes. The optimum is that of
`andante.plan.optimum`, in the time given. Where it is not proven in time, the gap to the best plan known and to the best bound are told instead.

    python benchmarks/plan.py [--tasks 20 40 60] [--types 2 3 4 5] [--seeds 1 2] [--seconds 20] [--large 10000]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from statistics import fmean
from typing import NamedTuple

from andante.plan import METHODS, NodeType, Plan, Problem, Resources, Task, best, plan
from andante.plan.model import CPU

SHAPES = ("uniform", "correlated", "anti-correlated", "few large")
REFERENCE = Resources(4 * CPU, 16 * 2**30, 300 * 10**6)
"""The tasks are shares of this."""


class Compared(NamedTuple):
    """Costs of plans for a problem."""

    ours: float
    source: float
    best: float
    """Of all that are known."""
    bound: float

    @property
    def is_proven(self) -> bool:
        """The best plan known is the optimum."""
        return self.best <= self.bound * (1 + 1e-6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, nargs="+", default=[20, 40, 60])
    parser.add_argument("--types", type=int, nargs="+", default=[2, 3, 4, 5])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--large", type=int, default=10_000)
    arguments = parser.parse_args()
    printed = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the solver says

    found = []
    print("| tasks | types | shape | seed | ours | source 4 | bound | proven |", file=printed)
    print("|--:|--:|---|--:|--:|--:|--:|---|", file=printed)
    for tasks, types, shape, seed in product(
        arguments.tasks, arguments.types, SHAPES, arguments.seeds
    ):
        each = compared(drawn(shape, types, tasks, seed), arguments.seconds)
        found.append(each)
        above = (each.ours, each.source, each.bound)
        cells = " | ".join(f"{100 * (cost / each.best - 1):+.2f} %" for cost in above)
        proven = "yes" if each.is_proven else ""
        print(f"| {tasks} | {types} | {shape} | {seed} | {cells} | {proven} |", file=printed)
    print(*summed(found), sep="\n", file=printed)
    for method in METHODS:
        seconds, planned = timed(large(arguments.large), method)
        print(
            f"{method}: {arguments.large:,} tasks on {sum(planned.used):,} of {arguments.large // 10:,} nodes in {seconds:.2f} s of processor, {100 * planned.gap:.1f} % above the bound",
            file=printed,
        )
    sys.stdout = printed


def summed(found: list[Compared]) -> Iterator[str]:
    """Return the lines that sum the comparisons up."""

    def gap(name: str, among: list[Compared], to: Callable[[Compared], float]) -> str:
        gaps = [each.ours / to(each) - 1 for each in among]
        return f"{name}: mean gap {100 * fmean(gaps):.2f} %, greatest {100 * max(gaps):.2f} %"

    proven = [each for each in found if each.is_proven]
    others = [each for each in found if not each.is_proven]
    yield f"{len(found)} problems, the optimum proven for {len(proven)}"
    if proven:
        yield gap(f"to the optimum, {len(proven)} problems", proven, lambda each: each.best)
    if others:
        yield gap(f"to the best plan known, {len(others)} others", others, lambda each: each.best)
        yield gap(f"to the best bound, these {len(others)}", others, lambda each: each.bound)
    yield gap("to the best plan known, all", found, lambda each: each.best)
    more = [each.source / each.ours - 1 for each in found]
    yield f"source 4's plan costs {100 * fmean(more):.0f} % more than ours in the mean; it costs less in {sum(each < -1e-9 for each in more)} of {len(found)}"


def compared(problem: Problem, seconds: float) -> Compared:
    """Plan a problem by our heuristic, by the source's, and as well as can be in the time given."""
    ours = plan(problem, None, chance=Random(1).random)
    source = plan(problem, None, chance=Random(1).random, method="matching")
    end = time.monotonic() + seconds
    found = best(ours, is_reserved_best=True, seconds_left=lambda: end - time.monotonic())
    return Compared(ours.costs.total, source.costs.total, found.costs.total, found.bound)


def timed(problem: Problem, method: str) -> tuple[float, Plan]:
    began = time.process_time()
    found = plan(problem, (0,) * len(problem.nodes), chance=Random(1).random, method=method)
    return time.process_time() - began, found


def drawn(shape: str, types: int, tasks: int, seed: int) -> Problem:
    """Return a problem of which each task fits some node."""
    random = Random(f"{shape} {types} {tasks} {seed}")
    while True:
        nodes = tuple(_node(random, at, tasks) for at in range(types))
        found = Problem(nodes=nodes, tasks=tuple(_task(random, shape, at) for at in range(tasks)))
        if not found.fits_none():
            return found


def _node(random: Random, at: int, count: int) -> NodeType:
    cpu = random.choice((2, 4, 8, 16))
    memory = cpu * random.choice((2, 4, 8))
    bandwidth = random.choice((100, 250, 500, 1000))
    price = (0.02 * cpu + 0.003 * memory + 0.0001 * bandwidth) * random.uniform(0.9, 1.1)
    return NodeType(
        name=f"n{at}",
        count=count,
        size=Resources(cpu * CPU, memory * 2**30, bandwidth * 10**6),
        reserve=round(0.4 * price, 4),
        use=round(0.6 * price, 4),
        extra=round(2.5 * price, 4),
    )


def _task(random: Random, shape: str, at: int) -> Task:
    match shape:
        case "uniform":
            shares = [random.uniform(0.02, 0.45) for _ in range(3)]
        case "correlated":
            base = random.uniform(0.05, 0.4)
            shares = [base + random.uniform(-0.05, 0.05) for _ in range(3)]
        case "anti-correlated":
            base = random.uniform(0.02, 0.45)
            shares = [base, 0.47 - base, random.uniform(0.02, 0.45)]
        case _:
            span = (0.3, 0.48) if random.random() < 0.2 else (0.01, 0.1)
            shares = [random.uniform(*span) for _ in range(3)]
    need = Resources(*(int(share * size) for share, size in zip(shares, REFERENCE, strict=True)))
    return Task(name=f"t{at}", need=need)


def large(tasks: int) -> Problem:
    """Return a problem of three types, with a tenth as many nodes as tasks."""
    random = Random("large")
    count = tasks // 30
    nodes = []
    for at, (cpu, memory, bandwidth) in enumerate(((2, 8, 100), (4, 16, 200), (8, 16, 400))):
        price = 0.02 * cpu + 0.003 * memory + 0.0001 * bandwidth
        size = Resources(cpu * CPU, memory * 2**30, bandwidth * 10**6)
        more = tasks // 10 - 3 * count if not at else 0
        nodes.append(
            NodeType(
                name=f"n{at}",
                count=count + more,
                size=size,
                reserve=0.4 * price,
                use=0.6 * price,
                extra=2.5 * price,
            )
        )
    made = [
        Resources(
            int(random.uniform(0.01, 0.36) * CPU),
            random.randint(10, 700) * 2**20,
            int(random.uniform(1, 15) * 10**6),
        )
        for _ in range(tasks)
    ]
    return Problem(
        nodes=tuple(nodes),
        tasks=tuple(Task(name=f"t{at}", need=need) for at, need in enumerate(made)),
    )


if __name__ == "__main__":
    main()
