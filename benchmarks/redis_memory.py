"""What URLs cost in the memory of Redis: ``PYTHONPATH=tests python benchmarks/redis_memory.py``.

The paths are those of openjdk-17-doc, on as many servers as it takes, found 28 at a time. A known URL costs what the seen test takes; one that waits costs
besides what the log of its server takes, with the server.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import TypeVar

from andante import url as urls
from andante.cluster.exchange import Known, Links, Part, Report
from andante.cluster.packing import pack
from andante.cluster.redis import RedisStore
from andante.frontier.block import Link
from services.redis import RedisServer, redis_server

SITE = Path("/usr/share/doc/openjdk-17-jre-headless/api")
PER_PAGE = 28
PARTS = 100
"""In a report."""

Item = TypeVar("Item")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--urls", type=int, default=1_000_000, help="known [%(default)s]")
    parser.add_argument("--queued", type=int, default=200_000, help="waiting [%(default)s]")
    parser.add_argument("--per-server", type=int, nargs="+", default=[3, 10, 100, 200, 1_000])
    parser.add_argument("--seen", choices=("exact", "bloom"), default="exact")
    given = parser.parse_args()
    found = memory(known(given.urls, 1_000), given.seen)
    print(f"{given.urls:,} known ({given.seen}): {found / given.urls:.1f} bytes each")
    for size in given.per_server:
        found = memory(waiting(given.queued, size), given.seen)
        found -= memory(known(given.queued, size), given.seen)
        print(f"{given.queued:,} waiting, {size:,} a server: {found / given.queued:.1f} bytes each")


def memory(parts: Iterable[Part], seen: str) -> int:
    """Return the bytes that Redis uses for what was said."""
    with redis_server() as server:
        return asyncio.run(_memory(server, parts, seen))


async def _memory(server: RedisServer, parts: Iterable[Part], seen: str) -> int:
    store = RedisStore(server.url, "memory", seen="bloom" if seen == "bloom" else "exact")
    await store.join("a", token="a", config=b"")
    await store.exchange(Report(1, (), b""))
    before = _used(server)
    for number, some in enumerate(batched(parts, PARTS), 2):
        await store.exchange(Report(number, some, b""))
    used = _used(server) - before
    await store.close()
    return used


def _used(server: RedisServer) -> int:
    return int(server.control.info("memory")["used_memory"])


def waiting(count: int, per_server: int) -> Iterator[Part]:
    """Yield URLs as a node finds them that has all their servers."""
    for server, targets in pages(count, per_server):
        links = [Link(target, 3, f"{server}/index.html") for target in targets]
        yield Links(server, fingerprints(server, targets), pack(links, bytes(len(links))))


def known(count: int, per_server: int) -> Iterator[Part]:
    """Yield the same URLs as known ones."""
    for server, targets in pages(count, per_server):
        yield Known(fingerprints(server, targets))


def pages(count: int, per_server: int) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield a server, and what was found for it on a page."""
    paths = sorted(f"/{path.relative_to(SITE)}" for path in SITE.rglob("*.html"))
    Random(1).shuffle(paths)  # neighbours in a folder would pack too well
    for first in range(0, count, per_server):
        start = first % len(paths)
        own = [paths[(start + at) % len(paths)] for at in range(min(per_server, count - first))]
        for targets in batched(own, PER_PAGE):
            yield f"https://docs-{first // per_server}.example.org", targets


def fingerprints(server: str, targets: Iterable[str]) -> bytes:
    return b"".join(urls.fingerprint(server + target) for target in targets)


def batched(items: Iterable[Item], size: int) -> Iterator[tuple[Item, ...]]:
    rest = iter(items)
    while some := tuple(islice(rest, size)):
        yield some


if __name__ == "__main__":
    main()
