"""A small test web on loopback: a server for each of 127.0.0.2, 127.0.0.3 and so on, which remembers who came when.

async with Web() as web:
    a = await web.server({"/": page("/1"), "/1": Reply(delay=0.1), "/old": Reply(301, {"Location": "/1"})})
    ... crawl a.url ...
assert a.most_connections == 1
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self


@dataclass
class Reply:
    """What a server sends for a path."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay: float = 0.0
    """Seconds before it."""
    cut: bool = False
    """Close the connection in place of it."""


Answer = Reply | Callable[["Visit"], Reply]
"""A reply, or what chooses one by the request and what has been before."""


@dataclass(frozen=True)
class Visit:
    """A request as the server saw it; times by the loop's clock."""

    path: str
    headers: Mapping[str, str]
    began: float
    connection: int
    """Number of the connection it came on, from 0."""
    on_connection: int
    """How many requests came before it on that connection."""
    connections: int
    """How many were open at that moment, its own included."""


def page(*links: str, title: str = "", delay: float = 0.0) -> Reply:
    """Return an HTML page with links."""
    anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
    text = f"<!doctype html><title>{title}</title>\n{anchors}"
    return Reply(200, {"Content-Type": "text/html; charset=utf-8"}, text.encode(), delay)


def robots(text: str) -> Reply:
    """Return a robots.txt."""
    return Reply(200, {"Content-Type": "text/plain"}, text.encode())


class Server:
    """One server; `answers` may change while it runs. A path without an answer is a 404."""

    def __init__(self, address: str, answers: Mapping[str, Answer]) -> None:
        self.address = address
        self.port = 0
        self.answers = dict(answers)
        self.visits: list[Visit] = []
        self.ended: list[float] = []
        """When each response was sent."""
        self.most_connections = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._numbers = itertools.count()

    @property
    def url(self) -> str:
        """The start page."""
        return f"http://{self.address}:{self.port}/"

    @property
    def paths(self) -> list[str]:
        """What was asked for, in order, robots.txt left out."""
        return [visit.path for visit in self.visits if visit.path != "/robots.txt"]

    @property
    def gaps(self) -> list[float]:
        """Seconds between the arrivals of successive requests."""
        return [later.began - earlier.began for earlier, later in itertools.pairwise(self.visits)]

    async def start(self) -> asyncio.Server:
        """Listen on a free port."""
        server = await asyncio.start_server(self._serve, self.address, self.port)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def hang_up(self) -> None:
        """Close all connections."""
        for writer in self._open:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self.most_connections = max(self.most_connections, len(self._open))
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._converse(reader, writer)
        finally:
            self._open.discard(writer)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = next(self._numbers)
        for count in itertools.count():
            request, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            path = request.split(" ")[1]
            headers = dict(line.lower().split(": ", 1) for line in lines if line)
            now = asyncio.get_running_loop().time()
            visit = Visit(path, headers, now, number, count, len(self._open))
            self.visits.append(visit)
            answer = self.answers.get(path, Reply(404))
            reply = answer if isinstance(answer, Reply) else answer(visit)
            await asyncio.sleep(reply.delay)
            if reply.cut:
                return
            writer.write(_encode(reply))
            await writer.drain()
            self.ended.append(asyncio.get_running_loop().time())


def _encode(reply: Reply) -> bytes:
    headers = {"Content-Length": str(len(reply.body)), **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} -", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + reply.body


class Web:
    """Several servers for the length of an ``async with``, each on an address of its own."""

    def __init__(self) -> None:
        self.servers: list[Server] = []
        self._listening: list[asyncio.Server] = []

    async def server(self, answers: Mapping[str, Answer], *, address: str = "") -> Server:
        """Start a server, on the next address or on one given."""
        server = Server(address or f"127.0.0.{len(self.servers) + 2}", answers)
        self._listening.append(await server.start())
        self.servers.append(server)
        return server

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for listening, server in zip(self._listening, self.servers, strict=True):
            listening.close()
            server.hang_up()
        await asyncio.sleep(0)
        for listening in self._listening:
            await listening.wait_closed()
