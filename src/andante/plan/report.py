"""A plan as text and as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from andante.plan.demand import Uncertain
from andante.plan.forecast import BUSY, REFERENCE_TEXT, Due, Forecast, Measured, billion
from andante.plan.model import Node, NodeType, Plan
from andante.units import counted, format_duration, format_size

_NODES_SHOWN = 40
_TASKS_SHOWN = 6
_WAITING_SHOWN = 20
_SLOWEST = 5


def as_json(plan: Plan) -> dict[str, Any]:
    """Return plain values; costs are for all hours, the gap is a share."""
    tasks, items = plan.problem.tasks, plan.problem.items
    return {
        "total_cost": _money(plan.costs.total),
        "reservation_cost": _money(plan.costs.reservation),
        "usage_cost": _money(plan.costs.usage),
        "additional_cost": _money(plan.costs.additional),
        "lower_bound": _money(plan.bound),
        "gap": round(plan.gap, 9),
        "assignments": [
            {
                "task": tasks[items[item]].name,
                "node": plan.name(node),
                "node_type": plan.problem.nodes[node.kind].name,
            }
            for item, node in plan.placed()
        ],
        "waiting": [
            {"task": tasks[items[each.item]].name, "reason": each.reason} for each in plan.waiting
        ],
        "reserved": {
            kind.name: count for kind, count in zip(plan.problem.nodes, plan.reserved, strict=True)
        },
    }


def owners(plan: Plan) -> dict[str, list[str]]:
    """Return the servers that each node owns at first; one that several nodes share is owned by each of them."""
    tasks, items = plan.problem.tasks, plan.problem.items
    return {
        plan.name(node): list(
            dict.fromkeys(server for item in node.items for server in tasks[items[item]].servers)
        )
        for node in plan.nodes
    }


def lines(plan: Plan) -> list[str]:
    """Return the tables that a user reads."""
    return [
        *_nodes(plan),
        *_waiting(plan),
        "",
        *_fullness(plan),
        "",
        *_costs(plan),
    ]


def table(rows: Sequence[tuple[str, ...]], *, left: int = 1) -> list[str]:
    """Return rows with their columns under one another: the first ones, and the last, to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    return [
        "  ".join(
            f"{cell:<{width}}" if at < left or at == last else f"{cell:>{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _nodes(plan: Plan) -> list[str]:
    rows: list[tuple[str, ...]] = [("node", "cpu", "memory", "bandwidth", "runs")]
    rows += [
        (plan.name(node), *_filled(plan, node), _runs(plan, node))
        for node in plan.nodes[:_NODES_SHOWN]
    ]
    more = len(plan.nodes) - _NODES_SHOWN
    return table(rows) + ([f"and {counted(more, 'node')} more"] if more > 0 else [])


def _filled(plan: Plan, node: Node) -> list[str]:
    size = plan.problem.nodes[node.kind].size
    return [
        f"{100 * used / there:.0f} %" for used, there in zip(plan.load(node), size, strict=True)
    ]


def _runs(plan: Plan, node: Node) -> str:
    tasks, items = plan.problem.tasks, plan.problem.items
    count = Counter(tasks[items[item]].name for item in node.items)
    names = [f"{name} x{times}" if times > 1 else name for name, times in count.items()]
    more = len(names) - _TASKS_SHOWN
    return ", ".join(names[:_TASKS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _waiting(plan: Plan) -> list[str]:
    if not plan.waiting:
        return []
    tasks, items = plan.problem.tasks, plan.problem.items
    rows = [("waits", "why")]
    rows += [(tasks[items[each.item]].name, each.reason) for each in plan.waiting[:_WAITING_SHOWN]]
    more = len(plan.waiting) - _WAITING_SHOWN
    return ["", *table(rows)] + ([f"and {counted(more, 'task')} more"] if more > 0 else [])


def _fullness(plan: Plan) -> list[str]:
    rows: list[tuple[str, ...]] = [
        ("type", "there", "reserved", "in use", "cpu", "memory", "bandwidth")
    ]
    for at, kind in enumerate(plan.problem.nodes):
        nodes = [node for node in plan.nodes if node.kind == at]
        loads = [sum(each) for each in zip(*map(plan.load, nodes), strict=True)] or [0, 0, 0]
        full = [
            f"{100 * load / (size * len(nodes)):.0f} %" if nodes else ""
            for load, size in zip(loads, kind.size, strict=True)
        ]
        rows.append((kind.name, f"{kind.count}", f"{plan.reserved[at]}", f"{len(nodes)}", *full))
    return [line.rstrip() for line in table(rows)]


def _costs(plan: Plan) -> list[str]:
    costs, hours = plan.costs, plan.problem.hours
    rows = [
        ("reservation", _priced(costs.reservation), ""),
        ("usage", _priced(costs.usage), ""),
        ("additional", _priced(costs.additional), ""),
        ("total", _priced(costs.total), f"for {hours:g} h"),
        ("at least", _priced(plan.bound), f"so at most {100 * plan.gap:.1f} % could be saved"),
    ]
    return table(rows)


def _priced(cost: float) -> str:
    return f"{cost:,.2f}" if cost >= 100 else f"{cost:.4f}"


def _money(cost: float) -> float:
    return round(cost, 9)


# A crawl to come


def forecast_json(crawl: Forecast, nodes: Sequence[NodeType]) -> dict[str, Any]:
    """Return plain values: times in hours, sizes in bytes."""
    hours, price, cost = billion(crawl.measured, nodes)
    return {
        "pages": crawl.pages,
        "hours": crawl.hours,
        "polite_hours": crawl.polite_hours,
        "pages_in_time": round(crawl.pages_in_time),
        "cpu_per_page": crawl.measured.cpu_per_page,
        "bytes_per_page": crawl.measured.bytes_per_page,
        "memory": crawl.measured.memory,
        "slowest": [
            {"server": each.site.server, "pages": round(each.pages), "hours": each.seconds / 3600}
            for each in crawl.due[:_SLOWEST]
        ],
        "billion_pages": {
            "processor_hours": hours,
            "price_per_processor_hour": price,
            "cost": cost,
        },
    }


def forecast_lines(crawl: Forecast, plan: Plan, nodes: Sequence[NodeType]) -> list[str]:
    """Return what was measured, what is asked for, and what limits it."""
    measured = crawl.measured
    rows = [
        (
            "measured",
            f"{counted(measured.pages, 'page')} of {counted(len(measured.sites), 'server')}: {1000 * measured.cpu_per_page:.3g} ms of processor and {format_size(measured.bytes_per_page)} a page, {format_size(measured.memory)} of memory a process",
        )
    ]
    if measured.guessed:
        rows.append(
            (
                "",
                f"the rate of {counted(measured.guessed, 'server')} is not known: taken to be that of the others",
            )
        )
    rows += [
        (
            "wanted",
            f"{counted(crawl.pages, 'page')} of these servers in {format_duration(crawl.hours * 3600)}",
        ),
        ("politeness", _politeness(crawl)),
        *(
            ("done last" if not at else "", _last(each))
            for at, each in enumerate(crawl.due[:_SLOWEST])
        ),
        ("limit", _limit(crawl, plan)),
        *_billion(measured, nodes),
    ]
    width = max(len(name) for name, _ in rows)
    return [*(f"{name:<{width}}  {text}".rstrip() for name, text in rows), ""]


def _politeness(crawl: Forecast) -> str:
    least = f"takes {format_duration(crawl.due[0].seconds)} with any number of nodes"
    if crawl.is_polite:
        return least
    return f"{least}: in the time given there are {round(crawl.pages_in_time):,} pages, and no number of nodes helps"


def _last(each: Due) -> str:
    return f"{each.site.server}: {counted(round(each.pages), 'page')} at {each.site.rate:.3g}/min, {format_duration(each.seconds)}"


def _limit(crawl: Forecast, plan: Plan) -> str:
    """Say what a quicker or larger crawl would meet first."""
    if crawl.polite_hours >= 0.99 * crawl.hours:
        return "politeness: more nodes make it no quicker"
    full = dict.fromkeys(("processor", "memory", "bandwidth"), 0.0)
    for node in plan.nodes:
        size = plan.problem.nodes[node.kind].size
        for name, used, there in zip(full, plan.load(node), size, strict=True):
            full[name] += used / there / len(plan.nodes)
    name = max(full, key=full.__getitem__)
    return f"{name}: of what the nodes in use have {100 * full[name]:.0f} % is needed"


def _billion(measured: Measured, nodes: Sequence[NodeType]) -> list[tuple[str, str]]:
    hours, price, cost = billion(measured, nodes)
    return [
        ("a billion pages", f"{cost:,.0f}: {hours:,.0f} processor hours at {price:.4f}"),
        (
            "",
            f"assumed: the pages cost what they cost here, processors {100 * BUSY:.0f} % busy, the cheapest type of node, no cost of traffic or storage",
        ),
        ("", f"for comparison: {REFERENCE_TEXT}"),
    ]


# Uncertain demand


def uncertain_lines(demand: Uncertain, plan: Plan) -> list[str]:
    """Return the ways to reserve, compared."""
    kinds = [kind.name for kind in plan.problem.nodes]
    rows = [("reserve", *kinds, "expected cost")]
    rows += [(each.name, *map(str, each.reserved), _priced(each.cost)) for each in demand.choices]
    shares = ", ".join(
        f"{name} {100 * share:.0f} %" for name, share in zip(kinds, demand.quantiles, strict=True)
    )
    found = ["", *table(rows), f"best: enough reserved nodes in so many of the cases: {shares}"]
    if demand.short:
        found.append(f"in {100 * demand.short:.0f} % of the cases there are not nodes enough")
    return found
