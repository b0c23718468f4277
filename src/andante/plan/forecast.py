"""From a crawl to its tasks: what N pages of the same sites take, and what limits them.

What a page costs is taken from a job. How quickly a site may be asked is taken from the same job, and no number of nodes changes it: a site of n pages
that is asked r times a minute takes n / r minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil, inf
from statistics import median

import msgspec

from andante.flow import Sample
from andante.plan.model import CPU, NodeType, Problem, Resources, Task

BUSY = 0.8
"""Share of its processors and of its bandwidth that a node is planned to use."""

URL_BYTES = 11
"""Memory for a URL that is known, as of `frontier.seen`."""

BILLION = 1_000_000_000

REFERENCE = NodeType(
    name="reference",
    count=1_000,
    size=Resources(16 * CPU, 128 * 2**30, 10**10),
    reserve=0.0,
    use=462 / (12 * 25.5),
    extra=462 / (12 * 25.5),
)
"""The nodes of a published crawl of 1.005 billion pages: 12 nodes of 16 processors, 25.5 h, $462. Memory and bandwidth are ours."""

REFERENCE_TEXT = "a published crawl of 1.005 billion pages took 12 nodes of 16 processors 25.5 h: 4,896 processor hours, $462"


class Site(msgspec.Struct, frozen=True):
    """A server of a crawl."""

    server: str
    pages: float
    """How many it has, as far as is known; only their proportions count."""
    rate: float
    """Requests a minute that it may be asked."""
    connections: int = 1
    """At once, at most."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What a job tells of its pages."""

    pages: int
    requests: int
    bytes: int
    seconds: float
    processor: float
    """Seconds."""
    memory: int
    """Of a process, bytes."""
    known: int
    """URLs."""
    sites: tuple[Site, ...]
    guessed: int = 0
    """Servers whose rate is that of the others, as they were not watched."""

    @property
    def cpu_per_page(self) -> float:
        """Seconds of processor."""
        return self.processor / self.pages

    @property
    def bytes_per_page(self) -> float:
        """As transferred."""
        return self.bytes / self.pages

    @property
    def requests_per_page(self) -> float:
        """With robots.txt, redirects and further attempts."""
        return max(1.0, self.requests / self.pages)


