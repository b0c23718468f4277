"""The names of the keys, and what is deleted with a shard."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from andante.cluster.redis.client import Call, Client, script

CRAWLS = "andante:crawls"
"""Set of the names of the crawls that a Redis has."""

SMALL = script("common", "small")
"""The small scripts, named by their first argument."""


def key(crawl: str, shard: int, name: str = "meta") -> str:
    """Return a key of a shard of a crawl; all of a shard are on one master."""
    return f"andante:{{{crawl}.{shard}}}:{name}"


async def wipe(client: Client, crawl: str, shard: int, *, whole: bool = False) -> None:
    """Delete a shard's data that are of no use any more, a page at a time; or all of it, if it is to be ``whole``, with what says that there was a crawl."""
    at = b"0"
    while True:
        (reply,) = await client.run([Call(SMALL, key(crawl, shard), ("wipe", int(whole), at))])
        if isinstance(reply, Exception):
            raise reply
        if reply == [b"ok"]:
            return
        at = reply[1]


def by(count: int, flat: list[Any]) -> Iterable[tuple[Any, ...]]:
    """Take a flat list as rows."""
    rows = iter(flat)
    return zip(*[rows] * count, strict=True)
