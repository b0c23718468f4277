"""What a node lets the others of a cluster know at each heart-beat, and what it does by what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

import msgspec

from andante.cluster.balance import Load, Throughput
from andante.cluster.exchange import POOL, Node
from andante.cluster.frontier import SharedFrontier
from andante.crawl.handover import Handover
from andante.crawl.state import State

_CONNECTIONS = 256
"""Stands for the connections where their number is found by the crawl."""


class Beat(msgspec.Struct, array_like=True):
    """What a node lets the others know at each heart-beat."""

    load: Load
    pages: int = 0
    """That it has fetched in all."""
    seen: Sequence[int] = ()
    """Epochs of the nodes that it knows of: none of them takes more than a share of what is for all."""
    lease: float = 0.0
    """Seconds without a beat after which others may take it for dead."""
    unheard: int = 0
    """Links that it has found and the store has not heard of."""
    fetched: dict[str, int] = {}
    """Where the pages are limited: those of each node by name, as far as it has heard; also of nodes that have left, or died."""


class Pulse:
    """Measures how a node does.

    Args:
        state: of the crawl.
        frontier: the node's.
        handover: of the node's servers.
        busy: gives the seconds for which the processor has worked for it.
    """

    def __init__(
        self,
        state: State,
        frontier: SharedFrontier,
        handover: Handover,
        busy: Callable[[], float],
    ) -> None:
        self._state = state
        self._frontier = frontier
        self._handover = handover
        self._busy = busy
        self._throughput = Throughput()
        self._before = (state.now(), 0, busy())

    @property
    def rate(self) -> float:
        """Pages a second, lately."""
        return self._throughput.rate

    def beat(
        self, nodes: Iterable[int], *, lease: float, unheard: int, fetched: dict[str, int]
    ) -> Beat:
        """Return the beat of this moment; see `Beat`."""
        now, requests, busy = self._state.now(), self._state.stats.requests, self._busy()
        before, self._before = self._before, (now, requests, busy)
        seconds = now - before[0]
        if seconds > 0:
            use = max((busy - before[2]) / seconds, self._in_use())
            self._throughput.add(seconds, requests - before[1], use=use)
        return Beat(self.load(), self._state.stats.pages, list(nodes), lease, unheard, fetched)

    def load(self) -> Load:
        """Return the work that the node has."""
        sizes = [each.queued for each in self._frontier.servers.values() if each.queued]
        measured = self._throughput
        return Load(
            waiting=self._frontier.queued + self._handover.arriving,
            throughput=measured.rate,
            power=measured.power,
            known=measured.known,
            servers=len(sizes),
            largest=max((size for _, size, _ in self._frontier.stones()), default=0),
        )

    def _in_use(self) -> float:
        """Return the share of the connections that are at work."""
        connections = self._state.settings.connections
        return self._frontier.visits / (_CONNECTIONS if connections == "auto" else connections)


class Shares:
    """Keeps a node to its part of what is allowed to all together: the total rate, and the pages."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.is_known = state.settings.total_rate == inf
        """The node knows its part of the total rate; before that it may send nothing."""
        self._epoch = POOL
        self.fetched: dict[str, int] = {}
        """Pages of all nodes by name, where they are limited."""

    def divide(
        self, epoch: int, nodes: Mapping[int, Node], beats: Mapping[int, Beat], *, settled: bool
    ) -> None:
        """Take what the beats of all nodes say; ``epoch`` is this one's. Until the store is ``settled`` some may not have spoken that are there."""
        others = set(nodes) - {epoch}
        self._divide_rate(epoch, others, beats, settled=settled)
        if self._state.settings.max_pages is not None:
            self._count(nodes, beats)
            self._divide_pages(nodes[epoch].name, epoch, others)

    def _count(self, nodes: Mapping[int, Node], beats: Mapping[int, Beat]) -> None:
        """Learn what all nodes have fetched, those among them that are not there any more."""
        for epoch, beat in beats.items():
            for name, pages in (*beat.fetched.items(), (nodes[epoch].name, beat.pages)):
                self.fetched[name] = max(pages, self.fetched.get(name, 0))

    def _divide_rate(
        self, epoch: int, others: set[int], beats: Mapping[int, Beat], *, settled: bool
    ) -> None:
        """An equal part: less at once when there are more nodes, more when all others know of this one."""
        total = self._state.settings.total_rate
        if epoch != self._epoch and settled:  # the others may have divided all without this node
            self.is_known = total == inf
        self._epoch = epoch
        part = total / (len(others) + 1)
        all_know = settled and all(each in beats and epoch in beats[each].seen for each in others)
        if total < inf and (all_know or (self.is_known and part < self._state.total.set_point)):
            self.is_known = True
            self._state.total.change(part, self._state.now())

    def _divide_pages(self, name: str, epoch: int, others: set[int]) -> None:
        """An equal part of what is left; nodes that speak at one moment may pass it by a few."""
        limit, own = self._state.settings.max_pages, self._state.stats.pages
        assert limit is not None
        left = max(limit - own - sum(self.fetched.values()) + self.fetched.get(name, 0), 0)
        part, rest = divmod(left, len(others) + 1)
        is_first = all(epoch < each for each in others)
        self._state.max_pages = own + part + (rest if is_first else 0)
        self._state.is_full = not left
