"""Where a crawl ends, what it takes in, how it is stopped, and that it goes on from there."""

import asyncio
import gzip
import json
import signal
import time
from collections import Counter
from itertools import pairwise

import pytest
import uvloop

from support.command import Running, adds_up, andante, ended, pages, run, status
from support.web import Reply, Web, page, robots


def crawl(cwd, *arguments):
    return andante("crawl", "--job", "job", "--output", "pages.jsonl", *arguments, cwd=cwd)


def leaves(number, delay=0.0):
    """Return a start page, and the pages it links to."""
    paths = [f"/{n}" for n in range(number)]
    return {"/": page(*paths)} | {path: page(delay=delay) for path in paths}


def ok(done):
    assert done.status == 0, done.err
    assert adds_up(done.out), done.out
    return done


def final_urls(cwd):
    return [page["final_url"] for page in pages(cwd)]


# Limits


def test_max_pages_is_exact_and_may_be_raised(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server(leaves(99, delay=0.002))
            flags = ("--rate", "max", "--per-server", "8", "--connections", "8")
            for limit, expected in ((37, 37), (37, 37), (60, 60), (1000, 100)):
                ok(await crawl(tmp_path, server.url, *flags, "--max-pages", limit))
                assert len(server.paths) == len(set(final_urls(tmp_path))) == expected
                assert len(pages(tmp_path)) == expected

    uvloop.run(main())


def test_max_pages_counts_pages_with_status_2xx_only(tmp_path):
    async def main():
        async with Web() as web:
            found = {f"/{n}": page() for n in range(10)}
            lost = [f"/lost/{n}" for n in range(10)]
            server = await web.server({"/": page(*lost, *found), **found})
            ok(await crawl(tmp_path, server.url, "--rate", "max", "--max-pages", "6"))

    uvloop.run(main())
    assert Counter(page["status"] for page in pages(tmp_path)) == {200: 6, 404: 10}


def test_max_depth(tmp_path):
    async def main():
        async with Web() as web:
            chain = {f"/{n}": page(f"/{n + 1}") for n in range(9)}
            server = await web.server({"/": page("/0"), **chain})
            ok(await crawl(tmp_path, server.url, "--rate", "max", "--max-depth", "3"))
            assert server.paths == ["/", "/0", "/1", "/2"]
            assert [page["depth"] for page in pages(tmp_path)] == [0, 1, 2, 3]

    uvloop.run(main())


def test_max_time(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server(leaves(300))
            flags = ("--rate", "20/s", "--max-time", "700ms")
            started = time.monotonic()
            ok(await crawl(tmp_path, server.url, *flags))
            assert time.monotonic() - started < 5
            assert 0 < len(pages(tmp_path)) < 20
            before = len(pages(tmp_path))
            ok(await crawl(tmp_path, server.url, *flags))
            assert before < len(set(final_urls(tmp_path))) == len(pages(tmp_path)) < 40
            assert status(tmp_path)["queued"] > 200

    uvloop.run(main())


# What is in


def test_include_and_exclude(tmp_path):
    async def main():
        async with Web() as web:
            paths = ["/docs/1", "/docs/old/2", "/blog/3", "/docs/4?print=1"]
            server = await web.server({"/": page(*paths)} | {path: page() for path in paths})
            flags = ("--include", "/docs/", "--exclude", "/old/", "--exclude", "[?]print=")
            ok(await crawl(tmp_path, server.url, "--rate", "max", *flags))
            assert server.paths == ["/", "/docs/1"]

    uvloop.run(main())


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("host", {"www.example.com"}),
        ("site", {"www.example.com", "docs.example.com"}),
        ("any", {"www.example.com", "docs.example.com", "www.example.org"}),
    ],
)
def test_scope(tmp_path, scope, expected):
    names = ["www.example.com", "docs.example.com", "www.example.org"]

    async def main():
        async with Web() as web:
            servers = [await web.server({"/1": page()}) for _ in names]
            urls = [f"http://{name}:{s.port}/" for name, s in zip(names, servers, strict=True)]
            rules = [f"{n}:{s.port}:{s.address}" for n, s in zip(names, servers, strict=True)]
            servers[0].answers["/"] = page("/1", *(url + "1" for url in urls[1:]))
            flags = [flag for rule in rules for flag in ("--resolve", rule)]
            flags += ["--rate", "max", "--scope", scope, "--allow-private"]
            ok(await crawl(tmp_path, urls[0], *flags))
            asked = {name for name, server in zip(names, servers, strict=True) if server.visits}
            assert asked == expected

    uvloop.run(main())


