import json
import time

import pytest

from andante.cli import main
from andante.cluster.exchange import Ended
from services.redis import redis_server
from support.cluster import fingerprints, links
from support.crawls import beat, crawl, two_nodes


def status(capsys, *arguments):
    """Return what is printed, as JSON and as text."""
    assert main(["status", "--json", *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["status", *arguments]) == 0
    return told, capsys.readouterr().out


def test_nodes_servers_and_totals(redis, capsys):
    crawl(redis.url, two_nodes)
    told, printed = status(capsys, "--cluster", redis.url)
    a, b = told["nodes"]
    assert [node["name"] for node in (a, b)] == ["a", "b"]
    assert (a["pages"], a["pages_per_second"], a["unheard"]) == (1_234, 12.3, 7)
    assert (a["servers"], a["waiting"]) == (2, 3), "an IP address is no server"
    assert (b["servers"], b["waiting"]) == (0, 0)
    assert (told["pool"], told["pool_waiting"]) == (1, 1)
    assert (told["known"], told["waiting"]) == (4, 4)
    assert 0 <= a["silence"] < 15
    assert told["problems"] == []
    assert told["memory"] > 0
    rows = [line.split() for line in printed.splitlines()]
    row = next(row for row in rows if row and row[0] == "a")
    assert row[3:] == ["1,234", "12.3", "2", "3", "7"]
    assert ["(pool)", "1", "1"] in rows
    assert "WRONG" not in printed


def test_a_node_that_has_joined_and_not_spoken(redis, capsys):
    crawl(redis.url, lambda join: join("a"))
    told, printed = status(capsys, "--cluster", redis.url)
    assert told["nodes"][0]["silence"] is None
    assert "no beat yet" in printed
    assert told["problems"] == []


def test_a_silent_node(redis, capsys):
    async def silent(join):
        a, b = await join("a"), await join("b")
        await a.report(beat=beat(lease=0.03))
        await b.report(beat=beat())

    crawl(redis.url, silent)
    time.sleep(0.02)
    told, printed = status(capsys, "--cluster", redis.url)
    (problem,) = told["problems"]
    assert problem.startswith("node a has been silent for ")
    assert "WRONG: node a has been silent" in printed


def test_nobody_is_there(redis, capsys):
    async def gone(join):
        a = await join("a")
        await a.report(links("http://x.example", 1), beat=beat())
        await a.store.leave()

    crawl(redis.url, gone)
    told, _ = status(capsys, "--cluster", redis.url)
    assert told["nodes"] == []
    assert told["problems"] == [
        "no node is there, though URLs wait: start one with the same command"
    ]


def test_a_crawl_that_is_over(redis, capsys):
    async def over(join):
        a = await join("a")
        await a.report(
            links("http://x.example", 1), Ended("http://x.example", fingerprints(1)), beat=beat()
        )
        await a.store.leave()

    crawl(redis.url, over)
    told, printed = status(capsys, "--cluster", redis.url)
    assert told["problems"] == []
    assert "nothing waits" in printed


def test_data_that_were_lost(redis, capsys):
    crawl(redis.url, lambda join: join("a", again=True))
    told, _ = status(capsys, "--cluster", redis.url)
    assert not told["settled"]
    assert told["problems"][0].startswith("Redis has lost the data of the crawl")


def test_a_redis_that_is_nearly_full(capsys):
    with redis_server(password="a secret") as server:
        crawl(server.url, two_nodes)
        used = server.control.info("memory")["used_memory"]
        server.control.config_set("maxmemory", int(used * 1.05))
        told, printed = status(capsys, "--cluster", server.url)
    assert told["problems"][0].startswith("Redis is nearly full (")
    assert " of " in printed
    assert "secret" not in printed


def test_names_steer_no_terminal(redis, capsys):
    async def two(join):
        await (await join("a\x1b[2J\n")).report(beat=beat())
        await join("\x9b31m\u202eb")

    crawl(redis.url, two)
    assert main(["status", "--cluster", redis.url]) == 0
    out = capsys.readouterr().out
    assert "\na\ufffd[2J\ufffd " in out
    assert "\n\ufffd31m\ufffdb " in out
    assert out.replace("\n", "").isprintable()
    redis.control.sadd("andante:crawls", "\x1b[2J")
    assert main(["status", "--cluster", redis.url]) == 0
    assert capsys.readouterr().out.replace("\n", "").isprintable()


def test_several_crawls_are_listed(redis, capsys):
    crawl(redis.url, lambda join: join("a"), name="one")
    crawl(redis.url, lambda join: join("b"), name="two", seen="exact")
    told, printed = status(capsys, "--cluster", redis.url)
    assert told == {"crawls": ["one", "two"]}
    assert printed.endswith("\none\ntwo\n")
    told, printed = status(capsys, "--cluster", redis.url, "--crawl-name", "two")
    assert (told["crawl"], told["seen"]) == ("two", "exact")
    assert printed.startswith("two: 1 node, begun 20")


def test_redis_in_cluster_mode(masters, capsys):
    crawl(masters.url, two_nodes)
    told, _ = status(capsys, "--cluster", masters.url)
    assert [node["servers"] for node in told["nodes"]] == [2, 0]
    assert (told["pool"], told["waiting"], told["problems"]) == (1, 4, [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cluster", "redis://:hush@127.0.0.1:1/0"], "no answer from Redis at 127.0.0.1:1"),
        (["--cluster", "http://127.0.0.1/"], "the URL of Redis must be like"),
    ],
)
def test_a_redis_that_cannot_be_used(capsys, arguments, said):
    assert main(["status", *arguments]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"andante: {said}")
    assert told.count("\n") == 1
    assert "hush" not in told


def test_crawls_that_are_not_there(redis, capsys):
    assert main(["status", "--cluster", redis.url]) == 1
    assert capsys.readouterr().err == "andante: there is no crawl on this Redis\n"
    assert main(["status", "--cluster", redis.url, "--crawl-name", "x"]) == 1
    assert "there is no crawl 'x' on the Redis at 127.0.0.1:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dir", "--cluster", "redis://127.0.0.1"],
        ["--urls", "--cluster", "redis://127.0.0.1"],
        ["dir", "--crawl-name", "x"],
    ],
)
def test_wrong_usage(capsys, arguments):
    assert main(["status", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1
