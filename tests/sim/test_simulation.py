import collections
import hashlib
import itertools
import os
import subprocess
import sys
from math import inf
from pathlib import Path

import pytest

from andante.crawl import Settings
from andante.sim.machine import MachineTraits
from andante.sim.population import Population
from andante.sim.server import Traits
from andante.sim.simulation import Simulation
from andante.sim.web import Web, WebTraits

HOSTILE = Population(errors=0.05, resets=0.02, silences=0.01, dead=0.1, crawl_delay=2.0)


def make(population=None, *, seed=1, machine=None, store=None, web=None, **settings):
    traits = WebTraits(**{"servers": 20, "pages": 400, **(web or {})})
    count = traits.servers + traits.tarpits
    servers = (population or Population()).draw(count, seed=seed, alive=1)
    options = {"scope": "any", "rate": inf, "connections": 16, **settings}
    simulated = Web(traits, servers, seed=seed)
    return Simulation(simulated, Settings(**options), seed=seed, machine=machine, store=store)


def hostile(seed=1):
    return make(HOSTILE, seed=seed, rate=60.0, machine=MachineTraits(cpu_per_page=0.003))


def test_the_same_seed_the_same_trace_byte_for_byte():
    """Ten runs here, and one in another process, where sets of strings have another order."""
    traces = {hostile().run().trace() for _ in range(10)}
    assert len(traces) == 1
    there = f"""
import hashlib, sys
sys.path[:0] = {[str(Path(__file__).parent)]!r}
from test_simulation import hostile
print(hashlib.sha256(hostile().run().trace()).hexdigest())
"""
    done = subprocess.run(
        [sys.executable, "-c", there],
        env=os.environ | {"PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == hashlib.sha256(traces.pop()).hexdigest()


def test_another_seed_another_trace():
    assert hostile(1).run().trace() != hostile(2).run().trace()


def test_every_page_is_fetched_once():
    simulation = make()
    record = simulation.run()
    assert sorted(page.url for page in record.pages) == sorted(simulation._web.urls())
    assert record.queued == 0
    assert record.stats.pages == 400
    times = [ended.time for ended in record.ended]
    assert times == sorted(times)
    assert 0 < times[-1] <= record.seconds


def test_every_url_ends_whatever_the_servers_do():
    record = hostile().run()
    stats = record.stats
    assert stats.ended + record.queued == len({ended.url for ended in record.ended})
    assert stats.failed["refused"] > 0
    assert stats.requests == len(record.arrivals)


def by_server(record):
    found = collections.defaultdict(list)
    for arrival in record.arrivals:
        found[arrival.server].append(arrival)
    assert len(found) > 15
    return found.values()


def test_no_minute_holds_more_requests_to_a_server_than_the_rate():
    record = make(rate=30.0).run()
    for arrivals in by_server(record):
        for earlier, later in zip(arrivals, arrivals[31:], strict=False):
            assert later.time - earlier.time >= 60 - 1e-6
        connections = [arrival.connection for arrival in arrivals]
        assert connections == sorted(connections)  # one after another


def test_a_crawl_delay_is_kept():
    record = make(HOSTILE, rate=120.0).run()
    for arrivals in by_server(record):
        for earlier, later in itertools.pairwise(arrivals):
            if earlier.target != "/robots.txt":  # which says so
                assert later.time - earlier.time >= 2.0


def test_connections_serve_no_more_than_they_may():
    simulation = make()
    record = simulation.run()
    served = collections.Counter((a.server, a.connection) for a in record.arrivals)
    for (server, _), count in served.items():
        assert count <= simulation._web.server_traits(f"http://{server.split(':')[0]}/").requests
    assert record.stats.connections == len(served)


def test_connections_are_kept_while_servers_must_wait_however_few_are_at_work():
    population = Population(one_request=0.0, hundred_requests=1.0)
    record = make(population, connections=2, rate=60.0, ignore_robots=True).run()
    assert record.stats.pages == 400
    assert record.stats.connections == 20  # one for each server


def test_limits_of_the_crawl_hold():
    assert make(max_pages=50).run().stats.pages == 50
    record = make(max_time=5.0, rate=60.0).run()
    assert 0 < record.stats.pages < 400
    assert 5.0 <= record.seconds <= 7.1  # and the grace of a clean stop


def test_a_meter_is_respected_and_all_pages_come():
    """Twenty in ten seconds, then half a minute of refusals."""
    population = Population(meter_requests=20, meter_period=10.0, meter_hold=30.0)
    record = make(population, web={"servers": 2, "pages": 150}).run()
    assert record.stats.pages == 150
    assert sum(ended.outcome == "429" for ended in record.ended) < 15


def test_a_busy_machine_is_what_the_crawl_waits_for():
    record = make(machine=MachineTraits(cpu_per_page=1.0), web={"pages": 100}).run()
    assert record.processor == pytest.approx(len(record.arrivals))
    assert record.seconds > 100


def test_more_connections_than_workers_make_a_server_slower():
    """Little's law: with one worker, eight at once take eight times as long each, and no less in all."""

    def run(per_server):
        traits = Traits(service_time=0.1, sigma=0.0, workers=1, rtt=1e-6, connect_time=1e-6)
        web = Web(WebTraits(servers=1, pages=200), [traits], seed=1)
        settings = Settings(rate=inf, per_server=per_server, ignore_robots=True)
        return Simulation(web, settings).run().seconds

    assert run(1) == pytest.approx(20.0, rel=0.01)
    assert run(8) == pytest.approx(20.0, rel=0.05)


def test_a_tarpit_never_ends():
    record = make(web={"tarpits": 1}, max_pages=2_000).run()
    assert record.stats.pages == 2_000
    assert record.queued > 1_000


def test_the_store_may_be_on_disk_and_goes_on(tmp_path):
    """A simulated job is a job: stopped, it goes on with the pages that it had not."""
    options = {"store": tmp_path / "job", "output": (tmp_path / "pages.jsonl",)}
    first = make(max_pages=100, **options).run()
    second = make(**options).run()
    assert first.stats.pages == 100
    assert second.stats.pages == 400
    urls = [page.url for record in (first, second) for page in record.pages]
    assert len(urls) == len(set(urls)) == 400
    assert len((tmp_path / "pages.jsonl").read_text().splitlines()) == 400


def test_the_time_of_day_is_the_same_each_time(tmp_path):
    output = tmp_path / "pages.jsonl"
    make(output=(output,), max_pages=10).run()
    lines = output.read_text().splitlines()
    assert len(lines) == 10
    assert all('"fetched_at":"2020-01-01T00:00:' in line for line in lines)


def test_a_robots_txt_is_asked_for_once_a_day_however_often_its_server_is_let_go():
    """Five minutes pass from page to page, and all that was in memory of the server has gone."""
    record = make(Population(crawl_delay=1.0), web={"servers": 1, "pages": 330}, rate=0.2).run()
    asked = [arrival.time for arrival in record.arrivals if arrival.target == "/robots.txt"]
    assert record.seconds > 26 * 3_600
    assert len(asked) == 2
    assert 24 * 3_600 <= asked[1] - asked[0] < 24 * 3_600 + 600
