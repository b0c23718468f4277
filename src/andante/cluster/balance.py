"""How the nodes of a cluster share the work: each beat, a node gives servers to the pool, or takes some from it, or does neither.

What is levelled
    A server with w URLs and p seconds from request to request takes at least w p seconds, on whatever node. A node that can do c pages a second needs, for W
    URLs on such servers, T = max(W / c, the longest w p): never less, and no more if it divides its power rightly (McNaughton 1959, for tasks with
    a highest speed each). Moving a server changes nothing of the second term, so what is levelled is the first, *the time to drain by power*: W / c is to be the
    same for all nodes, though under politeness nodes are done later than that.

    It must not be W over throughput. A node with few servers is slow because they are few; it would be left with few because it is slow.

Why it does not oscillate
    The level comes from the URLs that wait in the whole crawl, which the store counts, and from the powers, which change slowly. A node compares with it only
    its own queue, which it knows exactly: no beat of another's, however old, can make it give or take too much. Nobody gives below the level or takes above it, but for
    the last server: each move of s URLs from an excess e >= s to a room r > 0 lowers the sum of squared distances from the level, by 2 s (e + r - s). So without new
    links moves come to an end, and servers do not go round.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from math import ceil
from typing import Annotated, NamedTuple, Protocol

import msgspec

_MEMORY = 3
"""Windows of full use over which the power is measured. Beats may differ by half to either side, and it is still good to 4 %."""

_IDLE = 0.9
"""What a node lacks of its share, as part of it, when it is idle or about to be. That is too empty at all times: much may still be found where little waits."""


Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A number of a beat: of another node, or of whoever has written it."""

Amount = Annotated[float, msgspec.Meta(ge=0.0, le=1e12)]
"""The same, where it is no whole number."""


class Load(msgspec.Struct, frozen=True, array_like=True):
    """What a node's beat says of its work."""

    waiting: Count
    """URLs of its servers that have not ended, those in hand among them, and those of servers that it gives with the same report not."""
    throughput: Amount = 0.0
    """Pages a second, over the last beats; see `Throughput`."""
    power: Amount = 0.0
    """Pages a second that it could do, as far as that is known."""
    known: Amount = 0.0
    """How much of the power's measurement is there, 0 to 1."""
    servers: Count = 0
    """Its servers that have URLs."""
    largest: Count = 0
    """URLs of the one with the most."""


class Throughput:
    """What a node does, and what it could do.

    The throughput is the mean over a window of beats. The power is the throughput over the share of the node that is in use, a mean over three windows in which the older
    gives way to the newer at the speed of time *in use*: it is not forgotten while there is little to do.

    Args:
        beats: length of the window.
    """

    def __init__(self, beats: int = 10) -> None:
        self._window: deque[tuple[float, float]] = deque(maxlen=beats)
        self._pages = 0.0
        self._busy = 0.0  # seconds of full use in which these pages were done

    def add(self, seconds: float, pages: int, *, use: float) -> None:
        """Count what was done since the last beat.

        Args:
            seconds: since then; none are not counted.
            pages: finished.
            use: the share of the node that was busy, 0 to 1: the largest of the shares of a processor's time, of its connections and of its own
                set-point; 1 where a server was ready and could not be visited.
        """
        if seconds <= 0:
            return
        self._window.append((seconds, pages))
        busy = min(max(use, 0.0), 1.0) * seconds
        keep = max(_MEMORY * self._length - busy, 0.0)
        if self._busy > keep:
            self._pages *= keep / self._busy
            self._busy = keep
        self._pages += pages
        self._busy += busy

    @property
    def rate(self) -> float:
        """Pages a second."""
        seconds = sum(seconds for seconds, _ in self._window)
        return sum(pages for _, pages in self._window) / seconds if seconds else 0.0

    @property
    def power(self) -> float:
        """Pages a second at full use; 0 if nothing is known of it."""
        return self._pages / self._busy if self._busy else 0.0

    @property
    def known(self) -> float:
        """How sure that is, 0 to 1: half a window of full use is enough."""
        return min(2 * self._busy / self._length, 1.0) if self._window else 0.0

    @property
    def _length(self) -> float:
        """Seconds in a window that is full."""
        beats = self._window.maxlen or 1
        return sum(seconds for seconds, _ in self._window) / len(self._window) * beats


class Move(NamedTuple):
    """What a node is to do: at most one of the two is more than 0."""

    give: int = 0
    """URLs to give to the pool, in whole servers; see `choose`."""
    take: int = 0
    """URLs to take from the pool (`andante.cluster.exchange.Take`)."""


