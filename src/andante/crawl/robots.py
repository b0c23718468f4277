"""robots.txt for each server of a crawl: when it is read, what follows from it, and from its absence (RFC 9309)."""

from __future__ import annotations

from andante import url as urls
from andante.crawl.ends import Ends
from andante.crawl.state import State
from andante.crawl.throttle import Throttle
from andante.fetch import Failure, Outcome, Response, Robots, RobotsReading
from andante.frontier import Server, Task

EXCLUSIONS = {
    "robots": "robots.txt does not allow it",
    "robots-unreachable": "robots.txt could not be read (5xx or no response), which forbids all; it was tried again until `give_up_after`",
    "crawl-delay-too-long": "robots.txt asks for a longer Crawl-delay than `max_crawl_delay`",
}
"""Reasons for exclusion that come from robots.txt."""


_GIVEN_UP = Failure(Outcome.UNREACHABLE, "the server that it has moved to was given up")


class RobotsBook:
    """What the servers' robots.txt say; each is read on the first visit to its server, and again when it has expired."""

    def __init__(self, state: State, ends: Ends, throttle: Throttle) -> None:
        self._state = state
        self._throttle = throttle
        self._ends = ends
        self._ignored = state.settings.ignore_robots
        self._agent = state.settings.robots_name
        self._robots = state.robots
        self._readings: dict[Server, RobotsReading] = {}

    def is_wanted(self, server: Server) -> bool:
        """Tell whether robots.txt must be read before anything else is asked of the server."""
        if self._ignored or server.given_up:
            return False
        robots = self._robots.get(server)
        if robots is None or robots.expires_at <= self._state.now():
            return True
        if robots.crawl_delay:  # it may come from an earlier start, with other settings
            self._keep_to(server, robots.crawl_delay)
        return False

    def allows(self, task: Task) -> bool:
        """Tell whether the URL may be asked for."""
        return self._ignored or self._robots.allows(task.server, task.link.target)

    def url(self, server: Server) -> str:
        """Return the URL to fetch now for the server's robots.txt; after a redirect it may be another server's."""
        return self._reading(server).url

    def has_moved(self, server: Server) -> bool:
        """Tell whether the server's robots.txt is to be asked for at another server."""
        return urls.origin(self.url(server)) != server.key

    def send(self, server: Server) -> None:
        """The server's robots.txt has moved to another server, which is asked for it at its next visit, at its own pace."""
        frontier = self._state.frontier
        other = frontier.reach(server, urls.origin(self.url(server)))
        if other is None:
            return
        if other.given_up:
            self.on_result(server, _GIVEN_UP, self._state.now(), at=server)
        else:
            frontier.send(server, other)
            self._state.wake()

    def forget(self, server: Server) -> None:
        """Forget what the robots.txt of a server says."""
        self._robots.forget(server)
        self._readings.pop(server, None)

    def give_up(self, server: Server) -> None:
        """A server was given up: those whose robots.txt has moved there have none that can be read."""
        while sender := self._state.frontier.take_errand(server):
            self.on_result(sender, _GIVEN_UP, self._state.now(), at=sender)

    def on_result(
        self, server: Server, result: Response | Failure, sent_at: float, *, at: Server
    ) -> None:
        """Take what came when ``at`` was asked for `url` at ``sent_at``."""
        robots = self._reading(server).on_result(result, now=self._state.now())
        if at is not server:
            unreachable = robots.unreachable if robots is not None else ""
            self._throttle.read_robots(at, result, sent_at, unreachable=unreachable)
        if self._state.frontier.is_absent(server):
            self._state.frontier.back(server)
            self._state.wake()
        if robots is None:
            return  # it has moved
        del self._readings[server]
        self._throttle.read_robots(server, result, sent_at, unreachable=robots.unreachable)
        if robots.unreachable:
            self._ends.without_robots(server, robots.unreachable)
            return
        self._robots.put(server, robots)
        delay = robots.crawl_delay or 0.0
        if self._keep_to(server, delay) and self._state.settings.sitemaps:
            self._take_sitemaps(server, robots)

    def _keep_to(self, server: Server, delay: float) -> bool:
        """Keep to a Crawl-delay, or give the server up if that is longer than we wait; tell which."""
        state = self._state
        if delay > state.settings.max_crawl_delay:
            self._ends.give_up(server, "crawl-delay-too-long", f"{delay:g} s")
            return False
        pace, pause = server.origin_pace, max(delay, state.settings.delay)
        if pause != pace.delay:  # longer, or shorter than at the last reading
            pace.delay = pause
            pace.on_finished(state.now())
            state.job.crawl_delay(server.key, delay)
        return True

    def _reading(self, server: Server) -> RobotsReading:
        reading = self._readings.get(server)
        if reading is None:
            reading = self._readings[server] = RobotsReading(server.key, agent=self._agent)
        return reading

    def _take_sitemaps(self, server: Server, robots: Robots) -> None:
        base = server.key + "/robots.txt"
        found = (urls.canonical(written, base) for written in robots.sitemaps)
        self._state.frontier.offer(
            (url for url in found if url), depth=0, referrer=base, sitemap=True
        )
        self._state.wake()
