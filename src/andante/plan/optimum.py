"""The optimum of small problems, by integer programming over patterns (HiGHS, by way of scipy).

A *pattern* is a set of items that fit together into a node of a type. The least cost is that of the cheapest choice of patterns that covers each item
(Gilmore and Gomory 1961). There are too many patterns to list; so begin with those of a heuristic, and add what is worth adding:

1. Solve the linear programme of the patterns so far. Its dual prices say what each item is worth (u), and by how much a node of a type that is scarce
   is dearer than its price (v).
2. For each type find the pattern of greatest worth: a knapsack of three resources. If it is worth more than its node costs, add it; again from 1.
3. When no type has one, the cost of the linear programme is a lower bound of all plans. Ended before, u scaled down until no pattern is worth more than
   its node gives a bound, too (Farley 1990).
4. Solve the integer programme of the patterns found. If it costs no more than the bound, rounded up to what prices can add up to, it is the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from andante.plan.bound import groups, lower_bound
from andante.plan.model import Resources
from andante.plan.packing import Bin, Kind, Packing

_EXCESS = 1e-7
"""By so much of its price a pattern must be worth more than its node, for it to be added."""


_WEIGHTS = ((1, 1, 1), (4, 1, 1), (1, 4, 1), (1, 1, 4), (4, 4, 1), (4, 1, 4), (1, 4, 4))
"""Of the resources, by which nodes are filled before a knapsack is solved."""


class Optimum(NamedTuple):
    """What was found."""

    packing: Packing
    """The best known."""
    bound: float
    """No packing of all items costs less, an hour."""


class _Pattern(NamedTuple):
    group: int
    """Index of its group of nodes, all of a type and a price."""
    items: tuple[int, ...]


def optimum(
    needs: Sequence[Resources],
    kinds: Sequence[Kind],
    start: Packing,
    *,
    rounded: Callable[[float], float],
    seconds_left: Callable[[], float],
) -> Optimum:
    """Better a packing in which nothing waits, up to the optimum.

    Args:
        needs: of the items.
        kinds: of bins.
        start: a packing, a good one if possible.
        rounded: returns the next cost that prices can add up to, at or above one.
        seconds_left: tells when to end, with what there is.

    Raises:
        ValueError: scipy is not installed.
    """
    try:
        import scipy.optimize  # noqa: F401, PLC0415  # an extra
    except ImportError as error:
        raise ValueError("the optimum needs scipy: pip install 'andante[plan]'") from error
    programme = _Programme(needs, kinds, start)
    bound = 0.0
    while seconds_left() > 0:
        cost, worth, dearer = programme.relaxed()
        if programme.add_some(worth, dearer):
            continue
        added, scale = programme.add_best(worth, dearer)
        scarce = sum(
            group.stock * more for group, more in zip(programme.groups, dearer, strict=True)
        )
        bound = max(bound, scale * sum(worth) - scarce)
        if not added:
            break
        if rounded(bound) >= rounded(cost * (1 - _EXCESS)):
            break  # more patterns would not raise the bound to another cost
    bound = max(rounded(bound), lower_bound(needs, kinds, at_least=bound * (1 - _EXCESS)))
    best = start
    if start.cost(kinds) > bound * (1 + _EXCESS) and (left := seconds_left()) > 0:
        best = min(start, programme.whole(left) or start, key=lambda each: each.rank(kinds))
    return Optimum(best, bound)


class _Programme:
    """The patterns so far, as a linear and an integer programme."""

    def __init__(self, needs: Sequence[Resources], kinds: Sequence[Kind], start: Packing) -> None:
        self._needs = needs
        self._kinds = kinds
        self.groups = groups(kinds)
        self._patterns = [
            _Pattern(at, each.items)
            for each in start.bins
            for at, group in enumerate(self.groups)
            if group.kind == each.kind
        ]
        self._known = set(self._patterns)

    def relaxed(self) -> tuple[float, list[float], list[float]]:
        """Solve the linear programme; return its cost, what each item is worth, and by how much each group is dearer."""
        from scipy.optimize import linprog  # noqa: PLC0415
        from scipy.sparse import vstack  # noqa: PLC0415

        covers, counts = self._matrices()

        found = linprog(
            self._prices(),
            A_ub=vstack([-covers, counts]),
            b_ub=[-1.0] * len(self._needs) + [group.stock for group in self.groups],
            bounds=(0, None),
            method="highs",
        )
        duals = [max(0.0, -each) for each in found.ineqlin.marginals]
        return float(found.fun), duals[: len(self._needs)], duals[len(self._needs) :]

    def add_some(self, worth: Sequence[float], dearer: Sequence[float]) -> bool:
        """Add patterns that are worth more than their nodes cost, as far as filling nodes by worth for size finds them; tell whether there was one."""
        added = False
        for at, kind in enumerate(self._kinds):
            for w in _WEIGHTS:
                items = self._filled(kind.size, worth, w)
                added |= self._add(at, items, sum(worth[item] for item in items), dearer)[0]
        return added

    def add_best(self, worth: Sequence[float], dearer: Sequence[float]) -> tuple[bool, float]:
        """Add the patterns of greatest worth, if worth more than their nodes; tell whether there was one, and the scale at which none would be."""
        added, scale = False, 1.0
        for at, kind in enumerate(self._kinds):
            items = self._knapsack(kind.size, worth)
            is_new, its_scale = self._add(at, items, sum(worth[item] for item in items), dearer)
            added, scale = added or is_new, min(scale, its_scale)
        return added, scale

    def _add(
        self, kind: int, items: tuple[int, ...], value: float, dearer: Sequence[float]
    ) -> tuple[bool, float]:
        added, scale = False, 1.0
        for number, group in enumerate(self.groups):
            price = group.price + dearer[number]
            if group.kind == kind and value > price * (1 + _EXCESS):
                scale = min(scale, price / value)
                pattern = _Pattern(number, items)
                if pattern not in self._known:
                    self._known.add(pattern)
                    self._patterns.append(pattern)
                    added = True
        return added, scale

    def _filled(
        self, size: Resources, worth: Sequence[float], w: Sequence[float]
    ) -> tuple[int, ...]:
        """Return items that fit together, those first that are worth most for their weighted size."""
        unit = [weight / (there or 1) for weight, there in zip(w, size, strict=True)]
        rank = {
            item: worth[item] / (unit[0] * need[0] + unit[1] * need[1] + unit[2] * need[2] + 1e-12)
            for item, need in enumerate(self._needs)
            if worth[item] > 0
        }
        left, taken = size, []
        for item in sorted(rank, key=rank.__getitem__, reverse=True):
            if left.fits(self._needs[item]):
                taken.append(item)
                left = left.minus(self._needs[item])
        return tuple(sorted(taken))

    def whole(self, seconds: float) -> Packing | None:
        """Solve the integer programme in the time given."""
        from scipy.optimize import LinearConstraint, milp  # noqa: PLC0415

        covers, counts = self._matrices()
        found = milp(
            self._prices(),
            constraints=[
                LinearConstraint(covers, lb=1),
                LinearConstraint(counts, ub=[group.stock for group in self.groups]),
            ],
            integrality=[1] * len(self._patterns),
            options={"time_limit": seconds},
        )
        if found.x is None:
            return None
        bins: list[Bin] = []
        placed: set[int] = set()
        for pattern, times in zip(self._patterns, found.x, strict=True):
            items = tuple(item for item in pattern.items if item not in placed)
            if times > 0.5 and items:
                placed.update(items)
                bins.append(Bin(self.groups[pattern.group].kind, items))
        return Packing(bins, [])

    def _knapsack(self, size: Resources, worth: Sequence[float]) -> tuple[int, ...]:
        """Return the items of greatest worth that fit together."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415

        items = [
            item for item, need in enumerate(self._needs) if worth[item] > 0 and size.fits(need)
        ]
        if not items:
            return ()
        # As shares of the node, for numbers of one magnitude.
        shares = [[self._needs[item][at] / (size[at] or 1) for item in items] for at in range(3)]
        found = milp(
            [-worth[item] for item in items],
            constraints=LinearConstraint(shares, ub=1),
            integrality=[1] * len(items),
            bounds=Bounds(0, 1),
            options={"mip_rel_gap": 0},
        )
        return tuple(item for item, taken in zip(items, found.x, strict=True) if taken > 0.5)

    def _prices(self) -> list[float]:
        return [self.groups[pattern.group].price for pattern in self._patterns]

    def _matrices(self) -> tuple[Any, Any]:
        """Return which pattern covers which item, and which is of which class."""
        from scipy.sparse import csr_array  # noqa: PLC0415

        columns = [at for at, pattern in enumerate(self._patterns) for _ in pattern.items]
        items = [item for pattern in self._patterns for item in pattern.items]
        covers = csr_array(
            ([1.0] * len(items), (items, columns)), shape=(len(self._needs), len(self._patterns))
        )
        groups = [pattern.group for pattern in self._patterns]
        counts = csr_array(
            ([1.0] * len(groups), (groups, range(len(groups)))),
            shape=(len(self.groups), len(self._patterns)),
        )
        return covers, counts
