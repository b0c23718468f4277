"""A simulated server: how long it takes for a request, what it answers, and how it fails.

Rules, for a request that arrives at time t:

1. A metered server that has had ``Meter.requests`` requests in the present window answers 429, at once, until its hold is over.
2. Otherwise the request waits for a free worker, first come, first served, and is worked on for its service time. So latency grows with load.
3. The response then waits for the server's line, which all its connections share, first come, first served: size / bandwidth seconds.
4. A share of the requests ends in a 500, a reset connection, or in silence, after the work was done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from heapq import heapreplace
from math import exp, inf
from random import Random
from typing import Literal, NamedTuple

import msgspec

Fault = Literal["", "reset", "silence"]


class Meter(msgspec.Struct, frozen=True, kw_only=True):
    """A server's limit: the request after ``requests`` in ``period`` seconds, and all in the ``hold`` seconds after it, get 429."""

    requests: int
    period: float = 60.0
    hold: float = 60.0
    retry_after: bool = True
    """It says how long the hold lasts."""


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What a server is like. Times are seconds."""

    rtt: float = 0.05
    """Round trip to it: part of each response time."""
    connect_time: float = 0.05
    """Opening a connection, its round trip included."""
    service_time: float = 0.1
    """Mean time that a worker needs for a request."""
    sigma: float = 0.5
    """Of the logarithm of service times: they are lognormal; 0: all are alike."""
    workers: int = 16
    """Requests worked on at once."""
    bandwidth: float = inf
    """Bytes a second, of all its connections together."""
    requests: int = 100
    """Requests that it allows on a connection; with 1 it speaks HTTP/1.0."""
    keep_alive: float = 60.0
    """Time for which it keeps an idle connection."""
    errors: float = 0.0
    """Share of requests answered with 500."""
    resets: float = 0.0
    """Share of requests that end in a reset."""
    silences: float = 0.0
    """Share of requests that are never answered."""
    meter: Meter | None = None
    robots: str = ""
    """Its robots.txt; empty: it has none."""
    refuses: bool = False
    """It refuses all connections."""


class Reply(NamedTuple):
    """What comes of a request. Times are the server's: without the way to the client."""

    starts: float
    """When the first byte leaves."""
    ends: float
    """When the last byte leaves."""
    head: bytes = b""
    body: bytes = b""
    fault: Fault = ""


_REASONS = {200: "OK", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}


class Server:
    """A simulated server.

    Args:
        traits: what it is like.
        pages: gives the HTML of a target (path and query); None: there is no such page.
        address: its IP address.
        seed: of its chances.
    """

    def __init__(
        self,
        traits: Traits,
        pages: Callable[[str], bytes | None],
        *,
        address: str = "192.0.2.1",
        seed: object = 0,
    ) -> None:
        self.traits = traits
        self.address = address
        self._pages = pages
        self._seed = seed
        self._free = [0.0] * traits.workers
        """When each worker is free: a heap."""
        self._line_free = 0.0
        self._window = -inf
        self._count = 0
        self._held_until = -inf
        self._faulty = traits.errors + traits.resets + traits.silences > 0
        self.on_reply: Callable[[str, float, Reply], None] = lambda _target, _at, _reply: None
        """Is told of each request: target, when it arrives, what comes of it."""

    def serve(self, target: str, at: float, *, last: bool) -> Reply:
        """Answer a request.

        Args:
            target: path and query.
            at: when it arrives; requests come in the order of their times.
            last: the connection closes after it.
        """
        reply = self._reply(target, at, last=last)
        self.on_reply(target, at, reply)
        return reply

    def _reply(self, target: str, at: float, *, last: bool) -> Reply:
        traits = self.traits
        if traits.meter is not None and (hold := self._refuse(traits.meter, at)) > 0:
            after = f"Retry-After: {hold:.0f}\r\n" if traits.meter.retry_after else ""
            return self._send(429, b"", at, last=last, fields=after)
        kind, body = "text/html; charset=utf-8", self._pages(target)
        if target == "/robots.txt":
            kind, body = "text/plain", traits.robots.encode() or None
        done = self._work(at)
        if self._faulty:
            chance = self._random.random()
            if chance < traits.errors:
                return self._send(500, b"", done, last=last)
            if chance < traits.errors + traits.resets:
                return Reply(done, done, fault="reset")
            if chance < traits.errors + traits.resets + traits.silences:
                return Reply(done, done, fault="silence")
        if body is None:
            return self._send(404, b"", done, last=last)
        return self._send(200, body, done, last=last, fields=f"Content-Type: {kind}\r\n")

    def work(self) -> float:
        """Return the seconds of work that the next request needs: they do not depend on when it comes."""
        return self.traits.service_time * self._factor()

    @cached_property
    def _random(self) -> Random:
        """Made when it is first needed: it takes 2.5 kB."""
        return Random(repr(self._seed))

    def _work(self, at: float) -> float:
        """Return when the work on a request is done."""
        done = max(at, self._free[0]) + self.work()
        heapreplace(self._free, done)
        return done

    def _factor(self) -> float:
        """Return a lognormal number whose mean is 1."""
        sigma = self.traits.sigma
        return exp(self._random.gauss(-sigma * sigma / 2, sigma)) if sigma else 1.0

    def _refuse(self, meter: Meter, at: float) -> float:
        """Count a request; return for how long the server now refuses."""
        if at < self._held_until:
            return self._held_until - at
        if at >= self._window + meter.period:
            self._window, self._count = at, 0
        self._count += 1
        if self._count <= meter.requests:
            return 0.0
        self._window, self._held_until = -inf, at + meter.hold
        return meter.hold

    def _send(self, status: int, body: bytes, at: float, *, last: bool, fields: str = "") -> Reply:
        traits = self.traits
        version = "1.0" if traits.requests == 1 else "1.1"
        close = "Connection: close\r\n" if last else ""
        head = f"HTTP/{version} {status} {_REASONS[status]}\r\n{fields}{close}Content-Length: {len(body)}\r\n\r\n".encode()
        if traits.bandwidth == inf:
            return Reply(at, at, head, body)
        starts = max(at, self._line_free)
        self._line_free = starts + (len(head) + len(body)) / traits.bandwidth
        return Reply(starts, self._line_free, head, body)
