"""How fast, as seen from the servers: a held set-point, a change under way, and a server that meters."""

import asyncio
import csv
import json
from collections import deque
from itertools import pairwise

import pytest
import uvloop

from andante import Crawl
from andante.crawl import engine
from support.command import Running, andante, run
from support.web import Reply, Web, most_at_once, page

SLACK = 0.005
"""Seconds by which a gap may seem short to a server, as in test_polite.py."""


def leaves(count, delay=0.0):
    """Return a start page and the pages that it links to."""
    pages = {f"/{n}": page(delay=delay) for n in range(count)}
    return {"/": page(*pages), **pages}


def asked(server):
    """Return when the server was asked, seconds since the first time."""
    times = sorted(visit.began for visit in server.visits)
    return [time - times[0] for time in times]


# A held set-point


@pytest.mark.parametrize(("delay", "connections"), [(0.0, 1), (0.12, 4)])
def test_the_set_point_is_held_and_never_exceeded(delay, connections):
    """1,200 a minute, which a connection alone cannot reach where each response takes 0.12 s."""

    async def main():
        async with Web() as web:
            server = await web.server(leaves(62, delay))
            async with Crawl([server.url], rate="1200/min", per_server=connections) as pages:
                assert len([page async for page in pages]) == 63
            times = asked(server)
            assert len(times) == 64
            assert all(at > number * 0.05 - SLACK for number, at in enumerate(times))
            # The schedule starts anew at most once, when the start page has come and there are URLs.
            begun = times[4:]
            held = (len(begun) - 1) * 60 / (begun[-1] - begun[0])
            assert held == pytest.approx(1200, rel=0.025)

    uvloop.run(main())


# A set-point that changes


def test_a_running_crawl_takes_another_set_point_which_stays(tmp_path):
    ends = []

    async def main():
        async with Web() as web:
            server = await web.server(leaves(500))
            job = ("--job", "job", "--commit-interval", "200ms")
            command = ("crawl", server.url, *job, "--rate", "60/min", "--json-log")
            crawl = Running(*command, cwd=tmp_path)
            while len(server.visits) < 2 and crawl.process.poll() is None:
                await asyncio.sleep(0.01)
            changed = asyncio.get_running_loop().time()
            done = await andante("rate", "job", "1200/min", cwd=tmp_path)
            assert done.out.endswith("taken up within a second\n")
            while len(server.visits) < 12 and crawl.process.poll() is None:
                await asyncio.sleep(0.01)
            crawl.process.terminate()
            ends.append(await asyncio.to_thread(crawl.wait))
            times = [visit.began for visit in server.visits]
            quick = next(after for before, after in pairwise(times) if after - before < 0.2)
            assert quick < changed + 2

            before = len(server.visits)
            again = Running(*command, cwd=tmp_path)
            while len(server.visits) < before + 12 and again.process.poll() is None:
                await asyncio.sleep(0.01)
            again.process.terminate()
            ends.append(await asyncio.to_thread(again.wait))
            later = [visit.began for visit in server.visits[before:]]
            assert later[11] - later[0] < 2

    uvloop.run(main())
    given = {"rate": "1200/min", "total_rate": "", "servers": {}}
    for end in ends:
        events = [json.loads(line) for line in end.err.splitlines() if line.startswith("{")]
        assert [e["speed"] for e in events if e["event"] == "rates.changed"] == [given]


@pytest.mark.parametrize("which", [[], ["--total"], ["--server", "127.0.0.2"]])
def test_a_crawl_that_is_paused_waits_until_another_rate_is_given(tmp_path, which):
    """Also by a start in between, which says what it waits for."""

    async def changed(running):
        while '"rates.changed"' not in running.err:
            assert running.process.poll() is None, running.err
            await asyncio.sleep(0.01)

    async def main():
        async with Web() as web:
            server = await web.server(leaves(400))
            command = ("crawl", server.url, "--job", "job", "--rate", "10/s")
            crawl = Running(*command, "--json-log", cwd=tmp_path)
            while len(server.visits) < 5:
                await asyncio.sleep(0.01)
            done = await andante("rate", "job", "pause", *which, cwd=tmp_path)
            assert done.status == 0, done.err
            await changed(crawl)
            await asyncio.sleep(0.2)
            before = len(server.visits)
            await asyncio.sleep(1)
            assert len(server.visits) == before
            crawl.process.terminate()
            await asyncio.to_thread(crawl.wait)
            if not which:
                again = await andante(*command, "--max-time", "11s", cwd=tmp_path)
                assert ", waiting for andante rate: what is left is paused\n" in again.err
                assert len(server.visits) == before
            crawl = Running(*command, "--json-log", cwd=tmp_path)
            await changed(crawl)
            await andante("rate", "job", *which, "max", cwd=tmp_path)
            if which == ["--total"]:
                await andante("rate", "job", "max", cwd=tmp_path)
            assert (await asyncio.to_thread(crawl.wait)).status == 0
            assert len(server.paths) == 401

    uvloop.run(main())


def test_a_damaged_file_of_rates_is_told_and_the_crawl_goes_on(tmp_path):
    events = []

    async def main():
        async with Web() as web:
            server = await web.server(leaves(30))
            settings = {"job": tmp_path / "job", "rate": "20/s", "on_event": events.append}
            async with Crawl([server.url], **settings) as pages:
                count = 0
                async for _ in pages:
                    if not count:
                        (tmp_path / "job" / "rates.json").write_text("{")
                    count += 1
                assert count == 31

    uvloop.run(main())
    [refused] = [event for event in events if event.event == "rates.refused"]
    assert "rates.json does not hold rates" in refused.detail
    assert "\n" not in refused.detail


