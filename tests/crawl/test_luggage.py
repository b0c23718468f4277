"""What the next owner of a server knows of it."""

from math import inf

import msgspec
import pytest

from andante import Settings
from andante import url as urls
from andante.crawl import luggage
from andante.crawl.robots_cache import PACKED_MAX
from andante.crawl.state import State
from andante.crawl.throttle import Throttle
from andante.fetch import Failure, Outcome, Response, Robots
from andante.fetch.robots import TTL
from andante.flow import Trouble
from andante.parse.robots import parse
from andante.store import Job

KEY = "http://x.example"
RULES = "User-agent: *\nDisallow: /private\nCrawl-delay: 2\n"


ADDRESS = "192.0.2.1"


class Node:
    """A node with one server, for which a URL waits. Its clock has nothing to do with those of others."""

    def __init__(self, time, **settings):
        self.time = time
        given = Settings(**{"rate": inf, **settings})
        self.state = State(
            given,
            job=Job(None, [], warc_size=1, about={}),
            client=None,
            scope=urls.Scope(given.scope),
            seeds=[],
            clock=lambda: self.time,
            wall=lambda: 1_700_000_000.0 + self.time,
            chance=lambda: 0.0,
        )
        self.throttle = Throttle(self.state)
        self.state.frontier.offer([f"{KEY}/1"], depth=0)
        self.server = self.state.frontier.server(KEY)

    def reads(self, text):
        """It reads robots.txt."""
        found = parse(text.encode(), self.state.settings.robots_name)
        robots = Robots(self.time + TTL, found.rules, found.crawl_delay)
        self.state.robots.put(self.server, robots)

    def allows(self, path):
        return self.state.robots.allows(self.server, path)

    def fails(self):
        """It asks the server as soon as it may, in vain; return the seconds to wait."""
        self.time = max(self.time, self.server.next_time)
        self.throttle.fetched(self.server, Failure(Outcome.CONNECT_TIMEOUT), self.time)
        return self.server.next_time - self.time

    def answers(self):
        """It asks the server as soon as it may, and has a page."""
        self.time = max(self.time, self.server.next_time)
        page = Response(200, "", "1.1", [], b"", self.time, 0.1, 0.1, 0)
        self.throttle.fetched(self.server, page, self.time)

    def gives(self, *, goes=True):
        return luggage.pack(self.state, self.server, address=ADDRESS, goes=goes)

    def gets(self, data, aged=0.0):
        assert luggage.unpack(self.state, self.server, data, aged) in ("", ADDRESS)
        return self.state.robots.get(self.server)

    @property
    def trouble(self):
        return self.state.job.trouble(KEY)[0]


def test_robots_txt_holds_at_the_next_owner_for_what_is_left_of_its_day():
    a, b = Node(1_000.0), Node(5.0)
    a.reads(RULES)
    a.time += 3_600.0
    robots = b.gets(a.gives(), aged=60.0)
    assert not b.allows("/private/1")
    assert b.allows("/1")
    assert robots.crawl_delay == 2.0
    assert robots.expires_at == 5.0 + TTL - 3_660.0


def test_a_crawler_of_another_name_reads_its_own():
    a, b = Node(0.0), Node(0.0, user_agent="other/1.0")
    a.reads(RULES)
    assert b.gets(a.gives()) is None


def test_one_whose_sitemaps_were_not_taken_is_read_for_them():
    a, b = Node(0.0), Node(0.0, sitemaps=True)
    a.reads(RULES)
    assert b.gets(a.gives()) is None
    b.reads(RULES)
    assert a.gets(b.gives())


def test_that_there_is_none_travels_too():
    a, b = Node(0.0), Node(0.0)
    a.reads("")
    assert b.gets(a.gives())
    assert b.allows("/1")


def test_one_that_is_not_in_memory_travels_too():
    a, b = Node(0.0), Node(0.0)
    a.reads(RULES)
    a.state.robots.forget(a.server)
    assert b.gets(a.gives())
    assert not b.allows("/private/1")


def test_one_that_is_a_day_old_is_left_behind():
    a, b = Node(0.0), Node(0.0)
    a.reads(RULES)
    assert b.gets(a.gives(), aged=TTL) is None


def test_its_ip_address_travels_too():
    a, b = Node(0.0), Node(0.0)
    assert luggage.unpack(b.state, b.server, a.gives(), 0.0) == ADDRESS
    assert luggage.unpack(b.state, b.server, b"", 0.0) == ""


def test_no_clock_makes_it_last_longer_than_a_day():
    a, b = Node(0.0), Node(0.0)
    a.reads(RULES)
    a.time = -1e9
    assert b.gets(a.gives()).expires_at == TTL


def test_one_that_is_too_long_is_read_again():
    a, b = Node(0.0), Node(0.0)
    rules = "".join(f"Disallow: /{n * 7919 % 10_007:x}\n" for n in range(5_000))
    a.reads("User-agent: *\n" + rules)
    data = a.gives()
    assert len(data) < 100
    assert b.gets(data) is None


def test_it_stays_where_it_is_of_no_use_at_once():
    """Where only what has changed is kept, or nothing waits for the server."""
    a, b = Node(0.0), Node(0.0)
    a.reads(RULES)
    assert b.gets(a.gives(goes=False)) is None
    a.state.frontier.take(a.server, 0.0)
    assert b.gets(a.gives()) is None


@pytest.mark.parametrize(
    "packed", [b"\xff", b"\0" * PACKED_MAX, b"garbage", b"\x01" * 9 * PACKED_MAX]
)
def test_one_that_is_no_robots_txt_is_read_again(packed):
    b = Node(0.0)
    data = msgspec.msgpack.encode(luggage.Luggage(robots=packed, robots_left=TTL))
    assert b.gets(data) is None


def test_trouble_goes_on_at_the_next_owner():
    """A server that goes from node to node is given up no later, and asked no sooner, than one that stays."""
    a = Node(100.0)
    a.answers()
    waits = []
    while True:
        wait = a.fails()
        if a.throttle.is_given_up(a.server):
            break
        waits.append(wait)
        b = Node(a.time + 1_000.0)
        b.gets(a.gives())
        assert b.server.next_time - b.time == pytest.approx(wait)
        a = b
    assert waits == pytest.approx([2, 4, 8, 16, 32, 64, 128, 900, 900, 900])


def test_it_is_taken_back_by_answers_there():
    a, b, c = Node(0.0), Node(0.0), Node(0.0)
    a.answers()
    for _ in range(3):
        a.fails()
    b.gets(a.gives())
    assert b.trouble == Trouble(3, 0, has_answered=True)
    b.answers()
    c.gets(b.gives())
    assert c.trouble == Trouble(2, 0, has_answered=True)
    c.answers()
    c.answers()
    assert c.trouble is None


def test_quiet_time_on_the_way_counts():
    a, b, c = Node(0.0), Node(0.0), Node(0.0)
    a.answers()
    a.fails()
    b.gets(a.gives(), aged=301.0)
    assert b.fails() == 4
    c.gets(a.gives(), aged=303.0)
    assert c.fails() == 2


def test_all_of_it_is_small():
    a = Node(0.0)
    a.answers()
    for _ in range(8):
        a.fails()
    assert len(a.gives(goes=False)) < 60
    a.reads("User-agent: *\n" + "".join(f"Disallow: /{n:x}\n" for n in range(400)))
    assert 500 < len(a.gives()) < PACKED_MAX + 60
