"""Servers whose pages never end: under capability and `opic` they sink, though no rule names them."""

from __future__ import annotations

from math import inf

import msgspec
import pytest

from andante.crawl import Settings
from andante.sim.population import Population
from andante.sim.simulation import Simulation
from andante.sim.web import Web, WebTraits


@pytest.mark.parametrize(
    ("tarpits", "speed", "links"),
    [
        pytest.param(1, 1, 10, marks=pytest.mark.slow),
        (3, 3, 10),
        pytest.param(1, 3, 1, marks=pytest.mark.slow),
    ],
)
def test_at_most_5_percent_of_a_crawl_go_to_tarpits(tarpits, speed, links):
    """One as fast as the mean; three that are three times as fast; a calendar, with one link on each page."""
    traits = WebTraits(
        servers=500, pages=30_000, tarpits=tarpits, tarpit_links=links, tarpit_doors=60
    )
    servers = Population().draw(500 + tarpits, seed=1, alive=1)
    for number in range(500, 500 + tarpits):
        servers[number] = msgspec.structs.replace(
            servers[number],
            rtt=0.05 / speed,
            connect_time=0.05 / speed,
            service_time=0.15 / speed,
            requests=100,
        )
    web = Web(traits, servers, seed=1)
    settings = Settings(
        scope="any",
        policy="capability",
        rate=inf,
        connections=64,
        max_pages=10_000,
        ignore_robots=True,
    )
    arrivals = Simulation(web, settings).run().arrivals
    trapped = sum(web.quality(f"http://{a.server.split(':')[0]}/") == 0 for a in arrivals)
    assert len(arrivals) >= 10_000
    assert 0 < trapped <= 0.05 * len(arrivals)
