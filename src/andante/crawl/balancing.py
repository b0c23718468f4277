"""Which servers a node of a cluster gives away, and when it takes others: by a plan at first, then by what all nodes say of their work."""

from __future__ import annotations

from collections.abc import Mapping

from andante.cluster.balance import choose
from andante.cluster.exchange import Node, Take, Totals
from andante.cluster.frontier import SharedFrontier
from andante.cluster.outbox import Outbox
from andante.crawl.cluster import Cluster
from andante.crawl.handover import Handover
from andante.crawl.pulse import Beat, Pulse


class Balancing:
    """Moves whole servers, one move after another.

    Args:
        cluster: has the rule, and the plan.
        frontier: the node's.
        handover: of the node's servers.
        outbox: takes what the node has to say.
        pulse: knows the work that the node has.
    """

    def __init__(
        self,
        cluster: Cluster,
        frontier: SharedFrontier,
        handover: Handover,
        outbox: Outbox,
        pulse: Pulse,
    ) -> None:
        self._cluster = cluster
        self._frontier = frontier
        self._handover = handover
        self._outbox = outbox
        self._pulse = pulse
        self._known: set[int] = set()
        self.is_taking = False
        """The store has been asked for servers, and has not answered yet."""

    def planned(self, server: str, epoch: int, nodes: Mapping[int, Node]) -> int | None:
        """Return the node other than ``epoch`` that is to have a server at first, if it is there."""
        found = self._cluster.planned(server, nodes.values())
        return None if found == epoch else found

    def move(
        self, epoch: int, nodes: Mapping[int, Node], beats: Mapping[int, Beat], totals: Totals
    ) -> None:
        """Give servers to nodes or the pool, or take some from it, unless some are on their way; ``epoch`` is this node's."""
        came, self._known = nodes.keys() - self._known, set(nodes)
        if came and self._cluster.owners:
            for key in list(self._frontier.servers):
                planned = self.planned(key, epoch, nodes)
                if planned in came:  # it has just come
                    self._handover.give(key, planned)
        if self._handover.is_busy or self.is_taking:
            return
        loads = {each: beat.load for each, beat in beats.items()} | {epoch: self._pulse.load()}
        rule = self._cluster.balance
        move = rule.decide(epoch, loads, waiting=totals.waiting, pool=totals.pool)
        if move.give:
            for key in choose(self._frontier.stones(), move.give):
                self._handover.give(key)
        elif move.take:
            self.is_taking = True
            self._outbox.say(Take(move.take))
