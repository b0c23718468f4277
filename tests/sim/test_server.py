from math import inf

import pytest

from andante.sim.server import Meter, Server, Traits

PAGE = b"<p>A page"


def pages(target):
    return PAGE if target == "/" else None


def make(**traits):
    return Server(Traits(**{"service_time": 1.0, "sigma": 0.0, **traits}), pages)


def statuses(server, times, target="/"):
    return [int(server.serve(target, at, last=False).head.split()[1]) for at in times]


@pytest.mark.parametrize(
    ("workers", "arrivals", "ends"),
    [
        (1, [0, 0, 0], [1, 2, 3]),
        (2, [0, 0, 0, 0], [1, 1, 2, 2]),
        (2, [0, 0.5, 0.6, 5], [1, 1.5, 2, 6]),
        (3, [0, 0, 0], [1, 1, 1]),
    ],
)
def test_requests_wait_for_a_free_worker(workers, arrivals, ends):
    server = make(workers=workers)
    assert [server.serve("/", at, last=False).ends for at in arrivals] == ends


def test_responses_wait_for_the_line_that_all_connections_share():
    server = make(workers=10, bandwidth=100.0)
    first, second = (server.serve("/", 0.0, last=False) for _ in range(2))
    seconds = len(first.head + PAGE) / 100
    assert (first.starts, first.ends) == (1.0, 1.0 + seconds)
    assert (second.starts, second.ends) == (first.ends, first.ends + seconds)


def test_service_times_are_lognormal_around_their_mean():
    server = make(workers=1, sigma=0.8)
    count, last = 20_000, 0.0
    times = []
    for _ in range(count):
        ends = server.serve("/", last, last=False).ends
        times.append(ends - last)
        last = ends
    times.sort()
    assert sum(times) / count == pytest.approx(1.0, rel=0.03)
    assert times[count // 2] == pytest.approx(0.726, rel=0.03)  # exp(-0.8 ** 2 / 2)


def test_heads():
    assert make().serve("/", 0.0, last=False).head == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 9\r\n\r\n"
    )
    assert make(requests=1).serve("/", 0.0, last=True).head == (
        b"HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\nContent-Length: 9\r\n\r\n"
    )
    assert make().serve("/no", 0.0, last=False).head == (
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    )


def test_robots_txt():
    assert statuses(make(), [0], "/robots.txt") == [404]
    reply = make(robots="User-agent: *\nCrawl-delay: 3\n").serve("/robots.txt", 0.0, last=False)
    assert reply.body == b"User-agent: *\nCrawl-delay: 3\n"
    assert b"Content-Type: text/plain\r\n" in reply.head


def test_a_meter_lets_through_what_it_says_and_then_holds():
    server = make(meter=Meter(requests=3, period=10, hold=30), workers=9)
    assert statuses(server, [0, 1, 2]) == [200] * 3
    refused = server.serve("/", 3.0, last=False)
    assert (refused.starts, refused.head) == (
        3.0,  # at once
        b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n",
    )
    assert statuses(server, [32.9, 33, 34, 35, 36]) == [429, 200, 200, 200, 429]


def test_a_meter_counts_anew_after_its_period_and_may_keep_its_hold_to_itself():
    server = make(meter=Meter(requests=2, period=10, hold=5, retry_after=False), workers=9)
    assert statuses(server, [0, 9, 10, 19, 19.5]) == [200, 200, 200, 200, 429]
    assert b"Retry-After" not in server.serve("/", 20.0, last=False).head


def test_failures_have_their_shares():
    server = make(errors=0.1, resets=0.2, silences=0.05, service_time=0.0)
    replies = [server.serve("/", 0.0, last=False) for _ in range(10_000)]
    assert sum(b" 500 " in reply.head for reply in replies) == pytest.approx(1_000, abs=100)
    assert sum(reply.fault == "reset" for reply in replies) == pytest.approx(2_000, abs=140)
    assert sum(reply.fault == "silence" for reply in replies) == pytest.approx(500, abs=80)


def test_the_same_seed_the_same_times():
    def ends(seed):
        server = Server(Traits(errors=0.3), pages, seed=seed)
        return [server.serve("/", 0.0, last=False) for _ in range(50)]

    assert ends((1, 2)) == ends((1, 2)) != ends((1, 3))


def test_without_a_bound_on_bandwidth_nothing_waits_for_the_line():
    reply = make(bandwidth=inf).serve("/", 0.0, last=False)
    assert reply.starts == reply.ends == 1.0
