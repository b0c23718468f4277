import time
from math import inf

import pytest

from andante.crawl.throttle import retry_after
from andante.fetch import Failure, Outcome, Response
from andante.flow import Again
from andante.store import Rates
from support.throttled import NOW, A, Crawl, Job, fail


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"120", 120.0),
        (b" 5 ", 5.0),
        (b"0", 0.0),
        (b"999999999", 86_400.0),
        (b"Tue, 14 Nov 2023 22:14:20 GMT", 60.0),
        (b"Tue, 14 Nov 2023 22:00:00 GMT", 0.0),
        (b"Fri, 14 Nov 2098 22:00:00 GMT", 86_400.0),
        (b"Tuesday, 14-Nov-23 22:14:20 GMT", 60.0),
        (b"Tue Nov 14 22:14:20 2023", 60.0),
        (b"Tue, 14 Nov 2023 22:14:20 -0000", 60.0),
        (b"soon", 0.0),
        (b"-5", 0.0),
        (b"1e9", 0.0),
        (b"\xff", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_bounded(value, seconds, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")  # where we are does not matter
    time.tzset()
    response = Response(503, "", "1.1", [(b"Retry-After", value)], b"", 0.0, 0.0, 0.0, 0)
    try:
        assert retry_after(response, NOW) == seconds
    finally:
        monkeypatch.undo()
        time.tzset()


def test_no_retry_after_asks_for_nothing():
    assert retry_after(Response(503, "", "1.1", [], b"", 0.0, 0.0, 0.0, 0), NOW) == 0.0


# Back-off


def test_what_a_server_asks_for_holds_it_and_not_its_whole_address():
    crawl = Crawl()
    crawl.answer(crawl.a)
    crawl.answer(crawl.a, 429, headers=[(b"Retry-After", b"30")])
    assert crawl.a.next_time == crawl.time + 30
    assert crawl.b.origin_pace.next_time <= crawl.time
    assert crawl.b.next_time == crawl.time + 2  # the usual first wait
    assert crawl.job.held == {A: NOW + crawl.time + 30}
    assert crawl.throttle.held_until(crawl.a) == crawl.time + 30
    [event] = crawl.events
    assert (event.event, event.server, event.reason) == ("server.held", A, "429")
    assert event.seconds == 30


@pytest.mark.parametrize("status", [200, 301, 403, 404, 408, 413, 500, 502, 504])
def test_retry_after_holds_with_any_answer(status):
    crawl = Crawl()
    crawl.answer(crawl.a, status, headers=[(b"Retry-After", b"30")])
    assert crawl.a.next_time == crawl.time + 30
    assert crawl.job.held == {A: NOW + crawl.time + 30}
    assert crawl.b.next_time <= crawl.time
    assert crawl.throttle.is_well(crawl.a)


def test_retry_after_holds_with_a_robots_txt_too():
    crawl = Crawl()
    answer = Response(404, "", "1.1", [(b"Retry-After", b"30")], b"", 0.0, 0.1, 0.1, 0)
    crawl.read_robots(crawl.a, answer)
    assert crawl.a.next_time == crawl.time + 30


def test_without_politeness_by_address_others_are_not_held_at_all():
    crawl = Crawl(per_ip=False)
    crawl.answer(crawl.a, 429, headers=[(b"Retry-After", b"30")])
    assert crawl.b.next_time <= crawl.time


def test_a_failure_of_several_visits_counts_once():
    crawl = Crawl()
    sent = [crawl.throttle.sent(crawl.a) for _ in range(4)]
    for sent_at in sent:
        crawl.time += 0.1
        crawl.throttle.finished(crawl.a)
        crawl.answer(crawl.a, 503, sent_at=sent_at)
    assert crawl.a.next_time == pytest.approx(0.1 + 2.0)
    assert len(crawl.events) == 1
    crawl.time = 3.0
    crawl.answer(crawl.a, 503)
    assert crawl.a.next_time == pytest.approx(3.1 + 4.0)


def test_in_trouble_a_server_has_one_visit_and_all_when_it_answers():
    crawl = Crawl()
    crawl.frontier.widen(crawl.a)
    assert crawl.a.limit == 4
    crawl.answer(crawl.a, 503)
    assert not crawl.throttle.is_well(crawl.a)
    crawl.frontier.widen(crawl.b)
    assert (crawl.a.limit, crawl.b.limit) == (1, 1), "they share a machine"
    crawl.time = crawl.a.next_time
    crawl.answer(crawl.a)
    assert crawl.throttle.is_well(crawl.a)
    crawl.frontier.widen(crawl.a)
    assert (crawl.a.limit, crawl.b.limit) == (4, 4)


def test_a_server_that_never_answers_is_given_up_and_one_that_has_is_not():
    reset = Failure(Outcome.RESET)
    for answers, given_up in (("nothing", True), ("a page", False), ("robots.txt", False)):
        crawl = Crawl(give_up_after=2)
        if answers == "a page":
            crawl.answer(crawl.a)
        elif answers == "robots.txt":
            crawl.read_robots(crawl.a, Response(404, "", "1.1", [], b"", 0.0, 0.1, 0.1, 0))
        for _ in range(3):
            crawl.time = max(crawl.time, crawl.a.next_time)
            crawl.throttle.fetched(crawl.a, reset, crawl.time)
        assert crawl.throttle.is_given_up(crawl.a) == given_up, answers


def test_each_server_at_an_address_has_its_own_tries():
    crawl = Crawl()
    fail(crawl, crawl.a, 5)
    assert crawl.throttle.is_given_up(crawl.a)
    fail(crawl, crawl.b, 4)
    assert not crawl.throttle.is_given_up(crawl.b)
    fail(crawl, crawl.b, 1)
    assert crawl.throttle.is_given_up(crawl.b)


def test_an_address_is_not_set_aside():
    crawl = Crawl()
    fail(crawl, crawl.a, 9)
    assert crawl.b.next_time == crawl.time + 32


def test_an_answer_takes_giving_up_back():
    crawl = Crawl()
    fail(crawl, crawl.a, 5)
    crawl.time = crawl.a.next_time
    crawl.answer(crawl.a)
    assert not crawl.throttle.is_given_up(crawl.a)


def test_a_server_that_fails_all_pages_is_given_up():
    crawl, wanted = Crawl(retry_wait=0.02, set_aside=0.2, set_asides=1), []
    crawl.read_robots(crawl.a, Response(404, "", "1.1", [], b"", 0.0, 0.1, 0.1, 0))
    while not crawl.throttle.is_given_up(crawl.a):
        crawl.time = max(crawl.time, crawl.a.next_time)
        wanted.append(crawl.answer(crawl.a, 503).again)
    assert wanted == [Again.PATIENTLY] * 8 + [Again.UNCOUNTED]
    names = [event.event for event in crawl.events]
    assert names == ["server.held"] * 7 + ["server.set-aside"] * 2


@pytest.mark.parametrize(
    ("status", "outcome", "holds_address"),
    [
        (503, None, True),
        (500, None, False),
        (0, Outcome.RESET, False),
        (0, Outcome.FIRST_BYTE_TIMEOUT, False),
        (0, Outcome.UNREACHABLE, True),
    ],
)
def test_an_unreadable_robots_txt_holds_the_address_only_where_a_page_would(
    status, outcome, holds_address
):
    crawl = Crawl()
    response = Response(status, "", "1.1", [], b"", 0.0, 0.1, 0.1, 0)
    result = Failure(outcome) if outcome else response
    crawl.read_robots(crawl.a, result, unreachable=outcome or str(status))
    assert crawl.a.next_time == crawl.time + 2
    assert (crawl.b.next_time > crawl.time) == holds_address


# Connection limits


def pages(crawl, server, count, *, took, status=200, workers=inf):
    """Answer so many requests, with as many connections at work as may be, by a server that has so many workers."""
    for _ in range(count):
        crawl.frontier._visits = crawl.throttle.connections
        server.address.visits = server.address.limit
        load = max(crawl.frontier.visits if workers < inf else 1, workers) / workers
        crawl.answer(server, status, took=took * (load if workers < inf else 1))
    crawl.frontier._visits = server.address.visits = 0


@pytest.mark.parametrize("status", [404, 403, 301, 304])
def test_only_pages_teach_the_limits(status):
    """A server gives an error, or sends elsewhere, faster than it makes a page."""
    crawl = Crawl(per_server="auto", connections="auto")
    pages(crawl, crawl.a, 30, took=0.001, status=status)
    assert crawl.a.address.limit == 1
    pages(crawl, crawl.a, 400, took=0.2)
    assert crawl.a.address.limit > 16
    assert crawl.throttle.connections > 32


def test_the_limit_of_the_crawl_is_not_misled_by_servers_that_differ():
    """A quick server first, then slow ones: no queue stands anywhere."""
    crawl = Crawl(connections="auto", per_ip=False)
    pages(crawl, crawl.a, 20, took=0.001)
    pages(crawl, crawl.b, 500, took=0.5)
    assert crawl.throttle.connections > 64


def test_the_limit_of_the_crawl_sees_that_all_become_slower():
    """More than 40 connections are more than this machine's network takes."""
    crawl = Crawl(connections="auto", per_ip=False)
    for _ in range(300):
        pages(crawl, crawl.a, 5, took=0.05, workers=40)
        pages(crawl, crawl.b, 5, took=0.5, workers=40)
    assert 36 <= crawl.throttle.connections <= 60


def test_the_limit_of_the_crawl_sees_that_this_machine_is_late():
    crawl = Crawl(connections="auto", per_ip=False)
    for n in range(2_000):
        server = crawl.frontier.server(f"http://{n}.example")  # each is asked once only
        crawl.frontier._visits = crawl.throttle.connections
        lag = 0.1 * max(0, crawl.throttle.connections - 40) / 40
        crawl.answer(server, took=0.1 + lag, lag=lag)
    assert 36 <= crawl.throttle.connections <= 60


def test_the_limit_of_the_crawl_starts_where_some_that_hang_do_not_stop_it():
    assert Crawl(connections="auto").throttle.connections == 16


# The learnt ceiling


def test_a_learnt_ceiling_lowers_the_set_point_and_is_kept():
    crawl = Crawl()
    allowed = crawl.meter(crawl.a, 40)
    assert 0 < allowed < inf
    assert crawl.job.kept[A].rate * 60 == allowed
    assert crawl.b.origin_pace.set_point == inf, "it is the server's, not the address's"
    assert crawl.a.address.pace.set_point == inf

    again = Crawl(crawl.job)
    again.answer(again.a)
    again.answer(again.b)
    assert again.a.origin_pace.set_point == allowed
    assert again.b.origin_pace.set_point == inf


def test_what_is_learnt_below_is_kept_though_the_set_point_is_lower():
    crawl = Crawl(rate=6.0)
    assert crawl.meter(crawl.a, 40) == 6.0
    assert crawl.job.kept[A].rate * 60 > 6.0


def test_requests_under_a_ceiling_go_evenly():
    crawl = Crawl(Job(), rate=6000.0)
    allowed = crawl.meter(crawl.a, 40)
    crawl.time = crawl.a.next_time + 1.0
    crawl.answer(crawl.a)
    assert crawl.a.next_time == pytest.approx(crawl.time - 0.1 + 60 / allowed)


@pytest.mark.parametrize("status", [429, 503, 500, 0])
def test_robots_failures_hold_the_server_and_teach_no_ceiling(status):
    crawl, reason = Crawl(), str(status) if status else "reset"
    failed = Response(status, "", "1.1", [(b"Retry-After", b"20")], b"", 0.0, 0.1, 0.1, 0)
    for _ in range(40):
        crawl.answer(crawl.a)
    crawl.read_robots(crawl.a, failed if status else Failure(Outcome.RESET), unreachable=reason)
    assert crawl.a.next_time == crawl.time + (20 if status else 2)
    assert crawl.events[0].reason == f"robots.txt: {reason}"
    crawl.time = crawl.a.next_time
    crawl.read_robots(crawl.a, Response(200, "", "1.1", [], b"", 0.0, 0.1, 0.1, 0))
    crawl.answer(crawl.a)
    assert crawl.throttle.is_well(crawl.a)
    assert crawl.a.origin_pace.set_point == inf
    assert crawl.job.kept == {}


# Set-points that change


def test_a_change_holds_for_servers_met_and_to_be_met():
    crawl = Crawl(rate=60.0)
    crawl.answer(crawl.a)
    crawl.throttle.change(Rates(rate="6/min", total_rate="2/s", servers={"b.example": "30/min"}))
    new = crawl.frontier.server("http://c.example")
    assert [each.origin_pace.set_point for each in (crawl.a, crawl.b, new)] == [6, 30, 6]
    assert crawl.a.address.pace.set_point == 30, "the highest of its servers'"
    assert crawl.state.total.set_point == 120
    assert crawl.a.next_time == 10.0
    crawl.throttle.change(Rates())
    assert [each.origin_pace.set_point for each in (crawl.a, crawl.b, new)] == [60, 60, 60]
    assert crawl.state.total.set_point == inf


def test_a_change_leaves_ceilings_and_holds_as_they_are():
    crawl = Crawl()
    allowed = crawl.meter(crawl.a, 40)
    crawl.throttle.change(Rates(rate="6000/min"))
    assert crawl.a.origin_pace.set_point == allowed
    assert crawl.b.origin_pace.set_point == 6000
    assert crawl.a.address.pace.set_point == 6000, "a ceiling that is lifted must not stay there"
    crawl.throttle.change(Rates(rate="1/min"))
    assert crawl.a.origin_pace.set_point == 1
    crawl.throttle.change(Rates())
    assert crawl.a.origin_pace.set_point == allowed
    crawl.answer(crawl.a, 503, headers=[(b"Retry-After", b"30")])
    until = crawl.time + 30
    crawl.throttle.change(Rates(rate="max"))
    assert crawl.a.next_time == until
