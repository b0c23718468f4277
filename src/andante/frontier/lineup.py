"""Those that wait to be chosen: first until each is ready, then for their turn by rank."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

_SLACK = 64
"""Outdated entries that are left in a heap however small it is."""

_numbers = count(1)
"""Of the entries of all lineups: one that an item has left behind in a lineup is never taken for that which it has in another."""


class Waiting(Protocol):
    """What can wait in a `Lineup`; the attributes are the lineup's."""

    line: Lineup[Any] | None
    """The lineup in which it waits; None: it does not wait."""
    entry: int
    """Number of its entry there."""
    ready_at: float
    """When it is, or was, ready."""
    order: float | None
    """Its place among those that are ready, the lowest first: its rank, negative. None: it is not ready."""


Item = TypeVar("Item", bound=Waiting)


class Lineup(Generic[Item]):
    """A queue of those that wait, two heaps: by the time when each is ready, then by rank, the highest first.

    Each operation costs O(log n). What is put again, or changes its rank, gets a new entry, and the old one is passed over when it comes up; where
    these are more than the true ones, they are swept out.

    Args:
        rank: gives the rank of one that is ready. Among equals the first to be ready comes first.
        patience: seconds after which one that is ready comes before all of higher rank.
        since: gives the time from which that counts, for one that is ready; unless given, when it was.
    """

    __slots__ = ("_count", "_later", "_longest", "_patience", "_rank", "_ready", "_since")

    def __init__(
        self,
        rank: Callable[[Item], float],
        *,
        patience: float = inf,
        since: Callable[[Item], float] = attrgetter("ready_at"),
    ) -> None:
        self._rank = rank
        self._since = since
        self._patience = patience
        self._later: list[tuple[float, int, Item]] = []
        self._ready: list[tuple[float, int, Item]] = []
        self._longest: list[tuple[float, int, Item]] = []  # those that are ready, by how long
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, item: Item, ready_at: float, now: float = -inf) -> None:
        """Let it wait from now on, to be ready at ``ready_at``, wherever it was before, in this lineup or in another."""
        if item.line is not self:
            if item.line is not None:
                item.line.remove(item)
            item.line = self
            self._count += 1
        item.ready_at = ready_at
        if ready_at <= now:
            self._advance(now)
            self._make_ready(item)
            return
        item.entry = number = next(_numbers)
        item.order = None
        self._push(self._later, ready_at, number, item)

    def remove(self, item: Item) -> None:
        """Let it wait here no longer."""
        if item.line is self:
            item.line = None
            item.entry = 0
            self._count -= 1

    def rank_again(self, item: Item) -> bool:
        """Something about it has changed; return whether its rank has."""
        if item.order is None or item.line is not self:
            return False
        order = -self._rank(item)
        if order == item.order:
            return False
        self._rise(item, order)
        return True

    def first(self, now: float) -> Item | None:
        """Return the one to be chosen now; None when none is ready."""
        self._advance(now)
        if self._patience < inf and self.oldest() < now - self._patience:
            return self._longest[0][2]
        while self._ready:
            _, number, item = self._ready[0]
            if item.entry == number:
                return item
            heappop(self._ready)
        return None

    def oldest(self) -> float:
        """Return since when the one waits that is ready for the longest time, where there is patience; infinity: none is ready."""
        while self._longest and not self._has_waited(self._longest[0]):
            heappop(self._longest)
        return self._longest[0][0] if self._longest else inf

    def pop(self, now: float) -> Item | None:
        """Take the one to be chosen now out of the queue; None when none is ready."""
        item = self.first(now)
        if item is not None:
            self.remove(item)
        return item

    def wakeup(self) -> float:
        """Return the time before which none is ready; infinity when none waits."""
        if self.first(-inf) is not None:
            return -inf
        while self._later and self._later[0][2].entry != self._later[0][1]:
            heappop(self._later)
        return self._later[0][0] if self._later else inf

    def _advance(self, now: float) -> None:
        """Let those rise whose time has come."""
        while self._later and self._later[0][0] <= now:
            _, number, item = heappop(self._later)
            if item.entry == number:
                self._make_ready(item)

    def _make_ready(self, item: Item) -> None:
        self._rise(item, -self._rank(item))
        if self._patience < inf:
            if len(self._longest) > 2 * self._count + _SLACK:
                self._longest = list(filter(self._has_waited, self._longest))
                heapify(self._longest)
            heappush(self._longest, (self._since(item), next(_numbers), item))

    def _rise(self, item: Item, order: float) -> None:
        """Put it among those that are ready."""
        item.order = order
        item.entry = number = next(_numbers)
        self._push(self._ready, order, number, item)

    def _push(
        self, heap: list[tuple[float, int, Item]], key: float, number: int, item: Item
    ) -> None:
        if len(heap) > 2 * self._count + _SLACK:
            heap[:] = [entry for entry in heap if entry[2].entry == entry[1]]
            heapify(heap)
        heappush(heap, (key, number, item))

    def _has_waited(self, entry: tuple[float, int, Item]) -> bool:
        """Tell whether one that is said to wait here since a time does."""
        since, _, item = entry
        return item.line is self and item.order is not None and self._since(item) == since
