"""The optimum of small problems, by integer programming (HiGHS, by way of scipy).

Which *mix*, so many nodes of each type, is the cheapest that holds all items? Benders' way (1962): the master programme knows prices and rows, of which each is
true of all plans; it proposes the cheapest mix that keeps to them. If the mix cannot hold the items, that gives one row more.

1. Solve the master: begin with the rows of `bound`. No plan costs less than its mix. If that is what the best plan costs, it is the optimum.
2. Can the nodes of the mix hold all items, if items may be cut? A *pattern* is a set of items that fit together into a node (Gilmore and Gomory 1961). A
   linear programme over patterns covers as much as can be covered. Its dual prices say what each item is worth; a knapsack of three resources says what a
   node of each type can be worth at most, and which pattern is to be added. If the nodes of the mix are worth less than the items, the mix is too little, and
   the row is: what the nodes are worth together is at least what the items are worth. Again from 1.
3. Otherwise look for a packing in whole items: of the patterns so far, then of any. If there is one, it is the optimum. If there is none, forbid the mix,
   and what is smaller, and again from 1. If some time was too short to tell, do the same, and come back to the mix in the end: until then the bound does not
   rise any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NamedTuple

from andante.extras import how_to_install
from andante.plan.bound import Row, groups, rounding, rows
from andante.plan.model import Resources
from andante.plan.packing import Bin, Kind, Packing

_HAIR = 1e-6
"""What the solver may be wrong by, as a share."""

_PATIENCE = 0.25
"""Share of the time that is left for looking for a packing of one mix."""

_WEIGHTS = ((1, 1, 1), (4, 1, 1), (1, 4, 1), (1, 1, 4), (4, 4, 1), (4, 1, 4), (1, 4, 4))
"""Of the resources, by which nodes are filled before a knapsack is solved."""

_INFEASIBLE = 2
"""A status of `scipy.optimize.milp`."""

Mix = tuple[int, ...]
"""Nodes of each type."""


class Optimum(NamedTuple):
    """What was found."""

    packing: Packing
    """The best known."""
    bound: float
    """No packing of all items costs less, an hour."""


def optimum(
    needs: Sequence[Resources],
    kinds: Sequence[Kind],
    start: Packing,
    *,
    seconds_left: Callable[[], float],
) -> Optimum:
    """Better a packing in which nothing waits, up to the optimum.

    Args:
        needs: of the items.
        kinds: of bins.
        start: a packing, a good one if possible.
        seconds_left: tells when to end, with what there is.

    Raises:
        ValueError: scipy is not installed.
    """
    try:
        import scipy.optimize  # noqa: F401, PLC0415  # an extra
    except ImportError as error:
        raise ValueError(f"the optimum needs scipy; {how_to_install('plan')}") from error
    master = _Master(needs, kinds, seconds_left)
    patterns = _Patterns(needs, kinds, start, seconds_left)
    best, bound, least = start, 0.0, 0.0
    doubtful: list[tuple[float, Mix]] = []
    if row := patterns.lacking((0,) * len(kinds)):
        master.add(row)
    while seconds_left() > 0:
        mix, least = master.cheapest()
        least = _up_to(best.cost(kinds), least)
        if not doubtful:
            bound = max(bound, least)
        if not mix or least == best.cost(kinds):
            break
        row = patterns.lacking(mix)
        if row is not None:
            master.add(row)
            continue
        packing, is_certain = patterns.whole(mix, _PATIENCE * seconds_left())
        if packing is not None:
            best = min(best, packing, key=lambda each: each.rank(kinds))
        if not is_certain:
            doubtful.append((least, mix))
        master.forbid(mix)
    doubtful.append((least, ()))  # all others cost so much
    for cost, mix in doubtful:
        least = _up_to(best.cost(kinds), cost)
        bound = max(bound, least)
        if not mix or least == best.cost(kinds):
            break
        packing, is_certain = patterns.whole(mix, seconds_left())
        if packing is not None:
            best = min(best, packing, key=lambda each: each.rank(kinds))
        if not is_certain:
            break
    return Optimum(best, bound)


def _up_to(cost: float, least: float) -> float:
    """Return the lesser one: ``cost`` where there is no more than a hair between them."""
    return cost if least >= cost * (1 - 2 * _HAIR) else least


def _options(seconds: float) -> dict[str, float]:
    return {"time_limit": max(0.05, seconds), "mip_rel_gap": 0}


class _Master:
    """The cheapest mix, as far as is known."""

    def __init__(
        self,
        needs: Sequence[Resources],
        kinds: Sequence[Kind],
        seconds_left: Callable[[], float],
    ) -> None:
        self._seconds_left = seconds_left
        self._groups = groups(kinds)
        self._kinds = len(kinds)
        self._rounded = rounding(kinds)
        self._rows = rows(needs, kinds)
        self._forbidden: list[Mix] = []

    def add(self, row: Row) -> None:
        """Add what is true of all plans."""
        self._rows.append(row)

    def forbid(self, mix: Mix) -> None:
        """Leave a mix out, and what is smaller: each other one has more nodes of some type."""
        self._forbidden.append(mix)

    def cheapest(self) -> tuple[Mix, float]:
        """Return the cheapest mix, an empty one if none is found, and what no mix costs less than."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415

        kinds, size = [group.kind for group in self._groups], len(self._groups)
        more = self._kinds * len(self._forbidden)  # for each: of which type there are more
        none = [0.0] * more
        lines = [[row[kind] for kind in kinds] + none for row in self._rows]
        least = [1.0] * len(lines)
        for number, mix in enumerate(self._forbidden):
            some = [0.0] * (size + more)
            for kind, count in enumerate(mix):
                at = size + number * self._kinds + kind
                line = [1.0 if kind == each else 0.0 for each in kinds] + none
                line[at] = -(count + 1.0)
                some[at] = 1.0
                lines.append(line)
                least.append(0.0)
            lines.append(some)
            least.append(1.0)
        found = milp(
            [group.price for group in self._groups] + [0.0] * more,
            constraints=LinearConstraint(lines, lb=least),
            integrality=[1] * (size + more),
            bounds=Bounds(0, [group.stock for group in self._groups] + [1] * more),
            options=_options(self._seconds_left()),
        )
        if found.x is None:
            return (), inf if found.status == _INFEASIBLE else 0.0
        used = [0] * self._kinds
        for kind, count in zip(kinds, found.x, strict=False):
            used[kind] += round(count)
        return tuple(used), self._rounded(max(0.0, found.mip_dual_bound) * (1 - _HAIR))


