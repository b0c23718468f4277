from math import inf

import pytest

from andante.flow import Sample
from andante.plan.forecast import BUSY, REFERENCE, Measured, Site, billion, forecast, problem, sites
from andante.plan.model import CPU
from support.planning import check, node, planned


def sample(server, rate, **more):
    values = {
        "time": 0.0,
        "set_point": 60.0,
        "ceiling": inf,
        "delay": 0.0,
        "limit": 1,
        "in_flight": 1,
        "latency": 0.1,
        "reason": "",
    }
    return Sample(server=server, rate=rate, **(values | more))


def rate(**more):
    (found,), guessed = sites(
        [("a", 0, more.pop("robots", 0.0))], [sample("a", 30.0, **more)], requests=9
    )
    assert guessed == 0
    return found.rate


def test_the_polite_rate_is_the_smallest_of_all_demands():
    assert rate() == 60
    assert rate(ceiling=40.0) == 40
    assert rate(delay=2.9) == pytest.approx(20)
    assert rate(delay=2.9, robots=5.9) == pytest.approx(10)
    # Without a set-point: what its connections can do.
    assert rate(set_point=inf) == 600
    assert rate(set_point=inf, limit=4) == 2400
    assert rate(set_point=inf, latency=0.0) == 30


def test_what_was_not_watched_is_taken_to_be_like_the_others():
    found, guessed = sites(
        [("a", 10, 0.0), ("b", 20, 0.0), ("c", 30, 10.0)],
        [
            sample("a", 30.0, set_point=120.0, requests=5),
            sample("a", 60.0, set_point=120.0, requests=10),
        ],
        requests=55,
    )
    assert guessed == 2
    assert [site.rate for site in found] == [120, 120, 6]
    # Of 55 requests a had 15: b and c share the others.
    assert [site.pages for site in found] == [10 + 15, 20 + 20, 30 + 20]


MEASURED = Measured(
    pages=1000,
    requests=1100,
    bytes=20_000_000,
    seconds=100.0,
    processor=2.0,
    memory=100_000_000,
    known=4000,
    sites=(Site("https://a", 300, 60.0), Site("https://b", 100, 60.0)),
)


def test_politeness_is_a_time_that_no_node_changes():
    crawl = forecast(MEASURED, pages=40_000, hours=5.0)
    # Of a there are 30,000 pages, with 1.1 requests each, at 60 a minute.
    assert [each.site.server for each in crawl.due] == ["https://a", "https://b"]
    assert crawl.polite_hours == pytest.approx(30_000 * 1.1 / 3600)
    assert not crawl.is_polite
    assert crawl.pages_in_time == pytest.approx(5 * 3600 / 1.1 + 10_000)
    assert forecast(MEASURED, pages=40_000, hours=10.0).is_polite
    assert forecast(MEASURED, pages=40_000, hours=None).hours == crawl.polite_hours


def test_tasks_have_what_their_speed_takes():
    crawl = forecast(MEASURED, pages=40_000, hours=10.0)
    made = problem(crawl, [node("n", 3, (2 * CPU, 2**30, 10**8))])
    first = made.tasks[0]
    speed = 30_000 / 36_000 / BUSY
    assert first.need.cpu == pytest.approx(speed * 0.002 * CPU, abs=1)
    assert first.need.bandwidth == pytest.approx(speed * 20_000 * 8, abs=1)
    assert first.need.memory == 30_000 * 4 * 11
    assert first.servers == ("https://a",)
    assert made.nodes[0].size.memory == 2**30 - 2 * 100_000_000
    assert made.nodes[0].taken == 200_000_000
    check(planned(made, None))
    # Where politeness is the limit, the speed is the polite one.
    hurried = problem(forecast(MEASURED, pages=40_000, hours=1.0), [REFERENCE])
    assert hurried.tasks[0].need.cpu == pytest.approx(0.002 / 1.1 / BUSY * CPU, abs=1)


def test_a_node_must_have_memory_for_its_processes():
    crawl = forecast(MEASURED, pages=1000, hours=1.0)
    with pytest.raises(ValueError, match=r"node 'n' has not the memory for a process of 100 MB"):
        problem(crawl, [node("n", 3, (4 * CPU, 400_000_000, 10**8))])


def test_the_cost_of_a_billion_pages():
    hours, price, cost = billion(MEASURED, [REFERENCE])
    assert hours == pytest.approx(1e9 * 0.002 / 0.8 / 3600)
    assert price == pytest.approx(462 / (12 * 25.5 * 16))
    assert cost == pytest.approx(hours * price)
