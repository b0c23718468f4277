"""A node and the others at the service of members, where there is one: who is there, and who is not any more."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Container
from math import inf

from andante.cluster.exchange import ClusterError, UnreachableError
from andante.cluster.lease import Judge, Lease
from andante.crawl.cluster import LEASE, LEASE_JUDGED, Cluster
from andante.crawl.state import State


class Presence:
    """What the members know of the nodes of a crawl. Without members they know nothing, and nothing is asked.

    Args:
        state: of the crawl.
        cluster: what joins it to others.
    """

    def __init__(self, state: State, cluster: Cluster) -> None:
        self._now = state.now
        self._beat = state.settings.heartbeat
        self._members = cluster.members
        self._name = cluster.node
        self.lease = state.settings.lease or (LEASE if cluster.members is None else LEASE_JUDGED)
        """Seconds without a beat after which a node is silent to the store."""

    def new_lease(self) -> Lease:
        """Return the lease of another epoch."""
        members = self.lease if self._members is None else self._members.ttl
        return Lease({Judge.STORE: self.lease, Judge.MEMBERS: members})

    # This node

    async def enter(self, epoch: int) -> None:
        """Let the members have an epoch, in place of the one before; if that fails, `confirm` has it."""
        if self._members is not None:
            with contextlib.suppress(UnreachableError):
                await self._members.enter(epoch, self._name)

    async def confirm(self, lease: Callable[[], Lease]) -> None:
        """Let them know that this node lives, until cancelled; its lease of the moment is told when they have heard it."""
        while self._members is not None:
            sent_at = self._now()
            with contextlib.suppress(UnreachableError, ClusterError):
                await self._members.confirm()
                lease().confirmed(Judge.MEMBERS, sent_at, self._now())
            await asyncio.sleep(self._beat)

    async def leave(self) -> None:
        """Leave."""
        if self._members is not None:
            with contextlib.suppress(UnreachableError, ClusterError):
                await self._members.leave()

    # Others

    async def has_any(self) -> bool:
        """Tell whether a node is there, as far as is known: then the crawl has begun, whatever the store says."""
        return bool(await self._present() or ())

    async def is_gone(self, epoch: int) -> bool:
        """Tell whether the members have not had a node for as long as a session holds, as one may have been ended before its time; this takes so long.

        Raises:
            UnreachableError, ClusterError: they do not say.
        """
        since = inf
        while self._members is not None and epoch not in await self._members.present():
            since = min(since, self._now())
            if self._now() - since >= self._members.ttl:
                return True
            await asyncio.sleep(self._beat)
        return self._members is None

    async def rest(self, nodes: Callable[[], Container[int]], has_told: Callable[[], bool]) -> None:
        """After a loss of the store's data: wait until no node is alive that has not told the store what it holds.

        So much is certain when a lease has passed, all nodes that have joined since have told, and the members have had no others for as long as a session
        holds: these may still crawl by the leave of the members.

        Args:
            nodes: gives those that have joined, as last heard.
            has_told: tells whether all of these have told.
        """
        began = self._now()
        ttl, clear = (0.0, -inf) if self._members is None else (self._members.ttl, inf)
        while not (self._now() - began >= self.lease and self._now() - clear >= ttl):
            await asyncio.sleep(self._beat)
            present = await self._present()
            is_clear = present is not None and all(each in nodes() for each in present)
            clear = min(clear, self._now()) if is_clear and has_told() else inf

    async def _present(self) -> frozenset[int] | None:
        """Return the epochs that are there; None: nobody can say."""
        if self._members is None:
            return frozenset()
        try:
            return await self._members.present()
        except (UnreachableError, ClusterError):
            return None
