"""What a visit to a server will take and bring, estimated from the visits before (source 5: Cao et al. 2003)."""

from __future__ import annotations

import msgspec

SMOOTHING = 0.8
"""a: the weight of the past in a server's estimates."""

REQUESTS = 50
"""Requests that a connection is taken to serve before one to the server has ended."""

PIPELINING_GAIN = 1.2
"""p: by so much response times overlap where requests are pipelined."""

_SECONDS_MIN = 1e-9
"""Least T: on simulated servers a visit may take no time at all."""

_CRAWL_MEMORY = 100
"""Visits over which the crawl's own means are taken."""


class Estimate(msgspec.Struct, gc=False):
    """What is expected of the next connection to a server."""

    connection_time: float = 0.1
    """Seconds to connect, TLS included."""
    response_time: float = 0.3
    """Seconds from a request to the end of its response."""
    requests: int = REQUESTS
    """Requests that a connection serves."""


class Measured(msgspec.Struct):
    """What a visit has measured."""

    connection_time: float | None = None
    """Seconds that connecting took; None: an open connection was used again."""
    asked: int = 0
    """Pages asked for."""
    responses: int = 0
    """Responses to requests for pages."""
    seconds: float = 0.0
    """That these took, together."""
    served: int = 0
    """Requests that the connection has served in all."""
    is_used_up: bool = False
    """The server has closed the connection: it serves no more."""


class Estimates:
    """Learns what each server does, and for those that were never visited what servers do on average.

    A server's first measurement counts in full. Then, as in source 5, with M what visit i - 1 has measured,

        ConnectionTime(i) = a ConnectionTime(i - 1) + (1 - a) M,    a = 0.8,

    and ResponseTime likewise. RequestsPerConnection is what the last connection served that the server closed, and not less than any served since.

    Args:
        pipelined: whether several requests are under way on a connection.
    """

    def __init__(self, *, pipelined: bool = False) -> None:
        self.crawl = Estimate()
        """Means over the last 100 visits or so."""
        self.new = Estimate()
        """What is expected of a server that was never visited: always the same, so that their ranks can be compared."""
        self._gain = PIPELINING_GAIN if pipelined else 1.0
        self._visits = 0

    def learn(self, known: Estimate | None, visit: Measured) -> Estimate:
        """Return what is expected of a server of which ``known`` was expected before the visit."""
        crawl = self.crawl
        expected = known or Estimate(crawl.connection_time, crawl.response_time)
        weight = 1 - SMOOTHING if known else 1.0
        self._visits += 1
        crawl_weight = max(1 / self._visits, 1 / _CRAWL_MEMORY)
        if (seconds := visit.connection_time) is not None:
            expected.connection_time += weight * (seconds - expected.connection_time)
            crawl.connection_time += crawl_weight * (seconds - crawl.connection_time)
        if visit.responses:
            mean = visit.seconds / visit.responses
            expected.response_time += weight * (mean - expected.response_time)
            crawl.response_time += crawl_weight * (mean - crawl.response_time)
        if visit.served and (visit.is_used_up or visit.served > expected.requests):
            expected.requests = visit.served
        return expected

    def seconds(self, expected: Estimate, pages: float) -> float:
        """Return T, the seconds that a visit for so many pages takes: 2 ConnectionTime + P ResponseTime / p."""
        seconds = 2 * expected.connection_time + pages * expected.response_time / self._gain
        return max(seconds, _SECONDS_MIN)
