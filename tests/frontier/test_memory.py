"""How many links are in memory, and that it makes no difference but to memory."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.frontier import Frontier
from andante.frontier.policy import BreadthFirst, Capability
from support.disk import Disk

POLICIES = {"found": BreadthFirst, "score": Capability}


class Endless:
    """A web without end on some hosts, all of which are always visited: each page has eight links that nothing else has."""

    def __init__(self, hosts, *, resident_max, policy="found"):
        self.disk, self.hosts, self.chance = Disk(), hosts, Random(1)
        self.frontier = Frontier(
            self.disk.load, policy=POLICIES[policy](), resident_max=resident_max
        )
        self.taken = []
        self.follow(0)
        self.visits = []

    def follow(self, page):
        numbers = range(8 * page + 1, 8 * page + 9)
        self.frontier.offer(
            [f"http://{self.chance.randrange(self.hosts)}.example/{n}" for n in numbers],
            depth=1,
            scores=[0.8 ** (n % 5) for n in numbers],
        )

    def crawl(self, pages):
        """Fetch so many pages, one of each server in turn."""
        for _ in range(pages):
            while server := self.frontier.open_visit(0.0):
                self.visits.append(server)
            for server in self.visits:
                if task := self.frontier.take(server, 0.0):
                    self.taken.append(task.url)
                    self.follow(len(self.taken))
                    self.frontier.finish(task)

    def commit(self):
        self.disk.commit(self.frontier)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("hosts", [1, 50])
def test_memory_is_bounded_whatever_is_visited(hosts, policy):
    """Were servers being visited spared, all links would stay: 8 for each page."""
    web = Endless(hosts, resident_max=500, policy=policy)
    for _ in range(10):
        web.crawl(200 // hosts)
        web.commit()
        assert len(web.frontier.servers) == web.frontier.visits == hosts
        assert web.frontier._resident <= 500
        assert web.frontier.resident <= 2 * 500
    assert web.frontier.queued > 13_000


def test_one_large_site_is_read_a_little_at_a_time():
    """That is what it costs: fewer than two blocks are unpacked for each hundred pages."""
    web = Endless(1, resident_max=500)
    for _ in range(10):
        web.crawl(300)
        web.commit()
    assert 30 < web.disk.reads < 60


def test_each_of_many_servers_is_read_a_little_at_a_time():
    web = Endless(50, resident_max=1_000)
    web.crawl(60)
    web.commit()
    before, reads = len(web.taken), web.disk.reads
    for _ in range(10):
        web.crawl(10)
        web.commit()
    assert len(web.taken) - before == 5_000
    assert web.disk.reads - reads < 5_000 / 15


@settings(max_examples=20, deadline=None)
@given(
    hosts=st.integers(1, 5),
    policy=st.sampled_from(sorted(POLICIES)),
    resident_max=st.sampled_from([0, 3, 100]),
    steps=st.lists(st.integers(0, 40), min_size=1, max_size=10),
)
def test_the_order_of_urls_is_the_same_with_any_bound(hosts, policy, resident_max, steps):
    webs = [
        Endless(hosts, resident_max=most, policy=policy) for most in (resident_max, float("inf"))
    ]
    for web in webs:
        for pages in steps:
            web.crawl(pages)
            web.commit()
    bounded, unbounded = webs
    assert bounded.taken == unbounded.taken
    assert not unbounded.disk.reads
