"""A client that is no node writes to the Redis of a crawl: the node neither fails, nor hangs, nor leaves its scope."""

import asyncio
import json
import struct
import zlib

import msgspec
import pytest
import uvloop

from andante import url as urls
from andante.cluster.exchange import Links
from andante.cluster.packing import pack
from andante.cluster.redis import RedisStore
from andante.cluster.redis.keys import key
from andante.frontier.block import Link
from support.cluster import Member
from support.command import Running, pages
from support.web import Web, page

LEAVES = [f"/{n}" for n in range(60)]
CRAWL = "crawl"

HOSTILE = "/x HTTP/1.1\rHost: evil.example\rX:"


def said(server, *targets, **about):
    """What a node would say of links that it has found."""
    links = [Link(target, 1, **about) for target in targets]
    found = b"".join(urls.fingerprint(server + target) for target in targets)
    return Links(server, found, pack(links, b"\x80"))


async def join(url, config, name):
    """Join the crawl as a node does: whoever can read its Redis knows how."""
    member = Member(RedisStore(url, CRAWL))
    member.joined = await member.store.join(name, token="stranger", config=config)
    return member


def foreign_records(redis, server, other):
    """Write garbage of each kind past the protocol."""
    own = {each: key(CRAWL, 0, each) for each in ("servers", "pool", "states", "nodes", "told")}
    control = redis.control
    for name in (b"garbage", b"\xff\xfe", b"ftp://x/", b"http://x/path", b"ip none"):
        control.hset(own["servers"], name, struct.pack("<II", 0xFFFF_FFFF, 3))
        control.rpush(own["pool"], name)
    bomb = b"\1" + zlib.compress(b"/" + b"a" * 30_000_000, 9)[2:-4]
    for entry in (b"", b"L", b"L\2garbage", b"L\2\1garbage", b"E\2odd", b"M\2\xff", b"L\2" + bomb):
        control.rpush(key(CRAWL, 0, "log:" + other), entry)
    control.hset(own["servers"], other, struct.pack("<II", 0xFFFF_FFFF, 9))
    control.hset(own["states"], other, struct.pack("<d", 0) + b"\x9a" + b"garbage")
    control.rpush(own["pool"], other)
    numbers = [float("nan"), float("inf"), None, None, "\x1b[2J", None, "x", b"garbage", 1e9]
    luggage = msgspec.msgpack.encode(numbers)
    control.hset(own["states"], server, struct.pack("<d", 0) + luggage)
    for number, node in enumerate((b"", b"x", b"\0\0\0\0\x03a\x1b\xff", b"\0\0\0\0\1zgarbage")):
        control.hset(own["nodes"], str(900 + number), node)
    control.hset(own["nodes"], "garbage", b"garbage")
    for text in (b"", b"\xff", b"garbage", b"pages x y", b"pages " + b"9" * 5_000, b"x" * 10**6):
        control.rpush(own["told"], text)


@pytest.mark.parametrize("scope", ["host", "site"])
def test_a_stranger_who_can_write_to_redis(redis, tmp_path, scope):
    async def main():
        async with Web() as web:
            server = await web.server({"/": page(*LEAVES), **{leaf: page() for leaf in LEAVES}})
            second = await web.server({"/": page()}, address=server.address)
            evil = await web.server({"/": page(), "/sitemap.xml": page()})
            running = Running(
                *("crawl", server.url, "--cluster", redis.url, "--crawl-name", CRAWL),
                *("--scope", scope, "--allow-private", "--rate", "20/s", "--job", "job"),
                *("--output", "pages.jsonl", "--heartbeat", "200ms", "--lease", "2s", "--json-log"),
                cwd=tmp_path,
            )
            while len(server.visits) < 5:
                assert running.process.poll() is None, running.err
                await asyncio.sleep(0.01)
            config = redis.control.hget(key(CRAWL, 0), "config")
            stranger = await join(redis.url, config, "a\x1b[2J")
            own, there, out = (each.url.rstrip("/") for each in (server, second, evil))
            await stranger.report(
                said(out, "/", "/deep"),
                said(out, "/sitemap.xml", sitemap=True),
                said(own, "/99", HOSTILE, "/a b", "/ü", "/" + "a" * 9_000),
                said(own, "/98", referrer="http://x\rX: y"),
            )
            await stranger.store.tell(evil.url)
            await stranger.store.tell("http://[")
            await stranger.store.leave()
            await stranger.store.close()
            foreign_records(redis, own, there)
            done = await asyncio.to_thread(running.wait, 25.0)
            said_last = [line for line in done.err.splitlines() if "fetch.completed" not in line]
            assert done.status == 0, "\n".join(said_last)[-5_000:]
            assert "Traceback" not in done.err
            assert not evil.visits
            assert set(server.paths) == {"/", "/99", *LEAVES}
            assert {each["final_url"] for each in pages(tmp_path)} >= {server.url}
            events = [json.loads(line) for line in done.err.splitlines()]
            refused = [each["detail"] for each in events if each["event"] == "cluster.refused"]
            for why in ("it is no server", "out of scope", "cannot be read", "no seed of this"):
                assert any(why in detail for detail in refused), refused

    uvloop.run(main())
