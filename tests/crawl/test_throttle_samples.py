from math import inf

import pytest

from andante.fetch import Failure, Outcome, Response
from andante.frontier import Measured
from andante.frontier.frontier import remaining
from andante.store import Rates
from support.throttled import NOW, A, B, Crawl, fail

# Samples


def test_a_sample_says_how_a_server_fared_since_the_last_one():
    crawl = Crawl(delay=1.0)
    for _ in range(5):
        crawl.answer(crawl.a, took=0.2)
    crawl.time = 10.0
    [sample] = crawl.throttle.samples()
    assert (sample.time, sample.server) == (NOW + 10, A)
    assert (sample.rate, sample.set_point, sample.ceiling) == (30.0, inf, inf)
    assert (sample.delay, sample.limit, sample.in_flight) == (1.0, 1, 1)
    assert (sample.latency, sample.reason) == (0.2, "")
    crawl.time = 20.0
    assert crawl.throttle.samples() == []


@pytest.mark.parametrize(
    ("settings", "crawl_delay", "status", "reason"),
    [
        ({}, 0.0, 200, ""),
        ({"delay": 5.0}, 0.0, 200, "delay"),
        ({}, 5.0, 200, "robots"),
        ({}, 0.0, 503, "back-off"),
        ({"total_rate": 12.0}, 0.0, 200, "total-rate"),
    ],
)
def test_a_sample_says_why_the_set_point_is_not_held(settings, crawl_delay, status, reason):
    crawl = Crawl(rate=60.0, per_ip=False, **settings)
    crawl.a.origin_pace.delay = max(crawl.a.origin_pace.delay, crawl_delay)
    while crawl.time < 120:
        crawl.answer(crawl.a, status)
        crawl.time = max(crawl.time, crawl.a.next_time, crawl.state.total.next_time)
    [sample] = [each for each in crawl.throttle.samples() if each.server == A]
    assert sample.reason == reason
    assert (sample.rate >= 59) == (not reason)


