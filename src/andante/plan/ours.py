"""Ours: the best of several packings, bettered by a search, first among all nodes and then among mixes of them that cost less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from math import inf
from typing import get_args

from andante.plan.bound import Row, lower_bound, rows
from andante.plan.matching import matched
from andante.plan.model import Resources
from andante.plan.packing import Fit, Kind, Measure, Packing, decreasing
from andante.plan.search import Search

Mix = tuple[int, ...]
"""Bins of each kind."""

STEPS = 2_000
"""Steps of a search among all nodes."""

RESTARTS = 2
"""Such searches; the best one counts."""

MIXES = 12
"""Mixes of nodes that are tried after them, at most."""

STEPS_MIX = 500
"""Steps of a search in one mix."""

KINDS_FEW = 6

MANY = 1_000
"""From so many items on there is one search, of `STEPS_MANY` steps, and fewer packings to begin with."""

STEPS_MANY = 600


def searched(
    needs: list[Resources],
    kinds: list[Kind],
    reserved: Sequence[int] | None,
    chance: Callable[[], float],
) -> Packing:
    """Return the best packing that is found.

    Args:
        needs: of the items.
        kinds: of bins.
        reserved: bins of each kind that are reserved, for the source's packing; None: all.
        chance: gives numbers in [0, 1).
    """
    is_large = len(needs) > MANY
    starts = [matched(needs, kinds, reserved), *_decreasing(needs, kinds, is_large=is_large)]
    starts.sort(key=lambda each: each.rank(kinds))
    least = lower_bound(needs, kinds)
    best = starts[0]

    def search(start: Packing, among: list[Kind], steps: int, enough: float = least) -> bool:
        """Search; tell whether there is nothing left to better."""
        nonlocal best
        found = Search(needs, among, start, chance)
        found.run(steps, enough=enough)
        best = min(best, found.best, key=lambda each: each.rank(kinds))
        return not best.waiting and best.cost(kinds) <= least + 1e-9

    if is_large:
        search(best, kinds, STEPS_MANY)
        return best
    for _ in range(RESTARTS):
        if search(starts[0], kinds, STEPS):
            return best
    true = rows(needs, kinds)
    tried: set[Mix] = set()
    while len(tried) < MIXES and (mix := _cheaper(best, kinds, true, tried)):
        tried.add(mix)
        among = [kind._replace(stock=count) for kind, count in zip(kinds, mix, strict=True)]
        start = decreasing(needs, among, fit="best", measure="weighted")
        if search(start, among, STEPS_MIX, enough=inf):
            break
    return best


def _cheaper(best: Packing, kinds: list[Kind], true: list[Row], tried: set[Mix]) -> Mix | None:
    """Return a mix that costs less, and may hold all items: of those near by the one with most room.

    Args:
        best: the mix is near that of this packing.
        kinds: of bins.
        true: rows of `bound`; by how much a mix has more than each row wants is its room.
        tried: mixes that are left out.
    """
    cost = best.cost(kinds)
    found, most = None, 1.0
    for mix in _near(best.used(len(kinds)), kinds):
        total = sum(kind.tariff.cost(count) for kind, count in zip(kinds, mix, strict=True))
        if total > cost - 1e-9 or mix in tried:
            continue
        room = min((sum(a * n for a, n in zip(row, mix, strict=True)) for row in true), default=inf)
        if room > most:
            found, most = mix, room
    return found


def _near(used: list[int], kinds: list[Kind]) -> Iterator[Mix]:
    """Return the mixes with up to two bins more or less, of up to three kinds; of up to two, where there are many kinds."""
    at_once = min(len(kinds), 3 if len(kinds) <= KINDS_FEW else 2)
    for changed in combinations(range(len(kinds)), at_once):
        for more in product(range(-2, 3), repeat=at_once):
            mix = list(used)
            for at, count in zip(changed, more, strict=True):
                mix[at] += count
            if all(0 <= count <= kind.stock for count, kind in zip(mix, kinds, strict=True)):
                yield tuple(mix)


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
