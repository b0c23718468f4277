"""What the nodes of a cluster tell each other once for the whole crawl."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable

from andante.cluster.exchange import BuriedError, ClusterError, LostError, Store, UnreachableError
from andante.crawl.state import State


class News:
    """Spreads what this node has found, and hears what others have.

    Args:
        state: of the crawl.
        store: where it is told.
        hear: takes each text that was told.
    """

    def __init__(self, state: State, store: Store, hear: Callable[[str], None]) -> None:
        self._state = state
        self._hear = hear
        self._store = store
        self.count = 0
        """Texts that the store had when it was heard last."""

    def hear(self, texts: Iterable[str]) -> None:
        """Hear what was told."""
        for text in texts:
            self._hear(text)

    async def listen(self, count: int) -> None:
        """Hear all that was told, so many texts or more; where that fails it is tried again."""
        with contextlib.suppress(UnreachableError, BuriedError, LostError, ClusterError):
            self.hear(await self._store.told())
            self.count = count

    async def spread(self, seed: str) -> None:
        """Tell the others that a seed has moved."""
        while True:
            with contextlib.suppress(UnreachableError, BuriedError, LostError, ClusterError):
                await self._store.tell(seed)
                return  # else it is told again, if need be by the node's next epoch
            await asyncio.sleep(self._state.settings.heartbeat)