class Balance(Protocol):
    """A rule by which work is shared. Each node has one of its own."""

    def decide(self, epoch: int, loads: Mapping[int, Load], *, waiting: int, pool: int) -> Move:
        """Say what a node is to do with its next report.

        Args:
            epoch: of the node.
            loads: of all nodes that live, by epoch: its own as it is now, with what it has been granted though not read yet; the others' by their last beats.
            waiting: URLs that wait in the whole crawl (`Totals.waiting`).
            pool: servers in the pool (`Totals.pool`).
        """
        ...


class Vessels:
    """Communicating vessels: work flows until the time to drain is the same everywhere.

    A node gives what it has above the level when it is too full, and knows its power, or when another one is too empty. What is in the pool is taken at once
    by those that are half a band too empty, after ``short`` beats by those that have any room, after ``long`` by everybody: it is always emptied.

    Args:
        band: how far from its share, as a part of it, a node may be and nothing is done.
        least: seconds by which the crawl's end must come nearer for a move to be worth it.
        short: beats.
        long: beats.
    """

    def __init__(
        self, *, band: float = 0.3, least: float = 5.0, short: int = 3, long: int = 10
    ) -> None:
        self._band = band
        self._least = least
        self._short = short
        self._long = long
        self._lain = 0

    def decide(self, epoch: int, loads: Mapping[int, Load], *, waiting: int, pool: int) -> Move:
        """See `Balance.decide`."""
        share = shares(loads, waiting)
        room = {each: share[each] - load.waiting for each, load in loads.items()}
        band = self._band_of(loads, waiting)
        mine = room[epoch]
        self._lain = self._lain + 1 if pool else 0
        if pool and (
            mine > band / 2 * share[epoch]
            or (mine >= 1 and self._lain > self._short)
            or self._lain > self._long
        ):
            return Move(take=max(1, ceil(mine)))
        too_full = loads[epoch].known == 1 and -mine > band * share[epoch]
        if too_full or any(room[each] > band * share[each] for each in loads):
            return Move(give=max(0, int(-mine)))
        return Move()

    def _band_of(self, loads: Mapping[int, Load], waiting: int) -> float:
        """Return the band: where the crawl has few seconds to go, the part of them that is worth a move."""
        throughput = sum(load.throughput for load in loads.values())
        return min(max(self._band, self._least * throughput / max(waiting, 1)), _IDLE)


class Never:
    """No balancing: nothing is given, and only a node that has nothing to do takes what those who are gone have left."""

    def decide(self, epoch: int, loads: Mapping[int, Load], *, waiting: int, pool: int) -> Move:
        """See `Balance.decide`."""
        return (
            Move(take=ceil(waiting / len(loads))) if pool and not loads[epoch].waiting else Move()
        )


RULES: dict[str, Callable[[], Balance]] = {"vessels": Vessels, "never": Never}
"""The rules by name."""


def shares(loads: Mapping[int, Load], waiting: int) -> dict[int, float]:
    """Return how many of the URLs that wait each node should have: as its power, but no less than its largest server, which is not divided.

    The power of a node is as measured, so far as it is known, and for the rest the mean of the others.
    """
    # More than the store counts are there when it has lost its data and they have not all been said again.
    left = float(max(waiting, sum(load.waiting for load in loads.values())))
    powers = _powers(loads)
    total = sum(powers.values())
    share: dict[int, float] = {}
    for epoch in sorted(loads, key=lambda each: loads[each].largest / powers[each], reverse=True):
        share[epoch] = max(loads[epoch].largest, left * powers[epoch] / total)
        if share[epoch] == loads[epoch].largest:  # a stone in the vessel: the water is the others'
            left = max(left - share[epoch], 0.0)
            total -= powers[epoch]
    return share


def _powers(loads: Mapping[int, Load]) -> dict[int, float]:
    """Return the power of each node, at least a thousandth of the mean."""
    known = sum(load.known for load in loads.values())
    mean = sum(load.known * load.power for load in loads.values()) / known if known else 0.0
    if not mean:
        return dict.fromkeys(loads, 1.0)
    return {
        epoch: max(load.known * load.power + (1 - load.known) * mean, mean / 1000)
        for epoch, load in loads.items()
    }


def choose(servers: Iterable[tuple[str, int, bool]], urls: int) -> list[str]:
    """Return which servers to give, whole ones, with at most so many URLs.

    Those that would be reached last go first, those that are being visited only if there are no others. Of a server that is too large the next is tried.

    Args:
        servers: key, URLs that wait, and whether it is being visited; in the order in which they will be reached.
        urls: to give.
    """
    last_first = list(servers)
    last_first.reverse()
    chosen: list[str] = []
    for key, waiting, _ in sorted(last_first, key=lambda server: server[2]):
        if 0 < waiting <= urls:
            chosen.append(key)
            urls -= waiting
    return chosen
