"""All items into given bins, however tight it is: simulated annealing of by how much the bins are too full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

from andante.plan.model import Resources

_HOT, _COLD = 0.1, 0.001
"""By how much a move may make it worse, as a share of a bin: about so much at first, and at last."""


def squeeze(
    needs: Sequence[Resources],
    sizes: Sequence[Resources],
    chance: Callable[[], float],
    *,
    moves: int,
) -> list[int] | None:
    """Return the bin of each item, None if no way is found.

    All items are in bins from the start, by chance. A move takes one to another bin, or swaps it with one there.

    Args:
        needs: of the items.
        sizes: of the bins, at least one.
        chance: gives numbers in [0, 1).
        moves: that are tried, at most.
    """
    items, bins = len(needs), len(sizes)
    where = [int(chance() * bins) for _ in needs]
    loads = [Resources(0, 0, 0) for _ in sizes]
    for need, at in zip(needs, where, strict=True):
        loads[at] = loads[at].plus(need)
    excess = [_excess(load, size) for load, size in zip(loads, sizes, strict=True)]
    for move in range(moves):
        if not any(excess):
            return where
        item = int(chance() * items)
        is_swap = chance() < 0.5
        other = int(chance() * (items if is_swap else bins))
        a, b = where[item], where[other] if is_swap else other
        if a == b:
            continue
        more = needs[item].minus(needs[other]) if is_swap else needs[item]
        load_a, load_b = loads[a].minus(more), loads[b].plus(more)
        excess_a, excess_b = _excess(load_a, sizes[a]), _excess(load_b, sizes[b])
        worse = excess_a + excess_b - excess[a] - excess[b]
        heat = _HOT * (_COLD / _HOT) ** (move / moves)
        if worse > 0 and worse > -heat * log(1 - chance()):
            continue
        where[item] = b
        if is_swap:
            where[other] = a
        loads[a], loads[b] = load_a, load_b
        excess[a], excess[b] = excess_a, excess_b
    return None if any(excess) else where


def _excess(load: Resources, size: Resources) -> float:
    """Return by how much a bin is too full, as a share of it."""
    return sum((a - b) / (b or 1) for a, b in zip(load, size, strict=True) if a > b)
