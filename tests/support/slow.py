"""Servers that send a large body slowly, each at an address of its own: 127.0.1.1, 127.0.1.2 and so on.

async with slow_hosts(250, size=10**7, seconds=20) as hosts: hosts[0].url, hosts[0].digest
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
from base64 import b32encode
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

_PIECE = 2**16


@dataclass
class SlowHost:
    """One server; it sends the same body for each path but ``/robots.txt``."""

    number: int
    size: int
    seconds: float
    url: str = ""
    sent: int = 0
    """Bodies sent to their end."""
    _block: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._block = random.Random(self.number).randbytes(_PIECE)

    @property
    def digest(self) -> str:
        """SHA-1 of the body, as WARC files have it."""
        whole, rest = divmod(self.size, _PIECE)
        digest = hashlib.sha1(usedforsecurity=False)
        for _ in range(whole):
            digest.update(self._block)
        digest.update(self._block[:rest])
        return f"sha1:{b32encode(digest.digest()).decode()}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        with (
            contextlib.closing(writer),  # also when the loop ends in the middle of a body
            contextlib.suppress(ConnectionError, asyncio.IncompleteReadError),
        ):
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                if request.startswith(b"GET /robots.txt "):
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                else:
                    await self._send(writer)

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n"
        writer.write(head.format(self.size).encode())
        for left in range(self.size, 0, -_PIECE):
            writer.write(self._block[:left])
            await writer.drain()
            await asyncio.sleep(self.seconds * _PIECE / self.size)
        self.sent += 1


@contextlib.asynccontextmanager
async def slow_hosts(number: int, *, size: int, seconds: float) -> AsyncIterator[list[SlowHost]]:
    """Run servers whose bodies of ``size`` bytes take ``seconds`` each."""
    hosts = [SlowHost(each, size, seconds) for each in range(1, number + 1)]
    async with contextlib.AsyncExitStack() as stack:
        for host in hosts:
            server = await asyncio.start_server(host.serve, f"127.0.1.{host.number}", 0)
            await stack.enter_async_context(server)
            port = server.sockets[0].getsockname()[1]
            host.url = f"http://127.0.1.{host.number}:{port}/"
        yield hosts
