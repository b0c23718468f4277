"""From a problem to a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

from andante.plan.bound import lower_bound
from andante.plan.matching import matched
from andante.plan.model import Node, Plan, Problem, Resources, Tariff, Waiting, tariffs
from andante.plan.optimum import optimum
from andante.plan.ours import searched
from andante.plan.packing import Bin, Kind, Packing, decreasing

Method = Literal[
    "search",
    "matching",
    "first-fit-dominant",
    "first-fit-weighted",
    "best-fit-dominant",
    "best-fit-weighted",
]
METHODS: tuple[Method, ...] = get_args(Method)


def plan(
    problem: Problem,
    reserved: Sequence[int] | None,
    *,
    chance: Callable[[], float],
    method: Method = "search",
) -> Plan:
    """Return who runs what.

    Args:
        problem: tasks and nodes.
        reserved: nodes of each type that are reserved; None: those for which the total is least.
        chance: gives numbers in [0, 1), for the search.
        method: ``search`` is ours: the others and more, bettered by a search; never worse than any of them.
    """
    kinds = _kinds(problem, reserved)
    too_large = {task.name for task in problem.fits_none()}
    able = [
        item for item, at in enumerate(problem.items) if problem.tasks[at].name not in too_large
    ]
    needs = [problem.needs[item] for item in able]
    found = _pack(needs, _wanted(kinds), reserved, chance, method)
    packing = Packing(
        [Bin(each.kind, tuple(sorted(able[at] for at in each.items))) for each in found.bins],
        [able[at] for at in found.waiting],
    )
    return _plan(problem, reserved, kinds, packing, method)


def best(plan: Plan, *, is_reserved_best: bool, seconds_left: Callable[[], float]) -> Plan:
    """Return the optimum, or the best plan that is found in time, with the best bound that is known.

    Args:
        plan: to begin with; a plan in which something waits is returned as it is.
        is_reserved_best: the nodes to reserve are to be chosen anew; otherwise they are those of the plan.
        seconds_left: tells when to end.

    Raises:
        ValueError: scipy is not installed.
    """
    problem = plan.problem
    reserved = None if is_reserved_best else plan.reserved
    if plan.waiting:
        return plan
    kinds = _kinds(problem, reserved)
    start = Packing([Bin(node.kind, node.items) for node in plan.nodes], [])
    found = optimum(problem.needs, kinds, start, seconds_left=seconds_left)
    bound = max(plan.bound, problem.hours * (_sunk(problem, reserved) + found.bound))
    method = plan.method if found.packing is start else "optimum"
    return _plan(problem, reserved, kinds, found.packing, method, bound=bound)


def _kinds(problem: Problem, reserved: Sequence[int] | None) -> list[Kind]:
    return [
        Kind(kind.size, kind.count, tariff)
        for kind, tariff in zip(problem.nodes, tariffs(problem.nodes, reserved), strict=True)
    ]


def _wanted(kinds: list[Kind]) -> list[Kind]:
    """Return the kinds at the prices by which to pack.

    Of one type as few nodes as can be are the best, however many are reserved. So they are packed at one price, and the same way each time: more of them
    reserved never raise the additional cost.
    """
    if len(kinds) > 1:
        return kinds
    return [kind._replace(tariff=Tariff(kind.stock, 1.0, 1.0)) for kind in kinds]


def _pack(
    needs: list[Resources],
    kinds: list[Kind],
    reserved: Sequence[int] | None,
    chance: Callable[[], float],
    method: Method,
) -> Packing:
    match method:
        case "matching":
            return matched(needs, kinds, reserved)
        case "first-fit-dominant":
            return decreasing(needs, kinds, fit="first", measure="dominant")
        case "first-fit-weighted":
            return decreasing(needs, kinds, fit="first", measure="weighted")
        case "best-fit-dominant":
            return decreasing(needs, kinds, fit="best", measure="dominant")
        case "best-fit-weighted":
            return decreasing(needs, kinds, fit="best", measure="weighted")
        case "search":
            return searched(needs, kinds, reserved, chance)


def _plan(
    problem: Problem,
    reserved: Sequence[int] | None,
    kinds: list[Kind],
    packing: Packing,
    method: str,
    *,
    bound: float | None = None,
) -> Plan:
    nodes = []
    used = [0] * len(kinds)
    for each in sorted(packing.bins, key=lambda each: (each.kind, each.items)):
        used[each.kind] += 1
        nodes.append(Node(each.kind, used[each.kind], each.items))
    placed = {item for each in packing.bins for item in each.items}
    if bound is None:
        least = lower_bound([problem.needs[item] for item in sorted(placed)], kinds)
        bound = problem.hours * (_sunk(problem, reserved) + least)
    if reserved is None:
        reserved = [
            0 if kind.is_odd else count for kind, count in zip(problem.nodes, used, strict=True)
        ]
    waiting = tuple(
        Waiting(item, _reason(problem, item))
        for item in range(len(problem.items))
        if item not in placed
    )
    return Plan(
        problem=problem,
        reserved=tuple(reserved),
        nodes=tuple(nodes),
        waiting=waiting,
        bound=bound,
        method=method,
    )


def _sunk(problem: Problem, reserved: Sequence[int] | None) -> float:
    """Return what reserving costs an hour, whatever is used."""
    if reserved is None:
        return 0.0
    return sum(kind.reserve * count for kind, count in zip(problem.nodes, reserved, strict=True))


def _reason(problem: Problem, item: int) -> str:
    need = problem.needs[item]
    if any(kind.size.fits(need) for kind in problem.nodes):
        return "no node has room for it"
    return "it is larger than any node"
