"""What any plan costs at least: a small integer programme over the number of nodes of each type.

Each row says of all plans: the nodes used, each counted with a coefficient of its type, make at least so much.

1. For each resource: what the nodes have is at least what the items need.
2. The same for the items that only some of the types can hold, and these types.
3. For the items that need more than half of what some type has of a resource: a node of a type holds at most so many of them (as many of the smallest
   as fit, resource by resource), and together they are so many.

4. An item takes all that it needs from one node. So let a unit of each resource have a price of its own at each type, so that a node of the type is worth
   its price: together the items are worth what the nodes used are, or less, if each item is where it is worth least. Good prices are found by raising, step by
   step, those of which too much is asked, for a sample of the items.

The linear programme is solved through its dual, and any dual solution gives a bound; then branch and bound for whole numbers of nodes. Nothing here
grows with the number of items faster than sorting them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, exp, gcd, inf, lcm
from typing import NamedTuple

from andante.plan.model import Resources
from andante.plan.packing import Kind

NODES_MAX = 300
"""Linear programmes that are solved, at most."""

_PRICING_STEPS = 80
_PRICING_SAMPLE = 250

_CLEAR = 1e-6
"""How far a number of nodes is from a whole one, at least, to be taken for a fraction."""


class Group(NamedTuple):
    """Nodes of a type that cost the same."""

    kind: int
    stock: int
    """How many there are."""
    price: float


Row = tuple[float, ...]
"""Coefficients of each type: the nodes used, times these, make at least 1."""


def groups(kinds: Sequence[Kind]) -> list[Group]:
    """Return the nodes that are reserved and the others, type by type."""
    found = []
    for at, kind in enumerate(kinds):
        tariff = kind.tariff
        first = kind.stock if tariff.first == tariff.rest else min(kind.stock, tariff.reserved)
        found += [Group(at, first, tariff.first), Group(at, kind.stock - first, tariff.rest)]
    return [group for group in found if group.stock > 0]


def rounding(kinds: Sequence[Kind]) -> Callable[[float], float]:
    """Return a function that gives the next cost which prices can add up to, as far as a common divisor says."""
    prices = [Fraction(str(group.price)) for group in groups(kinds) if group.price]
    if not prices:
        return lambda cost: cost
    below = lcm(*(price.denominator for price in prices))
    step = gcd(*(int(price * below) for price in prices)) / below
    return lambda cost: cost if cost == inf else step * ceil(cost / step - _CLEAR)


def lower_bound(needs: Sequence[Resources], kinds: Sequence[Kind]) -> float:
    """Return what any packing of all items costs an hour, at least; infinite if there cannot be one."""
    there = groups(kinds)
    if not needs or not there:
        return inf if needs else 0.0
    lines = [[row[group.kind] for group in there] for row in rows(needs, kinds)]
    rounded = rounding(kinds)
    low, high = [0] * len(there), [group.stock for group in there]
    cost, counts = _relaxed(lines, there, low, high)
    heap = [(rounded(cost), 0, counts, low, high)]
    done = 0
    while heap[0][0] < inf:
        cost, _, counts, low, high = heap[0]
        at = max(range(len(there)), key=lambda each: _fraction(counts[each]))
        if _fraction(counts[at]) < _CLEAR or done >= NODES_MAX:
            return cost
        heapq.heappop(heap)
        for is_up in (False, True):
            new_low, new_high = list(low), list(high)
            if is_up:
                new_low[at] = int(counts[at]) + 1
            else:
                new_high[at] = int(counts[at])
            done += 1
            found, numbers = _relaxed(lines, there, new_low, new_high)
            heapq.heappush(heap, (max(cost, rounded(found)), done, numbers, new_low, new_high))
    return inf


def _fraction(count: float) -> float:
    part = count % 1.0
    return min(part, 1.0 - part)


# Rows


def rows(needs: Sequence[Resources], kinds: Sequence[Kind]) -> list[Row]:
    """Return what is true of all plans in which nothing waits."""
    found: list[Row] = []
    by_types: dict[tuple[bool, ...], list[int]] = {}
    for need in needs:
        able = tuple(kind.size.fits(need) for kind in kinds)
        total = by_types.setdefault(able, [0, 0, 0])
        for at, amount in enumerate(need):
            total[at] += amount
    for able in [*by_types, (True,) * len(kinds)]:
        inside = [total for some, total in by_types.items() if _within(some, able)]
        wanted = [sum(each) for each in zip(*inside, strict=True)]
        found += [
            tuple(kind.size[at] * can / wanted[at] for kind, can in zip(kinds, able, strict=True))
            for at in range(3)
            if wanted[at]
        ]
    found += _counting(needs, kinds)
    for prices in {
        tuple(kind.tariff.first for kind in kinds),
        tuple(kind.tariff.rest for kind in kinds),
    }:
        found += _pricing(needs, kinds, prices)
    return list(dict.fromkeys(found))


def _within(some: tuple[bool, ...], all_: tuple[bool, ...]) -> bool:
    return all(b or not a for a, b in zip(some, all_, strict=True))


def _counting(needs: Sequence[Resources], kinds: Sequence[Kind]) -> list[Row]:
    """Return the rows of large items."""
    by_resource = [sorted(needs, key=lambda need, at=at: need[at]) for at in range(3)]  # type: ignore[misc]  # at is bound
    limits = {(at, kind.size[at] // 2) for kind in kinds for at in range(3)}
    rows = []
    for at, limit in sorted(limits):
        count = sum(need[at] > limit for need in needs)
        if count:
            held = [
                min(
                    _held(by_resource[other], other, kind.size[other], at, limit)
                    for other in range(3)
                )
                for kind in kinds
            ]
            rows.append(tuple(each / count for each in held))
    return rows


def _held(needs: Sequence[Resources], at: int, room: int, large_in: int, limit: int) -> int:
    """Return how many of the items that are large in some resource fit into the room of one, the smallest first."""
    held = 0
    for need in needs:
        if need[large_in] > limit:
            room -= need[at]
            if room < 0:
                return held
            held += 1
    return held


def _pricing(
    needs: Sequence[Resources], kinds: Sequence[Kind], prices: Sequence[float]
) -> list[Row]:
    """Return the row of good prices of resources (exponentiated gradient; the best of all steps counts)."""
    sample = needs[:: -(-len(needs) // _PRICING_SAMPLE)]
    shares = [[1 / 3] * 3 for _ in kinds]
    best, highest = shares, 0.0
    for step in range(_PRICING_STEPS):
        asked = [[0.0] * 3 for _ in kinds]
        total = 0.0
        units = _units(kinds, prices, shares)
        for need in sample:
            worth, at = _least(need, kinds, units)
            total += worth
            for resource in range(3):
                asked[at][resource] += need[resource] / (kinds[at].size[resource] or 1)
        if total > highest:
            best, highest = shares, total
        shares = [
            _raised(each, wanted, 1 / (1 + step) ** 0.5)
            for each, wanted in zip(shares, asked, strict=True)
        ]
    units = _units(kinds, prices, best)
    total = sum(_least(need, kinds, units)[0] for need in needs)
    if total <= 0:
        return []
    return [
        tuple(
            sum(a * b for a, b in zip(unit, kind.size, strict=True)) / total
            for unit, kind in zip(units, kinds, strict=True)
        )
    ]


def _units(
    kinds: Sequence[Kind], prices: Sequence[float], shares: Sequence[Sequence[float]]
) -> list[tuple[float, float, float]]:
    """Return the price of a unit of each resource at each type, from the share of each in the price of a node."""
    return [
        (
            price * share[0] / (kind.size[0] or 1),
            price * share[1] / (kind.size[1] or 1),
            price * share[2] / (kind.size[2] or 1),
        )
        for kind, price, share in zip(kinds, prices, shares, strict=True)
    ]


def _least(
    need: Resources, kinds: Sequence[Kind], units: Sequence[tuple[float, float, float]]
) -> tuple[float, int]:
    """Return what an item is worth where it is worth least, of the types that can hold it, and which that is."""
    cpu, memory, bandwidth = need
    least, where = inf, 0
    for at, (a, b, c) in enumerate(units):
        worth = cpu * a + memory * b + bandwidth * c
        if worth < least and kinds[at].size.fits(need):
            least, where = worth, at
    return least, where


def _raised(shares: Sequence[float], asked: Sequence[float], rate: float) -> list[float]:
    most = max(asked)
    if not most:
        return list(shares)
    new = [share * exp(rate * each / most) for share, each in zip(shares, asked, strict=True)]
    return [each / sum(new) for each in new]


# The linear programme


def _relaxed(
    rows: Sequence[Sequence[float]], there: Sequence[Group], low: Sequence[int], high: Sequence[int]
) -> tuple[float, list[float]]:
    """Return the least cost of fractions of nodes between two bounds, and their numbers.

    The dual is: find y, m >= 0 of greatest (b y - (high - low) m), so that for each group (sum of row coefficients x y) - m <= price; where b is what the
    nodes up to ``low`` leave of each row. Without y and m all is within bounds, as no price is below 0: so the simplex method can begin there.
    """
    left = [1 - sum(a * n for a, n in zip(row, low, strict=True)) for row in rows]
    size = len(there)
    # One row for each group: y, m, slack, price; the last row is the aim.
    table = [
        [row[at] for row in rows]
        + [-1.0 if at == other else 0.0 for other in range(size)]
        + [1.0 if at == other else 0.0 for other in range(size)]
        + [there[at].price]
        for at in range(size)
    ]
    aim = [-each for each in left]
    aim += [float(b - a) for a, b in zip(low, high, strict=True)] + [0.0] * size + [0.0]
    while (enter := _entering(aim)) is not None:
        ratios = [
            (line[-1] / line[enter], at) for at, line in enumerate(table) if line[enter] > 1e-11
        ]
        if not ratios:
            return inf, [0.0] * size  # no number of nodes is enough
        _pivot(table, aim, enter, min(ratios)[1])
    base = sum(group.price * n for group, n in zip(there, low, strict=True))
    numbers = [a + n for a, n in zip(aim[len(rows) + size : -1], low, strict=True)]
    return base + aim[-1], numbers


def _entering(aim: Sequence[float]) -> int | None:
    """Return the first column by which the aim gets better (Bland's rule, which ends always)."""
    return next((at for at, each in enumerate(aim[:-1]) if each < -1e-10), None)


def _pivot(table: list[list[float]], aim: list[float], enter: int, leave: int) -> None:
    pivot = table[leave]
    scale = pivot[enter]
    pivot[:] = [each / scale for each in pivot]
    for line in (*table, aim):
        factor = line[enter]
        if line is not pivot and factor:
            line[:] = [a - factor * b for a, b in zip(line, pivot, strict=True)]
