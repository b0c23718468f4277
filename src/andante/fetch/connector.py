"""What the crawl asks of a network: the seam at which a simulated one takes the place of the real one."""

from __future__ import annotations

from typing import Protocol

from andante.fetch.connection import Connection
from andante.fetch.outcome import Failure


class Connector(Protocol):
    """Opens connections; `Client` is the one for the real network."""

    async def resolve(self, host: str, port: int) -> list[str] | Failure:
        """Return the addresses that a connection to the host may go to, best first, or why there are none."""

    async def open(self, host: str, port: int, *, tls: bool) -> Connection | Failure:
        """Connect to a server; return the connection, ready for its first request, or why there is none."""
