"""Clusters of real processes on a small web of loopback: logins, TLS, several masters, limits over all nodes, processes on one machine."""

import asyncio
import json
import signal
from itertools import pairwise

import pytest
import uvloop

from services.redis import redis_server
from support.command import Running, pages
from support.web import Reply, Web, page, robots

SLACK = 0.005
"""Seconds; as in test_polite."""

LEAVES = [f"/{n}" for n in range(12)]


async def a_web(web, servers=6, **answers):
    """Serve some servers, each with pages of its own and links to the next server."""
    for _ in range(servers):
        await web.server({})
    for server, following in zip(web.servers, [*web.servers[1:], web.servers[0]], strict=True):
        server.answers |= {"/": page(*LEAVES, following.url)} | {leaf: page() for leaf in LEAVES}
        server.answers |= answers
    return {server.url + leaf.lstrip("/") for server in web.servers for leaf in ["/", *LEAVES]}


def node(name, cwd, seeds, *flags):
    """Start a node; the seeds are one URL, or several with spaces between."""
    own = cwd / name
    own.mkdir(exist_ok=True)
    fixed = ("--node", name, "--job", "job", "--output", "pages.jsonl", "--json-log")
    more = ("--scope", "any", "--allow-private", "--header", f"X-Node: {name}")
    return Running(
        *("crawl", *seeds.split(), *fixed, *more, "--heartbeat", "200ms", "--lease", "2s", *flags),
        cwd=own,
    )


async def until(is_so, running):
    """Wait until something is true, while a command runs."""
    while not is_so():
        assert running.process.poll() is None, running.err
        await asyncio.sleep(0.01)


async def ended(*nodes, status=0):
    """Wait for the end of nodes; return what they said."""
    done = [await asyncio.to_thread(node.wait) for node in nodes]
    for each in done:
        assert each.status == status, each.err
    return done


def found(cwd, *names):
    """Return the pages of the outputs of some nodes; none is in two of them."""
    urls = [each["final_url"] for name in names for each in pages(cwd / name)]
    assert len(urls) == len(set(urls))
    return set(urls)


def visits(*servers):
    return sorted((visit for each in servers for visit in each.visits), key=lambda v: v.began)


def crawled(tmp_path, *flags):
    """Crawl with two nodes; check that all is there."""

    async def main():
        async with Web() as web:
            wanted = await a_web(web)
            nodes = [
                node(name, tmp_path, web.servers[0].url, "--rate", "20/s", *flags) for name in "ab"
            ]
            await ended(*nodes)
            assert found(tmp_path, "a", "b") == wanted
            for server in web.servers:
                assert len(server.paths) == len(set(server.paths))

    uvloop.run(main())


def test_with_a_password_and_tls(tmp_path):
    with redis_server(password="open sesame", tls=True) as server:
        crawled(tmp_path, "--cluster", f"{server.url}?ssl_ca_certs={server.tls.ca_file}")


@pytest.mark.slow
def test_on_three_masters(masters, tmp_path):
    crawled(tmp_path, "--cluster", masters.url, "--seen", "bloom")


@pytest.mark.slow
def test_two_crawls_on_one_redis_do_not_mix(redis, tmp_path):
    async def main():
        async with Web() as web:
            wanted = await a_web(web)
            own = ("--cluster", redis.url, "--rate", "20/s")
            nodes = [
                node(f"{crawl}{name}", tmp_path, web.servers[0].url, *own, "--crawl-name", crawl)
                for crawl in ("one", "other")
                for name in "ab"
            ]
            await ended(*nodes)
            assert found(tmp_path, "onea", "oneb") == wanted
            assert found(tmp_path, "othera", "otherb") == wanted

    uvloop.run(main())


