"""How many nodes to reserve: source 4's figure 1, by the source's heuristic and by ours; and the same when the demand is uncertain.

The source gives no numbers. Here 40 nodes of one type are there, and 100 tasks, whose resources are drawn evenly from 5 to 45 % of a node's.
"""

from __future__ import annotations

from random import Random

from andante.plan.demand import POINTS, lognormal, uncertain
from andante.plan.model import CPU, NodeType, Plan, Problem, Resources, Task
from andante.plan.planner import Method, plan
from andante.sim.experiments.result import Figure, Result, Series, Table

NODES, TASKS = 40, 100

SIZE = Resources(4 * CPU, 16 * 2**30, 10**9)

NODE = NodeType(name="node", count=NODES, size=SIZE, reserve=0.4, use=0.6, extra=2.0)
"""Reserving and using a node costs 1, adding one 2."""

SHARES = (0.05, 0.45)

MEAN, DEVIATION = 1.0, 0.3
"""Of the demand where it is uncertain."""

METHODS: dict[str, Method] = {"source 4": "matching", "Andante": "search"}


def problem(seed: int, tasks: int = TASKS) -> Problem:
    """Return the tasks, and the nodes for them."""
    random = Random(f"allocation {seed}")
    drawn = [
        Resources(*(int(random.uniform(*SHARES) * there) for there in SIZE)) for _ in range(tasks)
    ]
    return Problem(
        nodes=(NODE,),
        tasks=tuple(Task(name=f"task-{at}", need=need) for at, need in enumerate(drawn, 1)),
    )


def run(*, seed: int = 1, tasks: int = TASKS) -> Result:
    """Run the experiment: some seconds of computing."""
    given = problem(seed, tasks)
    plans = {
        name: [
            plan(given, (count,), method=method, chance=Random(f"search {seed}").random)
            for count in range(NODES + 1)
        ]
        for name, method in METHODS.items()
    }
    needed = {name: found[0].used[0] for name, found in plans.items()}
    demand = uncertain(plans["Andante"][0], lognormal(MEAN, DEVIATION))
    return Result(
        title="What a crawl costs against the number of nodes reserved (source 4, figure 1)",
        tables=(
            _costs(plans),
            Table(
                "uncertain",
                ("reserve", "nodes", "expected cost"),
                tuple((each.name, each.reserved[0], round(each.cost, 2)) for each in demand.choices),
            ),
        ),
        figures=(_figure(plans["source 4"]),),
        notes=(
            *(
                f"{name}: {count} nodes are needed; the total is least where {_cheapest(plans[name])} are reserved."
                for name, count in needed.items()
            ),
            f"At least, by the bound: {plans['Andante'][needed['Andante']].bound:g} where as many are reserved as are needed.",
            f"Uncertain demand: lognormal, mean {MEAN:g}, deviation {DEVIATION:g} times the tasks ({POINTS:,} quantiles). Best is the {100 * demand.quantiles[0]:.0f} % quantile of the nodes needed.",
        ),
    )


def _cheapest(plans: list[Plan]) -> int:
    return min(range(len(plans)), key=lambda count: plans[count].costs.total)


def _costs(plans: dict[str, list[Plan]]) -> Table:
    rows = tuple(
        (
            name,
            count,
            *(round(cost, 2) for cost in (*found.costs, found.costs.total)),
        )
        for name, each in plans.items()
        for count, found in enumerate(each)
    )
    return Table(
        "costs", ("heuristic", "reserved", "reservation", "usage", "additional", "total"), rows
    )


def _figure(plans: list[Plan]) -> Figure:
    x = tuple(map(float, range(len(plans))))
    lines = {
        "total": [found.costs.total for found in plans],
        "reservation": [found.costs.reservation for found in plans],
        "usage": [found.costs.usage for found in plans],
        "additional": [found.costs.additional for found in plans],
    }
    return Figure(
        "costs",
        "Costs against nodes reserved",
        "nodes reserved",
        "cost an hour",
        tuple(Series(label, x, tuple(y)) for label, y in lines.items()),
    )
