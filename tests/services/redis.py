"""A real Redis for tests and benchmarks: alone, or three masters as a cluster.

The program is the ``redis-server`` that is installed, or another one that the environment names: ``REDIS_SERVER=/usr/bin/valkey-server``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from redis import Redis, RedisCluster
from redis.exceptions import RedisError

from services.process import HERE, Place, Service, folder, wait_until
from services.tls import Tls

SLOTS = 16_384

_BUS = 10_000
"""What is above the port of a Redis in cluster mode, for the others: Redis 6.2 has no setting for it."""


class RedisServer(Service):
    """A running redis-server, and a connection to it that works wherever its network is."""

    def __init__(
        self,
        folder: Path,
        options: Mapping[str, str],
        *,
        place: Place,
        password: str = "",
        tls: Tls | None = None,
    ) -> None:
        executable = shutil.which(os.environ.get("REDIS_SERVER", "redis-server"))
        assert executable, "redis-server is missing: run make test, or install redis-server"
        self.port = next(port for port in iter(place.free_port, 0) if port + _BUS < 65_536)
        self.tls = tls
        self.control = Redis(
            unix_socket_path=str(folder / "socket"), password=password or None, retry=None
        )
        """A client over a Unix socket; what it does counts in INFO like the work of others."""
        data = folder / "data"
        data.mkdir()
        given = {
            "bind": place.address,
            "port": str(0 if tls else self.port),
            "unixsocket": str(folder / "socket"),
            "dir": str(data),
            "save": "",
            "protected-mode": "no",
            **options,
        }
        if password:
            given["requirepass"] = password
        if tls:
            given |= {
                "tls-port": str(self.port),
                "tls-auth-clients": "no",
                "tls-ca-cert-file": str(tls.ca_file),
                "tls-cert-file": str(tls.certificate),
                "tls-key-file": str(tls.key),
            }
        words = [word for name, value in given.items() for word in (f"--{name}", value)]
        super().__init__(folder, [executable, *words], place)
        user = f":{quote(password, safe='')}@" if password else ""
        self.url = f"redis{'s' if tls else ''}://{user}{place.address}:{self.port}/0"

    def client(self, **options: Any) -> Redis:
        """Return a client as a user of `url` has it, to be closed; the server must be on this machine."""
        if self.tls:
            options["ssl_ca_certs"] = str(self.tls.ca_file)
        return Redis.from_url(self.url, **options)

    def is_ready(self) -> bool:
        try:
            return bool(self.control.ping())
        except RedisError:  # not there yet, or loading
            return False

    def follow(self, master: RedisServer) -> None:
        """Become the replica of another, and wait until it has all that that one has."""
        master.control.config_set("repl-diskless-sync-delay", 0)  # or it waits for more of them
        self.control.execute_command("REPLICAOF", master.place.address, master.port)
        wait_until(
            lambda: self.control.info("replication")["master_link_status"] == "up", what=self
        )

    def take_over(self, master: RedisServer) -> None:
        """Be the master at the place of another, which has gone."""
        self.control.execute_command("REPLICAOF NO ONE")
        self.control.config_set("port", master.port)

    def restart(self, *, empty: bool = False) -> None:
        """Kill it and start it again, with what it had on disk (with ``appendonly``), or with nothing."""
        self.kill()
        if empty:
            for path in (self.folder / "data").iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.start()


@contextmanager
def redis_server(
    *,
    password: str = "",
    tls: bool = False,
    appendonly: bool = False,
    maxmemory: int = 0,
    policy: str = "noeviction",
    place: Place = HERE,
    **options: str,
) -> Iterator[RedisServer]:
    """Run a Redis on a free port.

    Args:
        appendonly: keep what is written, over ``kill -9`` too.
        maxmemory: bytes; 0: no limit.
        policy: what it does when that is used up.
        options: others of ``redis.conf``, with underscores for hyphens.
    """
    given = {name.replace("_", "-"): value for name, value in options.items()} | {
        "appendonly": "yes" if appendonly else "no",
        "maxmemory": str(maxmemory),
        "maxmemory-policy": policy,
    }
    with folder() as own:
        certificates = Tls.make(own, place.address) if tls else None
        server = RedisServer(own, given, place=place, password=password, tls=certificates)
        try:
            yield server.start()
        finally:
            server.control.close()
            server.kill()


class Masters:
    """Redis in cluster mode: masters that share the slots, without replicas."""

    def __init__(self, servers: Sequence[RedisServer]) -> None:
        self.servers = servers
        self.url = servers[0].url
        """Of one of them, which knows the others."""

    @contextmanager
    def client(self, **options: Any) -> Iterator[RedisCluster]:
        """Give a client of them all."""
        client = RedisCluster.from_url(self.url, **options)
        try:
            yield client
        finally:
            client.disconnect_connection_pools()
            client.close()

    def join(self) -> None:
        """Make them one cluster, and wait until each says so."""
        share = -(-SLOTS // len(self.servers))
        first = self.servers[0]
        for number, server in enumerate(self.servers):
            low, high = number * share, min((number + 1) * share, SLOTS) - 1
            server.control.execute_command("CLUSTER ADDSLOTS", *range(low, high + 1))
            server.control.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
            first.control.execute_command("CLUSTER MEET", server.place.address, server.port)
        for server in self.servers:
            wait_until(lambda server=server: self._is_joined(server), what=server)

    def _is_joined(self, server: RedisServer) -> bool:
        info = server.control.execute_command("CLUSTER INFO")
        return info["cluster_state"] == "ok" and int(info["cluster_size"]) == len(self.servers)


@contextmanager
def redis_cluster(masters: int = 3, *, place: Place = HERE, **options: Any) -> Iterator[Masters]:
    """Run Redis in cluster mode; the options are those of `redis_server`."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                redis_server(
                    place=place,
                    cluster_enabled="yes",
                    cluster_node_timeout="500",
                    **options,
                )
            )
            for _ in range(masters)
        ]
        joined = Masters(servers)
        joined.join()
        yield joined
