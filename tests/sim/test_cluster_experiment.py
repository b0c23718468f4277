"""Source 3's experiments at a small size: what must hold at any size, and that the same seed gives the same."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from andante.cluster.exchange import Links, Report
from andante.cluster.redis import wire
from andante.sim.clock import run
from andante.sim.experiments.cluster import (
    BOTH,
    NODES,
    NONE,
    PARTS,
    VARIANTS,
    Course,
    Size,
    crawl,
    web_of,
)
from andante.sim.experiments.cluster import run as experiment
from andante.sim.link import HEADERS, Line, Link
from andante.sim.process import Process

SMALL = Size(pages=1_500, servers=30, seconds=6.0, short=3.0, few=30, many=60, blocks=(1, 20, 500))


@pytest.fixture(scope="module")
def crawled():
    variants = VARIANTS | PARTS
    return {name: crawl(Course(variants[name], 0.05, 6.0), SMALL, 1) for name in variants}


def test_both_is_far_above_none(crawled):
    assert crawled["both"].speed > 4 * crawled["none"].speed


def test_blocks_spare_round_trips_and_the_cache_bytes(crawled):
    def a_page(name):
        each = crawled[name]
        return each.messages / len(each.times), each.carried / len(each.times)

    assert a_page("balancing only")[0] < 0.05 * a_page("none")[0]
    assert a_page("both")[1] < 0.6 * a_page("balancing only")[1]


def test_the_cache_spares_questions():
    courses = (Course(VARIANTS[name], 0.01, pages=300) for name in VARIANTS if name != "both")
    none, _, cached = (crawl(course, SMALL, 1) for course in courses)
    assert cached.messages < 0.7 * none.messages
    assert cached.seconds < 0.7 * none.seconds


def test_none_has_a_round_trip_for_each_link(crawled):
    """And no page runs ahead of them but those in hand."""
    none = crawled["none"]
    links = sum(len(web_of(SMALL, 1).links(url)) for url in web_of(SMALL, 1).urls())
    asked = none.messages / 2
    assert none.speed < NODES / 0.05 / 10
    assert asked > 0.4 * len(none.times) * links / SMALL.pages


def test_balancing_shares_what_one_node_has_found():
    """All nodes start from the same seeds, the first of them ahead of the others."""
    by_node = {
        balanced: crawl(
            Course(BOTH._replace(balance=balanced), 0.01, 6.0, same_seeds=True), SMALL, 1
        ).by_node
        for balanced in (False, True)
    }
    assert min(by_node[False]) == 0
    assert min(by_node[True]) > 0


def test_the_same_seed_gives_the_same():
    course = Course(NONE, 0.03, pages=60)
    assert crawl(course, SMALL, 2) == crawl(course, SMALL, 2)


def test_tables_and_figures():
    result = experiment(size=msgspec.structs.replace(SMALL, seconds=3.0, short=2.0))
    latency, blocks, variants, parts = result.tables
    assert [row[0] for row in latency.rows] == [10, 30, 50, 70, 90]
    assert latency.rows[0][1] > 2 * latency.rows[-1][1], "none falls with the round trip"
    assert [row[0] for row in blocks.rows] == [1, 20, 500]
    assert blocks.rows[0][1] > 2 * blocks.rows[1][1], "blocks of 20 take less than half the time"
    assert [row[0] for row in variants.rows] == list(VARIANTS)
    assert [row[0] for row in parts.rows] == list(PARTS)
    assert variants.rows[0][2] == 1
    assert {figure.name for figure in result.figures} == {"latency", "blocks", "variants"}


# The line


def test_messages_share_a_line_one_after_another_each_way_by_itself():
    line = Line(1_000.0)
    size = HEADERS + len(msgspec.msgpack.encode(b"x" * 800))
    assert line.takes(b"x" * 800, 5.0, back=False) == pytest.approx(size / 1_000)
    assert line.takes(b"x" * 800, 5.0, back=False) == pytest.approx(2 * size / 1_000)
    assert line.takes(b"x" * 800, 5.0, back=True) == pytest.approx(size / 1_000)
    assert line.takes(b"x" * 800, 9.0, back=False) == pytest.approx(size / 1_000), "it is free"
    assert (line.messages, line.carried) == (4, 4 * size)


def test_a_link_takes_the_delay_and_the_time_on_the_line():
    async def asked():
        line = Line(1_000.0)
        way = Link(Process("a", 1), (), delay=0.1, seed=1, line=line)

        async def answer():
            return b"y" * 300

        began = asyncio.get_running_loop().time()
        await way.carry(answer, b"x" * 800)
        return asyncio.get_running_loop().time() - began, line.carried / 1_000

    seconds, on_line = run(asked())
    assert on_line + 0.08 <= seconds <= on_line + 0.12


def test_a_message_is_counted_about_as_large_as_it_is_for_redis():
    parts = [
        Links(f"http://s{number}.example", bytes(range(24)), b"packed links" * 6)
        for number in range(100)
    ]
    ours = HEADERS + len(msgspec.msgpack.encode(Report(1, parts, b"")))
    assert ours == pytest.approx(HEADERS + len(wire.pack_parts(parts)), rel=0.1)
