"""``andante status --cluster``: the nodes of a crawl, who owns its servers, and what is wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from andante.cluster.balance import Load
from andante.cluster.exchange import POOL, ClusterError, Node
from andante.cluster.lease import CONTACT
from andante.crawl.join import extra
from andante.crawl.pulse import Beat, read_beat
from andante.printed import printed
from andante.units import counted, format_duration, format_size

if TYPE_CHECKING:
    from andante.cluster.redis import Inspection

_FULL = 0.9
"""Share of the memory allowed to Redis from which on it is nearly full."""


class NodeStatus(msgspec.Struct):
    """How a node does."""

    name: str
    epoch: int
    silence: float | None
    """Seconds since its last heart-beat; None: there was none yet."""
    lease: float
    """Seconds of that after which the others may take it for dead; 0: it has not said so yet."""
    pages: int
    pages_per_second: float
    servers: int
    """That it owns."""
    waiting: int
    """URLs that wait for these."""
    unheard: int
    """Links that it has found and the store has not heard of."""

    @property
    def is_silent(self) -> bool:
        """A heart-beat is overdue."""
        return self.silence is not None and self.silence > CONTACT * self.lease


class Status(msgspec.Struct):
    """How a crawl does that nodes share."""

    crawl: str
    begun: float
    """Seconds since 1970."""
    seen: str
    """The seen test."""
    settled: bool
    """Redis has not lost its data, or has been told them again."""
    nodes: list[NodeStatus]
    pool: int
    """Servers that have URLs and wait for a node."""
    pool_waiting: int
    """URLs that wait for these."""
    known: int
    waiting: int
    false_positives: float
    """Chance that a new URL is taken for a known one, now."""
    memory: int
    """Bytes that Redis uses."""
    memory_max: int
    """Bytes that it may use; 0: no limit was set."""
    problems: list[str]


def of_cluster(url: str, crawl: str | None, *, as_json: bool) -> int:
    """Print how a crawl does, or the names of all; return the exit status.

    Raises:
        ClusterError: Redis cannot be used, or has no such crawl.
        UnreachableError: it does not answer.
    """
    found = asyncio.run(_look(url, crawl))
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    elif isinstance(found, Status):
        print(*map(printed, _lines(found)), sep="\n")
    else:
        print("There are several crawls; name one with --crawl-name:")
        print(*map(printed, found["crawls"]), sep="\n")
    return 0


async def _look(url: str, crawl: str | None) -> Status | dict[str, list[str]]:
    with extra():
        from andante.cluster.redis import crawls, inspect  # noqa: PLC0415
    names = await crawls(url) if crawl is None else [crawl]
    if not names:
        raise ClusterError("there is no crawl on this Redis")
    if len(names) > 1:
        return {"crawls": names}
    return judge(names[0], await inspect(url, names[0]))


def judge(crawl: str, found: Inspection) -> Status:
    """Return how a crawl does, by what its Redis has of it."""
    totals = found.totals
    status = Status(
        crawl=crawl,
        begun=found.begun,
        seen=found.seen,
        settled=found.settled,
        nodes=[_node(node, found) for node in found.nodes.values()],
        pool=totals.pool,
        pool_waiting=found.waiting.get(POOL, 0),
        known=totals.known,
        waiting=totals.waiting,
        false_positives=totals.false_positives,
        memory=found.memory,
        memory_max=found.memory_max,
        problems=[],
    )
    gone = sum(count for epoch, count in found.servers.items() if epoch not in (POOL, *found.nodes))
    status.problems = list(_problems(status, gone))
    return status


def _node(node: Node, found: Inspection) -> NodeStatus:
    silence, beat = found.silence.get(node.epoch), read_beat(node) or Beat(Load(0))
    return NodeStatus(
        name=node.name,
        epoch=node.epoch,
        silence=None if silence is None else round(silence, 3),
        lease=beat.lease,
        pages=beat.pages,
        pages_per_second=round(beat.load.throughput, 2),
        servers=found.servers.get(node.epoch, 0),
        waiting=found.waiting.get(node.epoch, 0),
        unheard=beat.unheard,
    )


def _problems(status: Status, gone: int) -> Iterator[str]:
    """Say what is wrong; ``gone`` servers are of nodes that are over."""
    for node in status.nodes:
        if node.is_silent and node.silence is not None:
            yield f"node {node.name} has been silent for {format_duration(node.silence)}; after {format_duration(node.lease)} the others may take it for dead"
    if not status.nodes and status.waiting:
        yield "no node is there, though URLs wait: start one with the same command"
    elif status.nodes and all(node.is_silent for node in status.nodes):
        yield "all nodes are silent: nobody is at work; start one with the same command"
    if gone:
        yield f"{counted(gone, 'server')} of nodes that are over: the others are about to have them"
    if not status.settled:
        yield "Redis has lost the data of the crawl; the nodes are telling it what they hold, and nothing moves until one lease later"
    if status.memory_max and status.memory > _FULL * status.memory_max:
        yield f"Redis is nearly full ({status.memory / status.memory_max:.0%}); when it is, what is found waits at the nodes: give it more memory (maxmemory)"


_ROW = "{:<16} {:>12} {:>10} {:>8} {:>9} {:>11} {:>9}"


def _lines(status: Status) -> list[str]:
    """Return what is printed."""
    begun = time.strftime("%Y-%m-%d %H:%M", time.gmtime(status.begun))
    state = "" if status.waiting else "; nothing waits"
    lines = [f"{status.crawl}: {counted(len(status.nodes), 'node')}, begun {begun} UTC{state}", ""]
    lines.append(
        _ROW.format("node", "silent for", "pages", "pages/s", "servers", "URLs wait", "unheard")
    )
    for node in status.nodes:
        silence = "no beat yet" if node.silence is None else f"{node.silence:.1f} s"
        lines.append(
            _ROW.format(
                node.name,
                silence,
                f"{node.pages:,}",
                f"{node.pages_per_second:,.1f}",
                f"{node.servers:,}",
                f"{node.waiting:,}",
                f"{node.unheard:,}",
            )
        )
    pool = (f"{status.pool:,}", f"{status.pool_waiting:,}")
    lines.append(_ROW.format("(pool)", "", "", "", *pool, "").rstrip())
    wrong = f"; a new one is taken for known with {status.false_positives:.1g}"
    lines += [
        "",
        f"{status.known:>11,} URLs known ({status.seen}{wrong if status.false_positives else ''})",
        f"{status.waiting:>11,} wait",
        f"Redis uses {format_size(status.memory)}"
        + (f" of {format_size(status.memory_max)}" if status.memory_max else ", without a limit"),
        *(f"WRONG: {problem}" for problem in status.problems),
    ]
    return lines
