"""Bins that fill up: what the heuristics work on, and first-fit and best-fit decreasing."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from andante.plan.model import Resources, Tariff

Measure = Literal["dominant", "weighted"]
Fit = Literal["first", "best"]


class Kind(NamedTuple):
    """A type of bins."""

    size: Resources
    stock: int
    """How many there are."""
    tariff: Tariff


class Bin(NamedTuple):
    """A bin of a packing."""

    kind: int
    items: tuple[int, ...]


class Packing(NamedTuple):
    """Which items are together, and which have no place."""

    bins: list[Bin]
    waiting: list[int]

    def used(self, kinds: int) -> list[int]:
        """Return the number of bins of each kind."""
        used = [0] * kinds
        for each in self.bins:
            used[each.kind] += 1
        return used

    def cost(self, kinds: Sequence[Kind]) -> float:
        """Return what the bins cost an hour."""
        used = self.used(len(kinds))
        return sum(kind.tariff.cost(count) for kind, count in zip(kinds, used, strict=True))

    def rank(self, kinds: Sequence[Kind]) -> tuple[int, float]:
        """Return what is to be small: items that wait, then the cost."""
        return len(self.waiting), round(self.cost(kinds), 9)


def weights(needs: Iterable[Resources], kinds: Sequence[Kind]) -> tuple[float, float, float]:
    """Return what a unit of each resource is worth: the more, the scarcer; 1 for all that all bins have of the scarcest."""
    wanted = [sum(each) for each in zip(*needs, strict=True)] or [0, 0, 0]
    there = [sum(kind.size[at] * kind.stock for kind in kinds) for at in range(3)]
    scarcity = [a / b if b else 0.0 for a, b in zip(wanted, there, strict=True)]
    most = max(scarcity) or 1.0
    cpu, memory, bandwidth = (
        each / most / (total or 1) for each, total in zip(scarcity, there, strict=True)
    )
    return cpu, memory, bandwidth


def sizes(needs: Sequence[Resources], kinds: Sequence[Kind], measure: Measure) -> list[float]:
    """Return how large each item is: by the resource of which it takes most, or by all, weighted."""
    if measure == "weighted":
        w = weights(needs, kinds)
        return [w[0] * need[0] + w[1] * need[1] + w[2] * need[2] for need in needs]
    there = [sum(kind.size[at] * kind.stock for kind in kinds) or 1 for at in range(3)]
    return [max(need[at] / there[at] for at in range(3)) for need in needs]


def decreasing(
    needs: Sequence[Resources],
    kinds: Sequence[Kind],
    *,
    fit: Fit,
    measure: Measure,
    only: int | None = None,
) -> Packing:
    """Pack the largest items first.

    Args:
        needs: of the items.
        kinds: of bins.
        fit: into the first bin with room, or into the one that it leaves fullest.
        measure: of how large an item is, and how full a bin.
        only: the kind to open first; the others only for what it does not fit.
    """
    size = sizes(needs, kinds, measure)
    order = sorted(range(len(needs)), key=lambda item: -size[item])
    w = weights(needs, kinds)
    opener = _Opener(kinds, w, only)
    room = _First() if fit == "first" else _Best(w)
    waiting = []
    for item in order:
        if not room.put(item, needs[item]):
            kind = opener.open(needs[item])
            if kind is None:
                waiting.append(item)
            else:
                room.open(kind, kinds[kind].size.minus(needs[item]), item)
    return Packing(
        [Bin(kind, tuple(items)) for kind, items in zip(room.kinds, room.items, strict=True)],
        waiting,
    )


class _Opener:
    """Chooses the kind of the next bin: the cheapest for what it holds, of those that the item fits."""

    def __init__(
        self, kinds: Sequence[Kind], w: tuple[float, float, float], only: int | None
    ) -> None:
        self._kinds = kinds
        self._opened = [0] * len(kinds)
        self._worth = [sum(a * b for a, b in zip(w, kind.size, strict=True)) for kind in kinds]
        self._wanted = range(len(kinds)) if only is None else (only,)

    def open(self, need: Resources) -> int | None:
        kind = self._cheapest(self._wanted, need)
        if kind is None:
            kind = self._cheapest(range(len(self._kinds)), need)
        if kind is not None:
            self._opened[kind] += 1
        return kind

    def _cheapest(self, among: Iterable[int], need: Resources) -> int | None:
        def price(kind: int) -> float:
            return self._kinds[kind].tariff.next(self._opened[kind]) / (self._worth[kind] or 1.0)

        able = [
            kind
            for kind in among
            if self._opened[kind] < self._kinds[kind].stock and self._kinds[kind].size.fits(need)
        ]
        return min(able, key=price, default=None)


class _First:
    """Bins in the order in which they were opened."""

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.items: list[list[int]] = []
        self._free: list[Resources] = []

    def open(self, kind: int, free: Resources, item: int) -> None:
        self.kinds.append(kind)
        self.items.append([item])
        self._free.append(free)

    def put(self, item: int, need: Resources) -> bool:
        cpu, memory, bandwidth = need
        for at, left in enumerate(self._free):
            if left[0] >= cpu and left[1] >= memory and left[2] >= bandwidth:
                self.items[at].append(item)
                self._free[at] = left.minus(need)
                return True
        return False


class _Best:
    """Bins in the order of how much of them is free, by weight: the first one with room is the one that is left fullest."""

    def __init__(self, w: tuple[float, float, float]) -> None:
        self.kinds: list[int] = []
        self.items: list[list[int]] = []
        self._w = w
        self._order: list[tuple[float, int, Resources]] = []

    def open(self, kind: int, free: Resources, item: int) -> None:
        self.kinds.append(kind)
        self.items.append([item])
        insort(self._order, (self._slack(free), len(self.items) - 1, free))

    def put(self, item: int, need: Resources) -> bool:
        cpu, memory, bandwidth = need
        order = self._order
        # Rounding may show a bin a hair fuller than it is.
        for place in range(bisect_left(order, (self._slack(need) * (1 - 1e-9),)), len(order)):
            _, at, left = order[place]
            if left[0] >= cpu and left[1] >= memory and left[2] >= bandwidth:
                del order[place]
                free = left.minus(need)
                insort(order, (self._slack(free), at, free))
                self.items[at].append(item)
                return True
        return False

    def _slack(self, free: Resources) -> float:
        w = self._w
        return w[0] * free[0] + w[1] * free[1] + w[2] * free[2]
