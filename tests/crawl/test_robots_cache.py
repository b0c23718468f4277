"""What is known of robots.txt: how long, where, and how much of it in memory."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
import zlib

import msgspec
import pytest

from andante.crawl import robots_cache
from andante.crawl.robots_cache import PACKED_MAX, RobotsCache
from andante.fetch import Robots
from andante.fetch.robots import TTL
from andante.frontier import Frontier
from andante.parse.robots import parse
from andante.store import Job

RULES = b"User-agent: *\nCrawl-delay: 3\nDisallow: /private\n"

WORDPRESS = b"""User-agent: GPTBot
Disallow: /

User-agent: *
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php
Disallow: /wp-login.php
Disallow: /xmlrpc.php
Disallow: /?s=
Disallow: /*?replytocom=
Disallow: /*/feed/$
Disallow: /search/
Disallow: /trackback/
Disallow: /cgi-bin/
Disallow: /tag/*/page/
Disallow: /author/
"""
"""Before each host's own rules and comments."""


class Crawler:
    """A crawler of a job, whose clocks are set by hand."""

    def __init__(self, directory, *, agent="andante", sitemaps=False):
        self.time = 50.0  # a clock that began when the process did
        self.wall = 1_700_000_000.0
        self.job = Job(directory, [], warc_size=1, about={})
        self.frontier = Frontier(self.job.load)
        self.cache = RobotsCache(
            self.job,
            agent=agent,
            wants_sitemaps=sitemaps,
            now=lambda: self.time,
            wall=lambda: self.wall,
        )

    def server(self, number=0):
        return self.frontier.server(f"http://{number}.example")

    def reads(self, body=RULES, number=0):
        found = parse(body, "andante")
        robots = Robots(self.time + TTL, found.rules, found.crawl_delay, found.sitemaps)
        self.cache.put(self.server(number), robots)

    def knows(self, number=0):
        return self.cache.get(self.server(number))

    def commits(self):
        asyncio.run(self.job.commit(self.frontier))

    def passes(self, seconds):
        self.time += seconds
        self.wall += seconds


@pytest.fixture
def start(tmp_path):
    """Start, and start again, a crawler of the same job; the wall clock goes on."""
    running = []

    def start(pause=0.0, **options):
        wall = 1_700_000_000.0
        if running:
            wall = running[-1].wall + pause
            running.pop().job.close()
        running.append(Crawler(tmp_path / "job", **options))
        running[-1].wall = wall
        return running[-1]

    yield start
    running[-1].job.close()


def test_what_was_read_outlives_the_process_until_its_time_to_live_ends(start):
    a = start()
    a.reads()
    a.passes(3_600.0)
    a.commits()
    b = start(pause=600.0)
    assert b.knows().crawl_delay == 3.0
    assert b.knows().expires_at == b.time + TTL - 4_200.0
    assert not b.cache.allows(b.server(), "/private/x")
    assert b.cache.allows(b.server(), "/x")
    c = start(pause=TTL - 4_200.0 - 1.0)
    assert c.knows()
    d = start(pause=1.0)
    assert d.knows() is None


def test_what_was_not_committed_is_read_again(start):
    start().reads()
    assert start().knows() is None


def test_a_server_that_is_let_go_is_remembered(start):
    """Before the commit that writes it, while that is under way, and after."""

    async def let_go(a):
        a.cache.forget(a.server())
        assert not len(a.cache)
        commit = asyncio.create_task(a.job.commit(a.frontier))
        for _ in range(3):
            assert not a.cache.allows(a.server(), "/private/x")
            a.cache.forget(a.server())
            await asyncio.sleep(0)
        await commit
        assert not a.cache.allows(a.server(), "/private/x")

    a = start()
    a.reads()
    asyncio.run(let_go(a))


def test_what_was_read_anew_holds(start):
    a = start()
    a.reads()
    a.commits()
    a.reads(b"User-agent: *\nDisallow: /other\n")
    a.cache.forget(a.server())
    assert a.cache.allows(a.server(), "/private/x")
    a.commits()
    b = start()
    assert b.cache.allows(b.server(), "/private/x")
    assert not b.cache.allows(b.server(), "/other")


def test_no_clock_makes_it_last_longer_than_a_day(start):
    a = start()
    a.reads()
    a.commits()
    b = start(pause=-1e6)
    assert b.knows().expires_at == b.time + TTL


@pytest.mark.parametrize("options", [{"agent": "other"}, {"sitemaps": True}])
def test_who_starts_with_another_name_or_wants_sitemaps_reads_it_again(start, options):
    a = start()
    a.reads()
    a.commits()
    assert start(**options).knows() is None
    assert start().knows()


@pytest.mark.parametrize("damage", ["packed = 'text'", "packed = x'01ff'", "packed = x''", "expires_at = 'soon'", "packed = 7"])  # fmt: skip
def test_a_damaged_row_is_read_again(start, damage):
    a = start()
    a.reads()
    a.commits()
    b = start()
    b.job._journal._writer.execute(f"UPDATE robots SET {damage}")
    assert b.knows() is None


def test_rows_that_hold_no_more_go_at_the_next_start(start):
    a = start()
    a.reads()
    a.passes(TTL / 2)
    a.reads(number=1)
    a.commits()
    b = start(pause=TTL / 2)
    b.job.restore(b.frontier, b.server().origin_pace, now=b.time, wall=b.wall)
    (count,) = b.job._journal._reader.execute("SELECT count(*) FROM robots").fetchone()
    assert count == 1


# Memory


def test_equal_rules_are_one_object(start):
    a = start()
    a.reads(number=0)
    a.reads(RULES + b"\n# another host's\n", number=1)
    assert a.knows(0).rules is a.knows(1).rules


def ordinary(number):
    own = [f"Disallow: /{word}-{number}/" for word in ("shop", "basket", "member", "print", "old")]
    comments = "".join(f"# {number}: line {n} of what people write\n" for n in range(20))
    return WORDPRESS + "\n".join(own).encode() + b"\n" + comments.encode()


def test_an_ordinary_robots_txt_takes_little_memory(start):
    """With 3,000 such hosts, each slightly different, at most 1.5 kB a host."""
    count = 1_000
    a = start()
    servers = [a.server(number) for number in range(count)]
    a.reads(number=0)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(count):
        a.reads(ordinary(number), number)
        assert not a.cache.allows(servers[number], f"/shop-{number}/x")
    a.commits()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(a.cache) == count
    compiled = robots_cache.COMPILED_MAX
    assert held < 700 * count + compiled
    assert 700 + compiled / 3_000 < 1_500


def test_memory_is_bounded_whatever_servers_send(start, monkeypatch):
    monkeypatch.setattr(robots_cache, "KEPT_MAX", 100_000)
    monkeypatch.setattr(robots_cache, "COMPILED_MAX", 100_000)
    a = start()
    for number in range(40):
        lines = "".join(f"Disallow: /{number}/{line}/*x\n" for line in range(500))
        a.reads(f"User-agent: *\n{lines}".encode(), number)
        assert a.cache._size <= 100_000
        assert a.cache._compiled <= 1_000_000
        assert len(a.cache._matchers) == 1
    assert len(a.cache) < 20
    for number in range(40):  # what was let go is on the disk, or on its way
        assert not a.cache.allows(a.server(number), f"/{number}/7/ax")
        assert a.cache.allows(a.server(number), f"/{number}/x/ax")


def test_servers_that_allow_all_count_too(start, monkeypatch):
    monkeypatch.setattr(robots_cache, "KEPT_MAX", 10_000)
    a = start()
    for number in range(200):
        a.reads(b"", number)
    assert len(a.cache) <= 50
    assert a.cache.allows(a.server(0), "/x")


@pytest.mark.parametrize("unit", ["/*a", "\n", "%"])
@pytest.mark.parametrize("head", ["", " -\n/", "-\n/"])
def test_a_hostile_one_of_another_node_takes_little_memory(start, head, unit):
    """It may say 1,000 times as much as was sent."""
    crawler = start()
    server = crawler.server()
    rules = head + unit * (1_900_000 // len(unit))
    body = msgspec.msgpack.encode(("andante", True, None, rules))
    packed = b"\x01" + zlib.compress(body, 9, -15)
    assert len(packed) <= PACKED_MAX
    tracemalloc.start()
    try:
        crawler.cache.unpacked(server, packed, TTL)
        if crawler.cache.get(server) is not None:
            crawler.cache.allows(server, "/" + "a" * 1_999)
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    finally:
        tracemalloc.stop()
