"""A node's part in a cluster: it tells the shared store what it finds, and takes from it what is its own.

The crawl itself goes on meanwhile: nothing here is waited for by a fetch. What a fetch needs of the cluster is one comparison, `Peer.may_send`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any

import msgspec

from andante.cluster.balance import Load, choose
from andante.cluster.exchange import (
    POOL,
    Answer,
    BuriedError,
    ClusterError,
    Ended,
    Give,
    Heard,
    Joined,
    Keep,
    Known,
    LostError,
    Marked,
    Node,
    Own,
    Rewrite,
    Take,
    Totals,
    UnreachableError,
)
from andante.cluster.frontier import SharedFrontier
from andante.cluster.lease import Judge, Lease, Watch
from andante.cluster.outbox import Kept, Outbox, decode
from andante.crawl.cluster import LEASE, LEASE_JUDGED, Cluster
from andante.crawl.handover import Handover
from andante.crawl.pulse import Beat, Pulse, Shares
from andante.crawl.state import State
from andante.frontier.seen import unpack
from andante.observe import Event
from andante.store.job import Outgoing

_HUNGRY = 64
"""URLs below which a node speaks as soon as it has something to say."""

_STEPS = 20
"""Times in a heart-beat that it looks whether it should."""

_LEAVING = 10.0
"""Seconds that a node which leaves tries to hand over what it has."""


class Peer:
    """Speaks for a node with the shared store, at each heart-beat and sooner while there is little to do."""

    def __init__(self, state: State, cluster: Cluster, outbox: Outbox) -> None:
        assert isinstance(state.frontier, SharedFrontier)
        self._state = state
        self._frontier = state.frontier
        self._outbox = outbox
        self._cluster = cluster
        self._store = cluster.store
        self._members = cluster.members
        settings = state.settings
        self._lease_time = settings.lease or (LEASE if cluster.members is None else LEASE_JUDGED)
        self._lease = self._new_lease()
        self._watch = Watch(self._lease_time)
        self._handover = Handover(state, self._frontier, outbox, self._store)
        self._pulse = Pulse(state, self._frontier, self._handover, cluster.busy)
        self._shares = Shares(state)
        self._epoch = POOL
        self._generation = ""
        self._nodes: dict[int, Node] = {}
        self._loads: dict[int, Load] = {}
        self._totals: Totals | None = None
        self._is_over = False
        self._news = 0
        self._is_taking = False
        self._sent: tuple[int, float] = (0, 0.0)
        self._tasks: dict[object, asyncio.Task[None]] = {}
        self._packed: list[tuple[str, int, bytes]] = []
        self._rewritten: list[Rewrite] = []
        self._settled = True
        self._trouble = ""
        state.may_send = self.may_send
        state.seed_has_moved = lambda seed: self._do(("tell", seed), self._spread(seed))
        state.job.on_change = self._keep

    # What the engine asks

    @property
    def is_over(self) -> bool:
        """Nothing waits at any node."""
        return self._is_over

    @property
    def epoch(self) -> int:
        """The number of the node's life."""
        return self._epoch

    @property
    def nodes(self) -> dict[int, Node]:
        """All nodes, as last heard."""
        return self._nodes

    def may_send(self) -> bool:
        """Tell whether the node's servers are its own at this moment, and there is room for what is found."""
        return (
            self._lease.holds(self._state.now())
            and self._shares.is_known
            and self._outbox.waiting < self._state.settings.max_unheard
        )

    def may_commit(self) -> bool:
        """Tell whether what was fetched is the node's to write."""
        return self._lease.holds(self._state.now())

    # Its life

    async def join(self) -> bool:
        """Join the crawl; tell whether the store has what waits, else this job may have what the store has lost.

        Raises:
            ClusterError: it cannot.
        """
        job = self._state.job
        for number, data in job.outbox():
            self._outbox.restore(number, decode(data))
        self._set_aside_ended()
        try:
            joined = await self._enter(again=not job.is_new)
            if joined.predecessor:
                with contextlib.suppress(BuriedError, LostError):  # the first report sees to it
                    await self._store.bury(joined.predecessor, to=self._epoch)
        except UnreachableError as error:
            raise ClusterError(f"cannot reach the store: {error}") from None
        for text in joined.told:
            self._hear(text)
        if joined.settled:
            job.forget_queue()
        return joined.settled

    async def _enter(self, *, again: bool) -> Joined:
        """Get an epoch."""
        sent_at = self._state.now()
        joined = await self._store.join(
            self._cluster.node,
            token=self._state.job.token,
            config=self._cluster.config,
            again=again,
        )
        self._epoch, self._generation = joined.epoch, joined.generation
        self._settled = joined.settled
        if self._members is not None:
            with contextlib.suppress(UnreachableError):  # it is tried again
                await self._members.enter(joined.epoch, self._cluster.node)
        self._lease = self._new_lease()
        self._lease.confirmed(Judge.STORE, sent_at, self._state.now())
        self._watch.gap()
        return joined

    def _new_lease(self) -> Lease:
        members = self._lease_time if self._members is None else self._members.ttl
        return Lease({Judge.STORE: self._lease_time, Judge.MEMBERS: members})

    async def run(self) -> None:
        """Speak, until cancelled."""
        confirming = asyncio.create_task(self._confirm())
        try:
            if not self._settled:
                self._say_all()
            while True:
                began = self._state.now()
                was_heard = await self._speak()
                await self._rest(began, may_hurry=was_heard)
        finally:
            confirming.cancel()
            for task in self._tasks.values():
                task.cancel()
            self._handover.close()

    async def _rest(self, began: float, *, may_hurry: bool) -> None:
        """Wait for the next heart-beat, or until there is something to say and little to do; not so where the store is in trouble."""
        period = self._state.settings.heartbeat
        while self._state.now() < began + period:
            if self._outbox.is_behind and not self._trouble:
                return
            await asyncio.sleep(period / _STEPS)
            self._handover.see_to_leaving()
            if may_hurry and self._outbox and self._frontier.queued < self._enough():
                return
            if self._totals is not None and not self._totals.waiting:
                return  # all may be done

    def _enough(self) -> float:
        """Return how many URLs are enough until the next heart-beat."""
        return max(_HUNGRY, 2 * self._pulse.rate * self._state.settings.heartbeat)

    async def leave(self, commit: Callable[[], Awaitable[None]]) -> None:
        """Hand over all servers, and leave. What cannot be said now is said by the next start, or found out by the others."""
        for key in list(self._frontier.servers):
            self._handover.give(key)
        try:
            async with asyncio.timeout(_LEAVING):
                while self._handover.is_leaving or self._outbox:
                    await commit()
                    if not await self._speak():
                        await asyncio.sleep(self._state.settings.heartbeat)
                await commit()  # that all was heard
                await self._store.leave()
        except (TimeoutError, UnreachableError, BuriedError, LostError, ClusterError):
            self._tell(
                "the store could not be told that this node leaves: the others will take it for dead"
            )
        if self._members is not None:
            with contextlib.suppress(UnreachableError, ClusterError):
                await self._members.leave()

    # Commits

    def before_commit(self) -> Outgoing:
        """Return what the commit that comes now must keep."""
        self._handover.see_to_leaving()
        self._packed = self._handover.packed()
        ended = self._frontier.ended()
        self._rewritten = self._handover.rewritten(ended)
        return Outgoing(*self._outbox.changes(ended))

    def after_commit(self) -> None:
        """The commit is on disk."""
        self._outbox.committed()
        for part in self._rewritten:
            key = part.server
            if not (self._outbox.has_links(key) or self._handover.has_grown(key)):
                self._outbox.say(part)  # else some links have come meanwhile that are not in it
        self._handover.send(self._packed)
        self._packed = []

    def _keep(self, key: str) -> None:
        """What the next owner of a server must know has changed."""
        server = self._frontier.servers.get(key)
        if server is not None:
            self._handover.keep(server)

    # Speaking

    async def _speak(self) -> bool:
        """Send a report and take its answer; tell whether there was one."""
        sent_at = self._state.now()
        report = self._outbox.report(self._beat())
        if report.number != self._sent[0]:
            self._sent = report.number, sent_at
        try:
            answer = await self._store.exchange(report)
        except UnreachableError as error:
            self._missed(
                f"the store does not answer ({error}); the crawl goes on with what is here"
            )
            return False
        except ClusterError as error:
            self._missed(str(error))
            return False
        except BuriedError:
            await self._rejoin()
            return False
        except LostError:
            await self._rebuild()
            return False
        self._trouble = ""
        now = self._state.now()
        self._lease.confirmed(Judge.STORE, self._sent[1], now)
        self._watch.observe(answer.nodes, sent_at, now)
        for kept, given in self._outbox.heard(answer.parts):
            self._take(kept, given)
        self._handover.mail(answer.mail, self._epoch)
        self._handover.open(answer.grants)
        self._look_at(answer, now)
        self._state.wake()
        return True

    def _missed(self, problem: str) -> None:
        self._watch.gap()
        self._tell(problem)

    def _tell(self, problem: str) -> None:
        """Tell the user once what is wrong."""
        if problem != self._trouble and self._state.emit is not None:
            self._state.emit(Event(event="cluster.trouble", detail=problem))
        self._trouble = problem

    def _take(self, kept: Kept, answer: object) -> None:
        """Take what a part of a report was answered."""
        part = kept.part
        if isinstance(answer, Marked):
            planned = self._planned(part.server) if answer.taken else None  # type: ignore[union-attr]
            if planned is None:
                self._handover.marked(kept, answer, self._epoch)
            else:
                self._outbox.say(Give(part.server, planned))  # type: ignore[union-attr]
        elif isinstance(part, Take):
            self._is_taking = False
            assert isinstance(answer, list)
            self._handover.open(answer)
        elif isinstance(part, Give):
            self._handover.given(part.server)
        elif isinstance(part, Rewrite) and answer:
            self._handover.was_rewritten(part)
        elif isinstance(part, Own | Ended) and not answer:
            self._handover.lose(part.server)

    def _keep_to_plan(self, came: Collection[int]) -> None:
        """Give nodes that have just come the servers that they are to have at first."""
        if came and self._cluster.owners:
            for key in list(self._frontier.servers):
                planned = self._planned(key)
                if planned is not None and planned in came:
                    self._handover.give(key, planned)

    def _planned(self, server: str) -> int | None:
        """Return the other node that is to have a server at first, if it is there."""
        epoch = self._cluster.planned(server, self._nodes.values())
        return None if epoch == self._epoch else epoch

    def _look_at(self, answer: Answer, now: float) -> None:
        """See who is there, who is not, and whether all is done."""
        came = answer.nodes.keys() - self._nodes.keys()
        self._nodes = answer.nodes
        beats = {
            epoch: msgspec.msgpack.decode(node.beat, type=Beat)
            for epoch, node in answer.nodes.items()
            if node.beat
        }
        self._loads = {epoch: beat.load for epoch, beat in beats.items()}
        self._shares.divide(self._epoch, answer.nodes, beats)
        before, self._totals = self._totals, answer.totals
        self._is_over = (
            before is not None
            and not answer.totals.waiting
            and not before.waiting
            and answer.totals.changes == before.changes
            and not self._outbox
        )
        for epoch, count in self._watch.silent(now).items():
            if epoch != self._epoch:
                self._do(epoch, self._bury(epoch, count))
        if answer.news != self._news:
            self._news = answer.news
            self._do("news", self._listen())
        if not self._is_over and not self._state.stopping and self._settled:
            self._keep_to_plan(came)
            self._balance(answer.totals)

    def _do(self, what: object, work: Coroutine[Any, Any, None]) -> None:
        """Do something besides, unless it is being done."""
        if what in self._tasks:
            work.close()
            return
        task = self._tasks[what] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._tasks.pop(what, None))

    def _beat(self) -> bytes:
        beat = self._pulse.beat(
            self._nodes,
            lease=self._lease_time,
            unheard=self._outbox.waiting,
            fetched=self._shares.fetched,
        )
        return msgspec.msgpack.encode(beat)

    def _balance(self, totals: Totals) -> None:
        """Give servers to the pool, or take some from it."""
        if self._handover.is_busy or self._is_taking:
            return
        loads = self._loads | {self._epoch: self._pulse.load()}
        move = self._cluster.balance.decide(
            self._epoch, loads, waiting=totals.waiting, pool=totals.pool
        )
        if move.give:
            servers = self._frontier.servers.values()
            sizes = ((each.key, each.queued, each.visits > 0) for each in servers if each.queued)
            for key in choose(sizes, move.give):
                self._handover.give(key)
        elif move.take:
            self._is_taking = True
            self._outbox.say(Take(move.take))

    # Others

    async def _confirm(self) -> None:
        """Let the members know that this node lives."""
        while self._members is not None:
            sent_at = self._state.now()
            with contextlib.suppress(UnreachableError, ClusterError):
                await self._members.confirm()
                self._lease.confirmed(Judge.MEMBERS, sent_at, self._state.now())
            await asyncio.sleep(self._state.settings.heartbeat)

    async def _bury(self, epoch: int, count: int) -> None:
        """A node has been silent for a whole lease: it is dead, unless the members know better."""
        name = self._nodes[epoch].name
        with contextlib.suppress(UnreachableError, BuriedError, LostError, ClusterError):
            if self._members is not None and epoch in await self._members.present():
                return
            if await self._store.bury(epoch, count=count):
                self._emit("cluster.buried", f"node {name} is dead: its servers go to the others")

    async def _listen(self) -> None:
        """Hear what others have told."""
        try:
            for text in await self._store.told():
                self._hear(text)
        except (UnreachableError, LostError, ClusterError):
            self._news = -1  # again

    async def _spread(self, seed: str) -> None:
        """Tell the others that a seed has moved."""
        while True:
            with contextlib.suppress(UnreachableError, LostError, ClusterError):
                await self._store.tell(seed)
                return
            await asyncio.sleep(self._state.settings.heartbeat)

    def _hear(self, seed: str) -> None:
        """Another node's seed has moved: the crawl moves with it."""
        self._state.scope.add(seed)

    # When all is lost

    async def _rejoin(self) -> None:
        """Others have taken this node for dead: what it has not committed it forgets, and begins anew."""
        self._emit("cluster.fenced", "the other nodes took this one for dead; it joins again")
        self._lease.end()
        self._outbox.restart()
        self._set_aside_ended()
        self._frontier.discard()
        self._state.discard()
        self._handover.forget()
        await self._begin_anew()

    async def _rebuild(self) -> None:
        """The store has lost its data: it is told what this node holds."""
        self._emit("cluster.lost", "the store has lost its data; it is told what this node holds")
        self._outbox.restart()
        self._set_aside_ended()
        self._handover.restart()
        if not await self._begin_anew():
            return
        if self._settled:
            self._handover.offer_all()
        else:
            self._say_all()

    async def _begin_anew(self) -> bool:
        """Get another epoch; tell whether that was possible, else it is tried again."""
        for kind in (Keep, Give, Take, Heard, Rewrite, Own, Known):
            self._outbox.drop(kind)
        self._packed, self._rewritten = [], []  # a commit may be under way
        self._is_taking = False
        self._totals = None
        try:
            joined = await self._enter(again=True)
            if joined.predecessor:
                await self._store.bury(joined.predecessor, to=self._epoch)
        except (UnreachableError, BuriedError, LostError, ClusterError) as error:
            self._missed(str(error))
            return False
        return True

    def _set_aside_ended(self) -> None:
        """URLs have ended of which another epoch of this node could not say so: it is said when their servers are granted to it again."""
        for part in self._outbox.drop(Ended):
            assert isinstance(part, Ended)
            self._handover.before.update(unpack(part.fingerprints))

    def _say_all(self) -> None:
        """Say all that this node holds; what it finds meanwhile waits until all others have had time to do so, too."""
        self._handover.say_all()
        self._do("settle", self._settle())

    async def _settle(self) -> None:
        await asyncio.sleep(self._lease_time)
        while not self._settled:
            with contextlib.suppress(UnreachableError, BuriedError, LostError, ClusterError):
                await self._store.settle()
                self._settled = True
                self._outbox.release()
                return
            await asyncio.sleep(self._state.settings.heartbeat)

    def _emit(self, name: str, detail: str) -> None:
        if self._state.emit is not None:
            self._state.emit(Event(event=name, detail=detail))
