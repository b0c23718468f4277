"""Members in memory: what every service of members must do. The simulator runs clusters on it, and the tests hold ZooKeeper to the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count

from andante.cluster.exchange import UnreachableError


class Sessions:
    """What the service knows.

    Args:
        clock: gives seconds.
        ttl: seconds after which a session of which nothing was heard has ended.
    """

    def __init__(self, clock: Callable[[], float], ttl: float = 10.0) -> None:
        self.clock = clock
        self.ttl = ttl
        self.heard: dict[int, float] = {}
        """When something was last heard of each session."""
        self.entries: dict[int, tuple[int, str]] = {}
        """Session and text of each epoch that is present."""
        self._numbers = count(1)

    def begin(self) -> int:
        """Begin a session; return its number."""
        session = next(self._numbers)
        self.heard[session] = self.clock()
        return session

    def hear(self, session: int) -> bool:
        """Something comes from a session; return whether there is such a one."""
        self._expire()
        if session not in self.heard:
            return False
        self.heard[session] = self.clock()
        return True

    def present(self) -> frozenset[int]:
        """Return the epochs that have an entry."""
        self._expire()
        return frozenset(self.entries)

    def end(self, session: int) -> None:
        """End a session; its entries go."""
        self.heard.pop(session, None)
        self.drop(session)

    def drop(self, session: int) -> None:
        """Remove the entries of a session."""
        for epoch in [epoch for epoch, (of, _) in self.entries.items() if of == session]:
            del self.entries[epoch]

    def restart(self) -> None:
        """The service comes back after an absence, in which no session ended."""
        self.heard = dict.fromkeys(self.heard, self.clock())

    def _expire(self) -> None:
        now = self.clock()
        for session in [key for key, heard in self.heard.items() if now - heard > self.ttl]:
            self.end(session)


async def at_once() -> None:
    """Take a message across no network."""


class MemoryMembers:
    """`Members` in memory, as one node sees them. Its session is kept by its calls.

    Args:
        sessions: the service.
        there: takes a call across the network: returns when it has arrived, or raises `UnreachableError` when the caller has waited enough.
        back: the same for the answer; what was called for has been done then.
    """

    def __init__(
        self,
        sessions: Sessions,
        there: Callable[[], Awaitable[None]] = at_once,
        back: Callable[[], Awaitable[None]] = at_once,
    ) -> None:
        self._sessions = sessions
        self._there = there
        self._back = back
        self.entered: tuple[int, str] | None = None
        """Epoch and text of the entry that it is to have."""
        self.session = sessions.begin()
        """Its number at the service."""

    @property
    def ttl(self) -> float:
        """Seconds without a call after which the node's entry goes."""
        return self._sessions.ttl

    async def enter(self, epoch: int, about: str) -> None:
        """Enter the node."""
        self.entered = epoch, about
        await self.confirm()

    async def confirm(self) -> None:
        """Make or keep the node's entry."""
        await self._arrive()
        if self.entered is not None:
            epoch, about = self.entered
            self._sessions.drop(self.session)
            self._sessions.entries[epoch] = self.session, about
        await self._back()

    async def present(self) -> frozenset[int]:
        """Return the epochs of the nodes that are there."""
        await self._arrive()
        present = self._sessions.present()
        await self._back()
        return present

    async def leave(self) -> None:
        """Remove the node's entry."""
        self.entered = None
        await self._arrive()
        self._sessions.drop(self.session)
        await self._back()

    async def close(self) -> None:
        """End the session, where that can be said."""
        self.entered = None
        with suppress(UnreachableError):
            await self._there()
            self._sessions.end(self.session)

    async def _arrive(self) -> None:
        await self._there()
        if not self._sessions.hear(self.session):
            self.session = self._sessions.begin()
            raise UnreachableError("the session has ended")
