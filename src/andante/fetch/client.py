"""The client: opens connections. Resolves, guards, connects, and shakes hands, all with limits and named outcomes."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from functools import cached_property
from itertools import zip_longest
from time import monotonic
from typing import TYPE_CHECKING

from andante.fetch.bodies import BodyMemory
from andante.fetch.connection import Connection
from andante.fetch.dns import Answer, Resolver
from andante.fetch.guard import AddressGuard
from andante.fetch.limits import Limits
from andante.fetch.outcome import Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

_STAGGER = 0.25
"""Seconds until the next address of a host is tried while the last still hangs (RFC 8305, section 5)."""

_ADDRESSES_MAX = 8
"""Addresses of a host that are tried for one connection."""

_SHUTDOWN_TIMEOUT = 1.0
"""Seconds that a TLS connection may take to say goodbye."""


class Client:
    """Opens connections for a crawl; one for the whole crawl, in one event loop.

    Args:
        limits: what each connection keeps to.
        allow_private: connect to addresses that are not public, for any host.
        public_only: connect to no others than public ones, for no host.
        resolve: rules ``HOST:PORT:ADDR`` that win over DNS.
        ca_file: certificates (PEM) to trust besides the system's.
        resolver: another resolver than the one that ``resolve`` makes.
        clock: gives the time in seconds that connections are measured by.
        memory: for the bodies of all connections.

    Raises:
        ValueError: a ``resolve`` rule is not of its form.
        OSError: ``ca_file`` cannot be read, or has no certificates (``ssl.SSLError``).
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        allow_private: bool = False,
        public_only: bool = False,
        resolve: Iterable[str] = (),
        ca_file: Path | None = None,
        resolver: Resolver | None = None,
        clock: Callable[[], float] = monotonic,
        memory: BodyMemory | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._clock = clock
        self._guard = AddressGuard(allow_private=allow_private, public_only=public_only)
        self._memory = memory or BodyMemory()
        self._resolver = resolver or Resolver(overrides=resolve, clock=clock)
        self._ca_file = ca_file
        if ca_file is not None:
            _ = self._tls  # a file that cannot be read is an error now

    def trust(self, seeds: dict[str, bool | None]) -> None:
        """Let the hosts of seeds be at addresses that are not public; see `andante.fetch.guard.AddressGuard.trust`."""
        self._guard.trust(seeds)

    async def resolve(self, host: str, port: int) -> Answer:
        """Return the addresses that a connection to the host may go to, best first, or why there are none."""
        found = await self._resolver.resolve(host, port)
        if isinstance(found, Failure):
            return found
        return self._guard.admitted(host, found) or Failure(
            Outcome.FORBIDDEN_ADDRESS, f"not public: {', '.join(found[:_ADDRESSES_MAX])}"
        )

    async def open(self, host: str, port: int, *, tls: bool) -> Connection | Failure:
        """Connect to a server.

        Args:
            host: name in ASCII form or IP literal without brackets, lower case.
            port: TCP port.
            tls: speak TLS, and verify that the certificate is the host's.

        Cancellation: leaves nothing open.
        """
        addresses = await self.resolve(host, port)
        if isinstance(addresses, Failure):
            return addresses
        raw: socket.socket | None = None
        try:
            async with asyncio.timeout(self._limits.connect_timeout):
                started = self._clock()
                raw = await _connect_any(_interleaved(addresses)[:_ADDRESSES_MAX], port)
                connected = self._clock()
                peer = str(raw.getpeername()[0])
                if not self._guard.admitted(host, [peer]):
                    raw.close()
                    return Failure(Outcome.FORBIDDEN_ADDRESS, f"not public: {peer}")
                connection = await self._adopt(raw, host, tls=tls)
        except (OSError, asyncio.CancelledError) as error:
            if raw is not None:
                raw.close()
            if not isinstance(error, OSError):  # as TimeoutError and ssl.SSLError are
                raise
            return _failure(error, in_handshake=tls and raw is not None)
        connection.address = peer
        connection.connect_time = connected - started
        connection.tls_time = self._clock() - connected if tls else 0.0
        return connection

    async def close(self) -> None:
        """Free what resolving holds. Connections are their users' to close."""
        await self._resolver.close()

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Made when it is first needed: loading the system's certificates takes 20 ms."""
        return tls_context(self._ca_file)

    async def _adopt(self, raw: socket.socket, host: str, *, tls: bool) -> Connection:
        """Make a connection of a connected socket, after the TLS handshake if there is to be one."""
        loop = asyncio.get_running_loop()

        def connection() -> Connection:
            return Connection(self._limits, self._clock, self._memory)

        if not tls:
            return (await loop.create_connection(connection, sock=raw))[1]
        return (
            await loop.create_connection(
                connection,
                sock=raw,
                ssl=self._tls,
                server_hostname=host,
                ssl_handshake_timeout=self._limits.connect_timeout,
                ssl_shutdown_timeout=_SHUTDOWN_TIMEOUT,
            )
        )[1]