def test_sitemaps(tmp_path):
    def urlset(*locations):
        body = "".join(f"<url><loc>{location}</loc></url>" for location in locations)
        return (
            f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{body}</urlset>'.encode()
        )

    async def main():
        async with Web() as web:
            server = await web.server({f"/{n}": page() for n in range(4)} | {"/": page("/0")})
            index = (
                f"<sitemapindex><sitemap><loc>{server.url}1.xml.gz</loc></sitemap></sitemapindex>"
            )
            server.answers |= {
                "/robots.txt": robots(
                    f"Sitemap: {server.url}index.xml\nSitemap: {server.url}broken.xml\nSitemap: /lost.xml\n"
                ),
                "/index.xml": Reply(body=index.encode()),
                "/1.xml.gz": Reply(
                    body=gzip.compress(
                        urlset(server.url + "1", server.url + "2", "http://127.0.0.99/elsewhere")
                    )
                ),
                "/broken.xml": Reply(body=b"<urlset><url><loc>"),
            }
            ok(await crawl(tmp_path, server.url, "--rate", "max", "--sitemaps"))
            assert sorted(server.paths) == sorted(
                ["/", "/0", "/1", "/2", "/index.xml", "/1.xml.gz", "/broken.xml", "/lost.xml"]
            )
            assert set(final_urls(tmp_path)) == {server.url + name for name in ("", "0", "1", "2")}
            lost = {url.rpartition("/")[2]: e[:2] for url, e in ended(tmp_path).items()}
            assert lost == {
                "index.xml": ("excluded", "sitemap"),
                "1.xml.gz": ("excluded", "sitemap"),
                "broken.xml": ("failed", "bad-sitemap"),
                "lost.xml": ("failed", "bad-sitemap"),
            }

    uvloop.run(main())


@pytest.mark.parametrize("flags", [(), ("--skip-nofollow",), ("--ignore-robots",)])
def test_noindex_and_nofollow(tmp_path, flags):
    def meta(content, *links):
        reply = page(*links)
        reply.body = f'<meta name="robots" content="{content}">'.encode() + reply.body
        return reply

    def header(content, *links):
        reply = page(*links)
        reply.headers = {**reply.headers, "X-Robots-Tag": content}
        return reply

    marked = page("/end/5")
    marked.body = marked.body.replace(b"<a ", b'<a rel="external nofollow" ')
    answers = {
        "/1": meta("noindex", "/end/1"),
        "/2": meta("nofollow", "/end/2"),
        "/3": header("noindex", "/end/3"),
        "/4": header("otherbot: noindex, andante: nofollow", "/end/4"),
        "/5": marked,
    }
    start = {"/": page(*answers)} | {f"/end/{n}": page() for n in range(1, 6)}

    async def main():
        async with Web() as web:
            server = await web.server(answers | start)
            ok(await crawl(tmp_path, server.url, "--rate", "max", *flags))
            kept = {url.replace(server.url, "/") for url in final_urls(tmp_path)}
            without = {
                (): {"/1", "/3", "/end/2", "/end/4"},
                ("--skip-nofollow",): {"/1", "/3", "/end/2", "/end/4", "/end/5"},
                ("--ignore-robots",): set(),
            }[flags]
            assert kept == set(server.answers) - without
            if not flags:
                noindex = dict.fromkeys(
                    (server.url + "1", server.url + "3"), ("excluded", "noindex", "")
                )
                assert ended(tmp_path) == noindex

    uvloop.run(main())