# A server that meters


@pytest.mark.slow
def test_a_server_that_meters_is_fetched_completely_and_seldom_refuses(tmp_path, monkeypatch):
    """It lets 30 requests through in a second, and then refuses for a second."""
    monkeypatch.setattr(engine, "SAMPLE_PERIOD", 1)
    served, refused = deque(), []
    pages = {f"/{n}": page() for n in range(70)}
    pages["/"] = page(*pages)

    def meter(reply):
        def answer(visit):
            now = visit.began
            while served and served[0] <= now - 1:
                served.popleft()
            if (refused and now < refused[-1][1]) or len(served) >= 30:
                until = refused[-1][1] if refused and now < refused[-1][1] else now + 1
                refused.append((now, until))
                return Reply(429, {"Retry-After": "1"})
            served.append(now)
            return reply

        return answer

    async def main():
        async with Web() as web:
            server = await web.server({path: meter(reply) for path, reply in pages.items()})
            found = []
            job = tmp_path / "job"
            async with Crawl([server.url], job=job, rate="max", per_server=2) as crawl:
                async for page in crawl:
                    found.append(page.url)
            assert sorted(found) == sorted(server.url[:-1] + path for path in pages)
            assert len(server.paths) == len(pages) + len(refused)

    uvloop.run(main())
    assert 0 < len(refused) <= 5
    rows = list(csv.DictReader(run("status", "job", "--speed", cwd=tmp_path).out.splitlines()))
    assert len(rows) >= 2
    assert all(row["server"].startswith("http://127.0.0.2:") for row in rows)
    assert float(rows[0]["ceiling"]) > 0
    assert any(float(row["ceiling"]) < float(row["set_point"]) for row in rows)


# The connection limit


def test_the_limit_finds_how_many_connections_a_server_can_use():
    workers, service = 8, 0.05

    async def main():
        async with Web() as web:
            server = await web.server(leaves(900, service))
            server.workers = asyncio.Semaphore(workers)
            async with Crawl([server.url], rate="max", per_server="auto") as pages:
                assert len([page async for page in pages]) == 901
            ends = sorted(visit.ended for visit in server.visits)
            late = ends[len(ends) // 2 :]  # it has settled by then
            used = (len(late) - 1) / (late[-1] - late[0]) * service / workers
            assert used > 0.9
            at_work = most_at_once(visit for visit in server.visits if visit.ended in late)
            assert workers <= at_work <= 3 * workers

    uvloop.run(main())


def test_the_limit_does_not_grow_where_it_is_the_rate_that_holds():
    async def main():
        async with Web() as web:
            server = await web.server(leaves(40, 0.02))
            async with Crawl([server.url], rate="12/s", per_server="auto") as pages:
                assert len([page async for page in pages]) == 41
            assert server.most_connections <= 2

    uvloop.run(main())


def test_a_crawl_finds_how_many_connections_it_can_use_in_all():
    async def main():
        async with Web() as web:
            servers = [await web.server(leaves(150, 0.03)) for _ in range(3)]
            seeds = [server.url for server in servers]
            settings = {"rate": "max", "per_server": 8, "per_ip": False}
            async with Crawl(seeds, connections="auto", **settings) as pages:
                assert len([page async for page in pages]) == 3 * 151
            together = [visit for server in servers for visit in server.visits]
            assert 16 <= most_at_once(together) <= 24, "it starts with 16"

    uvloop.run(main())


# What a job remembers


def test_a_damaged_file_of_rates_stops_the_start(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server(leaves(2))
            command = ("crawl", server.url, "--job", "job", "--rate", "max")
            assert (await andante(*command, "--max-pages", "1", cwd=tmp_path)).status == 0
            server.visits.clear()
            (tmp_path / "job" / "rates.json").write_text("{")
            done = await andante(*command, cwd=tmp_path)
            assert done.status == 2
            assert done.err.startswith("andante: ")
            assert "rates.json does not hold rates" in done.err
            assert done.err.count("\n") == 1
            assert not server.visits

    uvloop.run(main())


def test_a_short_crawl_has_a_row_too(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server(leaves(2))
            async with Crawl([server.url], rate="max", job=tmp_path / "job") as pages:
                assert len([page async for page in pages]) == 3
            done = await andante("status", str(tmp_path / "job"), "--speed", cwd=tmp_path)
            [row] = csv.DictReader(done.out.splitlines())
            assert row["server"] == server.url.rstrip("/")

    uvloop.run(main())


def test_a_total_rate_opens_no_more_connections_than_requests():
    """Eleven servers are ready all the time, and a turn comes each 50 ms: each visit takes the turn that it was opened for."""

    async def main():
        async with Web() as web:
            servers = [await web.server(leaves(7)) for _ in range(11)]
            crawl = Crawl(
                [server.url for server in servers],
                rate="max",
                total_rate="1200/min",
                ignore_robots=True,
            )
            opened = []
            async with crawl as pages:
                async for _ in pages:
                    if not opened:
                        opened = count_visits(crawl)
            assert crawl.stats.requests == 88
            assert len(opened) <= 100

    uvloop.run(main())


def count_visits(crawl):
    """Return a list to which each visit that the frontier opens from now on is added."""
    opened, open_visit = [], crawl._state.frontier.open_visit

    def counted(now):
        server = open_visit(now)
        if server is not None:
            opened.append(server.key)
        return server

    crawl._state.frontier.open_visit = counted
    return opened
