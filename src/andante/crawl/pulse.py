"""What a node lets the others of a cluster know at each heart-beat, and what it does by what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

import msgspec

from andante.cluster.balance import Amount, Count, Load, Throughput
from andante.cluster.exchange import POOL, Node
from andante.cluster.frontier import SharedFrontier
from andante.crawl.handover import Handover
from andante.crawl.state import State

_PARTING = "pages "
"""Begins what a node tells for good of the pages that it has fetched."""

_DIGITS = 16
"""Fewer than so many has a number of pages."""

_PACE = 1.0
"""Pages a second; see `_part`."""

_CONNECTIONS = 256
"""Stands for the connections where their number is found by the crawl."""


class Beat(msgspec.Struct, array_like=True):
    """What a node lets the others know at each heart-beat."""

    load: Load
    pages: Count = 0
    """That it has fetched in all."""
    seen: Sequence[int] = ()
    """Epochs of the nodes that it knows of: none of them takes more than a share of what is for all."""
    lease: Amount = 0.0
    """Seconds without a beat after which others may take it for dead."""
    unheard: Count = 0
    """Links that it has found and the store has not heard of."""
    telling: bool = False
    """After a loss: it has not told the store yet what it holds."""
    fetched: dict[str, Count] = {}
    """Where the pages are limited: those of each node by name, as far as it has heard; also of nodes that have left, or died."""
    claim: Count = 0
    """Where the pages are limited: those that it wants to have fetched in all, at most."""


def read_beat(node: Node) -> Beat | None:
    """Return the beat of a node; None: it has had none, or what is there is none."""
    try:
        return _decoder.decode(node.beat)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


_decoder = msgspec.msgpack.Decoder(Beat)


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
        self,
        nodes: Iterable[int],
        *,
        lease: float,
        unheard: int,
        telling: bool,
        fetched: dict[str, int],
        claim: int,
    ) -> Beat:
        """Return the beat of this moment; see `Beat`."""
        now, requests, busy = self._state.now(), self._state.stats.requests, self._busy()
        before, self._before = self._before, (now, requests, busy)
        seconds = now - before[0]
        if seconds > 0:
            use = max((busy - before[2]) / seconds, self._in_use())
            self._throughput.add(seconds, requests - before[1], use=use)
        pages = self._state.stats.pages
        return Beat(self.load(), pages, list(nodes), lease, unheard, telling, fetched, claim)

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
    """Keeps a node to its part of what is allowed to all together: the total rate, and the pages.

    Of the pages each node *claims* some in its beat, and has them when all claims, as the answer shows them, are no more than the limit. The store takes
    one report after another, so of two nodes that claim the same pages the later one sees it. From the moment at which it claims less a node has no more.
    So the nodes together never have more than the limit.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._limit = state.settings.max_pages
        self._wanted = self._room = self._left = self._limit or 0
        self.is_known = state.settings.total_rate == inf
        """The node knows its part of the total rate; before that it may send nothing."""
        self._epoch = POOL
        self.fetched: dict[str, int] = {}
        """Pages of all nodes by name, where they are limited."""
        self.begin()

    def begin(self) -> None:
        """The node has, or will have, another epoch: nothing that it has claimed counts."""
        if self._limit is not None:
            self._state.max_pages = self._taken

    @property
    def _taken(self) -> int:
        """Pages that the node has fetched, and those that it may have in a moment."""
        return self._state.stats.pages + self._state.in_hand

    def claim(self) -> int:
        """Return what the node claims in the beat that goes now; 0 where the pages are not limited."""
        has = self._state.max_pages
        if has is None:
            return 0
        claim = max(self._taken, min(self._wanted, max(has, self._room)))
        self._state.max_pages = min(has, claim)
        return claim

    def parting(self, name: str) -> str:
        """Return what those who come later must know of this node, when it leaves; empty: nothing."""
        return "" if self._limit is None else f"{_PARTING}{self._state.stats.pages} {name}"

    def hear(self, text: str) -> bool:
        """Take what a node has told; tell whether it was a `parting`."""
        if not text.startswith(_PARTING):
            return False
        pages, _, name = text.removeprefix(_PARTING).partition(" ")
        if pages.isascii() and pages.isdecimal() and len(pages) < _DIGITS:
            self._note(name, int(pages))
        return True

    def _note(self, name: str, pages: int) -> None:
        self.fetched[name] = max(pages, self.fetched.get(name, 0))

    def divide_rate(
        self, epoch: int, nodes: Mapping[int, Node], beats: Mapping[int, Beat], *, settled: bool
    ) -> None:
        """Take an equal part: less at once when there are more nodes, more when all others know of this one.

        Args:
            epoch: this node's.
            nodes: all.
            beats: what they say.
            settled: all have spoken that are there.
        """
        others = set(nodes) - {epoch}
        total = self._state.settings.total_rate
        if epoch != self._epoch and settled:  # the others may have divided all without this node
            self.is_known = total == inf
        self._epoch = epoch
        part = total / (len(others) + 1)
        all_know = settled and all(each in beats and epoch in beats[each].seen for each in others)
        if total < inf and (all_know or (self.is_known and part < self._state.total.set_point)):
            self.is_known = True
            if self._state.total.set_point:  # else the user has paused it
                self._state.total.change(part, self._state.now())

    @property
    def is_pressing(self) -> bool:
        """The next report should not wait for its time: the node has used up its pages and may claim more, or all have been fetched, which the others must know before they can end."""
        has = self._state.max_pages
        if has is None or self._state.is_full:
            return False
        return not self._left or (self._taken >= has and min(self._wanted, self._room) > has)

    def divide_pages(
        self, epoch: int, nodes: Mapping[int, Node], beats: Mapping[int, Beat], *, waiting: int
    ) -> None:
        """Take what was claimed, if all claims can be met; then want a part of what is left (`_part`).

        The crawl is full when all others know what this node has fetched: once it has left its beat is gone.

        Args:
            epoch: this node's.
            nodes: all that there are; all that was told by those who have left must have been heard.
            beats: of all nodes, this one's as the store has it among them.
            waiting: URLs that wait for this node, now.
        """
        if (limit := self._limit) is None or epoch not in beats:
            return
        for each, beat in beats.items():
            for other, pages in (*beat.fetched.items(), (nodes[each].name, beat.pages)):
                self._note(other, pages)
        state, own, name = self._state, beats[epoch], nodes[epoch].name
        claims = {each: pages for each, pages in self.fetched.items() if each != name}
        left = self._left = max(limit - state.stats.pages - sum(claims.values()), 0)
        for each, beat in beats.items():
            if each != epoch and (other := nodes[each].name) != name:
                claims[other] = max(claims[other], beat.claim)
        self._room = limit - sum(claims.values())
        if own.claim <= self._room:
            state.max_pages = own.claim
        loads = {each: beat.load for each, beat in beats.items()}
        loads[epoch] = msgspec.structs.replace(loads[epoch], waiting=waiting)
        self._wanted = state.stats.pages + _part(left, epoch, loads)
        state.is_full = not left and all(
            each in beats and beats[each].fetched.get(name, 0) >= state.stats.pages
            for each in nodes
            if each != epoch
        )


def _part(left: int, epoch: int, loads: Mapping[int, Load]) -> int:
    """Return a node's part of the pages that are left: those that have URLs share them by their speeds, so that all are done at the same time; the fastest has the rest.

    Each counts as `_PACE` faster than it is: one that has just come would never be given a page.
    """
    speeds = {each: load.throughput + _PACE for each, load in loads.items() if load.waiting}
    speeds = speeds or dict.fromkeys(loads, _PACE)
    total = sum(speeds.values())
    parts = {each: int(left * speed / total) for each, speed in speeds.items()}
    parts[max(speeds, key=lambda each: (speeds[each], -each))] += left - sum(parts.values())
    return parts.get(epoch, 0)
