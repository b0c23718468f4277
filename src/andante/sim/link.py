"""The ways from simulated processes to services that they share: messages take time, and may be lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from random import Random
from typing import Any, TypeVar

import msgspec

from andante.cluster.exchange import (
    POOL,
    Answer,
    BuriedError,
    ClusterError,
    Entry,
    Joined,
    LostError,
    Report,
    UnreachableError,
)
from andante.cluster.memory import MemoryStore
from andante.cluster.sessions import MemoryMembers
from andante.sim.process import Process

T = TypeVar("T")

TIMEOUT = 5.0
"""Seconds after which a service that does not answer is taken to be out of reach."""

HEADERS = 200
"""Bytes of a message besides what it says: those of IP and TCP, and the command that it is for Redis."""

LATE = 8.0
"""Most seconds by which a message is late where that is the trouble."""

_ERRORS = (BuriedError, ClusterError, LostError, UnreachableError, ValueError)
"""What a service may answer besides."""


class Trouble:
    """What is wrong with the way to a service, or with the service; each is counted, as troubles may overlap."""

    def __init__(self) -> None:
        self.questions_lost = 0
        self.answers_lost = 0
        self.is_late = 0
        self.is_full = 0
        """The service refuses whatever it is asked."""


class Line:
    """A line that nodes share, each way: messages pass it one after another.

    Args:
        rate: bytes a second each way.
    """

    def __init__(self, rate: float) -> None:
        self.carried = 0
        """Bytes, both ways."""
        self.messages = 0
        """Both ways."""
        self._rate = rate
        self._free = [0.0, 0.0]

    def takes(self, message: object, now: float, *, back: bool) -> float:
        """Return the seconds until a message is through; ``back``: it is an answer."""
        size = HEADERS + len(msgspec.msgpack.encode(message))
        self.messages += 1
        self.carried += size
        self._free[back] = max(self._free[back], now) + size / self._rate
        return self._free[back] - now


class Link:
    """The way from a process to a service.

    A question that was sent arrives, whatever becomes of the process; and one that was given up may arrive still, when it is of no use any more.

    Args:
        process: that asks.
        troubles: of the way, and of the service.
        delay: mean seconds for a round trip.
        seed: of its chances.
        heed: called when a question has been answered.
        line: whose rate bounds it; None: messages of any size take the same time.
    """

    def __init__(
        self,
        process: Process,
        troubles: Sequence[Trouble],
        *,
        delay: float,
        seed: object,
        heed: Callable[[], None] = lambda: None,
        line: Line | None = None,
    ) -> None:
        self._process = process
        self._troubles = troubles
        self._delay = delay
        self._chance = Random(repr(seed))
        self._heed = heed
        self._line = line

    async def carry(self, ask: Callable[[], Awaitable[T]], question: object = None) -> T:
        """Ask; the question is given where its size matters."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        if self._process.is_alive:
            loop.call_later(self._takes(question), self._arrive, ask, answer, context=Context())
        try:
            async with asyncio.timeout(TIMEOUT):
                return await answer
        except TimeoutError:
            raise UnreachableError("no answer in time") from None

    def _arrive(self, ask: Callable[[], Awaitable[T]], answer: asyncio.Future[T]) -> None:
        """The question is at the service."""
        if any(each.questions_lost for each in self._troubles):
            return
        error: Exception | None = None
        result: Any = None
        try:
            if any(each.is_full for each in self._troubles):
                raise ClusterError("it is full")
            result = _at_once(ask())
        except _ERRORS as raised:
            error = raised
        self._heed()
        if not any(each.answers_lost for each in self._troubles):
            self._process.call_later(
                self._takes(result, back=True), _deliver, answer, result, error
            )

    def _takes(self, message: object, *, back: bool = False) -> float:
        """Return the seconds that the next message takes."""
        seconds = self._delay * (0.4 + 0.2 * self._chance.random())
        if self._line is not None:
            now = asyncio.get_running_loop().time()
            seconds += self._line.takes(message, now, back=back)
        if any(each.is_late for each in self._troubles):
            seconds += LATE * self._chance.random()
        return seconds


def _at_once(asked: Awaitable[T]) -> T:
    """Run what never waits."""
    steps = asked.__await__()
    try:
        next(steps)
    except StopIteration as end:
        value: T = end.value
        return value
    raise AssertionError("a service in memory waits for nothing")


def _deliver(answer: asyncio.Future[T], result: T, error: Exception | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(result)


class LinkedStore:
    """A `andante.cluster.exchange.Store` behind a link.

    Args:
        make: gives the store as one epoch sees it.
        link: the way to it.
        sent: told of each report that is sent.
    """

    def __init__(
        self, make: Callable[[], MemoryStore], link: Link, sent: Callable[[Report], None]
    ) -> None:
        self._make = make
        self._sent = sent
        self._store = make()
        self._link = link

    async def join(self, name: str, *, token: str, config: bytes, again: bool = False) -> Joined:
        """Join the crawl; what comes late from the epoch before comes from that."""
        store = self._make()
        joined = await self._link.carry(
            lambda: store.join(name, token=token, config=config, again=again)
        )
        self._store = store
        return joined

    async def exchange(self, report: Report) -> Answer:
        """Send a report."""
        store = self._store
        self._sent(report)
        return await self._link.carry(lambda: store.exchange(report), report)

    async def entries(self, server: str, start: int, count: int) -> list[Entry]:
        """Return entries of a log."""
        store = self._store
        return await self._link.carry(lambda: store.entries(server, start, count))

    async def bury(self, epoch: int, *, to: int = POOL, count: int | None = None) -> bool:
        """End an epoch."""
        store = self._store
        return await self._link.carry(lambda: store.bury(epoch, to=to, count=count))

    async def settle(self) -> None:
        """All nodes have said what they hold."""
        await self._link.carry(self._store.settle)

    async def tell(self, text: str) -> None:
        """Tell all nodes something."""
        store = self._store
        await self._link.carry(lambda: store.tell(text))

    async def told(self) -> list[str]:
        """Return what was told."""
        return await self._link.carry(self._store.told)

    async def leave(self) -> None:
        """Leave."""
        await self._link.carry(self._store.leave)

    async def close(self) -> None:
        """There is nothing to let go of."""


class LinkedMembers:
    """`andante.cluster.members.Members` behind a link."""

    def __init__(self, members: MemoryMembers, link: Link) -> None:
        self._members = members
        self._link = link

    @property
    def ttl(self) -> float:
        """Seconds without a call after which the node's entry goes."""
        return self._members.ttl

    async def enter(self, epoch: int, about: str) -> None:
        """Enter the node; if the message is lost, `confirm` has it again."""
        self._members.entered = epoch, about
        await self.confirm()

    async def confirm(self) -> None:
        """Make or keep the node's entry."""
        await self._link.carry(self._members.confirm)

    async def present(self) -> frozenset[int]:
        """Return the epochs of the nodes that are there."""
        return await self._link.carry(self._members.present)

    async def leave(self) -> None:
        """Remove the node's entry."""
        self._members.entered = None
        await self._link.carry(self._members.leave)

    async def close(self) -> None:
        """End the session, where that can be said."""
        await self._link.carry(self._members.close)
