"""Ours: the best of several heuristics, bettered by emptying a few bins at a time and packing them anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from andante.plan.model import Resources
from andante.plan.packing import Bin, Kind, Packing, weights

BINS_MAX = 8
"""Bins that are emptied at once, at most."""

ITEMS_MAX = 48
"""Items that are packed anew at once, at most, so that a step costs no more where bins are large."""

_TOLERANCE = 0.1
"""By so much of the mean price of a bin a packing may get dearer, at first; less and less later."""

_APART = 3.0
"""How much more, at most, what suits a kind is preferred to what is large: the power of the one over that of the other."""

_FINISH = 0.7
"""How often a bin that takes all that is left is preferred to one that holds more for its price."""

_WAITING_MAX = 8
"""Items without a place that are tried with each step."""


class Search:
    """A packing that gets better.

    A step takes two to `BINS_MAX` bins, packs their items anew, largest first but with some noise, and keeps the outcome if fewer items wait, if it
    costs less, or if it costs the same and is more uneven: a full bin and an empty one can lose the empty one. Now and then a little worse is kept, too.

    Args:
        needs: of the items.
        kinds: of bins.
        start: to be bettered.
        chance: gives numbers in [0, 1).
    """

    def __init__(
        self,
        needs: Sequence[Resources],
        kinds: Sequence[Kind],
        start: Packing,
        chance: Callable[[], float],
    ) -> None:
        self._needs = needs
        self._kinds = kinds
        self._chance = chance
        self._w = weights(needs, kinds)
        self._worth = [_dot(self._w, need) for need in needs]
        # By kind: what an item is worth for the share that it takes of a bin.
        self._suits = [
            [
                worth / (_share(need, kind.size) or 1.0)
                for worth, need in zip(self._worth, needs, strict=True)
            ]
            for kind in kinds
        ]
        self._bins = list(start.bins)
        self._waiting = list(start.waiting)
        self._used = start.used(len(kinds))
        self.best = start
        """The best packing so far."""

    def run(self, steps: int, *, enough: float = 0.0) -> None:
        """Take so many steps, or fewer: until nothing waits, and the cost is ``enough``."""
        cost = best = self.best.cost(self._kinds)
        if not self._bins or (not self._waiting and cost <= enough + 1e-9):
            return
        tolerance = _TOLERANCE * cost / len(self._bins)
        waiting = best_waiting = len(self._waiting)
        for step in range(steps):
            left = 1 - step / steps
            change = self._step(tolerance * left * left)
            if change is None:
                continue
            cost += change
            waiting = len(self._waiting)
            if (waiting, cost) < (best_waiting, best - 1e-9):
                best, best_waiting = cost, waiting
                self.best = Packing(list(self._bins), list(self._waiting))
                if not waiting and cost <= enough + 1e-9:
                    return

    def _step(self, tolerance: float) -> float | None:
        """Pack some bins anew; return by how much the cost has changed, None if all is as it was."""
        chosen = self._choose()
        old = [self._bins[at] for at in chosen]
        tried = self._waiting[:_WAITING_MAX]
        items = [item for each in old for item in each.items] + tried
        for each in old:
            self._used[each.kind] -= 1
        before = self._cost(old)
        new, waiting = self._pack(items)
        after = self._cost(new)
        is_kept = len(waiting) < len(tried) or (
            len(waiting) == len(tried)
            and (
                after < before - 1e-9
                or (after < before + 1e-9 and self._uneven(new) >= self._uneven(old))
                or (tolerance > 0 and after - before < tolerance * self._chance())
            )
        )
        if not is_kept:
            new = old
        for each in new:
            self._used[each.kind] += 1
        if not is_kept:
            return None
        self._waiting = self._waiting[_WAITING_MAX:] + waiting
        for at in sorted(chosen, reverse=True):
            self._bins[at] = self._bins[-1]
            self._bins.pop()
        self._bins += new
        return after - before

    def _choose(self) -> list[int]:
        """Return the bins to empty: one of the emptier ones, and others by chance."""
        chance, bins = self._chance, self._bins
        count = min(2 + int(chance() * (BINS_MAX - 1)), len(bins))
        draws = [int(chance() * len(bins)) for _ in range(3)]
        first = min(draws, key=self._fullness) if chance() < 0.5 else draws[0]
        chosen = {first: None}
        items = len(bins[first].items)
        while len(chosen) < count:
            at = int(chance() * len(bins))
            items += len(bins[at].items)
            if items > ITEMS_MAX and len(chosen) > 1:
                break
            chosen[at] = None
        return list(chosen)

    def _fullness(self, at: int) -> float:
        each = self._bins[at]
        return sum(self._worth[item] for item in each.items) / (
            _dot(self._w, self._kinds[each.kind].size) or 1.0
        )

    def _uneven(self, bins: Sequence[Bin]) -> float:
        return sum(sum(self._worth[item] for item in each.items) ** 2 for each in bins)

    def _cost(self, bins: Sequence[Bin]) -> float:
        """Return what bins cost on top of those that are in use."""
        added = [0] * len(self._kinds)
        for each in bins:
            added[each.kind] += 1
        return sum(
            kind.tariff.cost(used + more) - kind.tariff.cost(used)
            for kind, used, more in zip(self._kinds, self._used, added, strict=True)
            if more
        )

    def _pack(self, items: list[int]) -> tuple[list[Bin], list[int]]:
        """Pack items into new bins, one bin after another, each of the kind that holds most for its price."""
        chance = self._chance
        noise = 0.6 * chance() ** 2
        apart = _APART * chance() if chance() < 0.5 else 0.0
        w = [each * (0.5 + chance()) for each in self._w]
        size = {item: _dot(w, self._needs[item]) * (1 + noise * (chance() - 0.5)) for item in items}
        order = sorted(items, key=size.__getitem__, reverse=True)
        opened = [0] * len(self._kinds)
        bins: list[Bin] = []
        while order:
            filled = self._next_bin(order, size, opened, apart)
            if filled is None:
                return bins, order
            bins.append(filled)
            opened[filled.kind] += 1
            taken = set(filled.items)
            order = [item for item in order if item not in taken]
        return bins, []

    def _next_bin(
        self, order: list[int], size: dict[int, float], opened: list[int], apart: float
    ) -> Bin | None:
        """Fill a bin of each kind, first with what is largest or suits it; return the one that holds most for its price."""
        spread = self._chance() ** 2
        best, lowest = None, 0.0
        finish, least = None, 0.0
        for at, kind in enumerate(self._kinds):
            used = self._used[at] + opened[at]
            if used >= kind.stock:
                continue
            items = self._fill(kind.size, self._suited(order, size, at, apart) if apart else order)
            if not items:
                continue
            price = kind.tariff.next(used)
            score = (
                price
                / (sum(size[item] for item in items) or 1e-9)
                * (1 + spread * (self._chance() - 0.5))
            )
            if best is None or score < lowest:
                best, lowest = Bin(at, tuple(items)), score
            if len(items) == len(order) and (finish is None or price < least):
                finish, least = Bin(at, tuple(items)), price
        # What takes all that is left is better than a bin that holds more for its price than is left.
        return finish if finish and (best is None or self._chance() < _FINISH) else best

    def _suited(
        self, order: list[int], size: dict[int, float], kind: int, apart: float
    ) -> list[int]:
        suits = self._suits[kind]
        return sorted(order, key=lambda item: size[item] * suits[item] ** apart, reverse=True)

    def _fill(self, size: Resources, order: list[int]) -> list[int]:
        cpu, memory, bandwidth = size
        items = []
        for item in order:
            need = self._needs[item]
            if need[0] <= cpu and need[1] <= memory and need[2] <= bandwidth:
                items.append(item)
                cpu -= need[0]
                memory -= need[1]
                bandwidth -= need[2]
        return items


def _share(need: Resources, size: Resources) -> float:
    """Return the sum of the shares of the resources."""
    return sum(a / (b or 1) for a, b in zip(need, size, strict=True))


def _dot(w: Sequence[float], need: Resources) -> float:
    return w[0] * need[0] + w[1] * need[1] + w[2] * need[2]
