"""Policies by example: the ranks are worked out by hand from the formulas of source 5."""

from math import inf, nan

import pytest

from andante.frontier import Frontier, Measured
from andante.frontier.policy import (
    POLICIES,
    BreadthFirst,
    Capability,
    PerformanceFirst,
    QualityFirst,
    load,
)
from andante.frontier.queue import grade, worth


def crawl(policy, **options):
    return Frontier(lambda *_: pytest.fail("all is in memory"), policy=policy, **options)


def add(frontier, host, scores):
    """Queue a URL for each score; return the server."""
    found = [f"http://{host}.example/{number}" for number in range(len(scores))]
    frontier.offer(found, depth=0, scores=scores)
    return frontier.server(f"http://{host}.example")


def learn(frontier, server, *, connection_time, response_time, requests):
    visit = Measured(
        connection_time=connection_time,
        responses=requests,
        seconds=requests * response_time,
        served=requests,
        is_used_up=True,
    )
    frontier.learn(server, visit)


def order(frontier):
    """Visit each server once; return the hosts in order."""
    hosts = []
    while server := frontier.open_visit(0.0):
        hosts.append(server.key[7:].partition(".")[0])
        while task := frontier.take(server, 0.0):
            frontier.finish(task)
        frontier.close_visit(server)
    return "".join(hosts)


def test_performance_first_takes_the_most_pages_a_second():
    """P / T with T = 2 c + P r: a 4 / (0.2 + 0.4), b 1 / (0.2 + 0.1), c 4 / (2 + 0.4), d 4 / (0.2 + 4)."""
    frontier = crawl(PerformanceFirst())
    servers = [add(frontier, host, [1.0] * 4) for host in "dcba"]
    traits = [(0.1, 1.0, 100), (1.0, 0.1, 100), (0.1, 0.1, 1), (0.1, 0.1, 100)]
    for server, (c, r, n) in zip(servers, traits, strict=True):
        learn(frontier, server, connection_time=c, response_time=r, requests=n)
    ranks = [PerformanceFirst().rank(server) for server in servers]
    assert ranks == pytest.approx([4 / 4.2, 4 / 2.4, 1 / 0.3, 4 / 0.6])
    assert order(frontier) == "abcd"


def test_pipelining_overlaps_response_times():
    frontier = crawl(PerformanceFirst(), pipelined=True)
    server = add(frontier, "a", [1.0] * 6)
    learn(frontier, server, connection_time=0.1, response_time=0.2, requests=100)
    assert server.seconds == pytest.approx((2 * 0.1 + 6 * 0.2 / 1.2) * 5 / 6)


def test_a_turn_takes_a_part_of_what_a_connection_could():
    """Its connection is kept, so it has its share of opening it; who has no turns takes all."""
    for policy, pages in ((PerformanceFirst(), 5), (BreadthFirst(), 20)):
        frontier = crawl(policy)
        server = add(frontier, "a", [1.0] * 30)
        learn(frontier, server, connection_time=0.1, response_time=0.2, requests=20)
        assert server.visit() == (pages, pytest.approx((2 * 0.1 + 20 * 0.2) * pages / 20))


def test_quality_first_takes_the_best_url():
    frontier = crawl(QualityFirst())
    for host, scores in {"a": [0.1] * 50, "b": [0.5, 0.01], "c": [0.4, 0.4]}.items():
        add(frontier, host, scores)
    assert order(frontier) == "bca"


def test_capability_takes_the_most_quality_a_second():
    """Three servers alike but for their URLs; then the best one is slow."""
    frontier = crawl(Capability())
    a = add(frontier, "a", [0.5, 0.5])
    b = add(frontier, "b", [1.0])
    c = add(frontier, "c", [0.1] * 50)
    for server in (a, b, c):
        learn(frontier, server, connection_time=0.05, response_time=0.1, requests=100)
    half, one, tenth = (worth(grade(score)) for score in (0.5, 1.0, 0.1))
    ranks = [Capability().rank(server) for server in (a, b, c)]
    assert ranks == pytest.approx([2 * half / 0.3, one / 0.2, 50 * tenth / 5.1])
    assert order(frontier) == "bac"


def test_breadth_first_takes_servers_and_urls_as_they_come():
    frontier = crawl(BreadthFirst())
    add(frontier, "a", [0.1, 0.9])
    add(frontier, "b", [1.0])
    assert order(frontier) == "ab"
    add(frontier, "c", [0.1])
    frontier.offer(["http://c.example/best"], depth=0, scores=[1.0])
    server = frontier.open_visit(0.0)
    assert [frontier.take(server, 0.0).link.target for _ in range(2)] == ["/0", "/best"]


def test_links_that_come_raise_a_server():
    frontier = crawl(QualityFirst())
    add(frontier, "a", [0.5])
    add(frontier, "b", [0.4])
    assert frontier.open_visit(0.0).key == "http://a.example"
    frontier = crawl(QualityFirst())
    add(frontier, "a", [0.5])
    add(frontier, "b", [0.4])
    frontier.wakeup()
    frontier.offer(["http://b.example/new"], depth=1, scores=[0.9])
    assert frontier.open_visit(0.0).key == "http://b.example"


