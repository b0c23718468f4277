"""Joins a crawl to others: makes what a node needs of the cluster from its settings."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from andante import url as urls
from andante.cluster.balance import RULES
from andante.cluster.exchange import ClusterError
from andante.cluster.packing import VERSION
from andante.crawl.changes import decisive
from andante.crawl.cluster import LEASE_JUDGED, Cluster
from andante.crawl.settings import Settings, SettingsError
from andante.extras import how_to_install

_SHARED = (
    "rate",
    "delay",
    "per_server",
    "per_ip",
    "total_rate",
    "max_pages",
    "policy",
    "ignore_robots",
    "lease",
)
"""Settings that must be the same for all nodes, besides those that decide what is found: politeness and limits hold for the crawl, and a lease is of use only if all wait for its end."""


async def join(
    settings: Settings, seeds: list[str], hosts: Iterable[str], stack: AsyncExitStack
) -> Cluster:
    """Connect to the store and the judge that the settings name; what is opened is closed by the stack.

    Args:
        settings: of the crawl.
        seeds: of the node; the first names the crawl where the settings do not.
        hosts: of the seeds that the user has given.
        stack: closes all.

    Raises:
        ClusterError: it cannot be, in one line.
    """
    with extra():
        from andante.cluster.redis import RedisStore  # noqa: PLC0415
        from andante.cluster.zookeeper import ZooKeeper  # noqa: PLC0415
    assert settings.cluster is not None
    crawl = _name(seeds) if settings.crawl_name is None else settings.crawl_name
    store = RedisStore(
        settings.cluster,
        crawl,
        seen=settings.seen,
        false_positives=settings.false_positives,
    )
    stack.push_async_callback(store.close)
    members = None
    if settings.zookeeper is not None:
        members = await ZooKeeper.connect(
            settings.zookeeper, crawl, session=settings.lease or LEASE_JUDGED
        )
        stack.push_async_callback(members.close)
    return Cluster(
        store=store,
        members=members,
        node=settings.node or socket.gethostname(),
        balance=RULES[settings.balance](),
        config=_config(settings, hosts),
        owners=_owners(settings.owners),
    )


@contextmanager
def extra() -> Iterator[None]:
    """Import in this what only those have who have installed it for a cluster.

    Raises:
        ClusterError: it is missing.
    """
    try:
        yield
    except ImportError as error:
        raise ClusterError(f"--cluster needs {error.name}; {how_to_install('cluster')}") from None


def clock() -> float:
    """Return the time in seconds by a clock that goes on while the machine sleeps: meanwhile others may take it for dead."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _name(seeds: list[str]) -> str:
    if not seeds:
        raise ClusterError("no seeds: give at least one URL, or --crawl-name")
    return urls.file_name(seeds[0])


def _owners(path: Path | None) -> dict[str, str]:
    """Read which node has which servers at first; return the node of each server."""
    if path is None:
        return {}
    try:
        planned = msgspec.json.decode(path.read_bytes(), type=dict[str, list[str]])
    except OSError as error:
        raise SettingsError(f"owners: cannot read {path}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise SettingsError(
            f'owners: {path} is not of the form {{"node": ["https://host", ...]}}: {error}'
        ) from None
    return {server: node for node, servers in planned.items() for server in servers}


def differing(*configs: bytes) -> list[str]:
    """Return the names of the settings in which the configurations of two nodes differ."""
    try:
        one, other = (msgspec.json.decode(config, type=dict[str, Any]) for config in configs)
    except msgspec.MsgspecError:
        return ["what the store has of them cannot be read"]
    names = sorted(name for name in one.keys() | other if one.get(name) != other.get(name))
    return [name for name in names if name != "seeds" or "scope" not in names]


def _config(settings: Settings, hosts: Iterable[str]) -> bytes:
    """Return what must be the same for all nodes, and how links are packed.

    Each node takes what is in its own scope, so that is to be that of all; seeds may differ where all is in it.
    """
    shared = {name: str(getattr(settings, name)) for name in _SHARED}
    if settings.scope != "any":
        shared["seeds"] = sha256("\n".join(sorted(set(hosts))).encode()).hexdigest()[:16]
    judged = {"zookeeper": settings.zookeeper is not None, "packing": VERSION}
    return msgspec.json.encode(decisive(settings) | shared | judged, order="sorted")
