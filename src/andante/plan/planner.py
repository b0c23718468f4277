"""From a problem to a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

from andante.plan.bound import lower_bound
from andante.plan.matching import priority_matching
from andante.plan.model import Node, Plan, Problem, Resources, Tariff, Waiting, tariffs
from andante.plan.optimum import optimum
from andante.plan.packing import Bin, Fit, Kind, Measure, Packing, decreasing
from andante.plan.search import Search

Method = Literal[
    "search",
    "matching",
    "first-fit-dominant",
    "first-fit-weighted",
    "best-fit-dominant",
    "best-fit-weighted",
]
METHODS: tuple[Method, ...] = get_args(Method)

STEPS = 2_000
"""Steps of a search."""

RESTARTS = 2
"""Searches, where there are few items; the best one counts."""

MIXES = 4
"""Searches after these, of half as many steps, each with only the kinds that one of the first packings uses."""

MANY = 1_000
"""From so many items on there is one search, of `STEPS_MANY` steps, and fewer packings to begin with."""

STEPS_MANY = 600


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
            return _matched(needs, kinds, reserved)
        case "first-fit-dominant":
            return decreasing(needs, kinds, fit="first", measure="dominant")
        case "first-fit-weighted":
            return decreasing(needs, kinds, fit="first", measure="weighted")
        case "best-fit-dominant":
            return decreasing(needs, kinds, fit="best", measure="dominant")
        case "best-fit-weighted":
            return decreasing(needs, kinds, fit="best", measure="weighted")
        case "search":
            return _searched(needs, kinds, reserved, chance)


def _searched(
    needs: list[Resources],
    kinds: list[Kind],
    reserved: Sequence[int] | None,
    chance: Callable[[], float],
) -> Packing:
    is_large = len(needs) > MANY
    starts = [_matched(needs, kinds, reserved), *_decreasing(needs, kinds, is_large=is_large)]
    starts.sort(key=lambda each: each.rank(kinds))
    enough = lower_bound(needs, kinds)
    best = starts[0]

    def search(start: Packing, among: list[Kind], steps: int) -> bool:
        """Search; tell whether there is nothing left to better."""
        nonlocal best
        found = Search(needs, among, start, chance)
        found.run(steps, enough=enough)
        best = min(best, found.best, key=lambda each: each.rank(kinds))
        return not best.waiting and best.cost(kinds) <= enough + 1e-9

    if is_large:
        search(best, kinds, STEPS_MANY)
        return best
    mixes: dict[tuple[int, ...], Packing] = {}
    for each in starts:
        mixes.setdefault(tuple(sorted({bin_.kind for bin_ in each.bins})), each)
    for _ in range(RESTARTS):
        if search(starts[0], kinds, STEPS):
            return best
    for mix, start in list(mixes.items())[:MIXES]:
        if search(start, _only(kinds, mix), STEPS // 2):
            break
    return best


def _only(kinds: list[Kind], mix: tuple[int, ...]) -> list[Kind]:
    """Return the kinds, with nothing there of those that are not in a mix."""
    return [kind if at in mix else kind._replace(stock=0) for at, kind in enumerate(kinds)]


def _decreasing(needs: list[Resources], kinds: list[Kind], *, is_large: bool) -> list[Packing]:
    """Return packings by the decreasing heuristics: with the cheapest kind first, and with each kind before the others."""
    if is_large:
        return [
            decreasing(needs, kinds, fit="first", measure="dominant"),
            decreasing(needs, kinds, fit="best", measure="weighted"),
        ]
    return [
        decreasing(needs, kinds, fit=fit, measure=measure, only=only)
        for only in (None, *range(len(kinds)))
        for fit in get_args(Fit)
        for measure in get_args(Measure)
    ]


def _matched(needs: list[Resources], kinds: list[Kind], reserved: Sequence[int] | None) -> Packing:
    """Return the source's packing; its list has the reserved nodes first, each part in the order of the types."""
    held = [kind.stock for kind in kinds] if reserved is None else reserved
    order = [at for at, count in enumerate(held) for _ in range(count)]
    order += [at for at, kind in enumerate(kinds) for _ in range(kind.stock - held[at])]
    found = priority_matching(needs, [kinds[at].size for at in order])
    items: dict[int, list[int]] = {}
    for item, node in enumerate(found):
        if node is not None:
            items.setdefault(node, []).append(item)
    bins = [Bin(order[node], tuple(items[node])) for node in sorted(items)]
    return Packing(bins, [item for item, node in enumerate(found) if node is None])


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
