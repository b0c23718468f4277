"""What the robots.txt of servers say, as far as it is in memory: the job has all of it on disk."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from andante.fetch import Robots
from andante.fetch.robots import TTL, pack, unpack
from andante.frontier import Server
from andante.parse.robots_rules import Matcher
from andante.store import Job

KEPT_MAX = 32 * 1024 * 1024
"""Bytes of rules in memory, and of what tells whose they are; those of servers that were asked longest ago are read from the job again. One server has at most about three times the bytes of its file."""

COMPILED_MAX = 1024 * 1024
"""Bytes of rules that are compiled, by `Matcher.size`; beyond it the oldest go, but for the one in use. Rules of an ordinary file are compiled in a few microseconds."""

PACKED_MAX = 2048
"""Bytes of a robots.txt that goes from node to node, some 400 rules: to read a longer one again is cheaper than to hand it around."""

_ENTRY = 200
"""Bytes that an entry takes besides its rules."""

_UNKNOWN = Robots(-inf)
"""Stands for one that the job does not have either."""


class RobotsCache:
    """The rules of the servers that are asked now, and a while after.

    Args:
        job: keeps them, packed, until their time to live ends.
        agent: product token of the crawler.
        wants_sitemaps: the crawler takes up the sitemaps that a robots.txt names.
        now: gives the time that `Robots.expires_at` is in.
        wall: gives the time of day, in which the job keeps it.
    """

    def __init__(
        self,
        job: Job,
        *,
        agent: str,
        wants_sitemaps: bool,
        now: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._job = job
        self._agent = agent
        self._wants_sitemaps = wants_sitemaps
        self._now = now
        self._wall = wall
        self._held: dict[Server, Robots] = {}
        self._size = 0
        self._matchers: dict[str, Matcher] = {}
        self._compiled = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, server: Server) -> Robots | None:
        """Return what the robots.txt of a server says, whether or not it has expired; None: that is not known."""
        robots = self._held.get(server)
        if robots is None:
            robots = self._hold(server, self._read(server) or _UNKNOWN)
        return None if robots is _UNKNOWN else robots

    def put(self, server: Server, robots: Robots) -> None:
        """A robots.txt was read; the next commit writes what it says."""
        self._hold(server, Robots(robots.expires_at, robots.rules, robots.crawl_delay))
        packed = pack(robots, agent=self._agent, took_sitemaps=self._wants_sitemaps)
        self._job.keep_robots(server.key, packed, self._wall() + robots.expires_at - self._now())

    def allows(self, server: Server, target: str) -> bool:
        """Tell whether a target may be asked for of a server whose robots.txt is known."""
        robots = self._held.get(server) or self.get(server)
        assert robots is not None
        return not robots.rules or self._matcher(robots.rules).allows(target)

    def forget(self, server: Server) -> None:
        """Keep nothing of it in memory."""
        robots = self._held.pop(server, None)
        if robots is not None:
            self._size -= _ENTRY + len(robots.rules)

    def packed(self, server: Server) -> tuple[bytes, float] | None:
        """Return what another crawler needs for `unpacked`, and the seconds for which it holds; None: it is to ask for it."""
        robots = self.get(server)
        if robots is None:
            return None
        packed = pack(robots, agent=self._agent, took_sitemaps=self._wants_sitemaps)
        return (packed, robots.expires_at - self._now()) if len(packed) <= PACKED_MAX else None

    def unpacked(self, server: Server, packed: bytes, left: float) -> None:
        """Take what another crawler has read, if that is of use and holds still.

        Args:
            server: of which it is.
            packed: as `packed` gave it, there.
            left: seconds for which it holds.
        """
        if len(packed) <= PACKED_MAX and (robots := self._unpack(packed, left)):
            self.put(server, robots)

    def _read(self, server: Server) -> Robots | None:
        """Read what the job has."""
        kept = self._job.robots(server.key)
        return None if kept is None else self._unpack(kept[0], kept[1] - self._wall())

    def _unpack(self, packed: bytes, left: float) -> Robots | None:
        left = min(left, TTL)  # whatever clocks say
        if left <= 0:
            return None
        try:
            return unpack(
                packed,
                agent=self._agent,
                wants_sitemaps=self._wants_sitemaps,
                expires_at=self._now() + left,
            )
        except ValueError:
            return None  # it is read again

    def _hold(self, server: Server, robots: Robots) -> Robots:
        self.forget(server)
        if robots.rules:  # equal ones are the same object
            shared = self._matcher(robots.rules).text
            robots = Robots(robots.expires_at, shared, robots.crawl_delay)
        self._held[server] = robots
        self._size += _ENTRY + len(robots.rules)
        while self._size > KEPT_MAX and len(self._held) > 1:
            self.forget(next(iter(self._held)))
        return robots

    def _matcher(self, rules: str) -> Matcher:
        matcher = self._matchers.get(rules)
        if matcher is None:
            matcher = self._matchers[rules] = Matcher(rules)
            self._compiled += matcher.size
            while self._compiled > COMPILED_MAX and len(self._matchers) > 1:
                self._compiled -= self._matchers.pop(next(iter(self._matchers))).size
        return matcher