class Due(msgspec.Struct, frozen=True):
    """What is to be fetched from a site."""

    site: Site
    pages: float
    seconds: float
    """At its polite rate."""


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl to come."""

    measured: Measured
    pages: int
    hours: float
    """That it is given."""
    due: tuple[Due, ...]
    """By the time that politeness takes, longest first."""

    @property
    def polite_hours(self) -> float:
        """Hours that it takes with any number of nodes."""
        return self.due[0].seconds / 3600

    @property
    def is_polite(self) -> bool:
        """Politeness leaves it the time that it is given."""
        return self.polite_hours <= self.hours * (1 + 1e-9)

    @property
    def pages_in_time(self) -> float:
        """Pages that politeness allows in the hours given."""
        seconds = self.hours * 3600
        return sum(each.pages * min(1.0, seconds / each.seconds) for each in self.due)


def sites(
    servers: Iterable[tuple[str, int, float]], samples: Iterable[Sample], *, requests: int
) -> tuple[list[Site], int]:
    """Return the sites of a job, and how many of them have a guessed rate.

    A site has the pages that wait, and those that were asked for. Of many servers the time series has not all: what it has not is shared by those that it
    never has.

    Args:
        servers: origin, URLs that wait, and Crawl-delay in seconds, of each.
        samples: the time series, oldest first.
        requests: of all servers.
    """
    asked: Counter[str] = Counter()
    last: dict[str, Sample] = {}
    peak: dict[str, float] = {}
    for sample in samples:
        asked[sample.server] += sample.requests
        peak[sample.server] = max(peak.get(sample.server, 0.0), sample.rate)
        if sample.server not in last or sample.latency:
            last[sample.server] = sample
    rows = list(servers)
    rates = {
        server: _polite(last[server], peak[server], delay)
        for server, _, delay in rows
        if server in last
    }
    usual = median(rates.values()) if rates else 60.0
    watched = sum(asked[server] for server in rates)
    unwatched = max(0, requests - watched) / max(1, len(rows) - len(rates))
    found = []
    for server, queued, delay in rows:
        rate = rates.get(server) or min(usual, 60 / delay if delay else inf)
        pages = queued + (asked[server] if server in rates else unwatched)
        limit = last[server].limit if server in last else 1
        found.append(Site(server, max(pages, 1.0), rate, max(1, limit)))
    return found, len(rows) - len(rates)


def _polite(sample: Sample, peak: float, delay: float) -> float:
    """Return how many requests a minute a server may get: by set-point, learnt ceiling, delay, and its speed on so many connections."""
    pause = max(delay, sample.delay)
    speed = max(peak, 60 * sample.limit / sample.latency if sample.latency else 0.0)
    rate = min(
        sample.set_point,
        sample.ceiling,
        60 / (pause + sample.latency) if pause else inf,
        speed or inf,
    )
    return rate if 0 < rate < inf else 60.0


def forecast(measured: Measured, *, pages: int, hours: float | None) -> Forecast:
    """Return what so many pages take, from the sites in the proportions in which they have them.

    Args:
        measured: a job.
        pages: of all sites together.
        hours: in which they are wanted; None: as soon as politeness allows.
    """
    total = sum(site.pages for site in measured.sites)
    due = []
    for site in measured.sites:
        count = pages * site.pages / total
        due.append(Due(site, count, count * measured.requests_per_page * 60 / site.rate))
    due.sort(key=lambda each: (-each.seconds, each.site.server))
    return Forecast(
        measured=measured,
        pages=pages,
        hours=hours or max(due[0].seconds / 3600, 1 / 3600),
        due=tuple(due),
    )


def problem(crawl: Forecast, nodes: Sequence[NodeType]) -> Problem:
    """Return the crawl as tasks, one for each site.

    A task has the speed at which the site is done in the hours given, or its polite one where that is less. One that needs more than a processor is split.
    A node runs a process for each of its processors; what a process needs itself is taken from the memory of the node.

    Raises:
        ValueError: a type of nodes has not the memory for its processes.
    """
    measured, tasks = crawl.measured, []
    for each in crawl.due:
        seconds = max(each.seconds, crawl.hours * 3600)
        speed = each.pages / seconds / BUSY
        cpu = speed * measured.cpu_per_page
        copies = max(1, ceil(cpu))
        urls = each.pages * max(1.0, measured.known / measured.pages)
        tasks.append(
            Task(
                name=each.site.server,
                need=Resources(
                    ceil(cpu * CPU / copies),
                    ceil(urls * URL_BYTES / copies),
                    ceil(speed * measured.bytes_per_page * 8 / copies),
                ),
                copies=copies,
                servers=(each.site.server,),
            )
        )
    return Problem(
        nodes=tuple(_without_processes(kind, measured) for kind in nodes),
        tasks=tuple(tasks),
        hours=crawl.hours,
    )


def _without_processes(kind: NodeType, measured: Measured) -> NodeType:
    taken = measured.memory * ceil(kind.size.cpu / CPU)
    memory = kind.size.memory - taken
    if memory <= 0:
        raise ValueError(
            f"node {kind.name!r} has not the memory for a process of {measured.memory / 1e6:,.0f} MB on each of its processors"
        )
    return msgspec.structs.replace(kind, size=kind.size._replace(memory=memory), taken=taken)


def billion(measured: Measured, nodes: Sequence[NodeType]) -> tuple[float, float, float]:
    """Return the processor hours of a billion pages, the least price of one, and what that comes to."""
    hours = BILLION * measured.cpu_per_page / BUSY / 3600
    price = min(kind.price / (kind.size.cpu / CPU) for kind in nodes)
    return hours, price, hours * price
