"""A server: the queue of its URLs, its pace, and what a visit to it is worth; an address, and the servers behind it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from sys import maxsize
from typing import Any

from andante.flow.pace import Pace
from andante.frontier.estimate import Estimate, Estimates
from andante.frontier.lineup import Lineup
from andante.frontier.queue import UrlQueue


class Terms:
    """What holds for all servers of a crawl.

    Args:
        set_point: requests a minute to a server, and to an address; infinity: no bound.
        delay: least seconds from the end of a response to the next request.
        per_server: most visits to one server at once.
        estimates: what visits take.
        turn: most pages of a visit; None: as many as a connection serves.
    """

    def __init__(
        self,
        *,
        set_point: float,
        delay: float,
        per_server: int,
        estimates: Estimates,
        turn: int | None = None,
    ) -> None:
        self.rate_of: Callable[[str], float] = lambda _: set_point
        """Gives the set-point of a server by its key."""
        self.pause = max(60 / set_point, delay)
        """Seconds from request to request to a server that has no pace of its own yet."""
        self.started = -inf
        """When the crawl went on with servers that may have been asked until then."""
        self.estimates = estimates
        self.turn = turn or maxsize
        self.delay = delay
        self.given_up: dict[str, str] = {}
        """Why servers were given up, by key: few are, and each attribute of a server counts where there are a million."""
        self._per_server = per_server

    def pace(self, key: str) -> Pace:
        """Return the pace of a server that is to be asked."""
        pace = Pace(set_point=self.rate_of(key), delay=self.delay)
        pace.hold(self.started + pace.pause)
        return pace

    def address(self, key: str) -> Address:
        """Return an address of its own for a server."""
        return Address(Pace(set_point=self.rate_of(key), delay=self.delay), self._per_server)


class Address:
    """What politeness by IP address is kept for: when it may be asked again, and the servers that share it.

    Until a server's name is resolved it has an address of its own.
    """

    __slots__ = (
        "entry",
        "key",
        "limit",
        "line",
        "only",
        "order",
        "pace",
        "ready_at",
        "shared",
        "visits",
    )

    def __init__(self, pace: Pace, limit: int) -> None:
        self.key = ""
        """IP address; empty: of a server that is not resolved yet."""
        self.pace = pace
        self.limit = limit
        """Most visits at once."""
        self.visits = 0
        """Visits open to it now."""
        self.only: Server | None = None
        """The server that is alone there."""
        self.shared: Lineup[Server] | None = None
        """Where there are several, those that wait."""
        self.line: Lineup[Any] | None = None
        self.entry = 0
        self.ready_at = 0.0
        self.order: float | None = None


class Warmth:
    """What is kept of a server only while it is asked, and a while after."""

    __slots__ = ("address", "is_leaving", "pace", "visits", "wide")

    def __init__(self, pace: Pace, address: Address) -> None:
        self.pace = pace
        self.address = address
        self.visits = 0
        """Visits open to it now."""
        self.wide = False
        """It may have more than one visit at once."""
        self.is_leaving = False
        """Another crawler is to visit it; no visit begins, and those to it should end."""


class Server(UrlQueue):
    """An origin: the URLs that wait for it, its pace, and what is expected of a visit to it.

    Pace and address come when they are first needed, and go when it is cold: it has not been asked for a while, and is as if it never had been.
    """

    __slots__ = (
        "_terms",
        "entry",
        "estimate",
        "key",
        "line",
        "order",
        "ready_at",
        "warm",
    )

    def __init__(self, key: str, terms: Terms) -> None:
        super().__init__()
        self.key = key
        """Scheme, host and port: ``https://example.org``."""
        self.estimate: Estimate | None = None
        """What visits to it have taken; None: there was none."""
        self.line: Lineup[Any] | None = None
        self.entry = 0
        self.ready_at = 0.0
        """When it is, or was last, ready to be visited."""
        self.order: float | None = None
        self._terms = terms
        self.warm: Warmth | None = None
        """Its pace and address; None while it is cold."""

    def __repr__(self) -> str:
        return f"<Server {self.key}: {self.queued} queued, {self.visits} visits, next at {self.next_time:.3f}>"

    @property
    def given_up(self) -> str:
        """Why the crawl has given the server up; empty: it has not."""
        return self._terms.given_up.get(self.key, "")

    @given_up.setter
    def given_up(self, reason: str) -> None:
        self._terms.given_up[self.key] = reason

    # When, and how many at once

    @property
    def warmth(self) -> Warmth:
        """Pace and address, made if it is cold."""
        if self.warm is None:
            address = self._terms.address(self.key)
            address.only = self
            self.warm = Warmth(self._terms.pace(self.key), address)
        return self.warm

    def cool(self) -> None:
        """Forget pace and address."""
        self.warm = None

    @property
    def origin_pace(self) -> Pace:
        """Its own pace."""
        return self.warmth.pace

    @property
    def address(self) -> Address:
        """Where it is, as far as that is known."""
        return self.warmth.address

    @property
    def visits(self) -> int:
        """Visits open to it now."""
        return 0 if self.warm is None else self.warm.visits

    @property
    def wide(self) -> bool:
        """It may have more than one visit at once."""
        return self.warm is not None and self.warm.wide

    @property
    def limit(self) -> int:
        """Most visits at once."""
        warm = self.warm
        if warm is None:
            return 1
        return 0 if warm.is_leaving else warm.address.limit if warm.wide else 1

    @property
    def is_crowded(self) -> bool:
        """There are more visits to it, or at its address, than may be: one should end."""
        return self.visits > self.limit or self.address.visits > self.address.limit

    @property
    def own_time(self) -> float:
        """When its own time has come, whatever its address says."""
        if self.warm is None:
            return (
                max(self._terms.started + self._terms.pause, 0.0)
                if self._terms.rate_of(self.key)
                else inf
            )
        return self.warm.pace.next_time

    @property
    def next_time(self) -> float:
        """When both its own time and its address's time have come."""
        if self.warm is None:
            return self.own_time
        return max(self.warm.pace.next_time, self.warm.address.pace.next_time)

    @property
    def owed(self) -> float:
        """The time before which it must be left alone whoever has it: `next_time` without what is this crawler's own order, a pause."""
        if self.warm is None:
            return max(self._terms.started + self._terms.pause, 0.0)
        return max(self.warm.pace.owed, self.warm.address.pace.owed)

    # What a visit is worth

    @property
    def expected(self) -> Estimate:
        """What is expected of the next connection to it."""
        return self.estimate or self._terms.estimates.new

    @property
    def pause(self) -> float:
        """Seconds from a request to the next one that its pace demands."""
        return self._terms.pause if self.warm is None else self.warm.pace.pause

    @property
    def turn(self) -> int:
        """Most pages that a visit takes, as the policy has it."""
        return self._terms.turn

    def visit(self) -> tuple[int, float]:
        """Return P, the pages that the next visit takes, and T, the seconds that these take of a connection.

        P is min(RequestsPerConnection, URLs that wait, the policy's turn); where the server must wait after each page it is 1. Where the connection is kept for
        later visits, T has this one's share of opening it.
        """
        estimates = self._terms.estimates
        expected = self.estimate or estimates.new
        in_all = min(expected.requests, self.queued)
        seconds = estimates.seconds(expected, in_all)
        pages = 1 if self.pause > expected.response_time else min(in_all, self._terms.turn)
        return (pages, seconds * pages / in_all) if pages < in_all else (in_all, seconds)

    @property
    def pages(self) -> int:
        """P of `visit`."""
        return self.visit()[0]

    @property
    def seconds(self) -> float:
        """T of `visit`."""
        return self.visit()[1]
