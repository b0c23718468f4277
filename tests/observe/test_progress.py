import io
from collections import Counter
from math import inf

import msgspec
import pytest

from andante.flow import Sample
from andante.observe.progress import LiveProgress, PlainProgress, Snapshot, panel_rows, remaining
from andante.observe.stats import Stats

STATS = Stats(
    fetched=Counter({"200": 1204, "404": 17}),
    redirected=31,
    failed=Counter({"reset": 2}),
    excluded=Counter(robots=249),
    requests=1262,
    connections=214,
    bytes=18_300_000,
)
NOW = Snapshot(
    stats=STATS, known=3811, queued=2310, servers=14, visits=9, elapsed=41.0, max_pages=2000
)


def test_a_plain_line():
    stream = io.StringIO()
    progress = PlainProgress(stream)
    with progress:
        progress.update(NOW)
    assert (
        stream.getvalue()
        == "41 s: 1,204 pages (29.4/s), 2,310 queued, 14 servers, 9 connections, 18.3 MB, 2 failed, about 27 s left\n"
    )


def test_the_panel_says_what_matters():
    assert panel_rows(NOW, 61.8) == [
        ("pages", "1,204 of 2,000   61.8/s   3,708/min   18.3 MB"),
        ("queue", "2,310 URLs   3,811 known on 14 servers"),
        ("connections", "9 at work   214 opened   1,262 requests"),
        ("other", "404 17   reset 2   redirected 31   robots 249"),
        ("left", "about 13 s"),
    ]


@pytest.mark.parametrize(
    ("limits", "queued", "speed", "drain", "expected"),
    [
        ({}, 500, 5.0, 0.0, None),
        ({"max_pages": 1304}, 500, 10.0, 0.0, 10.0),
        ({"max_pages": 1304}, 500, 0.0, 0.0, None),
        ({"max_time": 60.0}, 500, 0.0, 0.0, 19.0),
        ({"max_time": 60.0, "max_pages": 1304}, 500, 10.0, 0.0, 10.0),
        ({"max_time": 30.0}, 500, 0.0, 0.0, 0.0),
        ({"max_pages": 100_000}, 6, 0.6, 0.0, None),
        ({"max_pages": 100_000}, 6, 0.6, -3.0, None),
        ({"max_pages": 100_000}, 6, 0.6, 0.5, 12.0),
        ({}, 6, 0.6, 0.5, 12.0),
        ({"max_time": 46.0}, 6, 0.6, 0.5, 5.0),
    ],
)
def test_the_time_left_is_that_of_the_nearest_limit_or_of_the_queue(
    limits, queued, speed, drain, expected
):
    """Where the queue is shorter than the limit, and does not get shorter, nobody knows how many pages there are."""
    now = Snapshot(stats=STATS, known=0, queued=queued, servers=0, visits=0, elapsed=41.0, **limits)
    assert remaining(now, speed, drain) == expected


def test_a_queue_that_gets_shorter_says_when_it_ends():
    stream = io.StringIO()
    progress = PlainProgress(stream)
    for elapsed, queued in ((10.0, 9), (20.0, 29), (30.0, 19), (40.0, 9)):
        now = msgspec.structs.replace(NOW, elapsed=elapsed, queued=queued, max_pages=10**6)
        progress.update(now)
    assert [line.partition(", about ")[2] for line in stream.getvalue().splitlines()] == [
        *("", "", "19 s left", "9.0 s left"),
    ]


def test_the_panel_shows_hosts_as_they_are():
    speed = Sample(
        time=0.0,
        server="http://[fd00::1]",
        rate=38.0,
        set_point=40.0,
        ceiling=inf,
        delay=0.0,
        limit=1,
        in_flight=1,
        latency=0.1,
        reason="",
    )
    stream = io.StringIO()
    with LiveProgress(stream) as progress:
        progress.update(msgspec.structs.replace(NOW, speeds=[speed], doing="[red]"))
        assert "[fd00::1]" in stream.getvalue()
        assert "[red]" in stream.getvalue()


def test_the_live_panel_draws():
    stream = io.StringIO()
    with LiveProgress(stream) as progress:
        progress.update(NOW)
        assert "1,204 of 2,000" in stream.getvalue()


def test_servers_are_shown_as_they_are_and_steer_no_terminal():
    numbers = dict.fromkeys(("time", "rate", "set_point", "ceiling", "delay", "latency"), 1.0)
    hostile = [
        Sample(**numbers, server=f"http://{host}", limit=1, in_flight=1, reason="robots")
        for host in ("[fd00::1]", "\x1b[2J\x9b")
    ]
    now = msgspec.structs.replace(NOW, speeds=hostile)
    live, plain = io.StringIO(), io.StringIO()
    with LiveProgress(live) as progress:
        progress.update(now)
        shown = live.getvalue()
    assert "[fd00::1]" in shown
    assert "\ufffd[2J\ufffd" in shown
    PlainProgress(plain).update(now)
    assert "\ufffd[2J\ufffd" in plain.getvalue()
    assert plain.getvalue()[:-1].isprintable()