class _Patterns:
    """Sets of items that fit together, as many as are known, each for a type of nodes."""

    def __init__(
        self,
        needs: Sequence[Resources],
        kinds: Sequence[Kind],
        start: Packing,
        seconds_left: Callable[[], float],
    ) -> None:
        self._needs = needs
        self._kinds = kinds
        self._seconds_left = seconds_left
        dearest = max(max(kind.tariff.first, kind.tariff.rest) for kind in kinds) or 1.0
        self._prices = [max(kind.tariff.first, kind.tariff.rest, dearest / 100) for kind in kinds]
        self._known = dict.fromkeys(start.bins)

    def lacking(self, mix: Mix) -> Row | None:
        """Return a row that says why a mix cannot hold all items; None if it can hold them in parts, or time is over."""
        kinds = range(len(self._kinds))
        while self._seconds_left() > 0:
            lacks, worth, paid = self._relaxed(mix)
            if lacks < _HAIR * self._prices[0]:
                return None
            known = len(self._known)
            for at in kinds:
                self._fill(at, worth, paid[at])
            if len(self._known) > known:
                continue
            most = [self._knapsack(at, worth, paid[at]) for at in kinds]
            total = sum(worth)
            if sum(a * b for a, b in zip(most, mix, strict=True)) < total * (1 - _HAIR):
                return tuple(each / total for each in most)
            if len(self._known) == known:
                return None
        return None

    def _relaxed(self, mix: Mix) -> tuple[float, list[float], list[float]]:
        """Cover all items by parts of patterns; return what must be paid for nodes besides those of the mix, what each item is worth, and each node."""
        from scipy.optimize import linprog  # noqa: PLC0415
        from scipy.sparse import eye_array, hstack, vstack  # noqa: PLC0415

        covers, counts = self._matrices()
        more = eye_array(len(self._kinds))
        none = 0 * eye_array(len(self._needs), len(self._kinds))
        found = linprog(
            [0.0] * len(self._known) + self._prices,
            A_ub=vstack([hstack([-covers, none]), hstack([counts, -more])]),
            b_ub=[-1.0] * len(self._needs) + list(mix),
            bounds=(0, None),
            method="highs",
        )
        duals = [max(0.0, -each) for each in found.ineqlin.marginals]
        return float(found.fun), duals[: len(self._needs)], duals[len(self._needs) :]

    def _fill(self, kind: int, worth: Sequence[float], paid: float) -> None:
        """Look for patterns that are worth more than is paid for a node, by taking first what is worth most for its weighted size."""
        size = self._kinds[kind].size
        for weights in _WEIGHTS:
            a, b, c = (weight / (there or 1) for weight, there in zip(weights, size, strict=True))
            rank = {
                item: value / (a * need.cpu + b * need.memory + c * need.bandwidth + 1e-12)
                for item, (need, value) in enumerate(zip(self._needs, worth, strict=True))
                if value > 0
            }
            self._add(kind, sorted(rank, key=rank.__getitem__, reverse=True), worth, paid)

    def _knapsack(self, kind: int, worth: Sequence[float], paid: float) -> float:
        """Look for the pattern that is worth most; return what none is worth more than."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415

        size = self._kinds[kind].size
        items = [
            item for item, need in enumerate(self._needs) if worth[item] > 0 and size.fits(need)
        ]
        if not items:
            return 0.0
        found = milp(
            [-worth[item] for item in items],
            constraints=LinearConstraint(self._shares(size, items), ub=1),
            integrality=[1] * len(items),
            bounds=Bounds(0, 1),
            options=_options(self._seconds_left()),
        )
        chosen = [] if found.x is None else found.x
        taken = [item for item, is_in in zip(items, chosen, strict=False) if is_in > 0.5]
        taken.sort(key=worth.__getitem__, reverse=True)
        self._add(kind, taken, worth, paid)
        return -float(found.mip_dual_bound) * (1 + _HAIR)

    def _add(self, kind: int, items: Sequence[int], worth: Sequence[float], paid: float) -> None:
        """Add those of the items that fit together, one after another, if they are worth more than is paid for a node."""
        fitting = self._fitting(self._kinds[kind].size, items)
        if sum(worth[item] for item in fitting) > paid * (1 + _HAIR) + _HAIR:
            self._known[Bin(kind, fitting)] = None

    def _fitting(self, size: Resources, items: Sequence[int]) -> tuple[int, ...]:
        """Return those of the items that fit together, one after another."""
        taken = []
        for item in items:
            if size.fits(self._needs[item]):
                taken.append(item)
                size = size.minus(self._needs[item])
        return tuple(sorted(taken))

    def _shares(self, size: Resources, items: Sequence[int]) -> list[list[float]]:
        """Return what items need as shares of a node, resource by resource: numbers of one magnitude."""
        return [[self._needs[item][at] / (size[at] or 1) for item in items] for at in range(3)]

    def whole(self, mix: Mix, seconds: float) -> tuple[Packing | None, bool]:
        """Look for a packing into a mix; return it, and whether it is certain that there is one, or none."""
        packing = self._of_known(mix, seconds / 2)
        return (packing, True) if packing else self._of_any(mix, seconds / 2)

    def _of_known(self, mix: Mix, seconds: float) -> Packing | None:
        from scipy.optimize import LinearConstraint, milp  # noqa: PLC0415

        covers, counts = self._matrices()
        found = milp(
            [0.0] * len(self._known),
            constraints=[LinearConstraint(covers, lb=1), LinearConstraint(counts, ub=mix)],
            integrality=[1] * len(self._known),
            options=_options(seconds),
        )
        if found.x is None:
            return None
        bins: list[Bin] = []
        placed: set[int] = set()
        for pattern, times in zip(self._known, found.x, strict=True):
            items = tuple(item for item in pattern.items if item not in placed)
            if times > 0.5 and items:
                placed.update(items)
                bins.append(Bin(pattern.kind, items))
        return Packing(bins, [])

    def _of_any(self, mix: Mix, seconds: float) -> tuple[Packing | None, bool]:
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415
        from scipy.sparse import block_diag, eye_array, hstack  # noqa: PLC0415

        nodes = [at for at, count in enumerate(mix) for _ in range(count)]
        items = range(len(self._needs))
        found = milp(
            [0.0] * (len(nodes) * len(items)),
            constraints=[
                LinearConstraint(hstack([eye_array(len(items))] * len(nodes)), lb=1),
                LinearConstraint(
                    block_diag([self._shares(self._kinds[at].size, items) for at in nodes]), ub=1
                ),
            ],
            integrality=[1] * (len(nodes) * len(items)),
            bounds=Bounds(0, 1),
            options=_options(seconds),
        )
        if found.x is None:
            return None, found.status == _INFEASIBLE
        bins: list[Bin] = []
        placed: set[int] = set()
        for number, kind in enumerate(nodes):
            taken = found.x[number * len(items) : (number + 1) * len(items)]
            wanted = [item for item in items if taken[item] > 0.5 and item not in placed]
            bins.append(Bin(kind, self._fitting(self._kinds[kind].size, wanted)))
            placed.update(bins[-1].items)
        # The solver's hair may have been too much.
        is_whole = len(placed) == len(items)
        return Packing([each for each in bins if each.items], []) if is_whole else None, is_whole

    def _matrices(self) -> tuple[Any, Any]:
        """Return which pattern covers which item, and which is for which type."""
        from scipy.sparse import csr_array  # noqa: PLC0415

        columns = [at for at, pattern in enumerate(self._known) for _ in pattern.items]
        items = [item for pattern in self._known for item in pattern.items]
        covers = csr_array(
            ([1.0] * len(items), (items, columns)), shape=(len(self._needs), len(self._known))
        )
        kinds = [pattern.kind for pattern in self._known]
        counts = csr_array(
            ([1.0] * len(kinds), (kinds, range(len(kinds)))),
            shape=(len(self._kinds), len(self._known)),
        )
        return covers, counts
