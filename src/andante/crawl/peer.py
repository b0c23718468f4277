"""A node's part in a cluster: it tells the shared store what it finds, and takes from it what is its own.

The crawl itself goes on meanwhile: nothing here is waited for by a fetch. What a fetch needs of the cluster is one comparison, `Peer.may_send`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import msgspec

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
    Links,
    LostError,
    Marked,
    Node,
    OtherSettingsError,
    Own,
    Rewrite,
    Take,
    Totals,
    UnreachableError,
)
from andante.cluster.frontier import SharedFrontier
from andante.cluster.lease import Judge, Watch
from andante.cluster.outbox import Kept, Outbox, decode
from andante.crawl.admission import Admission
from andante.crawl.balancing import Balancing
from andante.crawl.cluster import Cluster
from andante.crawl.handover import Handover
from andante.crawl.join import differing
from andante.crawl.news import News
from andante.crawl.presence import Presence
from andante.crawl.pulse import Pulse, Shares, read_beat
from andante.crawl.state import State
from andante.observe import Event
from andante.store.job import Outgoing

_HUNGRY = 64
"""URLs below which a node speaks as soon as it has something to say."""

_STEPS = 20
"""Times in a heart-beat that it looks whether it should."""

_LEAVING = 10.0
"""Seconds that a node which leaves tries to hand over what it has."""


class Peer:
    """Speaks for a node with the shared store, at each heart-beat and sooner while there is little to do.

    Args:
        state: of the crawl.
        cluster: whom it is shared with.
        outbox: takes what the node has to say.
        moved: seeds that the job has and the user did not give: where seeds have moved to. An earlier life may have ended before it could tell the others.
    """

    def __init__(
        self, state: State, cluster: Cluster, outbox: Outbox, moved: Sequence[str] = ()
    ) -> None:
        assert isinstance(state.frontier, SharedFrontier)
        self._state = state
        self._frontier = state.frontier
        self._outbox = outbox
        self._cluster = cluster
        self._store = cluster.store
        self._presence = Presence(state, cluster)
        self._lease = self._presence.new_lease()
        self._watch = Watch(self._presence.lease)
        self._admission = Admission(state, lambda: self._news.listen(self._news.count))
        self._news = News(self._store, self._hear)
        self._handover = Handover(state, self._frontier, outbox, self._store, self._admission)
        self._pulse = Pulse(state, self._frontier, self._handover, cluster.busy)
        self._balancing = Balancing(cluster, self._frontier, self._handover, outbox, self._pulse)
        self._shares = Shares(state)
        self._epoch = POOL
        self._generation = ""
        self._nodes: dict[int, Node] = {}
        self._have_told = False
        self._totals: Totals | None = None
        self._is_over = False
        self._sent: tuple[int, float] = (0, 0.0)
        self._tasks: dict[object, asyncio.Task[None]] = {}
        self._packed: list[tuple[str, int, bytes]] = []
        self._rewritten: list[Rewrite] = []
        self._settled = True
        self._settling: asyncio.Task[None] | None = None
        self._is_told = True
        self._to_enter = False
        self._trouble = ""
        self._changed: dict[str, None] = {}
        state.may_send = self.may_send
        state.seed_has_moved = self._news.say
        for seed in moved:
            self._news.say(seed)
        state.job.on_change = self._keep

    # What the engine asks

    @property
    def is_over(self) -> bool:
        """Nothing waits at any node."""
        return self._is_over

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
        self._handover.set_aside_ended()
        sent_at = self._state.now()
        try:
            had_begun = job.was_shared or await self._presence.has_any()
            joined = await self._ask_for_epoch(again=had_begun)
            self._begin(joined)
            with contextlib.suppress(BuriedError, LostError):  # the first report sees to it
                await self._bury_earlier(joined)
        except OtherSettingsError as error:
            names = ", ".join(differing(error.config, self._cluster.config))
            raise ClusterError(f"{error}: {names}; give all its nodes the same") from None
        except UnreachableError as error:
            raise ClusterError(f"cannot reach the store: {error}") from None
        await self._presence.enter(joined.epoch)
        self._lease.confirmed(Judge.STORE, sent_at, self._state.now())
        self._news.hear(joined.told)
        self._is_told = job.generation in ("", joined.generation)
        if self._is_told:
            job.forget_queue()
        return self._is_told

    async def _ask_for_epoch(self, *, again: bool) -> Joined:
        return await self._store.join(
            self._cluster.node,
            token=self._state.job.token,
            config=self._cluster.config,
            again=again,
        )

    def _begin(self, joined: Joined) -> None:
        """Begin an epoch."""
        self._epoch, self._generation = joined.epoch, joined.generation
        self._settled = joined.settled
        self._nodes, self._have_told = {}, False
        self._watch.gap()

    async def _bury_earlier(self, joined: Joined) -> None:
        """End an earlier epoch of this node."""
        if joined.predecessor:
            await self._store.bury(joined.predecessor, to=joined.epoch)

    async def run(self) -> None:
        """Speak, until cancelled."""
        confirming = asyncio.create_task(self._presence.confirm(lambda: self._lease))
        try:
            self._tell_store(owns=False)
            while True:
                began = self._state.now()
                was_heard = await self._speak()
                await self._rest(began, may_hurry=was_heard)
        finally:
            confirming.cancel()
            self._end_tasks()

    def _end_tasks(self) -> None:
        for task in (*self._tasks.values(), *filter(None, [self._settling])):
            task.cancel()
        self._handover.close()

    async def _rest(self, began: float, *, may_hurry: bool) -> None:
        """Wait for the next heart-beat, or until there is something to say and little to do; not so where the store is in trouble."""
        period = self._state.settings.heartbeat
        while self._state.now() < began + period:
            if self._outbox.is_behind and not self._trouble:
                return
            await asyncio.sleep(period / _STEPS)
            if self._handover.failure is not None:
                raise self._handover.failure
            self._handover.see_to_leaving()
            is_hungry = self._outbox and self._frontier.queued < self._enough()
            if may_hurry and (is_hungry or self._shares.is_pressing):
                return
            if self._totals is not None and not self._totals.waiting:
                return  # all may be done

    def _enough(self) -> float:
        """Return how many URLs are enough until the next heart-beat."""
        return max(_HUNGRY, 2 * self._pulse.rate * self._state.settings.heartbeat)

    async def leave(self, commit: Callable[[], Awaitable[None]]) -> None:
        """Hand over all servers, and leave. What cannot be said now is said by the next start, or found out by the others."""
        try:
            async with asyncio.timeout(_LEAVING):
                while True:
                    if await self._speak() and self._settled:
                        break  # else the job keeps what waits
                    await asyncio.sleep(self._state.settings.heartbeat)
                for key in list(self._frontier.servers):
                    self._handover.give(key)
                while self._handover.is_leaving or self._outbox:
                    await commit()
                    if not await self._speak():
                        await asyncio.sleep(self._state.settings.heartbeat)
                await commit()  # that all was heard
                if parting := self._shares.parting(self._cluster.node):
                    await self._store.tell(parting)
                await self._store.leave()
        except (TimeoutError, UnreachableError, BuriedError, LostError, ClusterError):
            self._tell(
                "the store could not be told that this node leaves: the others will take it for dead"
            )
        finally:
            self._end_tasks()
        await self._presence.leave()

    # Commits

    def before_commit(self) -> Outgoing:
        """Return what the commit that comes now must keep."""
        self._handover.see_to_leaving()
        self._packed = self._handover.packed()
        ended = self._frontier.ended()
        self._rewritten = self._handover.rewritten(ended)
        if self._is_told and not self._outbox.is_telling:
            self._state.job.generation = self._generation
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
        """What the next owner of a server must know has changed: the store is told with the next report."""
        self._changed[key] = None

    def _keep_changed(self) -> None:
        for key in self._changed:
            if (server := self._frontier.servers.get(key)) is not None:
                self._handover.keep(server)
        self._changed.clear()

    # Speaking

    async def _speak(self) -> bool:
        """Send a report and take its answer; tell whether there was one."""
        sent_at = self._state.now()
        self._keep_changed()
        report = self._outbox.report(self._beat())
        if report.number != self._sent[0]:
            self._sent = report.number, sent_at
        try:
            await self._news.tell()  # before the links that are in scope by it
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
            self._emit("cluster.fenced", "the other nodes took this one for dead; it joins again")
            self._lease.end()
            await self._rejoin()
            return False
        except LostError:
            self._emit(
                "cluster.lost", "the store has lost its data; it is told what this node holds"
            )
            self._is_told = False
            await self._rejoin()
            return False
        if self._trouble:
            self._trouble = ""
            self._emit("cluster.mended", "the store answers again")
        now = self._state.now()
        self._watch.observe(answer.nodes, sent_at, now)
        heard = self._outbox.heard(answer.parts)
        if any(isinstance(kept.part, Own) and not given for kept, given in heard):
            self._lease.end()  # the store was settled before: this node's servers may be others'
            self._is_told = False
            await self._rejoin()
            return False
        for kept, given in heard:
            self._take(kept, given)
        if not self._outbox.is_claiming:
            self._lease.confirmed(Judge.STORE, self._sent[1], now)
            if self._to_enter:
                self._to_enter = False
                self._do("enter", self._presence.enter(self._epoch))
        if answer.news == self._news.count or await self._news.listen(answer.news):
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
        if problem != self._trouble:
            self._emit("cluster.trouble", problem)
        self._trouble = problem

    def _take(self, kept: Kept, answer: object) -> None:
        """Take what a part of a report was answered."""
        part = kept.part
        if isinstance(part, Links):
            assert isinstance(answer, Marked)
            planned = self._balancing.planned(part.server, self._epoch, self._nodes)
            if planned is not None and answer.taken and part.fingerprints:
                self._handover.pass_on(part.server, planned)
            else:
                self._handover.marked(kept, answer, self._epoch)
        elif isinstance(part, Take):
            self._balancing.is_taking = False
            assert isinstance(answer, list)
            self._handover.open(answer)
        elif isinstance(part, Give):
            self._handover.given(part.server)
        elif isinstance(part, Rewrite):
            self._handover.was_rewritten(part, done=bool(answer))
        elif isinstance(part, Ended) and not answer:
            self._handover.lose(part.server)

    def _look_at(self, answer: Answer, now: float) -> None:
        """See who is there, who is not, and whether all is done."""
        self._nodes = answer.nodes
        found = {epoch: read_beat(node) for epoch, node in answer.nodes.items()}
        beats = {epoch: beat for epoch, beat in found.items() if beat is not None}
        self._have_told = all(epoch in beats and not beats[epoch].telling for epoch in answer.nodes)
        self._shares.divide_rate(self._epoch, answer.nodes, beats, settled=answer.settled)
        if answer.news == self._news.count:  # all is known of those who have left
            waiting = self._frontier.queued + self._handover.arriving
            self._shares.divide_pages(self._epoch, answer.nodes, beats, waiting=waiting)
        before, self._totals = self._totals, answer.totals
        self._is_over = (
            before is not None
            and not answer.totals.waiting
            and not before.waiting
            and answer.totals.changes == before.changes
            and not self._outbox
            and answer.settled
        )
        for epoch, count in self._watch.silent(now).items():
            if epoch != self._epoch:
                self._do(epoch, self._bury(epoch, count))
        if not self._is_over and not self._state.stopping and self._settled:
            self._balancing.move(self._epoch, answer.nodes, beats, answer.totals)

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
            lease=self._presence.lease,
            unheard=self._outbox.waiting,
            fetched=self._shares.fetched,
            telling=self._outbox.is_telling,
            claim=self._shares.claim(),
        )
        return msgspec.msgpack.encode(beat)

    # Others

    async def _bury(self, epoch: int, count: int) -> None:
        """A node has been silent for a whole lease: it is dead, unless the members know better."""
        name = self._nodes[epoch].name
        with contextlib.suppress(UnreachableError, BuriedError, LostError, ClusterError):
            if await self._presence.is_gone(epoch) and await self._store.bury(epoch, count=count):
                self._emit("cluster.buried", f"node {name} is dead: its servers go to the others")

    def _hear(self, text: str) -> None:
        """Another node has left; or its seed has moved, and the crawl moves with it."""
        if not self._shares.hear(text) and self._admission.seed(text):
            self._state.scope.add(text)

    # When all is lost

    async def _rejoin(self) -> None:
        """Begin another epoch. A node whose lease has ended may have lost its servers to others: what it has not committed it forgets.

        If it cannot, it is tried again: the store refuses what the old epoch says.
        """
        self._is_told = self._is_told and not self._outbox.is_telling
        sent_at = self._state.now()
        try:
            joined = await self._ask_for_epoch(again=True)
        except (UnreachableError, BuriedError, LostError, ClusterError) as error:
            self._missed(str(error))
            return
        while self._outbox.is_committing:  # noqa: ASYNC110  # the disk's thread has it
            await asyncio.sleep(self._state.settings.heartbeat / _STEPS)
        self._begin(joined)
        self._outbox.restart()
        self._news.say_again()
        for kind in (Keep, Give, Take, Heard, Rewrite, Own, Known):
            self._outbox.drop(kind)
        self._handover.set_aside_ended()
        self._packed, self._rewritten = [], []  # a commit may be under way
        self._balancing.is_taking = False
        self._totals = None
        self._shares.begin()
        owns = self._lease.holds(self._state.now()) and not self._settled
        self._tell_store(owns=owns)
        if not owns:
            self._frontier.discard()
            self._state.discard()
            self._lease = self._presence.new_lease()
            self._lease.confirmed(Judge.STORE, sent_at, self._state.now())
            self._do("enter", self._presence.enter(joined.epoch))
        with contextlib.suppress(UnreachableError, BuriedError, LostError, ClusterError):
            await self._bury_earlier(joined)  # else its silence is seen

    def _tell_store(self, *, owns: bool) -> None:
        """Tell the store what this node holds, unless it knows; while it is not settled, what was found waits until all others have had time to do so, too.

        Args:
            owns: the node's servers are certainly its own.
        """
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
        if not self._settled:
            self._outbox.hold()
            self._settling = asyncio.create_task(self._settle())
        if owns:
            self._handover.claim_all()
            self._to_enter = True  # until all is claimed, others wait for the epoch before
        else:
            if not self._is_told:
                self._handover.offer_all()
            self._handover.forget()
        self._is_told = True

    async def _settle(self) -> None:
        """Wait until the others have told what they hold, too; then what was found may be said."""
        await self._presence.rest(lambda: self._nodes, lambda: self._have_told)
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
