"""What the nodes of a cluster tell each other once for the whole crawl: that a seed has moved to another host."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

from andante.cluster.exchange import ClusterError, LostError, Store, UnreachableError
from andante.crawl.state import State


class News:
    """Spreads what this node has found, and hears what others have.

    Args:
        state: of the crawl.
        store: where it is told.
    """

    def __init__(self, state: State, store: Store) -> None:
        self._state = state
        self._store = store
        self.count = 0
        """Texts that the store had when it was heard last."""

    def hear(self, texts: Iterable[str]) -> None:
        """Others' seeds have moved: the crawl moves with them."""
        for seed in texts:
            self._state.scope.add(seed)

    async def listen(self) -> None:
        """Hear all that was told."""
        try:
            self.hear(await self._store.told())
        except (UnreachableError, LostError, ClusterError):
            self.count = -1  # again

    async def spread(self, seed: str) -> None:
        """Tell the others that a seed has moved."""
        while True:
            with contextlib.suppress(UnreachableError, LostError, ClusterError):
                await self._store.tell(seed)
                return
            await asyncio.sleep(self._state.settings.heartbeat)