def test_a_url_that_waits_can_become_worth_more_or_less():
    frontier = crawl(QualityFirst(), rescores=True)
    add(frontier, "a", [0.5, 0.3])
    add(frontier, "b", [0.4])
    frontier.rescore("http://a.example/1", 0.9)
    frontier.rescore("http://a.example/0", 0.1)
    frontier.rescore("http://never.example/", 0.1)
    assert frontier.queued == 3
    server = frontier.open_visit(0.0)
    assert frontier.take(server, 0.0).url == "http://a.example/1"
    frontier.rescore("http://a.example/1", 0.2)  # it waits no longer
    assert frontier.open_visit(0.0).key == "http://b.example"
    assert frontier.take(server, 0.0).url == "http://a.example/0"
    assert frontier.take(server, 0.0) is None


def test_under_a_pace_a_visit_is_worth_the_page_that_it_takes():
    """60 a minute, and responses take less: 2 c spread over the pages of the connection, and r."""
    frontier = crawl(Capability(), set_point=60)
    server = add(frontier, "a", [1.0] + [0.5] * 9)
    learn(frontier, server, connection_time=0.1, response_time=0.2, requests=5)
    assert server.pages == 1
    assert server.seconds == pytest.approx(2 * 0.1 / 5 + 0.2)
    learn(frontier, server, connection_time=0.1, response_time=9.0, requests=5)
    assert server.pages == 5, "it answers more slowly than it may be asked: it need not wait"


def test_no_server_waits_longer_than_the_patience():
    frontier = crawl(QualityFirst(), patience=10.0)
    add(frontier, "worst", [0.01])
    visited = []
    for second in range(15):
        frontier.offer([f"http://best.example/{second}"], depth=0, scores=[1.0])
        server = frontier.open_visit(float(second))
        visited.append(server.key[7:].partition(".")[0])
        frontier.finish(frontier.take(server, float(second)))
        frontier.close_visit(server)
    assert visited == ["best"] * 11 + ["worst"] + ["best"] * 3


# Users' own


class Backwards:
    """Ranks by the name."""

    by_score = False

    def rank(self, server):
        return ord(server.key[7])


class Broken:
    by_score = True
    answers = iter(())

    def rank(self, server):
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


class NoPolicy:
    pass


class Raises:
    def __init__(self):
        raise RuntimeError("no\nway")


def test_a_policy_of_ones_own():
    policy = load(f"{__name__}:Backwards", problem=pytest.fail)
    frontier = crawl(policy)
    for host in "abc":
        add(frontier, host, [1.0])
    assert order(frontier) == "cba"


class Moody:
    @property
    def by_score(self):
        raise LookupError("not today")

    def rank(self, server):
        raise NotImplementedError


class Backward(Backwards):
    turn = -1


class Wordy(Backwards):
    turn = "five"


class Nowhere(Backwards):
    turn = nan


def test_what_is_wrong_with_it_is_told_once_and_counts_nothing():
    problems = []
    policy = load(f"{__name__}:Broken", problem=problems.append)
    Broken.answers = iter(
        [2.0, nan, "3", None, ZeroDivisionError("by\nzero"), ZeroDivisionError(), nan, inf]
    )
    server = add(crawl(BreadthFirst()), "a", [1.0])
    assert [policy.rank(server) for _ in range(8)] == [2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, inf]
    assert len(problems) == 3
    assert problems[0].endswith(
        "Broken gave http://a.example a rank that is no number; it counts 0"
    )
    assert problems[2].endswith(
        "Broken raised ZeroDivisionError on http://a.example: by zero; its rank counts 0"
    )


def test_a_slow_one_is_told():
    problems, times = [], iter(range(10**6))
    policy = load(f"{__name__}:Backwards", problem=problems.append, clock=lambda: next(times))
    server = add(crawl(BreadthFirst()), "a", [1.0])
    for _ in range(10):
        policy.rank(server)
    assert len(problems) == 1, "not after an hour"
    assert "is slow: 1000.0 ms a server" in problems[0]
    for _ in range(2_000):
        policy.rank(server)
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "capabilty",
            "unknown policy 'capabilty'; did you mean capability? (there are breadth-first, performance, quality, capability and MODULE:CLASS)",
        ),
        ("", "unknown policy ''"),
        ("nowhere.at:All", "policy 'nowhere.at:All' cannot be made: No module named 'nowhere'"),
        (f"{__name__}:Nothing", "cannot be made: module"),
        (f"{__name__}:Raises", "cannot be made: no way"),
        (f"{__name__}:NoPolicy", "has no rank and no by_score"),
        (f"{__name__}:Moody", "cannot be made: not today"),
        (
            f"{__name__}:Backward",
            "has the turn -1: it must be a whole number of at least 1, or None",
        ),
        (f"{__name__}:Wordy", "has the turn 'five'"),
        (f"{__name__}:Nowhere", "has the turn nan"),
    ],
)
def test_what_is_no_policy_is_an_error_of_one_line(name, message):
    with pytest.raises(ValueError, match="policy") as raised:
        load(name, problem=pytest.fail)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", POLICIES)
def test_each_policy_visits_all(name):
    frontier = crawl(POLICIES[name]())
    for host in "abcdefgh":
        add(frontier, host, [0.5, 0.0, 2.0])
    assert sorted(order(frontier)) == list("abcdefgh")
    assert frontier.queued == 0
