"""How many nodes to reserve: source 4's figure 1, by the source's heuristic and by ours; and the same when the demand is uncertain.

The source gives no numbers. Here 40 nodes of one type are there, and 100 tasks, whose resources are drawn evenly from 5 to 45 % of a node's.
"""

from __future__ import annotations

from random import Random

from andante.plan.demand import POINTS, lognormal, uncertain
from andante.plan.model import CPU, Costs, NodeType, Problem, Resources, Task, costs
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
    """Run the experiment: a second of computing."""
    given = problem(seed, tasks)
    # Of nodes of one type as many are needed however many are reserved: one plan does for all.
    plans = {
        name: plan(given, None, method=method, chance=Random(f"search {seed}").random)
        for name, method in METHODS.items()
    }
    paid = {
        name: [costs(given, (count,), found.used) for count in range(NODES + 1)]
        for name, found in plans.items()
    }
    demand = uncertain(plans["Andante"], lognormal(MEAN, DEVIATION))
    return Result(
        title="What a crawl costs against the number of nodes reserved (source 4, figure 1)",
        tables=(
            _costs(paid),
            Table(
                "uncertain",
                ("reserve", "nodes", "expected cost"),
                tuple(
                    (each.name, each.reserved[0], round(each.cost, 2)) for each in demand.choices
                ),
            ),
        ),
        figures=(_figure(paid["source 4"]),),
        notes=(
            *(
                f"{name}: {found.used[0]} nodes are needed; the total is least where {_cheapest(paid[name])} are reserved."
                for name, found in plans.items()
            ),
            f"No plan costs less than {plans['Andante'].bound:g}.",
            f"Uncertain demand: lognormal, mean {MEAN:g}, deviation {DEVIATION:g} times the tasks ({POINTS:,} quantiles). Best is the {100 * demand.quantiles[0]:.0f} % quantile of the nodes needed.",
        ),
    )


def _cheapest(paid: list[Costs]) -> int:
    return min(range(len(paid)), key=lambda count: paid[count].total)


def _costs(paid: dict[str, list[Costs]]) -> Table:
    rows: tuple[tuple[str | float, ...], ...] = tuple(
        (name, count, *(round(cost, 2) for cost in (*found, found.total)))
        for name, each in paid.items()
        for count, found in enumerate(each)
    )
    return Table(
        "costs", ("heuristic", "reserved", "reservation", "usage", "additional", "total"), rows
    )


def _figure(paid: list[Costs]) -> Figure:
    x = tuple(map(float, range(len(paid))))
    lines = {
        "total": [found.total for found in paid],
        "reservation": [found.reservation for found in paid],
        "usage": [found.usage for found in paid],
        "additional": [found.additional for found in paid],
    }
    return Figure(
        "costs",
        "Costs against nodes reserved",
        "nodes reserved",
        "cost an hour",
        tuple(Series(label, x, tuple(y)) for label, y in lines.items()),
    )
