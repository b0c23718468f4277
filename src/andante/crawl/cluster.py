"""What joins a crawl to others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from zlib import crc32

from andante.cluster.balance import Balance, Vessels
from andante.cluster.exchange import Node, Store
from andante.cluster.members import Members

LEASE = 45.0
"""Seconds without a beat after which a node counts as dead, where the store alone judges: longer than it may be away."""

LEASE_JUDGED = 10.0
"""The same where there are members, too."""


@dataclass
class Cluster:
    """What joins a crawl to others.

    Args:
        store: the shared store.
        members: says who is alive; None: the store alone does.
        node: name of this node.
        balance: how work is shared; by `Vessels` unless given.
        config: what must be the same for all nodes.
        owners: which node has a server at first, as planned.
        busy: gives the seconds for which the processor has worked for this node.
    """

    store: Store
    node: str
    members: Members | None = None
    balance: Balance = field(default_factory=Vessels)
    config: bytes = b""
    owners: Mapping[str, str] = field(default_factory=dict)
    busy: Callable[[], float] = time.process_time

    def planned(self, server: str, nodes: Iterable[Node]) -> int | None:
        """Return the epoch of the node that is to have a server at first, None if it is not there or none is.

        Of several processes of a node (``small-1-w1`` is one of ``small-1``) each has its share.
        """
        name = self.owners.get(server)
        if not name:
            return None
        epochs = sorted(
            node.epoch for node in nodes if name in (node.name, node.name.rpartition("-w")[0])
        )
        return epochs[crc32(server.encode()) % len(epochs)] if epochs else None
