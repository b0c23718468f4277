"""``andante forget``: delete what a cluster keeps of a crawl."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING

from andante.cli.status_cluster import NodeStatus, judge
from andante.cluster.exchange import ClusterError, NoCrawlError
from andante.crawl import SettingsError
from andante.crawl.join import extra
from andante.printed import printed
from andante.units import counted, format_duration

if TYPE_CHECKING:
    from andante.cluster.redis import Inspection


def add_to(parser: argparse.ArgumentParser) -> None:
    """Give the parser of the command its description and arguments."""
    parser.description = "Delete what a cluster keeps of a crawl: to free its memory, or to crawl the same anew. Jobs and outputs stay as they are; who crawls anew gives new job directories. With --crawl-name it may be repeated."
    parser.add_argument(
        "--cluster", metavar="URL", required=True, help="the Redis that the nodes have shared"
    )
    parser.add_argument("--crawl-name", metavar="NAME", help="which crawl, where there are several")
    parser.add_argument(
        "--zookeeper",
        metavar="HOSTS",
        help="the ZooKeeper that the nodes have used, if they have: as given to them",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="also when a node may be at work: one that is tells it all again",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    told = asyncio.run(
        _forget(
            arguments.cluster,
            arguments.crawl_name,
            arguments.zookeeper,
            is_forced=arguments.force,
        )
    )
    print(printed(told))
    return 0


async def _forget(url: str, crawl: str | None, zookeeper: str | None, *, is_forced: bool) -> str:
    """Delete a crawl; return the line that says what there was.

    Raises:
        SettingsError: it must be named, or its ZooKeeper.
        ClusterError: there is none, and none was named; or nodes are at work on it.
        UnreachableError: Redis or ZooKeeper does not answer.
    """
    with extra():
        from andante.cluster.redis import crawls, inspect, remove  # noqa: PLC0415
        from andante.cluster.zookeeper import ZooKeeper  # noqa: PLC0415
    names = await crawls(url) if crawl is None else [crawl]
    if not names:
        raise ClusterError("there is no crawl on this Redis")
    if len(names) > 1:
        raise SettingsError(f"there are several crawls: give --crawl-name {' or '.join(names)}")
    (name,) = names
    found: Inspection | None = None
    with suppress(NoCrawlError):  # an earlier call may have come so far
        found = await inspect(url, name)
    if found is not None and found.has_members and zookeeper is None and not is_forced:
        raise SettingsError(
            f"{name} has its nodes in ZooKeeper, too: give --zookeeper HOSTS as they had it, so that it forgets them (or --force, where it is gone)"
        )
    async with AsyncExitStack() as stack:
        members, present = None, frozenset[int]()
        if zookeeper is not None:
            members = await ZooKeeper.connect(zookeeper, name)
            stack.push_async_callback(members.close)
            present = await members.present()
        nodes = judge(name, found).nodes if found is not None else []
        at_work = [*_at_work(nodes, present)]
        if found is None and present:
            at_work = [counted(len(present), "node")]
        if at_work and not is_forced:
            raise ClusterError(
                f"{name} is crawled by {', '.join(at_work)}: stop them first, or give --force"
            )
        if members is not None:  # first: that they were there is known to Redis alone
            await members.remove()
        await remove(url, name)
    rest = "" if zookeeper is None else "; ZooKeeper has nothing of it any more"
    if found is None:
        return f"Redis has nothing of {name}{rest}"
    known, servers = counted(found.totals.known, "URL"), sum(found.servers.values())
    return f"{name} is forgotten: {known} known, of which {found.totals.waiting:,} waited, on {counted(servers, 'server')}{rest}"


def _at_work(nodes: Iterable[NodeStatus], present: frozenset[int]) -> Iterable[str]:
    """Say which nodes have not been silent for a whole lease, or are seen by ZooKeeper; one that has not spoken yet may have just come."""
    for node in nodes:
        if node.silence is None:
            yield f"{node.name} (no beat yet)"
        elif node.silence < node.lease or node.epoch in present:
            yield f"{node.name} (silent for {format_duration(node.silence)})"
