"""The servers of a simulated web: how they differ."""

from __future__ import annotations

from math import inf
from random import Random

import msgspec

from andante.sim.ranges import ABOVE_ZERO, COUNT, SHARE, SPEED, TIME, Range, check, check_shares
from andante.sim.server import Meter, Traits

_RANGES = {
    "rtt": ABOVE_ZERO,
    "connect_rounds": Range(0, 100),
    "service_time": TIME,
    "spread": Range(0, 5),
    "sigma": Range(0, 5),
    "workers": COUNT,
    "bandwidth": SPEED,
    "one_request": SHARE,
    "hundred_requests": SHARE,
    "keep_alive": ABOVE_ZERO,
    "errors": SHARE,
    "resets": SHARE,
    "silences": SHARE,
    "dead": SHARE,
    "meter_requests": COUNT,
    "meter_period": ABOVE_ZERO,
    "meter_hold": ABOVE_ZERO,
    "crawl_delay": TIME,
}


class Population(msgspec.Struct, frozen=True, kw_only=True):
    """What servers are like, and how widely they differ. Times are seconds; means are over all servers."""

    rtt: float = 0.05
    """Mean round trip."""
    connect_rounds: float = 1.0
    """Round trips that opening a connection takes: 1 for TCP; more for what a young connection loses by slow start."""
    service_time: float = 0.15
    """Mean of the servers' mean service times."""
    spread: float = 1.0
    """Sigma of the logarithm of the servers' round trips and mean service times: they are lognormal, and drawn apart."""
    sigma: float = 0.5
    """Sigma of the logarithm of the service times of one server."""
    workers: int = 8
    """Requests that a server works on at once."""
    bandwidth: float = inf
    """Bytes a second that a server sends."""
    one_request: float = 0.24
    """Share of the servers that allow one request on a connection."""
    hundred_requests: float = 0.66
    """Share of those that allow a hundred; the others allow between 2 and 99, all numbers alike."""
    keep_alive: float = 60.0
    """Time for which servers keep an idle connection."""
    errors: float = 0.0
    """Share of requests answered with 500."""
    resets: float = 0.0
    """Share of requests that end in a reset connection."""
    silences: float = 0.0
    """Share of requests that are never answered."""
    dead: float = 0.0
    """Share of the servers that refuse connections; never those of the seeds."""
    meter_requests: int | None = None
    """Requests in ``meter_period`` after which servers answer 429; None: as many as one likes."""
    meter_period: float = 60.0
    """Time in which they count."""
    meter_hold: float = 60.0
    """Time for which they then answer 429."""
    retry_after: bool = True
    """Whether a 429 says for how long."""
    crawl_delay: float = 0.0
    """Crawl-delay of their robots.txt; 0: there is none."""

    def __post_init__(self) -> None:
        check(self, _RANGES)
        check_shares(self, "one_request", "hundred_requests")
        check_shares(self, "errors", "resets", "silences")

    def draw(self, count: int, *, seed: int, alive: int = 0) -> list[Traits]:
        """Return the servers, the first ``alive`` of them not dead; the same seed, the same servers."""
        random = Random(f"servers {seed}")
        return [self._one(random, may_be_dead=number >= alive) for number in range(count)]

    def _one(self, random: Random, *, may_be_dead: bool) -> Traits:
        mu = -(self.spread**2) / 2
        rtt = self.rtt * random.lognormvariate(mu, self.spread)
        service_time = self.service_time * random.lognormvariate(mu, self.spread)
        kind, between, life = random.random(), random.randint(2, 99), random.random()
        requests = between
        if kind < self.one_request + self.hundred_requests:
            requests = 1 if kind < self.one_request else 100
        meter = None
        if self.meter_requests is not None:
            meter = Meter(
                requests=self.meter_requests,
                period=self.meter_period,
                hold=self.meter_hold,
                retry_after=self.retry_after,
            )
        robots = f"User-agent: *\nCrawl-delay: {self.crawl_delay:g}\n" if self.crawl_delay else ""
        return Traits(
            rtt=rtt,
            connect_time=rtt * self.connect_rounds,
            service_time=service_time,
            sigma=self.sigma,
            workers=self.workers,
            bandwidth=self.bandwidth,
            requests=requests,
            keep_alive=self.keep_alive,
            errors=self.errors,
            resets=self.resets,
            silences=self.silences,
            meter=meter,
            robots=robots,
            refuses=may_be_dead and life < self.dead,
        )
