"""How URLs end: as a page, as a redirect, failed, excluded, or tried again. One place, and each URL passes it once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice
from math import inf
from typing import NamedTuple, cast

from andante import url as urls
from andante.crawl.aside import TooCostly
from andante.crawl.reader import Reader, Reading, Rules, SitemapReading
from andante.crawl.redirects import Redirects
from andante.crawl.state import State
from andante.crawl.throttle import Throttle
from andante.fetch import Failure, Response
from andante.flow import PATIENCE, Again, Verdict
from andante.frontier import Server, Task
from andante.frontier.frontier import remaining
from andante.frontier.quality import Found
from andante.observe import Event
from andante.page import Page
from andante.store import Ended

_REDIRECTS = frozenset({301, 302, 303, 307, 308})

_OFFERED_MAX = 100_000
"""Links remembered as offered to the frontier: most links of a page were on the page before, and need no seen test."""

_OFFERED_SIZE_MAX = 10_000_000
"""Characters that they have together at most."""

_AT_ONCE = 5_000
"""URLs of a sitemap that are offered to the frontier in one turn of the loop, where they were read aside."""

ENDED_AT_ONCE = 1_000
"""URLs that end in one turn of the loop without being asked for: some 10 ms."""

RECORD_MAX = 2 * 2**20
"""Bytes of a payload whose record is encoded on the loop; that of a larger one is encoded in a thread."""

FAILURES = {
    "bad-redirect": "the Location of a redirect is not a URL that can be crawled",
    "redirect-loop": "a redirect leads back to itself, directly or over others that ended as `redirected`, and not to a page",
    "too-many-redirects": "a chain of redirects is longer than `max_redirects`",
    "bad-sitemap": "a sitemap cannot be read",
    "too-costly": "to read it takes more time or memory than a response may take",
    "given-up": "the server has answered with errors, or refused, until it was given up; the detail is the last status",
}
"""Reasons for failure besides those of fetching."""

EXCLUSIONS = {
    "noindex": "the page, or its X-Robots-Tag, asks not to be kept; its links are followed",
    "redirect-out-of-scope": "a redirect leads out of the crawl's scope",
    "sitemap": "it is a sitemap: its URLs are taken, it is no page",
}
"""Reasons for exclusion besides those of robots.txt."""


class Unread(NamedTuple):
    """A response that takes too long to be read, or recorded, on the loop."""

    task: Task
    page: Page
    reading: Reading | None = None
    """What it says; None: it has not been read."""


class Ends:
    """Takes the outcome of each fetch to the frontier, the job, the counts and the events."""

    def __init__(self, state: State, throttle: Throttle) -> None:
        self._state = state
        self._throttle = throttle
        self._settings = state.settings
        self._reader = Reader(Rules.of(state.settings))
        self._aside = state.aside
        self._recording = asyncio.Lock()
        self._redirects = Redirects(hops_max=state.settings.max_redirects)
        for url, target in state.job.redirects():
            self._redirects.add(url, target)
        retries = state.settings.retries
        self._attempts = {
            Again.NEVER: 0,
            Again.COUNTED: retries,
            Again.PATIENTLY: retries * PATIENCE,
            Again.UNCOUNTED: inf if retries else 0,
        }
        """Attempts after which a URL is not tried again."""
        self._offered: set[str] = set()
        self._offered_in = state.scope.version
        self._offered_max = min(state.settings.recent, _OFFERED_MAX)
        self._offered_size = 0
        self._given_up: dict[Server, None] = {}  # with URLs that are still to end
        self._appraiser = state.appraiser
        self._want_text = state.appraiser is not None and state.appraiser.wants_text
        self._want_title = state.deliver is not None or state.job.wants_title

    # Responses

    def response(
        self, task: Task, request: bytes, response: Response, address: str, *, found: Verdict
    ) -> Page | Unread | None:
        """A response came, from which ``found`` follows; return the page if the URL ended as one.

        What comes back as `Unread` has not ended: it is for `finish`.
        """
        state = self._state
        state.stats.bytes += len(response.payload)
        if state.cookies is not None:
            state.cookies.store(task.url, response.headers)
        if found.again is not Again.NEVER:
            self._give_up_in_time(task.server, "given-up", str(response.status))
        if self._tries_again(task, found, str(response.status)):
            return None
        # A map of a file goes for bytes with all that writes it; who is delivered the page gets true ones.
        payload = cast("bytes", response.payload)
        page = Page(
            url=task.link.asked or task.url,
            final_url=task.url,
            status=response.status,
            reason=response.reason,
            headers=response.headers,
            request=request,
            payload=payload,
            body=payload,
            fetched_at=state.wall() - response.total,
            elapsed=response.total,
            address=address,
            http_version=response.http_version,
            truncated=response.truncated,
            depth=task.link.depth,
            referrer=task.link.referrer,
        )
        location = page.header(b"location") if response.status in _REDIRECTS else b""
        if location:
            if self._aside is not None and len(page.payload) > RECORD_MAX:
                return Unread(task, page)
            self._redirect(task, page, location)
            return None
        return self._read_sitemap(task, page) if task.link.sitemap else self._read_page(task, page)

    def _read_sitemap(self, task: Task, page: Page) -> Unread | None:
        sitemap = self._reader.sitemap(page, quick=self._aside is not None)
        if sitemap is None:
            return Unread(task, page)
        for _ in self._sitemap(task, sitemap):
            pass
        return None

    def _read_page(self, task: Task, page: Page) -> Page | Unread | None:
        quick = self._aside is not None
        reading = self._reader.read(page, title=self._want_title, text=self._want_text, quick=quick)
        if reading is None or (quick and len(page.payload) > RECORD_MAX):
            return Unread(task, page, reading)
        return self._page(task, page, reading)

    async def finish(self, unread: Unread, life: int) -> Page | None:
        """Read what could not be read on the loop, and end its URL; return the page if it ended as one.

        Args:
            unread: what `response` gave.
            life: of the state when the request was sent. In another one the URL is queued again, as it is when this is cancelled.
        """
        state = self._state
        state.in_hand += 1
        try:
            return await self._finish(unread, life)
        except asyncio.CancelledError:
            state.put_back(unread.task)
            raise
        finally:
            state.in_hand -= 1

    async def _finish(self, unread: Unread, life: int) -> Page | None:
        task, page, reading = unread
        location = page.header(b"location") if page.status in _REDIRECTS else b""
        if location:
            records = await self._records(page, redirect=True)
            if not self._is_lost(task, life):
                self._redirect(task, page, location, records)
            return None
        if reading is not None:
            return await self._recorded(task, page, reading, life)
        assert self._aside is not None
        async with self._aside.turn:
            if task.link.sitemap:
                await self._finish_sitemap(task, await self._aside.sitemap(page), life)
                return None
            read = await self._aside.read(page, title=self._want_title, text=self._want_text)
            if not isinstance(read, TooCostly):
                return await self._recorded(task, page, read, life)
        if not self._is_lost(task, life):
            self._fail(task, "too-costly", read.detail)
        return None

    async def _recorded(self, task: Task, page: Page, reading: Reading, life: int) -> Page | None:
        records = None if reading.problem else await self._records(page)
        return None if self._is_lost(task, life) else self._page(task, page, reading, records)

    async def _records(self, page: Page, *, redirect: bool = False) -> list[bytes]:
        """Encode the records of a page in a thread, when there is room for them; many may have waited for it together."""
        async with self._recording:
            await self._state.room_for_output()
            return await asyncio.to_thread(self._state.job.encode, page, redirect=redirect)

    async def _finish_sitemap(
        self, task: Task, sitemap: SitemapReading | TooCostly, life: int
    ) -> None:
        if self._is_lost(task, life):
            return
        if isinstance(sitemap, TooCostly):
            self._fail(task, "too-costly", sitemap.detail)
            return
        for _ in self._sitemap(task, sitemap):
            await asyncio.sleep(0)
            if self._is_lost(task, life):
                return

    def _is_lost(self, task: Task, life: int) -> bool:
        """Tell whether a URL has become others'; it is queued again for them then."""
        if life == self._state.life:
            return False
        self._state.put_back(task)
        return True

    def _page(
        self, task: Task, page: Page, reading: Reading, records: list[bytes] | None = None
    ) -> Page | None:
        if reading.problem:
            self._fail(task, reading.problem, reading.detail)
            return None
        links = [] if reading.directives.nofollow else page.links
        if self._appraiser is None:
            self.follow(links, depth=page.depth + 1, referrer=page.final_url)
        else:
            anchors, depth = reading.anchors, page.depth + 1
            found = [Found(url, depth, page.final_url, anchors.get(url, "")) for url in links]
            self._follow_best(task.url, found, depth=depth, text=reading.text)
        if reading.directives.noindex:
            self._exclude(task, "noindex")
            return None
        if records is None:
            self._state.job.write(page)
        else:
            self._state.job.add(records)
        self._state.frontier.finish(task)
        self._state.stats.fetched[_status(page.status)] += 1
        self._emit("fetch.completed", task, page)
        return page

    def follow(self, found: list[str], *, depth: int, referrer: str) -> None:
        """Offer links to the frontier: those in scope, and not too deep."""
        fresh = self._fresh(found) if self._may_be_at(depth) else []
        if fresh and self._state.frontier.offer(fresh, depth=depth, referrer=referrer):
            self._state.wake()

    def _follow_best(self, url: str, found: list[Found], *, depth: int, text: str = "") -> None:
        """The same, with what each is worth by what was found with it at ``url``."""
        assert self._appraiser is not None
        if not self._may_be_at(depth):
            found = []
        elif self._appraiser.wants_all:
            found = [link for link in found if self._state.scope.admits(link.url)]
        else:
            fresh = set(self._fresh([link.url for link in found]))
            found = [link for link in found if link.url in fresh]
        scores = self._appraiser.scores(url, found, text=text)
        self._state.frontier.offer(
            [link.url for link in found], depth=depth, referrer=url, scores=scores
        )
        self._state.wake()

    def _may_be_at(self, depth: int) -> bool:
        limit = self._settings.max_depth
        return limit is None or depth <= limit

    def _fresh(self, found: list[str]) -> list[str]:
        """Return the links in scope that were not offered lately."""
        offered, scope = self._offered, self._state.scope
        if scope.version != self._offered_in:  # a seed has moved, here or at another node
            offered.clear()
            self._offered_size = 0
            self._offered_in = scope.version
        fresh = [url for url in found if url not in offered]
        self._offered_size += sum(map(len, fresh))
        if len(offered) + len(fresh) > self._offered_max or self._offered_size > _OFFERED_SIZE_MAX:
            offered.clear()
            self._offered_size = 0
        else:
            offered.update(fresh)
        return [url for url in fresh if scope.admits(url)]

    def _redirect(
        self, task: Task, page: Page, location: bytes, records: list[bytes] | None = None
    ) -> None:
        state, link = self._state, task.link
        if records is None:
            state.job.write(page, redirect=True)
        else:
            state.job.add(records)
        target = urls.canonical(
            urls.from_header(location), task.url, length_max=self._settings.max_url_length
        )
        if target is None:
            self._fail(task, "bad-redirect", location.decode("latin-1")[:200])
            return
        if target == link.asked or self._redirects.closes_loop(task.url, target):
            self._fail(task, "redirect-loop", target)
            return
        if link.hops >= self._settings.max_redirects:
            self._fail(task, "too-many-redirects", target)
            return
        if not link.referrer and urls.site(urls.host(target)) == urls.site(urls.host(task.url)):
            state.seed_moved(target)
        if not state.scope.admits(target):
            self.excluded(task, "redirect-out-of-scope", target)
            return
        self._redirects.add(task.url, target)
        state.frontier.finish(task)
        state.stats.redirected += 1
        state.job.end(Ended(task.url, "redirected", str(page.status), target))
        self._emit("fetch.completed", task, page, detail=target)
        scores = None
        if self._appraiser is not None:
            scores = self._appraiser.scores(task.url, [Found(target, link.depth, task.url)])
        if state.frontier.offer(
            [target],
            depth=link.depth,
            referrer=link.referrer,
            asked=link.asked or task.url,
            hops=link.hops + 1,
            sitemap=link.sitemap,
            scores=scores,
        ):
            state.wake()

    def _sitemap(self, task: Task, sitemap: SitemapReading) -> Iterator[None]:
        """Offer what a sitemap lists to the frontier, some with each step; with the last step its own URL ends."""
        if sitemap.problem:
            self._fail(task, "bad-sitemap", sitemap.problem)
            return
        for start in range(0, len(sitemap.found) or 1, _AT_ONCE):
            if start:
                yield
            some = sitemap.found[start : start + _AT_ONCE]
            if start + _AT_ONCE >= len(sitemap.found):
                self._exclude(task, "sitemap")
            urls_found = [link.url for link in some]
            if sitemap.is_index:
                if not task.link.depth:
                    self._state.frontier.offer(urls_found, depth=1, referrer=task.url, sitemap=True)
            elif self._appraiser is None:
                self.follow(urls_found, depth=0, referrer=task.url)
            else:
                self._follow_best(task.url, some, depth=0)
            self._state.wake()

    # Failures

    def failure(self, task: Task, failure: Failure, *, found: Verdict) -> None:
        """No whole response came, from which ``found`` follows."""
        self._give_up_in_time(task.server, failure.outcome, failure.detail)
        if not self._tries_again(task, found, failure.outcome):
            self._fail(task, failure.outcome, failure.detail)

    def unreachable(self, server: Server, failure: Failure, began: float) -> None:
        """No connection to the server could be had since ``began``: it waits, and in the end is given up with all its URLs."""
        self._throttle.fetched(server, failure, began)
        self._give_up_in_time(server, failure.outcome, failure.detail)

    def without_robots(self, server: Server, reason: str) -> None:
        """robots.txt could not be read: nothing may be asked; after many attempts nothing ever will."""
        self._give_up_in_time(server, "robots-unreachable", reason)

    def give_up(self, server: Server, reason: str, detail: str = "") -> None:
        """End all URLs of a server, those found later too. Of those that wait now a turn's worth ends here, the others in `end_given_up`."""
        server.given_up = f"{reason} {detail}"
        if self._state.emit is not None:
            self._state.emit(
                Event(event="server.given-up", server=server.key, reason=reason, detail=detail)
            )
        self._end_some(server)
        if server.queued:
            self._given_up[server] = None

    async def end_given_up(self) -> None:
        """End what still waits of the servers that were given up, while they are this crawler's, and the crawl goes on."""
        state = self._state
        while self._given_up:
            server, _ = self._given_up.popitem()
            while server.queued:
                await state.give_way()
                if state.stopping or not state.frontier.keeps(server):
                    break
                self._end_some(server)

    def _end_some(self, server: Server) -> None:
        for task in islice(remaining(server, self._state.frontier), ENDED_AT_ONCE):
            self.given_up(task)

    def given_up(self, task: Task) -> None:
        """A URL of a server that was given up ends for the server's reason."""
        reason, _, detail = task.server.given_up.partition(" ")
        if reason.startswith(("robots", "crawl-delay")):
            self.excluded(task, reason, detail)
        else:
            self._fail(task, reason, detail)

    def excluded(self, task: Task, reason: str, detail: str = "") -> None:
        """The URL is not asked for, or leads out of the crawl."""
        if self._appraiser is not None:
            self._appraiser.ended(task.url)
        self._exclude(task, reason, detail)

    # Inside

    def _exclude(self, task: Task, reason: str, detail: str = "") -> None:
        self._state.frontier.finish(task)
        self._state.stats.excluded[reason] += 1
        self._state.job.end(Ended(task.url, "excluded", reason, detail))
        self._emit("url.excluded", task, reason=reason, detail=detail)

    def _give_up_in_time(self, server: Server, reason: str, detail: str) -> None:
        """Give a server up if it has failed for too long."""
        if not server.given_up and self._throttle.is_given_up(server):
            self.give_up(server, reason, detail)

    def _fail(self, task: Task, reason: str, detail: str) -> None:
        if self._appraiser is not None:
            self._appraiser.ended(task.url)
        self._state.frontier.finish(task)
        self._state.stats.failed[str(reason)] += 1
        self._state.job.end(Ended(task.url, "failed", str(reason), detail))
        self._emit("fetch.failed", task, reason=str(reason), detail=detail)

    def _tries_again(self, task: Task, found: Verdict, reason: str) -> bool:
        """Queue a URL again if it is worth it; tell whether it is."""
        server, counts = task.server, found.again is not Again.UNCOUNTED
        if server.given_up or task.attempts >= self._attempts[found.again]:
            return False
        wait = self._settings.retry_wait * 2.0 ** min(task.attempts, 10)
        now, held_until = self._state.now(), self._throttle.held_until(server)
        if server.queued > len(server.retries or ()):
            due = (
                max(now, held_until) + wait
            )  # others first: they show whether it is the server or the URL
        elif found.again is Again.COUNTED:
            due = max(now + wait, held_until)
        else:
            due = held_until
        self._state.frontier.retry(task, due, attempts=task.attempts + counts)
        self._emit("fetch.retried", task, reason=reason)
        return True

    def _emit(
        self, name: str, task: Task, page: Page | None = None, *, reason: str = "", detail: str = ""
    ) -> None:
        if self._state.emit is None:
            return
        event = Event(
            event=name,
            url=task.url,
            reason=reason,
            detail=detail,
            depth=task.link.depth,
            attempt=task.attempts,
        )
        if page is not None:
            event.status, event.bytes, event.elapsed_ms = (
                page.status,
                len(page.payload),
                round(page.elapsed * 1000, 1),
            )
        self._state.emit(event)


_STATUS = {status: str(status) for status in range(100, 1000)}


def _status(status: int) -> str:
    return _STATUS.get(status) or str(status)
