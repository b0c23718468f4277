"""How near the planner comes to the optimum, and how long it takes.

Seeded problems: resources that are uniform, correlated, anti-correlated, or few large and many small; two to five types of nodes. The optimum is that of
integer programming over patterns, in the time given; where it is not proven, the bound that it leaves is told, too.

    python benchmarks/plan.py [--tasks 20 40 60] [--types 2 3 4 5] [--seeds 2] [--seconds 20] [--large 10000]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from random import Random
from statistics import fmean

from andante.plan import METHODS, NodeType, Plan, Problem, Resources, Task, best, plan
from andante.plan.model import CPU

SHAPES = ("uniform", "correlated", "anti-correlated", "few large")
REFERENCE = Resources(4 * CPU, 16 * 2**30, 300 * 10**6)
"""The tasks are shares of this."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, nargs="+", default=[20, 40, 60])
    parser.add_argument("--types", type=int, nargs="+", default=[2, 3, 4, 5])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--large", type=int, default=10_000)
    arguments = parser.parse_args()
    printed = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the solver says

    gaps: dict[str, list[float]] = {}
    print("| tasks | types | shape | gap | source 4 | bound | proven |", file=printed)
    print("|--:|--:|---|--:|--:|--:|---|", file=printed)
    for tasks in arguments.tasks:
        for types in arguments.types:
            for shape in SHAPES:
                for seed in range(1, arguments.seeds + 1):
                    row = compared(drawn(shape, types, tasks, seed), arguments.seconds)
                    gaps.setdefault(shape, []).append(row[0])
                    cells = " | ".join(f"{100 * each:.2f} %" for each in row[:3])
                    proven = "yes" if row[2] < 1e-6 else ""
                    print(f"| {tasks} | {types} | {shape} | {cells} | {proven} |", file=printed)
    for shape, each in gaps.items():
        print(
            f"{shape}: mean gap {100 * fmean(each):.2f} %, greatest {100 * max(each):.2f} %",
            file=printed,
        )
    every = [gap for each in gaps.values() for gap in each]
    print(
        f"all {len(every)}: mean gap {100 * fmean(every):.2f} %, greatest {100 * max(every):.2f} %",
        file=printed,
    )
    for method in METHODS:
        seconds, found = timed(large(arguments.large), method)
        print(
            f"{method}: {arguments.large:,} tasks on {sum(found.used):,} of {arguments.large // 10:,} nodes in {seconds:.2f} s of processor, {100 * found.gap:.1f} % above the bound",
            file=printed,
        )
    sys.stdout = printed


def compared(problem: Problem, seconds: float) -> tuple[float, float, float]:
    """Return the gap of ours and of the source's plan to the best known, and that of the best known to its bound."""
    ours = plan(problem, None, chance=Random(1).random)
    source = plan(problem, None, chance=Random(1).random, method="matching")
    end = time.monotonic() + seconds
    found = best(ours, is_reserved_best=True, seconds_left=lambda: end - time.monotonic())
    least = found.costs.total
    return ours.costs.total / least - 1, source.costs.total / least - 1, max(0.0, found.gap)


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
