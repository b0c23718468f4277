"""Polite, as seen from the servers: gaps, connections at once, robots.txt, redirects, restarts."""

import asyncio
import time
from email.utils import formatdate
from itertools import pairwise

import pytest
import uvloop

from andante import Crawl
from support.command import Running, andante, ended
from support.web import Reply, Web, most_at_once, page, robots

SLACK = 0.005
"""Seconds by which a gap may seem short to a server. Arrivals are timed by the kernel, so what is left is the moment from when the
crawl notes that it sends to when it has sent: on a busy machine others may have the processor just then."""


def crawl(*seeds, **settings):
    """Return the final URLs that a crawl has pages of."""

    async def run():
        async with Crawl(seeds, **settings) as pages:
            return [page.final_url async for page in pages]

    return run()


def gaps(visits):
    return [later.began - earlier.began for earlier, later in pairwise(visits)]


def keeps(visits, interval):
    """Tell whether the n-th request came no earlier than n intervals after the first, and none in a burst with another.

    A request that was late does not put off those after it: so a gap may be short, but never less than half.
    """
    times = [visit.began - visits[0].began for visit in visits]
    on_schedule = all(at > number * interval - SLACK for number, at in enumerate(times))
    return on_schedule and min(gaps(visits)) > interval / 2 - SLACK


def by_time(*servers):
    return sorted((visit for server in servers for visit in server.visits), key=lambda v: v.began)


# Pace


def test_the_rate_holds_for_each_server_and_over_redirects():
    async def main():
        async with Web() as web:
            b = await web.server({"/": page()})
            answers = {f"/{n}": page() for n in range(4)} | {
                "/old": Reply(302, {"Location": "/new"}),
                "/new": page(),
            }
            a = await web.server({"/": page(*answers, b.url), **answers})
            found = await crawl(a.url, rate="10/s", scope="any", allow_private=True, per_server=4)
            assert len(found) == 7
            assert keeps(by_time(a), 0.1)

    uvloop.run(main())


def test_the_delay_runs_from_the_end_of_a_response():
    async def main():
        async with Web() as web:
            leaves = {f"/{n}": page(delay=0.05) for n in range(4)}
            server = await web.server({"/": page(*leaves), **leaves})
            await crawl(server.url, rate="max", delay="80ms")
            assert len(server.visits) == 6
            assert min(server.pauses) > 0.08 - SLACK
            assert min(server.gaps[2:]) > 0.13 - SLACK

    uvloop.run(main())


def test_the_total_rate_holds_over_all_servers():
    async def main():
        async with Web() as web:
            servers = [await web.server({"/": page()}) for _ in range(4)]
            await crawl(*(server.url for server in servers), rate="max", total_rate="20/s")
            together = by_time(*servers)
            assert len(together) == 8
            assert keeps(together, 0.05)

    uvloop.run(main())


def test_a_redirect_to_another_server_keeps_to_its_pace_and_rules():
    async def main():
        async with Web() as web:
            b = await web.server(
                {f"/{n}": page() for n in range(4)}
                | {
                    "/robots.txt": robots("User-agent: *\nDisallow: /private\nCrawl-delay: 0.15\n"),
                    "/private": page(),
                }
            )
            moved = {
                f"/to{target}": Reply(302, {"Location": b.url + target})
                for target in ("0", "1", "2", "3", "private")
            }
            a = await web.server({"/": page(*moved), **moved})
            found = await crawl(a.url, rate="max", scope="any", allow_private=True)
            assert set(found) == {a.url, *(b.url + str(n) for n in range(4))}
            assert sorted(b.paths) == ["/0", "/1", "/2", "/3"]
            assert b.visits[0].path == "/robots.txt"
            assert min(b.gaps) > 0.15 - SLACK

    uvloop.run(main())


def test_a_waiting_server_holds_no_connection_slot():
    async def main():
        async with Web() as web:
            slow = await web.server(
                {
                    "/robots.txt": robots("User-agent: *\nCrawl-delay: 0.5\n"),
                    "/": page("/1"),
                    "/1": page(),
                }
            )
            leaves = {f"/{n}": page() for n in range(50)}
            quick = await web.server({"/": page(*leaves), **leaves})
            await crawl(slow.url, quick.url, rate="max", connections=1)
            assert slow.paths == ["/", "/1"]
            assert len(quick.visits) == 52
            first, last = slow.visits[0].began, slow.visits[2].began
            assert sum(first < visit.began < last for visit in quick.visits) >= 51

    uvloop.run(main())


# Connections


