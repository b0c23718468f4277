"""The connection to Redis: where it is, whether it may be used, scripts in one round trip, errors in the words of the contract."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)

from andante.cluster.exchange import ClusterError, UnreachableError
from andante.cluster.unix import SocketPath

VERSION_MIN = (6, 2)
"""Of Redis; Valkey and others say by which version of Redis they go."""

_TRY_AGAIN = (BusyLoadingError, ClusterDownError, ReadOnlyError, TryAgainError)
"""Refusals of a Redis that starts, or of a cluster that is choosing another master: they pass."""

_REFUSED = (AuthenticationError, AuthorizationError, NoPermissionError)

_IN_SCRIPT = re.compile(r"@user_script: ?\d+: -(\w+) ")
"""How Redis 6.2 words what a command in a script was refused for; later ones say it as if the command had come alone."""

_MET: dict[str, type[RedisError]] = {"OOM": OutOfMemoryError, "READONLY": ReadOnlyError}

_FAILED = (RedisError, RedisClusterException, OSError, RuntimeError)
"""What redis-py raises where there is no answer. It is a RuntimeError where uvloop is to write to a connection that has closed meanwhile: redis-py lets that through, and drops the connection."""


class Script(NamedTuple):
    """A script, as text and by the name that Redis has for it."""

    text: str
    sha: str


@cache
def script(*names: str) -> Script:
    """Return the script that is made of these files, one after another."""
    folder = files(__package__) / "scripts"
    text = "\n".join((folder / f"{name}.lua").read_text("utf-8") for name in names)
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


class Call(NamedTuple):
    """A script to be run, on the shard where its key is."""

    script: Script
    key: str
    args: tuple[str | bytes | int | float, ...]


class Client:
    """A Redis, alone or in cluster mode.

    Args:
        url: ``redis[s]://[[user]:password@]host[:port][/database][?ssl_ca_certs=FILE]``, any of a cluster's nodes standing for all, or ``unix://PATH``.
        timeout: seconds after which a connection that hangs is given up.

    Raises:
        ClusterError: it is no such URL.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._options = _options(url, timeout)
        self._socket: SocketPath | None = None
        if "unix_socket_path" in self._options:
            self._socket = SocketPath(Path(self._options["unix_socket_path"]))
            self._options["unix_socket_path"] = self._socket.short
        self.where = _where(url)
        """Host and port, for messages; without the credentials."""
        self._client: Any = None
        self.is_cluster = False

    async def connect(self) -> None:
        """Connect, and check that it is a Redis that can hold a crawl.

        Raises:
            ClusterError: it is not.
            UnreachableError: it does not answer.
        """
        if self._client is not None:
            return
        client: Any = Redis(**self._options)
        try:
            info = await self._ask(client.info("server"))
            self.is_cluster = info.get("redis_mode", info.get("server_mode")) == "cluster"
            if self.is_cluster:
                await client.aclose()
                client = self._cluster()
                await self._ask(client.initialize())
            for found in await self._infos(client):
                self._check(found)
        except BaseException:
            await client.aclose()
            raise
        self._client = client

    async def run(self, calls: Sequence[Call]) -> list[Any]:
        """Run scripts, all sent at once; return what each of them returns, or how it failed: `ClusterError`, `UnreachableError`."""
        assert self._client is not None, "not connected"
        replies = await self._pipeline(
            [("EVALSHA", call.script.sha, 1, call.key, *call.args) for call in calls]
        )
        unknown = [at for at, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if unknown:
            again = [calls[at] for at in unknown]
            texts = [("EVAL", call.script.text, 1, call.key, *call.args) for call in again]
            for at, reply in zip(unknown, await self._pipeline(texts), strict=True):
                replies[at] = reply
        replies = [self._told(reply) for reply in replies]
        if any(isinstance(reply, UnreachableError) for reply in replies):
            await self._client.aclose()  # the next time it connects anew: another one may be master
        return replies

    async def command(self, *words: str | bytes | int) -> Any:
        """Run a command on the master that has its first key.

        Raises:
            ClusterError: it is refused.
            UnreachableError: there is no answer.
        """
        return await self._ask(self._client.execute_command(*words))

    async def infos(self) -> list[dict[str, Any]]:
        """Return what each master says of itself and its memory."""
        return await self._infos(self._client)

    async def close(self) -> None:
        """Let go of all connections."""
        if self._client is not None:
            await self._client.aclose()
        if self._socket is not None:
            self._socket.close()

    def _cluster(self) -> Any:
        options = dict(self._options)
        if options.pop("db", 0):
            raise ClusterError(f"Redis at {self.where} is a cluster: it has database 0 only")
        if "unix_socket_path" in options:
            raise ClusterError("a cluster of Redis cannot be reached by a Unix socket")
        client: Any = RedisCluster(**options)
        client.commands_parser = _FirstIsKey()
        return client

    async def _pipeline(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        pipeline = (
            self._client.pipeline() if self.is_cluster else self._client.pipeline(transaction=False)
        )
        for words in commands:
            pipeline.execute_command(*words)
        try:
            return list(await pipeline.execute(raise_on_error=False))
        except _FAILED as error:
            return [error] * len(commands)

    async def _infos(self, client: Any) -> list[dict[str, Any]]:
        if not self.is_cluster:
            return [await self._ask(client.info("server")) | await self._ask(client.info("memory"))]
        return [
            await self._ask(client.info("server", target_nodes=node))
            | await self._ask(client.info("memory", target_nodes=node))
            for node in client.get_primaries()
        ]

    def _check(self, info: dict[str, Any]) -> None:
        version = str(info["redis_version"])
        if tuple(int(part) for part in version.split(".")[:2]) < VERSION_MIN:
            needed = ".".join(map(str, VERSION_MIN))
            raise ClusterError(f"Redis at {self.where} is {version}; {needed} or newer is needed")
        policy = info.get("maxmemory_policy", "noeviction")
        if info.get("maxmemory") and policy != "noeviction":
            raise ClusterError(
                f"Redis at {self.where} would drop keys when it is full (maxmemory-policy {policy}): set it to noeviction"
            )

    async def _ask(self, awaitable: Any) -> Any:
        try:
            return await awaitable
        except _FAILED as error:
            raise self._told(error) from error

    def _told(self, reply: Any) -> Any:
        """Return a reply as it is, and an error in the words of the contract."""
        if not isinstance(reply, Exception):
            return reply
        reason = " ".join(str(reply).split())
        if found := _IN_SCRIPT.search(reason):
            reply = _MET.get(found[1], ResponseError)(reason)
        if isinstance(reply, _REFUSED):
            told: Exception = ClusterError(f"Redis at {self.where} refuses the login: {reason}")
        elif isinstance(reply, OutOfMemoryError):
            told = ClusterError(f"Redis at {self.where} is full: give it more memory (maxmemory)")
        elif isinstance(reply, ResponseError) and not isinstance(reply, _TRY_AGAIN):
            told = ClusterError(f"Redis at {self.where} refuses: {reason}")
        else:
            told = UnreachableError(f"no answer from Redis at {self.where}: {reason}")
        told.__cause__ = reply
        return told


class _FirstIsKey:
    """Tells redis-py where a command has its keys. Its own way is to ask for all that a Redis can do, and it blocks while it reads that."""

    async def initialize(self, node: object) -> None:
        """Ask nothing."""

    async def get_keys(self, command: str, *args: Any) -> list[Any]:
        """Return the first argument: of the commands that are used here it is the key; of scripts redis-py knows."""
        return [args[0]]


def _options(url: str, timeout: float) -> dict[str, Any]:
    try:
        options: dict[str, Any] = dict(parse_url(url))
    except ValueError:
        options = {}
    if not (options.get("host") or options.get("path")):
        raise ClusterError(
            "the URL of Redis must be like redis://[:password@]host[:port][/database], or rediss://... for TLS"
        )
    options.pop("connection_class", None)
    if urlsplit(url).scheme == "rediss":
        options["ssl"] = True
    if "path" in options:
        options["unix_socket_path"] = options.pop("path")
    return options | {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
    }


def _where(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return unquote(parts.path)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port or 6379}"
