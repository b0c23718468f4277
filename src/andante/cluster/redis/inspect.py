"""What a Redis has of crawls, for those who look from outside."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from andante.cluster.exchange import ClusterError, NoCrawlError, Node, Totals
from andante.cluster.frontier import ADDRESS
from andante.cluster.redis import bloom, wire
from andante.cluster.redis.client import Client
from andante.cluster.redis.keys import CRAWLS, key, wipe

TIMEOUT = 5.0


class Inspection(msgspec.Struct, frozen=True):
    """A crawl, as its Redis has it."""

    begun: float
    """When it began, or began anew after a loss; seconds since 1970."""
    seen: str
    """The seen test."""
    settled: bool
    nodes: dict[int, Node]
    has_members: bool
    """A service of members (ZooKeeper) judges, too, who lives."""
    silence: dict[int, float]
    """Seconds since the last beat of each node that has had one, by Redis's clock."""
    servers: dict[int, int]
    """How many servers each epoch owns, IP addresses not counted; 0: nobody."""
    waiting: dict[int, int]
    """How many URLs wait for these."""
    totals: Totals
    memory: int
    """Bytes that Redis uses, for all that it has; of a cluster all masters together."""
    memory_max: int
    """Bytes that it may use; 0: no limit was set."""


@asynccontextmanager
async def _client(url: str) -> AsyncIterator[Client]:
    client = Client(url, TIMEOUT)
    try:
        await client.connect()
        yield client
    finally:
        await client.close()


async def crawls(url: str) -> list[str]:
    """Return the names of the crawls on a Redis."""
    async with _client(url) as client:
        return sorted(name.decode() for name in await client.command("SMEMBERS", CRAWLS))


async def inspect(url: str, crawl: str) -> Inspection:
    """Return what a Redis has of a crawl; changes nothing, and reads in small pages.

    Raises:
        NoCrawlError: there is no such crawl.
        ClusterError: what is there is none.
        UnreachableError: Redis does not answer.
    """
    async with _client(url) as client:
        try:
            return await _inspect(client, crawl)
        except (ValueError, IndexError, TypeError, AttributeError, struct.error):
            raise ClusterError(
                f"the Redis at {client.where} has what no node has written: see who else can write to it"
            ) from None


async def _inspect(client: Client, crawl: str) -> Inspection:
    begun, seen, settled, count, config = await client.command(
        "HMGET", key(crawl, 0), "begun", "seen", "settled", "shards", "config"
    )
    if count is None:
        raise NoCrawlError(f"there is no crawl {crawl!r} on the Redis at {client.where}")
    shards = range(int(count))
    nodes = await client.command("HGETALL", key(crawl, 0, "nodes"))
    silence = await _silence(client, crawl)
    servers: Counter[int] = Counter()
    waiting: Counter[int] = Counter()
    for shard in shards:
        async for owner, urls in _records(client, key(crawl, shard, "servers")):
            servers[owner] += 1
            waiting[owner] += urls
    infos = await client.infos()
    return Inspection(
        begun=float(begun),
        seen=seen.decode(),
        settled=settled == b"1",
        nodes=wire.unpack_nodes(nodes),
        has_members=_has_members(config),
        silence=silence,
        servers=dict(servers),
        waiting=dict(waiting),
        totals=await _totals(client, crawl, shards, seen.decode()),
        memory=sum(info["used_memory"] for info in infos),
        memory_max=sum(info["maxmemory"] for info in infos),
    )


def _has_members(config: bytes | None) -> bool:
    """Tell whether the nodes have been given a ZooKeeper, by what must be the same for all of them."""
    try:
        shared = msgspec.json.decode(config or b"{}", type=dict[str, Any])
    except msgspec.MsgspecError:
        return False
    return shared.get("zookeeper") is True


async def _silence(client: Client, crawl: str) -> dict[int, float]:
    beats = await client.command("HGETALL", key(crawl, 0, "beats"))
    (info,) = (await client.infos())[:1]
    now = info["server_time_usec"] / 1e6
    return {int(epoch): max(now - struct.unpack("<d", at)[0], 0.0) for epoch, at in beats.items()}


async def remove(url: str, crawl: str) -> None:
    """Delete a crawl from a Redis, a page at a time; nodes that are still at work find it lost."""
    async with _client(url) as client:
        count = await client.command("HGET", key(crawl, 0), "shards")
        for shard in reversed(range(int(count or 1))):
            await wipe(client, crawl, shard, whole=True)
        await client.command("SREM", CRAWLS, crawl)


async def _records(client: Client, name: str) -> AsyncIterator[tuple[int, int]]:
    cursor = b"0"
    while True:
        cursor, page = await client.command("HSCAN", name, cursor, "COUNT", 1_000)
        for server, record in page.items():
            if not server.startswith(ADDRESS.encode()):
                owner, waiting = wire.unpack_record(record)
                yield owner if owner != wire.POOLED else 0, waiting
        if int(cursor) == 0:
            return


async def _totals(client: Client, crawl: str, shards: range, seen: str) -> Totals:
    rate = float(seen.split()[1]) if seen.startswith("bloom") else 0.0
    waiting = known = pool = changes = 0
    wrong = 0.0
    for shard in shards:
        counts = await client.command("HMGET", key(crawl, shard), "waiting", "known", "changes")
        own_waiting, own_known, own_changes = (int(count or 0) for count in counts)
        waiting += own_waiting
        known += own_known
        changes += own_changes
        pool += await client.command("LLEN", key(crawl, shard, "pool"))
        wrong += bloom.errs(rate, own_known) / len(shards) if rate else 0.0
    return Totals(waiting, known, pool, wrong, changes)