# Other settings than before


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (("--max-depth", "1"), ("--max-depth", "2"), "max_depth from 1 to 2"),
        (("--max-depth", "1"), (), "max_depth from 1 to none"),
        ((), ("--max-depth", "1"), "max_depth from none to 1"),
        ((), ("--scope", "any"), "scope from host to any"),
        (("--include", "/0"), ("--include", "/1"), "include from '/0' to '/1'"),
        ((), ("--exclude", "a", "--exclude", "b"), "exclude from none to 'a' 'b'"),
        ((), ("--max-url-length", "99"), "max_url_length from 2000 to 99"),
        ((), ("--sitemaps", "--skip-nofollow"), "sitemaps from no to yes, skip_nofollow from no"),
        ((), ("--rate", "50/s", "--max-pages", "99"), ""),
    ],
)
def test_settings_that_come_too_late_are_said(tmp_path, before, now, said):
    async def main():
        async with Web() as web:
            server = await web.server({"/": page("/0"), "/0": page("/1"), "/1": page("/2")})
            ok(await crawl(tmp_path, server.url, "--rate", "max", *before))
            fetched = len(server.paths)
            for said_now in (said, ""):
                done = ok(await crawl(tmp_path, server.url, "--rate", "max", *now))
                if said_now:
                    (line,) = done.err.splitlines()
                    assert line.startswith(f"andante: changed since the last start: {said_now}")
                    assert "stay left out" in line
                    assert line.endswith("start a new job directory")
                else:
                    assert done.err == ""
            assert len(server.paths) == fetched, "nothing new is found, as the line has said"

    uvloop.run(main())