def test_one_connection_unless_more_are_allowed():
    async def main():
        async with Web() as web:
            leaves = {f"/{n}": page(delay=0.01) for n in range(12)}
            for allowed in (1, 3):
                server = await web.server({"/": page(*leaves), **leaves})
                await crawl(server.url, rate="max", per_server=allowed)
                assert server.most_connections == allowed
                assert most_at_once(server.visits) == allowed
                assert sorted(server.paths) == sorted(["/", *leaves])

    uvloop.run(main())


@pytest.mark.parametrize(("settings", "at_once"), [({}, 1), ({"per_ip": False}, 2)])
def test_servers_at_one_address_share_its_pace(settings, at_once):
    async def main():
        async with Web() as web:
            leaves = {f"/{n}": page(delay=0.06) for n in range(4)}
            one = await web.server({"/": page(*leaves), **leaves}, address="127.0.0.9")
            other = await web.server({"/": page(*leaves), **leaves}, address="127.0.0.9")
            await crawl(one.url, other.url, rate="20/s", **settings)
            together = by_time(one, other)
            assert len(together) == 12
            assert most_at_once(together) == at_once
            assert keeps(together, 0.05) == (at_once == 1)
            for server in (one, other):
                assert server.most_connections == 1
                assert keeps(by_time(server), 0.05)

    uvloop.run(main())


@pytest.mark.parametrize(("after", "connections"), [(None, 1), (1, 41), (10, 5)])
def test_connections_are_used_as_long_as_the_server_lets_them(after, connections):
    """40 pages and robots.txt; a server may close after some responses without having said so."""

    def reply(path, links=()):
        def choose(visit):
            reply = page(*links)
            reply.close = after is not None and visit.on_connection == after - 1
            return reply

        return choose

    async def main():
        async with Web() as web:
            leaves = [f"/{n}" for n in range(39)]
            answers = {"/": reply("/", leaves)} | {leaf: reply(leaf) for leaf in leaves}
            server = await web.server(answers | {"/robots.txt": reply("/robots.txt")})
            await crawl(server.url, rate="max")
            assert sorted(server.paths) == sorted(answers)
            assert server.connections == connections
            assert server.most_connections == 1

    uvloop.run(main())


# robots.txt


def test_robots_rules_come_first():
    async def main():
        async with Web() as web:
            server = await web.server(
                {
                    "/robots.txt": robots("User-agent: *\nDisallow: /private\nCrawl-delay: 0.1\n"),
                    "/": page("/1", "/private", "/2", "/3"),
                    "/1": Reply(302, {"Location": "/private"}),
                    "/2": page(),
                    "/3": page(),
                }
            )
            await crawl(server.url, rate="max")
            assert server.visits[0].path == "/robots.txt"
            assert sorted(server.paths) == ["/", "/1", "/2", "/3"]
            assert min(server.gaps[1:]) > 0.1 - SLACK

    uvloop.run(main())


@pytest.mark.parametrize(
    ("answer", "fetched"),
    [
        (Reply(404), 2),
        (Reply(403), 2),
        (Reply(200, body=b"<html>Not found</html>"), 2),
        (Reply(301, {"Location": "/rules"}), 1),
        (Reply(301, {"Location": "/robots.txt"}), 2),
        (Reply(500), 0),
        (Reply(503), 0),
        (Reply(429), 0),
        (Reply(cut=True), 0),
        (Reply(delay=10), 0),
    ],
    ids=["404", "403", "html", "moved", "loop", "500", "503", "429", "cut", "silent"],
)
def test_without_robots_txt(tmp_path, answer, fetched):
    async def main():
        async with Web() as web:
            server = await web.server(
                {
                    "/robots.txt": answer,
                    "/rules": robots("User-agent: *\nDisallow: /1\n"),
                    "/": page("/1"),
                    "/1": page(),
                }
            )
            found = await crawl(
                server.url,
                job=tmp_path / "job",
                rate="max",
                retries=1,
                retry_wait="20ms",
                give_up_after=2,
                first_byte_timeout="100ms",
            )
            assert len(found) == fetched
            assert [path for path in server.paths if path != "/rules"] == ["/", "/1"][:fetched]
            if not fetched:
                assert len(server.visits) == 2, "it was tried again"
                assert ended(tmp_path)[server.url][:2] == ("excluded", "robots-unreachable")

    uvloop.run(main())


def test_robots_txt_that_was_away_is_obeyed_when_it_is_back():
    async def main():
        async with Web() as web:
            rules = robots("User-agent: *\nDisallow: /1\n")
            server = await web.server({"/": page("/1", "/2"), "/2": page()})
            server.answers["/robots.txt"] = lambda _: (
                rules if len(server.visits) > 2 else Reply(503)
            )
            await crawl(server.url, rate="max", retry_wait="20ms")
            assert len(server.visits) == 5
            assert server.paths == ["/", "/2"]

    uvloop.run(main())


