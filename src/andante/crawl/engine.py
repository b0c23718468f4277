"""The engine: the loop that joins the rooms.

It decides in one place, `_dispatch`, which servers are visited now; visits do the rest. Whatever may change that decision (a visit
ended, links came, a commit made room, a time has come) asks for another dispatch.
"""

from __future__ import annotations

import asyncio
import contextlib
from math import inf
from typing import TYPE_CHECKING

import msgspec

from andante.crawl.changes import decisive
from andante.crawl.state import State
from andante.crawl.throttle import Throttle
from andante.crawl.visit import Visitor
from andante.flow import Sample
from andante.observe import Event
from andante.observe.progress import Snapshot
from andante.store import JobError
from andante.store.job import NOTHING_OUTGOING
from andante.units import format_duration

if TYPE_CHECKING:
    from andante.crawl.peer import Peer

_GRACE = 2.0
"""Seconds that a clean stop waits for responses under way; what is cut off is fetched again by the next start."""

SAMPLE_PERIOD = 10
"""Seconds between the rows of a server's time series."""

SERVERS_SAMPLED = 100
"""Servers, the busiest, that get a row each time."""


class Engine:
    """Runs a crawl; one engine, one run.

    Args:
        state: of the crawl.
        peer: joins it to others; None: it is alone.
    """

    def __init__(self, state: State, peer: Peer | None = None) -> None:
        self.state = state
        self.peer = peer
        state.wake = self._dispatch_soon
        state.flush = self._flush
        self._throttle = Throttle(state)
        self._visitor = Visitor(state, self._throttle)
        state.forget = self._visitor.forget
        self._visits: dict[asyncio.Task[None], None] = {}  # in order: runs can be had again
        self._timer: asyncio.TimerHandle | None = None
        self._dispatch_due = False
        self._next_opening = -inf
        self._samples: list[Sample] = []
        self._failure: BaseException | None = None
        self._done = asyncio.Event()
        self._commit_due = asyncio.Event()
        self._committed = asyncio.Event()  # set for a moment by each commit
        self._loop = asyncio.get_running_loop()
        self._started = state.now()
        self._seconds_before = state.stats.seconds
        self._pages_before = state.stats.pages
        self._processor_before = state.stats.processor - state.usage().processor

    async def run(self) -> None:
        """Crawl until nothing is left or a limit is met, and commit.

        Raises:
            OSError: the disk is full or failing; what was committed before stands.
            JobError: the file of set-points cannot be read; nothing was asked for.
        """
        state = self.state
        self._take_rates()
        if self.peer is None or not await self.peer.join():
            state.job.restore(state.frontier, state.total, now=state.now(), wall=state.wall())
        if state.appraiser is None:
            state.frontier.offer(state.seeds, depth=0)
        else:
            state.appraiser.offer_seeds(state.seeds)
        self._emit("crawl.started")
        commits = self._loop.create_task(self._commit_regularly())
        watch = self._loop.create_task(self._watch())
        watch.add_done_callback(self._watch_done)
        tasks = [watch]
        if self.peer is not None:
            tasks.append(self._loop.create_task(self.peer.run()))
            tasks[-1].add_done_callback(self._watch_done)
        timers = []
        if state.settings.max_time is not None:
            timers.append(self._loop.call_later(state.settings.max_time, self.stop, "max_time"))
        self._dispatch_soon()
        try:
            await self._done.wait()
        finally:
            self._done.set()
            self._commit_due.set()  # ends the task that commits
            for timer in timers:
                timer.cancel()
            for task in tasks:
                task.cancel()
            await self._end_visits()
            await commits
        if self._failure is not None:
            raise self._failure
        self._take_samples()
        await self._commit()
        if self.peer is not None:
            await self.peer.leave(self._commit)
        state.job.finish()
        self._emit("crawl.finished")

    def stop(self, reason: str) -> None:
        """Stop cleanly: no new requests, a short wait for responses under way, a last commit."""
        self.state.stopping = self.state.stopping or reason
        self._loop.call_later(_GRACE, self._done.set)
        self._dispatch_soon()

    def snapshot(self) -> Snapshot:
        """Return what the crawl looks like now."""
        state, elapsed = self.state, self.state.now() - self._started
        usage = state.usage()
        state.stats.seconds = self._seconds_before + elapsed
        state.stats.processor = self._processor_before + usage.processor
        state.stats.memory = max(state.stats.memory, usage.memory)
        return Snapshot(
            stats=state.stats,
            known=state.frontier.known,
            queued=state.frontier.queued,
            servers=len(state.frontier.servers),
            visits=len(self._visits),
            elapsed=elapsed,
            pages_before=self._pages_before,
            max_pages=state.settings.max_pages,
            max_time=state.settings.max_time,
            doing=f"stopping ({state.stopping})" if state.stopping else "crawling",
            waiting=self._waiting(),
            speeds=self._samples,
        )

    def _waiting(self) -> str:
        frontier = self.state.frontier
        wakeup = frontier.wakeup()
        if self._visits or not frontier.queued:
            return ""
        if not self.state.total.set_point or (wakeup is None and self._throttle.has_paused):
            return "andante rate: what is left is paused"
        wait = 0.0 if wakeup is None else wakeup - self.state.now()
        return f"a server that may be asked in {format_duration(wait)}" if wait > 1 else ""

    # Visits

    def _dispatch_soon(self) -> None:
        """Look, in this turn of the loop, for servers to visit."""
        if not self._dispatch_due:
            self._dispatch_due = True
            self._loop.call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._dispatch_due = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        state, now = self.state, self.state.now()
        while self._has_room() and self._opening() <= now:
            server = state.frontier.open_visit(now)
            if server is None:
                break
            self._next_opening = now + state.total.gap
            task = self._loop.create_task(self._visitor.visit(server))
            self._visits[task] = None
            task.add_done_callback(self._visit_done)
        if not self._visits and self._is_over():
            self._done.set()
        elif self._has_room() and (wakeup := state.frontier.wakeup()) is not None:
            wait = max(wakeup, self._opening()) - now
            if wait < inf:
                self._timer = self._loop.call_later(max(wait, 0.001), self._dispatch_soon)

    def _opening(self) -> float:
        """Return the time before which no visit is opened.

        Under a total rate there is one visit for each request that may go: others would connect only to find that it has gone.
        """
        return max(self._next_opening, self.state.total.next_time)

    def _has_room(self) -> bool:
        return len(self._visits) < self._throttle.connections and self.state.has_room()

    def _is_over(self) -> bool:
        state, limit = self.state, self.state.settings.max_pages
        is_alone_full = self.peer is None and limit is not None and state.stats.pages >= limit
        if state.is_full or is_alone_full:
            state.stopping = state.stopping or "max_pages"
        if self.peer is not None and not self.peer.is_over:
            return bool(state.stopping)
        return bool(state.stopping) or not state.frontier.queued

    def _visit_done(self, task: asyncio.Task[None]) -> None:
        self._visits.pop(task, None)
        self._next_opening = -inf  # it may have ended without a request
        if not task.cancelled() and (error := task.exception()):
            self._fail(error)
        self._dispatch_soon()

    async def _end_visits(self) -> None:
        self.state.stopping = self.state.stopping or "done"
        for task in self._visits:
            task.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
        self._visitor.close()

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self.state.stopping = self.state.stopping or "error"
        self._done.set()

    # Speed

    async def _watch(self) -> None:
        """See to new set-points each second, and take a sample of all servers each `SAMPLE_PERIOD`."""
        while True:
            for _ in range(SAMPLE_PERIOD):
                await asyncio.sleep(1)
                try:
                    self._take_rates()
                except JobError as error:
                    self._emit_event(Event(event="rates.refused", detail=str(error)))
            self._take_samples()

    def _watch_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self._fail(error)

    def _take_rates(self) -> None:
        """Take the set-points that the user has given the job, if they have changed."""
        file = self.state.job.rates
        if file is not None and (rates := file.changed()) is not None:
            self._throttle.change(rates)
            given = msgspec.to_builtins(rates)
            self._emit_event(Event(event="rates.changed", speed=given))

    def _take_samples(self) -> None:
        samples = self._throttle.samples()
        samples.sort(key=lambda sample: sample.rate, reverse=True)
        self._samples = samples[:SERVERS_SAMPLED]
        self.state.job.sample(self._samples)
        for sample in self._samples:
            self._emit_event(Event.of(sample))

    def _emit_event(self, event: Event) -> None:
        if self.state.emit is not None:
            self.state.emit(event)

    # Commits

    async def _commit_regularly(self) -> None:
        while not self._done.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._commit_due.wait(), self.state.settings.commit_interval)
            if self._done.is_set():
                return
            self._commit_due.clear()
            try:
                await self._commit()
            except OSError as error:
                self._fail(error)
            self._dispatch_soon()

    async def _flush(self) -> None:
        self._commit_due.set()
        await self._committed.wait()

    async def _commit(self) -> None:
        state, peer = self.state, self.peer
        if peer is not None and not peer.may_commit():
            return  # whether the pages are this node's will be seen
        self.snapshot()  # brings the running time up to date
        await state.job.commit(
            state.frontier,
            outbox=NOTHING_OUTGOING if peer is None else peer.before_commit(),
            stats=state.stats.to_dict(),
            seeds=state.seeds,
            settings=decisive(state.settings),
        )
        self._committed.set()
        self._committed.clear()
        if peer is not None:
            peer.after_commit()

    def _emit(self, name: str) -> None:
        state = self.state
        counts = {"known": state.frontier.known, "queued": state.frontier.queued}
        self._emit_event(
            Event(event=name, counts=counts | state.stats.to_dict(), reason=state.stopping)
        )