def test_a_node_with_nothing_left_to_do_says_so(redis, tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server({"/": page()})
            for name in ("a", "b"):
                (done,) = await ended(
                    Running(
                        *("crawl", server.url, "--cluster", redis.url, "--allow-private"),
                        *("--node", name, "--job", name),
                        cwd=tmp_path,
                    )
                )
                assert ("Nothing was left to do" in done.out) == (name == "b")

    uvloop.run(main())


def test_a_node_says_what_befalls_the_cluster(tmp_path):
    async def main():
        async with Web() as web:
            await a_web(web, 1)
            with redis_server(appendonly=True) as server:
                running = Running(
                    *("crawl", web.servers[0].url, "--cluster", server.url, "--allow-private"),
                    *("--rate", "3/s", "--heartbeat", "200ms", "--lease", "2s"),
                    cwd=tmp_path,
                )
                await until(lambda: visits(*web.servers), running)
                server.kill()
                gone = "andante: the store does not answer (no answer from Redis at 127.0.0.1:"
                await until(lambda: gone in running.err, running)
                server.start()
                await until(lambda: "andante: the store answers again\n" in running.err, running)
                await ended(running)

    uvloop.run(main())


def test_limits_hold_for_all_nodes_together(redis, tmp_path):
    async def main():
        async with Web() as web:
            await a_web(web)
            limits = ("--total-rate", "10/s", "--max-pages", "40", "--rate", "20/s")
            nodes = [
                node(name, tmp_path, web.servers[0].url, "--cluster", redis.url, *limits)
                for name in "abc"
            ]
            await ended(*nodes)
            all_visits = visits(*web.servers)
            fetched = found(tmp_path, *"abc")
            assert len(fetched) == 40
            # In any two seconds no more than the rate, and what three nodes may have begun with.
            for first, last in zip(all_visits, all_visits[20 + 3 :], strict=False):
                assert last.began - first.began > 2.0 - 0.05
            late = node("d", tmp_path, web.servers[0].url, "--cluster", redis.url, *limits)
            await ended(late)
            assert not found(tmp_path, "d")

    uvloop.run(main())


@pytest.mark.slow
def test_what_a_server_asks_for_is_kept_by_its_next_owner(redis, tmp_path):
    """A node reads robots.txt and Retry-After, and leaves; the other waits as it was told, and does not read it again."""

    async def main():
        async with Web() as web:
            slow = await web.server(
                {
                    "/robots.txt": robots("User-agent: *\nCrawl-delay: 1\nDisallow: /11\n"),
                    "/": page(*LEAVES[:6], "/11"),
                    **{leaf: page() for leaf in LEAVES[:6]},
                }
            )
            busy = await web.server(
                {
                    "/": lambda visit: (
                        Reply(503, {"Retry-After": "6"}) if len(busy.paths) < 2 else page()
                    )
                }
            )
            seeds = f"{slow.url} {busy.url}"
            own = ("--cluster", redis.url, "--rate", "max")
            a = node("a", tmp_path, seeds, *own)
            await until(lambda: len(slow.paths) > 1 and busy.paths, a)
            a.process.send_signal(signal.SIGINT)
            b = node("b", tmp_path, seeds, *own)
            await ended(a, status=130)
            await ended(b)
            assert {visit.headers["x-node"] for visit in slow.visits} == {"a", "b"}
            assert found(tmp_path, "a", "b") == {
                busy.url,
                slow.url,
                *(slow.url + leaf[1:] for leaf in LEAVES[:6]),
            }
            for server in (slow, busy):
                assert [visit.path for visit in server.visits].count("/robots.txt") == 1
            asked = [visit for visit in slow.visits if visit.path != "/robots.txt"]
            gaps = [later.began - earlier.ended for earlier, later in pairwise(asked)]
            assert min(gaps) > 0.95, gaps
            first, second = [visit for visit in busy.visits if visit.path == "/"][:2]
            assert second.began - first.ended > 5.9

    uvloop.run(main())


def test_servers_at_one_address_stay_together(redis, tmp_path):
    async def main():
        async with Web() as web:
            together = [
                await web.server({}, address=f"127.0.0.{number // 3 + 20}") for number in range(9)
            ]
            wanted = await a_web(web, servers=0)
            for server in together:
                others = [each.url for each in together]
                server.answers |= {"/": page(*LEAVES, *others)}
                server.answers |= {leaf: page(delay=0.02) for leaf in LEAVES}
                wanted |= {server.url + leaf[1:] for leaf in ["/", *LEAVES]}
            nodes = [
                node(name, tmp_path, together[0].url, "--cluster", redis.url, "--rate", "20/s")
                for name in "ab"
            ]
            await ended(*nodes)
            assert found(tmp_path, "a", "b") == wanted
            for address in {server.address for server in together}:
                at_one = visits(*(each for each in together if each.address == address))
                gaps = [later.began - earlier.began for earlier, later in pairwise(at_one)]
                assert min(gaps) > 0.025 - SLACK
                assert all(
                    later.began >= earlier.ended - 0.002 for earlier, later in pairwise(at_one)
                )

    uvloop.run(main())


@pytest.mark.slow
def test_a_plan_says_which_node_has_which_servers(redis, tmp_path):
    """Also those that another node found before the planned one came."""

    async def main():
        async with Web() as web:
            wanted = await a_web(web)
            own = {
                name: [server.url.rstrip("/") for server in web.servers[first::2]]
                for first, name in enumerate("ab")
            }
            plan = tmp_path / "owners.json"
            plan.write_text(json.dumps(own))
            flags = ("--rate", "3/s", "--cluster", redis.url, "--owners", plan)
            flags += ("--balance", "never")
            a = node("a", tmp_path, web.servers[0].url, *flags)
            await until(lambda: len(visits(*web.servers)) > 3, a)
            b = node("b", tmp_path, web.servers[0].url, *flags)
            await ended(a, b)
            assert found(tmp_path, "a", "b") == wanted
            late = [visit for visit in visits(*web.servers[1::2]) if visit.path in LEAVES[10:]]
            assert {visit.headers["x-node"] for visit in late} == {"b"}
            assert {visit.headers["x-node"] for visit in visits(*web.servers[::2])} == {"a"}

    uvloop.run(main())


@pytest.mark.parametrize(
    "ending", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL]
)
def test_processes_on_one_machine_go_on_after_they_were_ended(tmp_path, ending):
    """With a Redis of their own, which is ended with them."""

    async def main():
        async with Web() as web:
            wanted = await a_web(web)
            command = ("crawl", web.servers[0].url, "--workers", 3, "--job", "job")
            more = ("--output", "pages.jsonl", "--scope", "any", "--allow-private")
            limits = ("--rate", "8/s", "--heartbeat", "200ms", "--lease", "2s")
            first = Running(*command, *more, *limits, cwd=tmp_path)
            await until(lambda: len(visits(*web.servers)) >= 30, first)
            first.process.send_signal(ending)
            (done,) = await ended(first, status=130 if ending == signal.SIGINT else -9)
            assert done.err.startswith("how they do: andante status --cluster unix:///")
            if ending == signal.SIGINT:
                said = "andante: interrupted; the same command again goes on (job: job)\n"
                assert done.err.count("interrupted") == done.err.count(said) == 1
            count = len(visits(*web.servers))
            await asyncio.sleep(1.0)
            assert len(visits(*web.servers)) == count, "somebody goes on"
            await ended(Running(*command, *more, *limits, cwd=tmp_path))
            urls = [
                each["final_url"]
                for path in tmp_path.glob("pages-*.jsonl")
                for each in pages(tmp_path, path.name)
            ]
            assert set(urls) == wanted
            if ending == signal.SIGINT:
                assert len(urls) == len(wanted)
            (status,) = await ended(Running("status", "job", cwd=tmp_path), status=2)
            assert "no journal.sqlite in it, but in job/w1, job/w2, job/w3" in status.err

    uvloop.run(main())