# robots.txt that has moved to another server


def moved_robots(target):
    """Return the answers of a server whose robots.txt has moved."""
    return {"/": page("/1", "/2"), "/1": page(), "/2": page(), "/robots.txt": redirect(target)}


def redirect(target):
    return Reply(301, {"Location": target})


def test_a_robots_txt_that_has_moved_is_asked_for_at_the_pace_of_its_new_server():
    """Eight servers have theirs at one, which takes 0.1 s to answer: one request at a time, on as few connections."""

    async def main():
        async with Web() as web:
            rules = robots("User-agent: *\nDisallow: /1\n")
            target = await web.server(
                {f"/{n}.txt": Reply(200, {}, rules.body, delay=0.1) for n in range(8)}
            )
            servers = [await web.server(moved_robots(f"{target.url}{n}.txt")) for n in range(8)]
            async with Crawl(
                [server.url for server in servers], rate="1200/min", allow_private=True
            ) as pages:
                assert len([page async for page in pages]) == 16
            assert [sorted(server.paths) for server in servers] == [["/", "/2"]] * 8
            assert len(target.visits) == 8
            assert most_at_once(target.visits) == target.most_connections == 1
            assert min(target.gaps) > 0.05 - SLACK

    uvloop.run(main())


def test_servers_whose_robots_txt_have_moved_to_each_other():
    async def main():
        async with Web() as web:
            a, b = await web.server({}), await web.server({})
            a.answers |= moved_robots(b.url + "a.txt") | {
                "/b.txt": robots("User-agent: *\nDisallow: /2\n")
            }
            b.answers |= moved_robots(a.url + "b.txt") | {
                "/a.txt": robots("User-agent: *\nDisallow: /1\n")
            }
            async with Crawl([a.url, b.url], rate="max") as pages:
                assert len([page async for page in pages]) == 4
            assert {"/", "/2", "/b.txt"} == set(a.paths)
            assert {"/", "/1", "/a.txt"} == set(b.paths)

    uvloop.run(main())


def test_retry_after_holds_the_server_to_which_a_robots_txt_has_moved(tmp_path):
    """The one whose robots.txt it is waits too; the others go on, and the crawl ends when it has its pages."""

    async def main():
        async with Web() as web:
            target = await web.server(
                {"/": page("/1"), "/1": page(), "/rules": Reply(429, {"Retry-After": "3600"})}
            )
            moved = await web.server(moved_robots(target.url + "rules"))
            healthy = await web.server(
                {"/": page(*map(str, range(6)))} | {f"/{n}": page() for n in range(6)}
            )
            async with Crawl(
                [moved.url, target.url, healthy.url], rate="600/min", connections=1, max_pages=7
            ) as pages:
                found = [page.url async for page in pages]
            assert sum(url.startswith(healthy.url) for url in found) >= 5
            asked = next(at for at, visit in enumerate(target.visits) if visit.path == "/rules")
            assert len(target.visits) == asked + 1
            assert moved.paths == []

    uvloop.run(main())


def test_a_robots_txt_that_has_moved_to_a_dead_server_forbids_all(tmp_path):
    async def main():
        async with Web() as web:
            moved = await web.server(moved_robots("http://127.0.0.99:1/robots.txt"))
            settings = {
                "job": tmp_path / "job",
                "retry_wait": "10ms",
                "set_aside": "50ms",
                "set_asides": 1,
                "allow_private": True,
            }
            async with Crawl([moved.url], rate="max", **settings) as pages:
                assert [page async for page in pages] == []
            assert ended(tmp_path)[moved.url][:2] == ("excluded", "robots-unreachable")

    uvloop.run(main())


# Servers that ask for time


@pytest.mark.parametrize(("status", "form"), [(429, "seconds"), (503, "date")])
def test_retry_after(status, form):
    """The whole server is left alone, and the URL is asked for again."""

    async def main():
        async with Web() as web:
            until = [0.0]

            def busy(visit):
                if until[0]:
                    return page()
                until[0] = time.time() + 1 if form == "seconds" else int(time.time()) + 2
                wait = "1" if form == "seconds" else formatdate(until[0], usegmt=True)
                return Reply(status, {"Retry-After": wait})

            leaves = {f"/{n}": page() for n in range(4)}
            server = await web.server({"/": page("/busy", *leaves), "/busy": busy, **leaves})
            found = await crawl(server.url, rate="max", per_server=2, retry_wait="10ms")
            assert len(found) == 6
            asked = next(n for n, visit in enumerate(server.visits) if visit.path == "/busy")
            wall = time.time() - time.monotonic()
            during = [
                visit.path
                for visit in server.visits
                if server.visits[asked].ended + SLACK < visit.began < until[0] - wall - SLACK
            ]
            assert during == []

    uvloop.run(main())