def test_settings_that_come_too_late_are_logged(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server({"/": page("/0"), "/0": page()})
            flags = ("--rate", "max", "--json-log", "--max-depth")
            ok(await crawl(tmp_path, server.url, *flags, "0"))
            return ok(await crawl(tmp_path, server.url, *flags, "1"))

    events = [json.loads(line) for line in uvloop.run(main()).err.splitlines()]
    warned = [event["detail"] for event in events if event["event"] == "crawl.warned"]
    assert len(warned) == 1
    assert "max_depth from 0 to 1" in warned[0]


# What is sent


def test_headers_and_cookies(tmp_path):
    async def main():
        async with Web() as web:
            answers = leaves(3)
            answers["/0"] = Reply(200, {"Set-Cookie": "session=7; Path=/"})
            server = await web.server(answers)
            flags = ("--header", "X-Who: someone", "--header", "Accept: text/html")
            flags += ("--user-agent", "tester/1.0 (me)", "--rate", "max")
            ok(await crawl(tmp_path, server.url, *flags))
            for visit in server.visits:
                assert visit.headers["x-who"] == "someone"
                assert visit.headers["accept"] == "text/html"
                assert visit.headers["user-agent"] == "tester/1.0 (me)"
            cookies = [visit.headers.get("cookie") for visit in server.visits]
            assert cookies == [None, None, None, "session=7", "session=7"]

    uvloop.run(main())


def test_settings_from_a_file_and_flags_that_win(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server(leaves(9))
            (tmp_path / "crawl.toml").write_text(
                f'seeds = ["{server.url}"]\nrate = "max"\nmax-pages = 3\nuser_agent = "file/1"\n'
                'output = ["pages.jsonl"]\njob = "job"\n'
            )
            ok(await andante("crawl", "--config", "crawl.toml", "--max-pages", "5", cwd=tmp_path))
            assert len(pages(tmp_path)) == 5
            assert {visit.headers["user-agent"] for visit in server.visits} == {"file/1"}

    uvloop.run(main())


# Stopping and going on


async def under_way(cwd, server, *flags):
    """Start a crawl of a server; return when some pages have come."""
    running = Running(
        *("crawl", server.url, "--job", "job", "--output", "pages.jsonl"),
        *("--rate", "50/s", "--commit-interval", "50ms", *flags),
        cwd=cwd,
    )
    while len(server.visits) < 6:
        assert running.process.poll() is None, await asyncio.to_thread(running.wait)
        await asyncio.sleep(0.01)
    return running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_cleanly_and_the_crawl_goes_on(tmp_path, number):
    async def main():
        async with Web() as web:
            server = await web.server(leaves(40, delay=0.03))
            running = await under_way(tmp_path, server)
            running.process.send_signal(number)
            done = await asyncio.to_thread(running.wait)
            assert done.status == 130
            assert adds_up(done.out)
            assert done.err.splitlines()[-1] == (
                "andante: interrupted; the same command again goes on (job: job)"
            )
            assert len(server.paths) == len(pages(tmp_path)), "what was under way was waited for"
            ok(await crawl(tmp_path, server.url, "--rate", "max"))
            assert len(server.paths) == len(pages(tmp_path)) == len(set(final_urls(tmp_path))) == 41

    uvloop.run(main())


def test_a_second_signal_stops_at_once(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server(leaves(9) | {"/4": page(delay=30)})
            running = await under_way(tmp_path, server)
            while "/4" not in server.paths:
                await asyncio.sleep(0.01)
            running.process.send_signal(signal.SIGINT)
            await asyncio.sleep(0.2)
            assert running.process.poll() is None, "it waits for what is under way"
            running.process.send_signal(signal.SIGINT)
            sent = time.monotonic()
            done = await asyncio.to_thread(running.wait)
            assert time.monotonic() - sent < 1.5, "the grace of a clean stop is 2 s"
            assert done.status == -signal.SIGINT
            assert done.err.splitlines()[-1].endswith("the same signal again ends it at once")
            server.answers["/4"] = page()
            ok(await crawl(tmp_path, server.url, "--rate", "max"))
            assert len(pages(tmp_path)) == len(set(final_urls(tmp_path))) == 10

    uvloop.run(main())


def test_a_second_process_is_refused_and_status_may_look(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server(leaves(200))
            running = await under_way(tmp_path, server)
            second = await crawl(tmp_path, server.url)
            assert second.status == 2
            assert second.out == ""
            assert second.err.count("\n") == 1
            assert f"in use by another process ({running.process.pid})" in second.err
            seen = await asyncio.to_thread(status, tmp_path)
            assert seen["running"]
            assert 0 < seen["pages"] <= len(server.paths)
            assert seen["pages"] + seen["queued"] <= seen["known"] == 201
            plain = await asyncio.to_thread(run, "status", "job", cwd=tmp_path)
            assert plain.out.startswith("job: running\n")
            assert adds_up(plain.out)
            running.process.send_signal(signal.SIGINT)
            await asyncio.to_thread(running.wait)
            seen = status(tmp_path)
            assert not seen["running"]
            assert seen["pages"] == len(pages(tmp_path))
            assert seen["pages"] + seen["queued"] == seen["known"] == 201

    uvloop.run(main())


# What is said


def test_json_log(tmp_path):
    async def main():
        async with Web() as web:
            answers = leaves(6)
            answers["/1"] = Reply(302, {"Location": "/new"})
            answers["/2"] = Reply(cut=True)
            answers |= {"/new": page(), "/robots.txt": robots("User-agent: *\nDisallow: /3\n")}
            server = await web.server(answers)
            flags = ("--json-log", "--rate", "max", "--retries", "1", "--retry-wait", "10ms")
            return ok(await crawl(tmp_path, server.url, *flags))

    done = uvloop.run(main())
    events = [json.loads(line) for line in done.err.splitlines()]
    assert [events[0]["event"], events[-1]["event"]] == ["crawl.started", "crawl.finished"]
    assert all(0 <= after["time"] - before["time"] < 60 for before, after in pairwise(events))
    told = Counter(
        (event["event"], event["url"].rpartition("/")[2]) for event in events if "url" in event
    )
    assert told == Counter(
        [("fetch.completed", path) for path in ("", "0", "1", "4", "5", "new")]
        + [("fetch.retried", "2"), ("fetch.failed", "2"), ("url.excluded", "3")]
    )
    assert events[-1]["counts"]["known"] == 8


def test_quiet(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server(leaves(2))
            return await crawl(tmp_path, server.url, "--rate", "max", "--quiet")

    done = uvloop.run(main())
    assert (done.status, done.out, done.err) == (0, "", "")


FRUITLESS = {
    "closed (before the response); if the server speaks TLS, give https://": {"/": Reply(cut=True)},
    "status 401": {"/": Reply(401)},
    "status 404": {},
    "robots (robots.txt does not allow it)": {
        "/robots.txt": robots("User-agent: *\nDisallow: /"),
        "/": page(),
    },
}


@pytest.mark.parametrize("why", FRUITLESS)
def test_a_crawl_that_got_nothing_has_failed(tmp_path, why):
    async def main():
        async with Web() as web:
            server = await web.server(FRUITLESS[why])
            flags = ("--rate", "max", "--retries", "0", "--give-up-after", "1", "--quiet")
            return await crawl(tmp_path, server.url, *flags)

    done = uvloop.run(main())
    assert done.status == 1
    assert done.err == f"andante: nothing could be fetched: {why}\n"
