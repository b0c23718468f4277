"""Ours: the best of several packings, bettered by a search; then mixes of nodes that cost less, into which all is squeezed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from math import inf
from typing import get_args

from andante.plan.bound import Row, lower_bound, rows
from andante.plan.matching import matched
from andante.plan.model import Resources
from andante.plan.packing import Bin, Fit, Kind, Measure, Packing, decreasing
from andante.plan.search import Search
from andante.plan.squeeze import squeeze

Mix = tuple[int, ...]
"""Bins of each kind."""

STEPS = 2_000
"""Steps of a search among all nodes."""

RESTARTS = 2
"""Such searches; the best one counts."""

MOVES = 500
"""Moves for each item, by which they are squeezed into a mix of nodes after them."""

MOVES_ALL = 400_000
"""Moves in all: the fewer items, the more often a mix is tried."""

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
    for _ in range(1 if is_large else RESTARTS):
        if _is_least(best, kinds, least):
            return best
        search = Search(needs, kinds, starts[0], chance)
        search.run(STEPS_MANY if is_large else STEPS, enough=least)
        best = min(best, search.best, key=lambda each: each.rank(kinds))
    if is_large or least == inf:  # then no mix holds all
        return best
    return _squeezed(needs, kinds, best, least, chance)


def _is_least(best: Packing, kinds: list[Kind], least: float) -> bool:
    return not best.waiting and best.cost(kinds) <= least + 1e-9


def _squeezed(
    needs: list[Resources],
    kinds: list[Kind],
    best: Packing,
    least: float,
    chance: Callable[[], float],
) -> Packing:
    """Return a packing into a mix that costs less, if there is one, and so on."""
    true = rows(needs, kinds)
    tried: set[Mix] = set()
    moves = min(MOVES * len(needs), MOVES_ALL)
    for _ in range(MOVES_ALL // moves):
        if _is_least(best, kinds, least):
            break
        mix = _cheaper(best, kinds, true, tried)
        if mix is None and tried:
            tried.clear()  # all have been tried: again, by other chances
            mix = _cheaper(best, kinds, true, tried)
        if mix is None:
            break
        tried.add(mix)
        bins = [at for at, count in enumerate(mix) for _ in range(count)]
        where = squeeze(needs, [kinds[at].size for at in bins], chance, moves=moves)
        if where is not None:
            best = _packing(bins, where)
    return best


def _packing(bins: list[int], where: list[int]) -> Packing:
    items: list[list[int]] = [[] for _ in bins]
    for item, at in enumerate(where):
        items[at].append(item)
    return Packing(
        [Bin(kind, tuple(each)) for kind, each in zip(bins, items, strict=True) if each], []
    )


def _cheaper(best: Packing, kinds: list[Kind], true: list[Row], tried: set[Mix]) -> Mix | None:
    """Return a mix that costs less, or as much as it likes where something waits, and may hold all items: of those near by the one with most room.

    Args:
        best: the mix is near that of this packing.
        kinds: of bins.
        true: rows of `bound`; by how much a mix has more than each row wants is its room.
        tried: mixes that are left out.
    """
    cost = inf if best.waiting else best.cost(kinds)
    found, most = None, 1.0 - 1e-9
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
            if any(mix) and all(
                0 <= count <= kind.stock for count, kind in zip(mix, kinds, strict=True)
            ):
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