def test_retry_after_of_robots_txt():
    async def main():
        async with Web() as web:
            server = await web.server({"/": page()})
            busy = Reply(503, {"Retry-After": "1"})
            server.answers["/robots.txt"] = lambda _: busy if len(server.visits) < 2 else Reply(404)
            await crawl(server.url, rate="max", retry_wait="10ms")
            assert len(server.visits) == 3
            assert server.gaps[0] > 1 - SLACK

    uvloop.run(main())


@pytest.mark.parametrize("answer", [Reply(503), Reply(cut=True)], ids=["503", "cut"])
def test_a_server_that_fails_all_pages_is_given_up_and_its_urls_are_kept_until_then(
    tmp_path, answer
):
    async def main():
        async with Web() as web:
            leaves = [f"/{n}" for n in range(20)]
            server = await web.server({"/": page(*leaves)} | dict.fromkeys(leaves, answer))
            found = await crawl(
                server.url,
                job=tmp_path / "job",
                rate="max",
                retry_wait="1ms",
                set_aside="300ms",
                set_asides=2,
            )
            assert len(server.paths) < 60
            assert sum(gap > 0.3 - SLACK for gap in server.gaps) == 2
            outcomes = ended(tmp_path)
            assert len(outcomes) + len(found) == 21
            assert len(outcomes) > 10
            reason = ("failed", "given-up", "503") if answer.status == 503 else ("failed", "closed")
            assert {outcome[: len(reason)] for outcome in outcomes.values()} == {reason}

    uvloop.run(main())


def test_a_page_that_always_fails_is_not_taken_for_the_server():
    async def main():
        async with Web() as web:
            leaves = {f"/{n}": page() for n in range(30)}
            server = await web.server({"/": page("/bad", *leaves), **leaves})
            server.answers["/bad"] = Reply(delay=10)
            found = await crawl(
                server.url,
                rate="100/s",
                first_byte_timeout="20ms",
                retry_wait="1ms",
                set_aside="1h",
                retries=7,
            )
            assert len(found) == 31
            assert server.paths.count("/bad") == 8

    uvloop.run(main())


# Restarts


@pytest.mark.parametrize(
    ("asks", "commits"),
    [("nothing", "1s"), ("nothing", "50ms"), ("Crawl-delay", "1h"), ("Retry-After", "1h")],
)
def test_the_pause_holds_over_a_kill_and_a_restart(tmp_path, asks, commits):
    """Killed 0.3 s after its last request, before or after its first commit or without any, and started again at once."""
    rules = robots("User-agent: *\nCrawl-delay: 1\n") if asks == "Crawl-delay" else Reply(404)
    start = Reply(503, {"Retry-After": "1"}) if asks == "Retry-After" else page("/1", "/2", "/3")
    rate = ("--rate", "60/min") if asks == "nothing" else ("--rate", "max")

    async def main():
        async with Web() as web:
            server = await web.server({"/": start, "/robots.txt": rules})
            command = ("crawl", server.url, "--job", "job", *rate, "--commit-interval", commits)
            visits = server.visits
            for before in (0, 2 if asks == "Retry-After" else 1):
                crawl = Running(*command, "--retry-wait", "10ms", cwd=tmp_path)
                expected = before + (2 if asks == "Retry-After" and not before else 1)
                while len(visits) < expected and crawl.process.poll() is None:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.3)
                crawl.process.kill()
                await asyncio.to_thread(crawl.wait)
            was_committed = asks == "nothing" and commits == "50ms"
            assert visits[before].path == ("/" if was_committed else "/robots.txt")
            assert visits[before].began - visits[before - 1].began > 1 - SLACK

    uvloop.run(main())


def test_servers_that_had_nothing_waiting_are_held_over_a_restart_too(tmp_path):
    """One is finished with, and linked to again by another when the crawl goes on."""

    async def main():
        async with Web() as web:
            done = await web.server({"/": page(), "/more": page()})
            other = await web.server({"/": page(done.url + "more")})
            command = ("--job", "job", "--rate", "max", "--delay", "600ms", "--scope", "any")
            command += ("--allow-private", "--commit-interval", "50ms", "--retries", "0")
            await andante("crawl", done.url, *command, cwd=tmp_path)
            await andante("crawl", other.url, *command, cwd=tmp_path)
            assert [visit.path for visit in done.visits] == ["/robots.txt", "/", "/more"]
            assert min(done.pauses) > 0.6 - SLACK

    uvloop.run(main())
