"""Crawls on a real Redis, for those who look at them from outside."""

import asyncio

import msgspec

from andante.cluster.balance import Load
from andante.cluster.exchange import Give
from andante.cluster.redis import RedisStore
from andante.crawl.pulse import Beat
from support.cluster import Member, links


def beat(pages=0, lease=45.0, **load):
    return msgspec.msgpack.encode(Beat(Load(0, **load), pages, lease=lease, unheard=7))


def crawl(url, what, *, name="test", **options):
    """Let nodes do something on a crawl: ``what`` is given a function that makes a node join."""

    async def act():
        stores = []

        async def join(node, **how):
            stores.append(RedisStore(url, name, **options))
            return await Member(stores[-1]).join(node, **how)

        try:
            await what(join)
        finally:
            for store in stores:
                await store.close()

    asyncio.run(act())


async def two_nodes(join):
    """One has two servers, an IP address, and three URLs; one nothing; a server with a URL is in the pool."""
    a, b = await join("a"), await join("b")
    await a.report(
        links("http://x.example", 1, 2),
        links("http://y.example", 3),
        links("ip 192.0.2.1"),
        links("http://z.example", 4),
        Give("http://z.example"),
        beat=beat(1_234, throughput=12.3),
    )
    await b.report(beat=beat())
