"""Polite, as seen from the servers: gaps, connections at once, robots.txt, redirects."""

import uvloop

from andante import Crawl
from support.web import Reply, Web, page, robots

SLACK = 0.05
"""Seconds by which a request may seem early to a server: it was sent on time, but the one before it was read late."""


async def crawl(seed, **settings):
    """Return the final URLs that a crawl has pages of."""
    async with Crawl([seed], **settings) as pages:
        return [page.final_url async for page in pages]


def check_pauses(gaps, least):
    assert min(gaps) > least - SLACK
    assert sum(gaps) > least * len(gaps) - SLACK


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
            check_pauses(a.gaps, 0.1)

    uvloop.run(main())


def test_one_connection_unless_more_are_allowed():
    async def main():
        async with Web() as web:
            leaves = {f"/{n}": page(delay=0.01) for n in range(12)}
            for allowed in (1, 3):
                server = await web.server({"/": page(*leaves), **leaves})
                await crawl(server.url, rate="max", per_server=allowed)
                assert server.most_connections == allowed
                assert sorted(server.paths) == sorted(["/", *leaves])

    uvloop.run(main())


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
            check_pauses(server.gaps[1:], 0.1)

    uvloop.run(main())
