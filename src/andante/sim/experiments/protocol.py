"""What connections are good for: source 5's figures 4 and 5, pages a second against the number of connections.

The servers are those of `andante.sim.experiments.campus`, but all of them allow the same number of requests on a connection: one (HTTP/1.0) or a
hundred (HTTP/1.1). Two things make the difference. A request on a new connection takes `CONNECT_ROUNDS` round trips more: TCP's handshake, and
what a young connection loses by slow start (a page of 14 kB does not fit in the first two segments of that time). And the crawling machine pays `OPENING` for each.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from andante.crawl.settings import Settings
from andante.sim.experiments.campus import Size, campus
from andante.sim.experiments.result import Figure, Result, Series, Table
from andante.sim.machine import MachineTraits
from andante.sim.population import Population
from andante.sim.simulation import Simulation
from andante.sim.web import Web, WebTraits

CONNECT_ROUNDS = 3.0
"""Round trips that a request on a new connection takes more: 1 for the handshake, 2 for slow start from two segments to 14 kB."""

SERVICE = 0.1
"""Mean service time, seconds; the mean round trip is as long, as it was across a network of 2003."""

OPENING = 0.001
"""Seconds of processor for opening a connection."""

MACHINE = MachineTraits(
    cpu_per_page=0.0015, cpu_per_open=OPENING, cpu_per_connection=0.00001, downlink=1.25e7
)
"""The machine that crawls: a page costs it 1.5 ms, and 10 us for each open connection that it watches; its line has 100 Mbit/s."""

CONNECTIONS = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256)

FAST_CONNECTIONS = (1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20)

SHARE = 0.6
"""Throughput is judged by the first so much of the pages: the last ones depend on which servers are left."""


class Protocol(NamedTuple):
    """How requests share connections."""

    requests: int
    """On a connection."""
    pipeline: int
    """Under way at once on a connection."""


PROTOCOLS = {
    "HTTP/1.0": Protocol(1, 1),
    "HTTP/1.1": Protocol(100, 1),
    "HTTP/1.1, pipelined": Protocol(100, 2),
}


def run(
    *,
    seed: int = 1,
    size: Size | None = None,
    connections: tuple[int, ...] = CONNECTIONS,
    fast: tuple[int, ...] = FAST_CONNECTIONS,
) -> Result:
    """Run the experiment: at full size some five minutes of computing."""
    size = size or Size()
    many = {
        name: [_speed(_campus(protocol, size, seed), protocol, count) for count in connections]
        for name, protocol in PROTOCOLS.items()
    }
    protocol = PROTOCOLS["HTTP/1.1"]
    few = [_speed(_fast(size, seed), protocol, count) for count in fast]
    return Result(
        title="Pages a second against the number of connections (source 5)",
        tables=(_protocols(connections, many), _fast_servers(fast, few)),
        figures=(
            _figure("protocols", f"{size.servers} servers", connections, many),
            _figure("fast-servers", "20 fast servers", fast, {"HTTP/1.1": few}),
        ),
        notes=(
            f"Pages a second over the first {SHARE:.0%} of the pages: after that it depends on which servers are left.",
            f"Opening costs {CONNECT_ROUNDS:g} round trips (0.1 s in the mean) and {1000 * OPENING:g} ms of processor, a page {1000 * MACHINE.cpu_per_page:g} ms.",
            "Where the processor is busy, each further connection makes each page dearer.",
        ),
    )


def _campus(protocol: Protocol, size: Size, seed: int) -> Web:
    population = _population(protocol, rtt=0.1, service_time=SERVICE)
    return campus(size, seed=seed, population=population)


def _fast(size: Size, seed: int) -> Web:
    """Return a web of 20 servers in the same building."""
    traits = WebTraits(servers=20, pages=size.pages // 10, seeds=20, server_exponent=0.0)
    population = _population(PROTOCOLS["HTTP/1.1"], rtt=0.002, service_time=0.011, spread=0.2)
    return Web(traits, population.draw(20, seed=seed, alive=20), seed=seed)


def _population(
    protocol: Protocol, *, rtt: float, service_time: float, spread: float = 1.0
) -> Population:
    is_persistent = protocol.requests > 1
    return Population(
        rtt=rtt,
        connect_rounds=CONNECT_ROUNDS,
        service_time=service_time,
        spread=spread,
        one_request=0.0 if is_persistent else 1.0,
        hundred_requests=1.0 if is_persistent else 0.0,
    )


def _speed(web: Web, protocol: Protocol, connections: int) -> float:
    """Return pages a second."""
    settings = Settings(
        scope="any",
        rate=inf,
        connections=connections,
        pipeline=protocol.pipeline,
        ignore_robots=True,
        max_pages=int(SHARE * web.traits.pages),
    )
    pages = Simulation(web, settings, machine=MACHINE).run().pages
    return len(pages) / pages[-1].time


def _protocols(connections: tuple[int, ...], speeds: dict[str, list[float]]) -> Table:
    rows = tuple(
        (
            float(count),
            *(round(each[at], 1) for each in speeds.values()),
            round(speeds["HTTP/1.1"][at] / speeds["HTTP/1.0"][at], 2),
        )
        for at, count in enumerate(connections)
    )
    columns = ("connections", *(f"{name}, pages/s" for name in speeds), "1.1 by 1.0")
    return Table("protocols", columns, rows)


def _fast_servers(connections: tuple[int, ...], speeds: list[float]) -> Table:
    rows = tuple(
        (float(count), round(speed, 1)) for count, speed in zip(connections, speeds, strict=True)
    )
    return Table("fast-servers", ("connections", "HTTP/1.1, pages/s"), rows)


def _figure(
    name: str, title: str, connections: tuple[int, ...], speeds: dict[str, list[float]]
) -> Figure:
    x = tuple(map(float, connections))
    series = tuple(Series(label, x, tuple(each)) for label, each in speeds.items())
    return Figure(name, title, "connections", "pages a second", series)
