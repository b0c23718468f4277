"""What the nodes of a cluster tell each other once for the whole crawl."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

from andante.cluster.exchange import BuriedError, ClusterError, LostError, Store, UnreachableError


class News:
    """Spreads what this node has found, and hears what others have.

    Args:
        store: where it is told.
        hear: takes each text that was told.
    """

    def __init__(self, store: Store, hear: Callable[[str], None]) -> None:
        self._hear = hear
        self._store = store
        self._said: dict[str, None] = {}
        self._untold: dict[str, None] = {}
        self.count = 0
        """Texts that the store had when it was heard last."""

    def say(self, seed: str) -> None:
        """A seed has moved: the others are to know with the next word to the store."""
        self._said[seed] = self._untold[seed] = None

    def say_again(self) -> None:
        """The store may have lost what it was told."""
        self._untold = dict(self._said)

    async def tell(self) -> None:
        """Tell the store what it has not been told yet.

        Raises:
            UnreachableError, BuriedError, LostError, ClusterError: as of `Store`; the next call tells the rest.
        """
        while self._untold:
            seed = next(iter(self._untold))
            await self._store.tell(seed)
            self._untold.pop(seed, None)

    def hear(self, texts: Iterable[str]) -> None:
        """Hear what was told."""
        for text in texts:
            self._hear(text)

    async def listen(self, count: int) -> bool:
        """Hear all that was told, so many texts or more; tell whether that was to be: else it is tried again."""
        with contextlib.suppress(UnreachableError, BuriedError, LostError, ClusterError):
            self.hear(await self._store.told())
            self.count = count
            return True
        return False
