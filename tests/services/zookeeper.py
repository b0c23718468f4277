"""A real ZooKeeper for tests and benchmarks."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from services.process import HERE, Place, Service, folder
from services.tls import Tls

TICK = 0.5
"""Seconds. It counts sessions in ticks, and so sees a death up to one tick late; sessions last two ticks at least."""

_PATIENCE = 0.1  # a connection that came while it started may never be answered
_JAR = Path("/usr/share/java/zookeeper.jar")
_PATH = f"{_JAR}:{_JAR.with_name('netty-codec.jar')}:{_JAR.with_name('netty-resolver.jar')}"
_MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
_JAVA = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no"]
_CONFIGURATION = """
tickTime={tick}
dataDir={folder}/data
clientPort={port}
clientPortAddress={address}
admin.enableServer=false
maxClientCnxns=0
minSessionTimeout=1000
maxSessionTimeout=60000
4lw.commands.whitelist=ruok,mntr,cons
"""


_SECURE = """
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
secureClientPort={port}
ssl.keyStore.location={keys}
ssl.keyStore.type=PEM
ssl.trustStore.location={tls.ca_file}
ssl.trustStore.type=PEM
"""


class ZooKeeper(Service):
    """A running ZooKeeper; it keeps its data when it is killed and started again."""

    def __init__(self, folder: Path, *, tick: float, place: Place, tls: Tls | None = None) -> None:
        java = shutil.which("java")
        assert all((java, _JAR.exists())), (
            "ZooKeeper is missing: run make test, or install zookeeper"
        )
        self.port = place.free_port()
        self.hosts = f"{place.address}:{self.port}"
        """What a client is told."""
        configuration = folder / "zoo.cfg"
        configuration.write_text(
            _CONFIGURATION.format(
                tick=round(tick * 1000), folder=folder, port=self.port, address=place.address
            )
        )
        self.secure_hosts = f"{place.address}:{place.free_port()}"
        """The same for those who come by TLS, with a certificate."""
        if tls is not None:
            keys = folder / "keys.pem"
            keys.write_bytes(tls.certificate.read_bytes() + tls.key.read_bytes())
            with configuration.open("a") as file:
                port = self.secure_hosts.rpartition(":")[2]
                file.write(_SECURE.format(port=port, keys=keys, tls=tls))
        super().__init__(folder, [str(java), *_JAVA, "-cp", _PATH, _MAIN, configuration], place)

    def is_ready(self) -> bool:
        return self.ask("ruok") == "imok"

    def ask(self, word: str) -> str:
        """Ask by one of the four-letter words; empty where it does not answer."""
        try:
            with (
                self.place.entered(),
                socket.create_connection((self.place.address, self.port), _PATIENCE) as connection,
            ):
                connection.sendall(word.encode())
                return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
        except OSError:
            return ""

    def client(self, chroot: str = "", **options: Any) -> KazooClient:
        """Return a client that has been started, to be stopped and closed; the server must be on this machine.

        Args:
            chroot: the node that it takes for the root; made where it is not there.
        """
        client = KazooClient(self.hosts, **options)
        client.start()
        client.ensure_path(chroot or "/")
        client.chroot = chroot
        return client

    def restart(self) -> None:
        """Kill it and start it again; sessions go on where their clients come back in time."""
        self.kill()
        self.start()


@contextmanager
def zookeeper(
    *, tick: float = TICK, place: Place = HERE, tls: Tls | None = None
) -> Iterator[ZooKeeper]:
    """Run a ZooKeeper on a free port; with certificates on another one, too, for TLS."""
    with folder() as own:
        server = ZooKeeper(own, tick=tick, place=place, tls=tls)
        try:
            yield server.start()
        finally:
            server.kill()
