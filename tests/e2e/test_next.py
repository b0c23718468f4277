"""What comes next, on real servers: a dozen of different speeds, half of whose pages are worth something."""

from statistics import fmean

import pytest
import uvloop

from andante import Crawl
from support.command import andante
from support.web import Reply, Web, page, robots

PAGES = 20
"""On each server; besides there is its front page, which links to them."""

PER_CONNECTION = 5


def site(delay):
    """Return the answers of a server; it closes a connection after some responses."""
    leaves = {
        f"/{n}": Reply(
            200, {"Content-Type": "text/html"}, b"<p>", delay, close=n % PER_CONNECTION == 0
        )
        for n in range(1, PAGES + 1)
    }
    return {"/": page(*leaves, delay=delay), **leaves}


def is_good(url):
    """Pages of even numbers are worth a hundred times as much as the others."""
    number = url.rpartition("/")[2]
    return bool(number) and int(number) % 2 == 0


def crawled(policy, tmp_path):
    """Crawl six fast servers and six slow ones, on three connections; return the URLs in order, and the fast servers."""

    async def main():
        async with Web() as web:
            slow = [await web.server(site(0.05)) for _ in range(6)]
            fast = [await web.server(site(0.002)) for _ in range(6)]
            seeds = [server.url for pair in zip(slow, fast, strict=True) for server in pair]
            scores = tmp_path / "scores.tsv"
            lines = [f"{seed}\t1" for seed in seeds]
            for seed in seeds:
                lines += [f"{seed}{n}\t{1 if n % 2 == 0 else 0.01}" for n in range(1, PAGES + 1)]
            scores.write_text("\n".join(lines) + "\n")
            quality = {"quality": f"file:{scores}"} if policy in ("quality", "capability") else {}
            options = {"rate": "max", "connections": 3, "ignore_robots": True, "policy": policy}
            async with Crawl(seeds, **options, **quality) as pages:
                found = [page.final_url async for page in pages]
            return found, tuple(server.url for server in fast)

    return uvloop.run(main())


def place(found, wanted):
    """Return where the wanted pages stand on average: 0 the first, 1 the last."""
    return fmean(at / len(found) for at, url in enumerate(found) if wanted(url))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    names = ("breadth-first", "performance", "quality", "capability")
    return {name: crawled(name, tmp_path_factory.mktemp(name)) for name in names}


def test_all_fetch_the_same_pages(runs):
    for found, _ in runs.values():
        assert len(found) == len(set(found)) == 12 * (PAGES + 1)


def test_performance_first_begins_with_the_fast_servers(runs):
    """Breadth-first visits them in turn; as these are done sooner, they come somewhat earlier even so."""

    def fast_ones(name):
        found, fast = runs[name]
        return place(found, lambda url: url.startswith(fast))

    assert fast_ones("performance") < 0.33
    assert fast_ones("performance") < fast_ones("breadth-first") - 0.05
    assert fast_ones("performance") < fast_ones("quality") - 0.05


def test_quality_first_and_capability_begin_with_the_good_pages(runs):
    good = {name: place(found, is_good) for name, (found, _) in runs.items()}
    assert good["quality"] < 0.35
    assert good["capability"] < good["breadth-first"] - 0.1
    assert good["capability"] < good["performance"] - 0.1


def test_capability_takes_the_good_pages_of_the_fast_servers_first(runs):
    found, fast = runs["capability"]
    of_fast = place(found, lambda url: is_good(url) and url.startswith(fast))
    of_slow = place(found, lambda url: is_good(url) and not url.startswith(fast))
    assert of_fast < of_slow - 0.1


def test_a_policy_and_a_quality_of_the_users_own(tmp_path):
    """Named by import path, from the directory of the user; what is wrong with them is told, and the crawl goes on."""
    (tmp_path / "mine.py").write_text(
        "class Last:\n"
        "    by_score = True\n"
        "    def rank(self, server):\n"
        "        return -server.best\n"
        "def worth(link):\n"
        "    return 1 / (len(link.url) - 20 if link.anchor != '/b' else 0)\n"
    )

    async def main():
        async with Web() as web:
            server = await web.server(
                {"/": page("/b", "/aaa", "/aa"), "/b": page(), "/aa": page(), "/aaa": page()}
            )
            command = (
                "crawl",
                server.url,
                "--rate",
                "max",
                "--policy",
                "mine:Last",
                "--quality",
                "mine:worth",
                "--ignore-robots",
            )
            done = await andante(*command, cwd=tmp_path)
            return done, server.paths

    done, paths = uvloop.run(main())
    assert done.status == 0, done.err
    assert sorted(paths) == ["/", "/aa", "/aaa", "/b"]
    assert paths[-1] == "/b", "it counts 0"
    assert "quality mine:worth raised ZeroDivisionError on http://" in done.err


def test_a_sitemap_says_what_its_urls_are_worth():
    async def main():
        async with Web() as web:
            server = await web.server({f"/{n}": page() for n in range(3)} | {"/": page()})
            listed = [(server.url + "0", 0.1), (server.url + "1", 0.9), (server.url + "2", 0.5)]
            entries = "".join(
                f"<url><loc>{loc}</loc><priority>{p}</priority></url>" for loc, p in listed
            )
            body = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
            server.answers["/map.xml"] = Reply(
                200, {"Content-Type": "application/xml"}, body.encode()
            )
            server.answers["/robots.txt"] = robots(f"Sitemap: {server.url}map.xml\n")
            options = {"rate": "max", "sitemaps": True, "policy": "quality", "quality": "sitemap"}
            async with Crawl([server.url], **options) as pages:
                assert len([page async for page in pages]) == 4
            return [path for path in server.paths if path in ("/0", "/1", "/2")]

    assert uvloop.run(main()) == ["/1", "/2", "/0"]