def rows(crawl, server, seconds):
    """Let time pass, with a sample each 10 s; return those of a server."""
    found = []
    for _ in range(seconds // 10):
        crawl.time += 10
        found += [each for each in crawl.throttle.samples() if each.server == server.key]
    return found


@pytest.mark.parametrize("rate", [60.0, inf])
def test_a_server_that_is_held_has_its_rows(rate):
    crawl = Crawl(rate=rate)
    for _ in range(60):
        crawl.answer(crawl.a)
        crawl.time = max(crawl.time, crawl.a.next_time)
    crawl.answer(crawl.a, 503, headers=[(b"Retry-After", b"45")])
    assert [each.reason for each in rows(crawl, crawl.a, 40)] == ["back-off"] * 4
    crawl.time = crawl.a.next_time
    crawl.answer(crawl.a)
    crawl.throttle.samples()
    assert rows(crawl, crawl.a, 30) == [], "it may be asked, and is not"


def test_a_server_that_is_held_has_no_row_where_none_of_its_urls_waits():
    crawl = Crawl()
    crawl.answer(crawl.a, 503, headers=[(b"Retry-After", b"45")])
    end(crawl, crawl.a)
    crawl.throttle.samples()
    assert rows(crawl, crawl.a, 30) == []


def test_a_hold_for_another_server_at_the_address_is_back_off_too():
    crawl = Crawl(rate=60.0)
    for server in (crawl.a, crawl.b) * 30:
        crawl.time = server.next_time
        crawl.answer(server)
    for _ in range(5):
        crawl.time = crawl.a.next_time
        crawl.answer(crawl.a, 429)
        crawl.throttle.samples()
    assert crawl.b.next_time == crawl.time + 32
    assert [row.reason for row in rows(crawl, crawl.b, 30)] == ["back-off"] * 3
    assert crawl.throttle.held_until(crawl.b) < crawl.time


def end(crawl, server):
    """Let all URLs of a server end without a request."""
    for task in remaining(server, crawl.frontier):
        crawl.frontier.finish(task)


def test_a_server_whose_robots_txt_forbids_all_has_no_urls():
    """They end on the visit that reads it, after its request."""
    crawl = Crawl(rate=60.0)
    crawl.read_robots(crawl.a, Response(200, "", "1.1", [], b"", 0.0, 0.1, 0.1, 0))
    end(crawl, crawl.a)
    crawl.throttle.visited(crawl.a)
    [row] = rows(crawl, crawl.a, 10)
    assert row.reason == "no-urls"


def test_what_holds_a_server_is_looked_at_with_each_sample():
    crawl = Crawl(rate=60.0, connections=4)
    crawl.answer(crawl.a)
    crawl.frontier._visits = 4  # at work elsewhere, from now on
    crawl.throttle.samples()
    crawl.time = 30.0
    crawl.answer(crawl.a)
    [row] = rows(crawl, crawl.a, 10)
    assert row.reason == "connections"


@pytest.mark.parametrize("rate", [2.0, 40.0, 60.0, 100.5, 6000.0])
def test_the_first_minute_shows_no_rate_above_the_set_point(rate):
    crawl = Crawl(rate=rate, total_rate=rate)
    shown = []
    while crawl.time < 60:
        sent_at = crawl.throttle.sent(crawl.a)
        crawl.throttle.finished(crawl.a)
        crawl.answer(crawl.a, sent_at=sent_at)
        shown += [sample.rate for sample in crawl.throttle.samples()]
        crawl.time = crawl.a.next_time
    assert max(shown) <= rate + 1
    assert shown[-1] == pytest.approx(rate, rel=0.01)


def test_a_change_of_one_set_point_leaves_what_is_shown_of_the_others():
    crawl = Crawl(rate=60.0, total_rate=120.0, delay=5.0)
    for server in (crawl.a, crawl.b) * 20:
        crawl.answer(server)
        crawl.time = crawl.a.next_time
    before = {each.server: each.reason for each in crawl.throttle.samples()}
    assert before[A] == before[B] == "delay"
    for server in (crawl.a, crawl.b):
        crawl.answer(server)
    crawl.throttle.change(Rates(servers={"b.example": "20/min"}))
    total, a, b = crawl.throttle.samples()
    assert (total.rate, a.rate) == (pytest.approx(12, abs=1), pytest.approx(6, abs=1))
    assert a.reason == "delay"
    assert (b.rate, b.set_point, b.reason) == (0.0, 20.0, "")


def test_the_whole_crawl_has_a_sample_where_it_has_a_set_point():
    crawl = Crawl(total_rate=60.0, connections=8)
    for server in (crawl.a, crawl.b):
        crawl.answer(server)
        crawl.time += 0.9
    total, *each = crawl.throttle.samples()
    assert (total.server, total.rate, total.set_point, total.limit) == ("*", 60.0, 60.0, 8)
    assert [sample.server for sample in each] == [A, B]


def test_servers_in_trouble_are_forgotten_in_time_when_nothing_waits():
    crawl = Crawl()
    for server in (crawl.a, crawl.b):
        fail(crawl, server, 3, Outcome.REFUSED)
    while task := crawl.frontier.take(crawl.a, inf):
        crawl.frontier.finish(task)
    crawl.time += 4 * 300.0
    crawl.throttle.samples()
    assert set(crawl.throttle._servers) == {crawl.b}, "it has URLs that wait"


def test_servers_that_were_given_up_are_forgotten():
    crawl = Crawl(per_ip=False)
    fail(crawl, crawl.a, 5)
    crawl.a.given_up = "connect-timeout"
    crawl.time += 200.0
    crawl.throttle.samples()
    assert not crawl.throttle._servers
    assert not crawl.throttle._addresses


def test_what_is_known_of_an_address_stays_while_one_of_its_servers_is_asked():
    crawl = Crawl(per_server="auto")
    crawl.answer(crawl.a)
    crawl.frontier.learn(crawl.a, Measured(0.1))
    limit = crawl.throttle._addresses[crawl.a.address].limit
    for _ in range(30):
        crawl.time += 10.0
        crawl.answer(crawl.b)
        crawl.throttle.samples()
    assert set(crawl.throttle._servers) == {crawl.b}
    assert crawl.throttle._addresses[crawl.b.address].limit is limit
    for _ in range(2):
        crawl.time += 200.0
        crawl.throttle.samples()
    assert not crawl.throttle._servers
    assert not crawl.throttle._addresses


def test_idle_servers_are_forgotten_unless_they_are_in_trouble():
    crawl = Crawl()
    crawl.answer(crawl.a)
    crawl.frontier.learn(crawl.a, Measured(0.1))
    for _ in range(7):
        crawl.answer(crawl.b, 503)
        crawl.time = crawl.b.next_time
    crawl.throttle.samples()
    assert not crawl.let_go
    crawl.time += 200
    crawl.throttle.samples()
    assert set(crawl.throttle._servers) == {crawl.b}
    assert crawl.let_go == [crawl.a, crawl.b], "their robots.txt need not be in memory"
    # What was forgotten had answered: it is not given up at its first trouble.
    crawl.throttle.fetched(crawl.a, Failure(Outcome.TLS), crawl.time)
    assert not crawl.throttle.is_given_up(crawl.a)


def test_a_server_that_is_paused_says_so():
    crawl = Crawl(rate=60.0)
    crawl.answer(crawl.a)
    crawl.throttle.change(Rates(servers={"a.example": "pause"}))
    assert (crawl.a.next_time, crawl.b.origin_pace.next_time < inf) == (inf, True)
    for _ in range(3):
        crawl.time += 10
        [sample] = [each for each in crawl.throttle.samples() if each.server == A]
        assert (sample.set_point, sample.reason) == (0, "paused")
    crawl.throttle.change(Rates())
    assert crawl.a.next_time <= crawl.time
    crawl.answer(crawl.a)
    [sample] = [each for each in crawl.throttle.samples() if each.server == A]
    assert (sample.set_point, sample.reason) == (60, "")


def test_a_crawl_that_is_paused_asks_nobody():
    crawl = Crawl(rate=60.0, total_rate=600.0)
    crawl.throttle.change(Rates(total_rate="pause"))
    assert crawl.state.total.next_time == inf
    assert crawl.throttle.has_paused
    crawl.throttle.change(Rates(total_rate="5/s"))
    assert crawl.state.total.next_time <= crawl.time
    assert not crawl.throttle.has_paused
