"""How long a node may go on by itself, and when others may take it for dead.

Two *judges* tell that a node lives: the store, which counts its beats, and where there is one the service of `Members`, which has an entry
for it that goes with its session. Whoever takes a node for dead *buries* it in the store, and its servers are others'. Rules:

1. A node sends requests while its lease holds. What a judge confirms makes it hold for the judge's time, less what two clocks may drift
   apart (`HELD`), from when the message was *first* sent: a report that is sent again counts from its first sending, as it is counted once.
2. A confirmation of the store always counts, one of the members only while the lease holds still. For only the store knows who is buried:
   when the lease has ended, the node must hear from there that it is not.
3. To an observer a node is *silent* when two readings of the store have the same count of its beats, a whole lease apart (from the answer of the
   one to the question of the other), and the observer was in contact all the while: so nobody is blamed for the store's absence.
4. A silent node is buried if after that the members do not have it for their whole time, as often as they are asked, and if at the burial its count is
   the same still. The one absence would do if no session ended before its time.

So the lease of a node that is buried has ended, whatever the delays, as long as clocks run right to `DRIFT`: by rule 3 the last confirmation of
the store is a lease old; by rule 4 so is each one of the members; by rule 2 there is none later. A machine's sleep is no drift: ``now`` is to be of a clock that goes on
meanwhile (``CLOCK_BOOTTIME``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from math import inf

from andante.cluster.exchange import Node

DRIFT = 0.05
"""Clocks may be fast or slow by this share."""

HELD = (1 - DRIFT) / (1 + DRIFT)
"""Of a judge's time a node takes so much for its lease: by the slowest clock no longer than the judge's by the fastest."""

CONTACT = 1 / 3
"""An observer whose readings are further apart than this share of the lease has been out of contact."""


class Judge(Enum):
    """Who confirms that a node lives."""

    STORE = "store"
    MEMBERS = "members"


class Lease:
    """A node's own right to send requests. A node that joins again begins with another one.

    Args:
        ttls: seconds after which each judge takes a node for dead.
    """

    def __init__(self, ttls: Mapping[Judge, float]) -> None:
        self._ttls = ttls
        self.until = -inf
        """When it ends, by the node's clock."""

    def __repr__(self) -> str:
        return f"<Lease until {self.until:.3f}>"

    def confirmed(self, judge: Judge, sent_at: float, now: float) -> None:
        """A judge has confirmed a message of the node's.

        Args:
            judge: the store: a report that had a beat, or the joining; the members: `Members.confirm`.
            sent_at: when the message was sent for the first time.
            now: the present time.
        """
        if judge is Judge.STORE or self.holds(now):
            self.until = max(self.until, sent_at + HELD * self._ttls[judge])

    def end(self) -> None:
        """The node has been buried, or leaves."""
        self.until = -inf

    def holds(self, now: float) -> bool:
        """Tell whether the node may send a request."""
        return now < self.until


class Watch:
    """What the beats that the store has counted say of other nodes.

    Args:
        ttl: seconds without a beat after which a node is silent; readings are to come several times in that.
    """

    def __init__(self, ttl: float) -> None:
        self._ttl = ttl
        self._counts: dict[int, tuple[int, float]] = {}  # count, when it was first read
        self._asked = self._read = -inf

    def __repr__(self) -> str:
        return f"<Watch over {sorted(self._counts)}>"

    def observe(self, nodes: Mapping[int, Node], sent_at: float, now: float) -> None:
        """Take a reading of the store: `Answer.nodes`, in the order in which they came.

        Args:
            nodes: by epoch; the observer itself may be among them.
            sent_at: when it was asked for, for the last time.
            now: the present time.
        """
        if now - self._read > CONTACT * self._ttl:
            self.gap()
        self._asked, self._read = sent_at, now
        self._counts = {epoch: self._since(node, now) for epoch, node in nodes.items()}

    def gap(self) -> None:
        """The store did not answer: observation starts anew."""
        self._counts.clear()

    def silent(self, now: float) -> dict[int, int]:
        """Return the epochs whose count has not changed for the lease time, with that count; none when the last reading is old."""
        if now - self._read > CONTACT * self._ttl:
            return {}
        return {
            epoch: count
            for epoch, (count, since) in self._counts.items()
            if self._asked - since >= self._ttl
        }

    def _since(self, node: Node, now: float) -> tuple[int, float]:
        count, since = self._counts.get(node.epoch, (node.count, now))
        return (count, since) if count == node.count else (node.count, now)
