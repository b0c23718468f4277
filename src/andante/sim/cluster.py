"""A crawl of a simulated web by several nodes: engines and peers as they are, over a store that is simulated, too.

What goes wrong is chosen by a seed: see `Faults`. Checkers outside the code look at what was asked of the servers, at the store and at the outputs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import TypeVar

from andante.cluster.exchange import POOL, Answer, Entry, Joined, Report, UnreachableError
from andante.cluster.memory import Memory, MemoryStore

T = TypeVar("T")

TIMEOUT = 5.0
"""Seconds after which a store that does not answer is taken to be out of reach."""


class Link:
    """The way from a node to the store.

    Args:
        delay: seconds for a round trip.
        chance: gives numbers in [0, 1).
    """

    def __init__(self, delay: float, chance: Callable[[], float]) -> None:
        self.delay = delay
        self.is_cut = False
        self._chance = chance

    async def carry(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask the store: it may get the question and the node not the answer."""
        await self._pass()
        answer = await ask()
        await self._pass()
        return answer

    async def _pass(self) -> None:
        await asyncio.sleep(self.delay / 2 * (1 + 0.2 * self._chance()))
        if self.is_cut:
            await asyncio.sleep(TIMEOUT)
            raise UnreachableError("no answer")


class LinkedStore:
    """A `andante.cluster.exchange.Store` behind a link."""

    def __init__(self, memory: Memory, link: Link) -> None:
        self._store = MemoryStore(memory)
        self._link = link

    async def join(self, name: str, *, token: str, config: bytes, again: bool = False) -> Joined:
        """Join the crawl."""
        return await self._link.carry(
            lambda: self._store.join(name, token=token, config=config, again=again)
        )

    async def exchange(self, report: Report) -> Answer:
        """Send a report."""
        return await self._link.carry(lambda: self._store.exchange(report))

    async def entries(self, server: str, start: int, count: int) -> list[Entry]:
        """Return entries of a log."""
        return await self._link.carry(lambda: self._store.entries(server, start, count))

    async def bury(self, epoch: int, *, to: int = POOL, count: int | None = None) -> bool:
        """End an epoch."""
        return await self._link.carry(lambda: self._store.bury(epoch, to=to, count=count))

    async def settle(self) -> None:
        """All nodes have said what they hold."""
        await self._link.carry(self._store.settle)

    async def tell(self, text: str) -> None:
        """Tell all nodes something."""
        await self._link.carry(lambda: self._store.tell(text))

    async def told(self) -> list[str]:
        """Return what was told."""
        return await self._link.carry(self._store.told)

    async def leave(self) -> None:
        """Leave."""
        await self._link.carry(self._store.leave)

    async def close(self) -> None:
        """There is nothing to let go of."""
