"""The engine: the loop that joins the rooms.

It decides in one place, `_dispatch`, which servers are visited now; visits do the rest. Whatever may change that decision (a visit ended, links
came, a commit made room, a time has come) asks for another dispatch.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from andante import url as urls
from andante.crawl.ends import Ends
from andante.crawl.parked import Parked
from andante.crawl.robots import RobotsBook
from andante.crawl.settings import Settings
from andante.crawl.visit import visit
from andante.fetch import Client, Cookies, RequestTemplate
from andante.flow import Pace
from andante.frontier import Frontier, Server, Task
from andante.observe import Event, Stats
from andante.observe.progress import Snapshot
from andante.page import Page
from andante.store import Job

_GRACE = 2.0
"""Seconds that a clean stop waits for responses under way; what is cut off is fetched again by the next start."""


class Engine:
    """One run of a crawl.

    Args:
        seeds: canonical URLs to start from.
        deliver: takes each page, for the Python interface; None where nobody listens.
        emit: takes each event; None where nobody listens.
        clock: gives the time in seconds that all waiting is measured by. The loop's own clock will not do: uvloop reads it once a turn, and a
            pause measured from the start of a long turn is too short.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        job: Job,
        client: Client,
        scope: urls.Scope,
        seeds: Sequence[str],
        deliver: Callable[[Page], Awaitable[None]] | None = None,
        emit: Callable[[Event], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.job = job
        self.client = client
        self.scope = scope
        self.now = clock
        self._seeds = list(seeds)
        self.deliver = deliver
        self.emit = emit
        self.stats = Stats.from_dict(job.stats)
        self.frontier = Frontier(
            job.load,
            interval=settings.interval,
            delay=settings.delay,
            per_server=settings.per_server,
            per_address=settings.per_ip,
        )
        self.total = Pace(interval=60 / settings.total_rate)
        self.parked = Parked(settings.connections)
        self.robots = RobotsBook(self)
        self.ends = Ends(self)
        self.cookies = Cookies() if settings.cookies else None
        self.in_hand = 0
        self.stopping = ""
        """Why the crawl is being stopped; empty while it is not."""
        self._requests = RequestTemplate(user_agent=settings.user_agent, headers=settings.header)
        self._visits: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._dispatch_due = False
        self._failure: BaseException | None = None
        self._done = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._started = clock()
        self._epoch = time.time() - self._started
        self._seconds_before = self.stats.seconds

    # The run

    async def run(self) -> None:
        """Crawl until nothing is left or a limit is met, and commit.

        Raises:
            OSError: the disk is full or failing; what was committed before stands.
        """
        self.job.restore(self.frontier, now=self.now(), wall=self.wall())
        self.frontier.offer(self._seeds, depth=0)
        self._emit_crawl("crawl.started")
        commits = self._loop.create_task(self._commit_regularly())
        timers = []
        if self.settings.max_time is not None:
            timers.append(self._loop.call_later(self.settings.max_time, self.stop, "max_time"))
        self.dispatch_soon()
        try:
            await self._done.wait()
        finally:
            self._done.set()
            for timer in timers:
                timer.cancel()
            await self._end_visits()
            await commits
        if self._failure is not None:
            raise self._failure
        await self._finish()

    def stop(self, reason: str) -> None:
        """Stop cleanly: no new requests, a short wait for responses under way, a last commit."""
        self.stopping = self.stopping or reason
        self._loop.call_later(_GRACE, self._done.set)
        self.dispatch_soon()

    def wall(self) -> float:
        """Return the time of day: seconds since 1970."""
        return self._epoch + self.now()

    def snapshot(self) -> Snapshot:
        """Return what the crawl looks like now."""
        self.stats.seconds = self._seconds_before + self.now() - self._started
        return Snapshot(
            stats=self.stats,
            known=len(self.frontier.seen),
            queued=self.frontier.queued,
            servers=len(self.frontier.servers),
            visits=len(self._visits),
            elapsed=self.now() - self._started,
            max_pages=self.settings.max_pages,
            max_time=self.settings.max_time,
            doing=f"stopping ({self.stopping})" if self.stopping else "crawling",
        )

    # What visits ask

    def may_go(self, server: Server) -> bool:
        """Tell whether a request may go to the server this moment."""
        now = self.now()
        return server.next_time <= now and self.total.next_time <= now and self._has_room()

    def next_task(self, server: Server) -> Task | None:
        """Take the next URL that may be asked for; those that may not end here."""
        while task := self.frontier.take(server, self.now()):
            if server.given_up:
                self.ends.given_up(task)
            elif not self.robots.allows(task):
                self.ends.excluded(task, "robots")
            else:
                return task
        return None

    def put_back(self, task: Task) -> None:
        """Queue a URL again that was taken but not asked for."""
        self.frontier.retry(task, 0.0, attempts=task.attempts)

    def request(self, server: Server, target: str) -> bytes:
        """Return the request for a target on a server."""
        cookie = self.cookies.header(server.key + target) if self.cookies else ""
        return self._requests.render(server.key, target, cookie)

    def sent(self, server: Server) -> None:
        """A request starts: it counts in all paces that hold for it."""
        now = self.now()
        server.origin_pace.on_sent(now)
        server.address.pace.on_sent(now)
        self.total.on_sent(now)
        self.stats.requests += 1

    def finished(self, server: Server) -> None:
        """The request has ended."""
        now = self.now()
        server.origin_pace.on_finished(now)
        server.address.pace.on_finished(now)

    def visit_ended(self, server: Server) -> None:
        """A visit has given its place back."""
        self.frontier.close_visit(server)
        self.dispatch_soon()

    def seed_moved(self, target: str) -> None:
        """A seed redirects within its site, as from http to https or to www: the crawl moves with it."""
        self._seeds.append(target)
        self.scope.add(target)

    def dispatch_soon(self) -> None:
        """Look, in this turn of the loop, for servers to visit."""
        if not self._dispatch_due:
            self._dispatch_due = True
            self._loop.call_soon(self._dispatch)

    # Inside

    def _has_room(self) -> bool:
        limit = self.settings.max_pages
        return (
            not self.stopping
            and (limit is None or self.stats.pages + self.in_hand < limit)
            and self.job.pending < self.settings.max_buffer
        )

    def _dispatch(self) -> None:
        self._dispatch_due = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self.now()
        while (
            self._has_room()
            and len(self._visits) < self.settings.connections
            and self.total.next_time <= now
        ):
            server = self.frontier.open_visit(now)
            if server is None:
                break
            task = self._loop.create_task(visit(self, server))
            self._visits.add(task)
            task.add_done_callback(self._visit_done)
        if not self._visits and self._is_over():
            self._done.set()
        elif self._has_room() and len(self._visits) < self.settings.connections:
            wakeup = self.frontier.wakeup()
            if wakeup is not None:
                wait = max(wakeup, self.total.next_time) - now
                self._timer = self._loop.call_later(max(wait, 0.001), self.dispatch_soon)

    def _is_over(self) -> bool:
        limit = self.settings.max_pages
        return (
            bool(self.stopping)
            or not self.frontier.queued
            or (limit is not None and self.stats.pages >= limit)
        )

    def _visit_done(self, task: asyncio.Task[None]) -> None:
        self._visits.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._fail(error)
        self.dispatch_soon()

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self.stopping = self.stopping or "error"
        self._done.set()

    async def _end_visits(self) -> None:
        self.stopping = self.stopping or "done"
        for task in self._visits:
            task.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
        self.parked.close()

    # Commits

    async def _commit_regularly(self) -> None:
        while not self._done.is_set():
            try:
                await asyncio.wait_for(self._done.wait(), self.settings.commit_interval)
            except TimeoutError:
                try:
                    await self._write()
                except OSError as error:
                    self._fail(error)
                self.dispatch_soon()

    async def _write(self) -> None:
        self.snapshot()  # brings the running time up to date
        await self.job.commit(self.frontier, stats=self.stats.to_dict(), seeds=self._seeds)

    async def _finish(self) -> None:
        await self._write()
        self.job.finish()
        self._emit_crawl("crawl.finished")

    def _emit_crawl(self, name: str) -> None:
        if self.emit is not None:
            counts: dict[str, Any] = {
                "known": len(self.frontier.seen),
                "queued": self.frontier.queued,
            } | self.stats.to_dict()
            self.emit(Event(event=name, counts=counts, reason=self.stopping))