def tls_context(ca_file: Path | None = None) -> ssl.SSLContext:
    """Return the TLS settings: system's certificates and those in ``ca_file``, verification, TLS 1.2 or newer.

    Raises:
        OSError: the file cannot be read, or has no certificates (``ssl.SSLError``).
    """
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _interleaved(addresses: list[str]) -> list[str]:
    """Order addresses so that the families take turns, the first one's first (RFC 8305, section 4)."""
    one = [address for address in addresses if (":" in address) == (":" in addresses[0])]
    other = [address for address in addresses if (":" in address) != (":" in addresses[0])]
    return [address for pair in zip_longest(one, other) for address in pair if address]


async def _connect_any(addresses: list[str], port: int) -> socket.socket:
    """Connect to the first address that answers; the next is tried when one fails, or hangs for a moment.

    Raises:
        OSError: none answered; the first address's error.
    """
    if len(addresses) == 1:
        return await _connect(addresses[0], port)
    untried = list(reversed(addresses))
    tasks: list[asyncio.Task[socket.socket]] = []
    try:
        while True:
            if untried:
                tasks.append(asyncio.create_task(_connect(untried.pop(), port)))
            pending = [task for task in tasks if not task.done()]
            if not pending:
                raise next(error for task in tasks if (error := task.exception()))
            await asyncio.wait(
                pending,
                timeout=_STAGGER if untried else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            winner = next((task for task in tasks if task.done() and not task.exception()), None)
            if winner is not None:
                tasks.remove(winner)
                return winner.result()
    finally:
        for task in tasks:
            task.cancel()
            task.add_done_callback(_discard)


def _discard(task: asyncio.Task[socket.socket]) -> None:
    """Close the socket of an attempt that came too late."""
    if not task.cancelled() and not task.exception():
        task.result().close()


async def _connect(address: str, port: int) -> socket.socket:
    raw = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        raw.settimeout(0)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(raw, (address, port))
    except BaseException:
        raw.close()
        raise
    return raw


_BY_ERRNO = {
    errno.ECONNREFUSED: Outcome.REFUSED,
    errno.ETIMEDOUT: Outcome.CONNECT_TIMEOUT,
    errno.ECONNRESET: Outcome.RESET,
    errno.ECONNABORTED: Outcome.RESET,
    errno.EPIPE: Outcome.RESET,
    errno.ENOTCONN: Outcome.RESET,  # between connecting and looking at the peer
}


def _failure(error: OSError, *, in_handshake: bool) -> Failure:
    """Name the outcome of an error while connecting."""
    where = "in the TLS handshake" if in_handshake else ""
    if isinstance(error, ssl.SSLError):
        return Failure(Outcome.TLS, _tls_detail(error))
    if isinstance(error, TimeoutError):
        return Failure(Outcome.CONNECT_TIMEOUT, where)
    if isinstance(error, ConnectionError) and in_handshake:
        return Failure(Outcome.RESET, where)
    outcome = _BY_ERRNO.get(error.errno or 0, Outcome.UNREACHABLE)
    return Failure(outcome, where or error.strerror or str(error))


def _tls_detail(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return str(error.verify_message).rstrip(".")
    return (error.reason or str(error)).replace("_", " ").lower()
