"""Credentials that a user gives go to the origins of the seeds, whatever links, redirects, robots.txt and restarts say."""

import uvloop

from support.command import andante, pages
from support.web import Reply, Web, page

SECRETS = ("authorization", "cookie", "proxy-authorization", "x-key")
HEADERS = (
    *("--header", "Authorization: Bearer secret", "--header", "Cookie: own=secret"),
    *("--header", "Proxy-Authorization: Basic secret", "--header", "X-Key: secret"),
    *("--secret-header", "x-key", "--header", "X-Open: all"),
)
FLAGS = ("--rate", "max", "--scope", "any", "--allow-private", "--output", "job/pages.jsonl")


async def crawl(cwd, *arguments):
    done = await andante("crawl", "--job", "job", *FLAGS, *arguments, cwd=cwd)
    assert done.status == 0, done.err
    return done


def redirect(url):
    return Reply(301, {"Location": url})


def told(server):
    """Return which secrets came with the requests of a server, path by path; all must have had the open header."""
    assert all(visit.headers["x-open"] == "all" for visit in server.visits)
    return {
        visit.path: sorted(name for name in SECRETS if "secret" in visit.headers.get(name, ""))
        for visit in server.visits
    }


def all_told(server):
    return server.visits and all(found == sorted(SECRETS) for found in told(server).values())


def none_told(server):
    assert not any("secret" in str(visit.headers) for visit in server.visits)
    return server.visits and not any(told(server).values())


def test_secret_headers_go_to_the_origins_of_the_seeds_only(tmp_path):
    """Not to another port, another host, the target of a redirect, or where a robots.txt has moved to."""

    async def main():
        async with Web() as web:
            seed = await web.server({})
            second = await web.server({"/": page(), "/linked": page()})
            port = await web.server({"/": page(), "/to": page()}, address=seed.address)
            host = await web.server({"/": page("/more"), "/more": page()})
            target = await web.server({"/": page()})
            rules = await web.server({"/robots.txt": Reply(200, {}, b"Disallow: /nothing")})
            host.answers["/robots.txt"] = redirect(rules.url + "robots.txt")
            seed.answers = {
                "/": page("/1", "/to", "/to-port", port.url, host.url, second.url + "linked"),
                "/1": page(),
                "/to": redirect(target.url),
                "/to-port": redirect(port.url + "to"),
            }
            await crawl(tmp_path, seed.url, second.url, *HEADERS)
            assert {"/robots.txt", "/", "/1", "/to", "/to-port"} == set(told(seed))
            assert all_told(seed)
            assert all_told(second)
            for stranger in (port, host, target, rules):
                assert none_told(stranger), stranger.url
            assert len(pages(tmp_path / "job")) == 9

    uvloop.run(main())


def test_a_seed_that_moves_takes_no_credentials_along(tmp_path):
    """Its site is crawled on, without them, and the user is told; after a restart, too, until it is given as a seed."""

    async def main():
        async with Web() as web:
            moved = await web.server({"/": page("/1"), "/1": page()})
            seed = await web.server({"/": redirect(f"http://www.a.example:{moved.port}/")})
            address = f"http://www.a.example:{moved.port}"
            flags = ("--resolve", f"www.a.example:{moved.port}:{moved.address}")
            flags += ("--resolve", f"a.example:{seed.port}:{seed.address}", "--scope", "host")
            done = await crawl(tmp_path, f"http://a.example:{seed.port}/", *flags, *HEADERS)
            told = f"andante: a seed has moved to {address}, to which the secret headers do not go"
            assert done.err.count(told) == 1, done.err
            assert all_told(seed)
            assert none_told(moved)
            assert moved.paths == ["/", "/1"]
            moved.answers |= {"/2": page(), "/3": page()}
            moved.answers["/2"] = page("/3")
            # The job goes on without a seed that would be new to it.
            await crawl(tmp_path, *flags, *HEADERS, f"http://a.example:{seed.port}/2")
            assert none_told(moved)
            moved.visits.clear()
            await crawl(tmp_path, *flags, *HEADERS, address + "/2")
            assert all_told(moved)
            assert moved.paths == ["/2", "/3"]

    uvloop.run(main())


def test_a_job_that_goes_on_knows_the_origins_of_its_seeds(tmp_path):
    async def main():
        async with Web() as web:
            other = await web.server({"/": page()})
            seed = await web.server({})
            seed.answers = {"/": page("/1", other.url), "/1": page("/2"), "/2": page()}
            await crawl(tmp_path, seed.url, "--max-pages", "1", *HEADERS)
            assert seed.paths == ["/"]
            await crawl(tmp_path, *HEADERS)
            assert seed.paths == ["/", "/1", "/2"]
            assert all_told(seed)
            assert none_told(other)

    uvloop.run(main())


def test_cookies_of_the_user_and_of_the_server_go_together(tmp_path):
    async def main():
        async with Web() as web:
            seed = await web.server({})
            start = page("/1")
            seed.answers = {
                "/": Reply(200, {**start.headers, "Set-Cookie": "set=1"}, start.body),
                "/1": page(),
            }
            await crawl(tmp_path, seed.url, *HEADERS)
            sent = {visit.path: visit.headers["cookie"] for visit in seed.visits}
            assert sent == {
                "/robots.txt": "own=secret",
                "/": "own=secret",
                "/1": "own=secret; set=1",
            }

    uvloop.run(main())
