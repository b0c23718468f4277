"""The simulated network: a `andante.fetch.Connector` whose connections are real above the transport, and simulated below."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from andante.fetch import Connection, Failure, Limits, Outcome
from andante.sim.machine import Machine
from andante.sim.server import Server
from andante.sim.transport import SimulatedTransport


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """A request as it was sent."""

    time: float
    server: str
    """Host and port."""
    target: str
    connection: int
    """Number of its connection, from 1."""


class Network:
    """Connects to simulated servers.

    Args:
        find: gives the server of a host and port; None: there is no such host.
        limits: what each connection keeps to.
        machine: what opening and reading costs; None: nothing.
    """

    def __init__(
        self,
        find: Callable[[str, int], Server | None],
        limits: Limits | None = None,
        *,
        machine: Machine | None = None,
    ) -> None:
        self._find = find
        self._limits = limits or Limits()
        self._machine = machine
        self.arrivals: list[Arrival] = []
        """All requests, in the order they were sent."""
        self.connections = 0
        """Connections made."""

    async def resolve(self, host: str, port: int) -> list[str] | Failure:
        """Return the address of a host, in no time."""
        server = self._find(host, port)
        return [server.address] if server else Failure(Outcome.NO_SUCH_HOST, "")

    async def open(self, host: str, port: int, *, tls: bool) -> Connection | Failure:
        """Connect; TLS costs another round trip."""
        server = self._find(host, port)
        if server is None:
            return Failure(Outcome.NO_SUCH_HOST, "")
        loop, traits = asyncio.get_running_loop(), server.traits
        if self._machine is not None:
            await _until(loop, self._machine.opens(loop.time()))
        if traits.refuses:
            await asyncio.sleep(traits.rtt)
            return Failure(Outcome.REFUSED, "Connection refused")
        tls_time = traits.rtt if tls else 0.0
        if traits.connect_time + tls_time > self._limits.connect_timeout:
            await asyncio.sleep(self._limits.connect_timeout)
            return Failure(Outcome.CONNECT_TIMEOUT, "")
        await asyncio.sleep(traits.connect_time + tls_time)
        connection = Connection(self._limits, loop.time)
        connection.connection_made(self._transport(loop, connection, server, f"{host}:{port}"))
        connection.address = server.address
        connection.connect_time = traits.connect_time
        connection.tls_time = tls_time
        return connection

    def _transport(
        self, loop: asyncio.AbstractEventLoop, connection: Connection, server: Server, key: str
    ) -> SimulatedTransport:
        self.connections += 1
        number = self.connections

        def note(now: float, target: str) -> None:
            self.arrivals.append(Arrival(now, key, target, number))

        return SimulatedTransport(loop, connection, server, machine=self._machine, note=note)


async def _until(loop: asyncio.AbstractEventLoop, time: float) -> None:
    if time > loop.time():
        await asyncio.sleep(time - loop.time())
