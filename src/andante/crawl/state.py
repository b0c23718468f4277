"""What the parts of a running crawl share: the rooms below, the counts, the paces and the clock."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from andante import url as urls
from andante.crawl.appraiser import Appraiser
from andante.crawl.aside import Aside
from andante.crawl.loop_monitor import LoopMonitor
from andante.crawl.robots_cache import RobotsCache
from andante.crawl.settings import Settings
from andante.crawl.usage import Usage, usage
from andante.fetch import Connector, Cookies, RequestTemplate
from andante.flow import Pace
from andante.frontier import Frontier, Policy, Server, Task
from andante.frontier.quality import Quality
from andante.observe import Event, Stats
from andante.page import Page
from andante.store import Job

if TYPE_CHECKING:
    from andante.cluster.outbox import Outbox

UNSTORED_MAX = 500_000
"""URLs found since the last commit, all in memory; the crawl pauses beyond it, as when the disk is slow."""


class State:
    """The state of one run.

    Args:
        seeds: canonical URLs to start from.
        deliver: takes each page, for the Python interface; None where nobody listens.
        emit: takes each event; None where nobody listens.
        policy: chooses the servers; None: breadth-first.
        quality: says what URLs are worth, where the policy goes by that.
        outbox: takes the links that are found, where the crawl is shared with others.
        clock: gives the time in seconds that all waiting is measured by. The loop's own clock will not do: uvloop reads it
            once a turn, and a pause measured from the start of a long turn is too short.
        wall: gives the time of day, in seconds since 1970. It is no sum of the other clock, which stands still while the machine sleeps.
        chance: gives numbers in [0, 1), for what must not happen to all crawls at once.
        usage: tells what the process has used of its machine.
        warn: tells the user in a line what no setting can mend.
        monitor: is told which responses are taken up; None: nobody watches the loop.
        aside: reads what takes too long for the loop; None: the loop reads that, too.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        job: Job,
        client: Connector,
        scope: urls.Scope,
        seeds: Sequence[str],
        deliver: Callable[[Page], Awaitable[None]] | None = None,
        emit: Callable[[Event], None] | None = None,
        policy: Policy | None = None,
        quality: Quality | None = None,
        outbox: Outbox | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        usage: Callable[[], Usage] = usage,
        warn: Callable[[str], None] = lambda _: None,
        monitor: LoopMonitor | None = None,
        aside: Aside | None = None,
    ) -> None:
        self.settings = settings
        self.job = job
        self.client = client
        self.scope = scope
        self.seeds = list(seeds)
        self.deliver = deliver
        self.emit = emit
        self.now = clock
        self.wall = wall
        self.chance = chance
        self.usage = usage
        self._warn = warn
        self.monitor = monitor or LoopMonitor()
        self.aside = aside
        self.stats = Stats.from_dict(job.stats)
        self.frontier = self._frontier(policy, quality, outbox)
        self.appraiser = Appraiser(quality, self.frontier) if quality is not None else None
        self.total = Pace(set_point=settings.total_rate)
        self.cookies = Cookies(wall) if settings.cookies else None
        agent, sitemaps = settings.robots_name, settings.sitemaps
        self.robots = RobotsCache(job, agent=agent, wants_sitemaps=sitemaps, now=clock, wall=wall)
        """What robots.txt says, of the servers that have been asked for it."""
        self.life = 0
        """Counts up when all servers are lost to other crawlers: what was asked of them before is theirs to write."""
        self.in_hand = 0
        """URLs asked for whose responses have not ended."""
        self.stopping = ""
        """Why the crawl is being stopped; empty while it is not."""
        self.wake: Callable[[], None] = lambda: None
        """Asks the engine to look again which servers may be visited."""
        self.flush: Callable[[], Awaitable[None]] = _flush_nothing
        """Asks the engine for a commit, and waits for it."""
        self.max_pages = settings.max_pages
        """Pages with status 2xx that this crawler may have fetched, now; None: no bound."""
        self.is_full = False
        """All crawlers together have fetched as many as they may."""
        self.seed_has_moved: Callable[[str], None] = lambda _: None
        """Lets the other crawlers know."""
        self.may_send: Callable[[], bool] = lambda: True
        """Tells whether the crawler may send requests at all."""
        self.forget: Callable[[Server], None] = lambda _: None
        """Lets go of what is kept for a server that is another node's now."""
        self._requests = RequestTemplate(
            user_agent=settings.user_agent,
            headers=settings.header,
            secret=settings.secret_header,
            origins=job.seed_origins,
        )

    def _frontier(
        self, policy: Policy | None, quality: Quality | None, outbox: Outbox | None
    ) -> Frontier:
        settings, read = self.settings, self.job.load
        options: dict[str, Any] = {
            "policy": policy,
            "patience": inf if settings.max_wait is None else settings.max_wait,
            "rescores": quality is not None and quality.rescores,
            "set_point": settings.rate,
            "delay": settings.delay,
            "per_server": 1 if settings.per_server == "auto" else settings.per_server,
            "per_address": settings.per_ip,
            "pipelined": settings.pipeline > 1,
        }
        if outbox is None:
            return Frontier(read, **options)
        from andante.cluster.frontier import SharedFrontier  # noqa: PLC0415  # a crawl alone needs nothing of the cluster
        from andante.cluster.recent import Recent  # noqa: PLC0415

        recent = Recent(settings.recent) if settings.recent else None
        ended = self.stats.ended
        return SharedFrontier(read, found=outbox.found, recent=recent, ended=ended, **options)

    def discard(self) -> None:
        """Forget all that was fetched since the last commit."""
        self.job.discard()
        self.stats = Stats.from_dict(self.job.stats)

    def has_room(self) -> bool:
        """Tell whether the crawl as a whole may send another request."""
        limit = self.max_pages
        return (
            not self.stopping
            and (limit is None or self.stats.pages + self.in_hand < limit)
            and self.job.pending < self.settings.max_buffer
            and (self.frontier.unstored < UNSTORED_MAX or self.job.directory is None)
            and self.may_send()
        )

    async def room_for_output(self) -> None:
        """Wait until less than `Settings.max_buffer` waits for the disk."""
        while self.job.pending >= self.settings.max_buffer:
            await self.flush()

    async def give_way(self) -> None:
        """Let others have a turn of the loop, and the disk take what has ended: for those that end thousands of URLs without asking for them."""
        await self.room_for_output()
        await asyncio.sleep(0)

    def may_go(self, server: Server) -> bool:
        """Tell whether a request may go to the server this moment."""
        now = self.now()
        return (
            server.next_time <= now
            and self.total.next_time <= now
            and not server.is_crowded
            and self.has_room()
        )

    def request(self, server: Server, target: str) -> bytes:
        """Return the request for a target on a server."""
        cookie = self.cookies.header(server.key + target) if self.cookies else ""
        return self._requests.render(server.key, target, cookie)

    def put_back(self, task: Task) -> None:
        """Queue a URL again that was taken but not asked for."""
        self.frontier.retry(task, 0.0, attempts=task.attempts)

    def seed_moved(self, target: str) -> None:
        """A seed redirects within its site, as from http to https or to www: the crawl moves with it. What is secret does not."""
        self.seeds.append(target)
        self.scope.add(target)
        self.seed_has_moved(target)
        server = urls.origin(target)
        if self._requests.withholds_from(server):
            self._warn(
                f"a seed has moved to {server}, to which the secret headers do not go: if they are meant for it, give it as a seed"
            )


async def _flush_nothing() -> None:
    """There is no engine that commits."""
