"""A small test web on loopback: a server for each of 127.0.0.2, 127.0.0.3 and so on, which remembers who came when.

async with Web() as web:
    a = await web.server({"/": page("/1"), "/1": Reply(delay=0.1), "/old": Reply(301, {"Location": "/1"})})
    ... crawl a.url ...
assert a.most_connections == 1

Arrivals are timed by the kernel: a server that is kept waiting for its turn on a busy machine does not see them late.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from math import inf
from typing import Self

_TIMESTAMPS = 35  # SO_TIMESTAMPNS: the time of arrival comes with the data


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
    close: bool = False
    """Close the connection after it, without having said so."""
    times: int = 1
    """How often the body is sent, as when it is too large to hold."""


Answer = Reply | Callable[["Visit"], Reply]
"""A reply, or what chooses one by the request and what has been before."""


@dataclass
class Visit:
    """A request as the server saw it; times of `time.monotonic`."""

    path: str
    headers: Mapping[str, str]
    began: float
    connection: int
    """Number of the connection it came on, from 0."""
    on_connection: int
    """How many requests came before it on that connection."""
    connections: int
    """How many were open at that moment, its own included."""
    ended: float = inf
    """When the response was sent."""


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
        self.most_connections = 0
        self.workers: asyncio.Semaphore | None = None
        """Those that do the work of a reply, its delay; the other requests wait. None: as many as there are requests."""
        self._open: set[socket.socket] = set()
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

    @property
    def pauses(self) -> list[float]:
        """Seconds between the end of each response and the arrival of the next request."""
        return [later.began - earlier.ended for earlier, later in itertools.pairwise(self.visits)]

    @property
    def connections(self) -> int:
        """How many connections there were in all."""
        return len({visit.connection for visit in self.visits})

    def listen(self, port: int = 0) -> asyncio.Task[None]:
        """Listen, on a free port unless one is given."""
        listening = socket.create_server((self.address, port), backlog=256)
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        return asyncio.create_task(self._accept(listening))

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listening:
            async with asyncio.TaskGroup() as conversations:
                while True:
                    client, _ = await loop.sock_accept(listening)
                    conversations.create_task(self._serve(client))

    async def _serve(self, client: socket.socket) -> None:
        client.setsockopt(socket.SOL_SOCKET, _TIMESTAMPS, 1)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open.add(client)
        self.most_connections = max(self.most_connections, len(self._open))
        try:
            with client, suppress(ConnectionError):
                await self._converse(client)
        finally:
            self._open.discard(client)

    async def _converse(self, client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        number = next(self._numbers)
        for count in itertools.count():
            received, began = await _receive(client)
            if not received:
                return
            request, *lines = received.decode("latin-1").split("\r\n")
            path = request.split(" ")[1]
            headers = dict(line.lower().split(": ", 1) for line in lines if line)
            visit = Visit(path, headers, began, number, count, len(self._open))
            self.visits.append(visit)
            answer = self.answers.get(path, Reply(404))
            reply = answer if isinstance(answer, Reply) else answer(visit)
            async with self.workers or nullcontext():
                await asyncio.sleep(reply.delay)
            if reply.cut:
                return
            visit.ended = time.monotonic()
            await loop.sock_sendall(client, _encode(reply))
            for _ in range(1, reply.times):
                await loop.sock_sendall(client, reply.body)
            if reply.close:
                return


async def _receive(client: socket.socket) -> tuple[bytes, float]:
    """Read up to an empty line; return what was read, and when its last byte arrived. At the end of the connection, nothing."""
    loop = asyncio.get_running_loop()
    received, readable = b"", asyncio.Event()
    arrived = time.monotonic()
    loop.add_reader(client, readable.set)
    try:
        while not received.endswith(b"\r\n\r\n"):
            await readable.wait()
            readable.clear()
            with suppress(BlockingIOError):
                data, ancillary, _, _ = client.recvmsg(65_536, 256)
                arrived = time.monotonic()
                for _, kind, value in ancillary:
                    if kind == _TIMESTAMPS:
                        seconds, nanoseconds = struct.unpack("qq", value)
                        arrived -= max(0.0, time.time() - seconds - nanoseconds / 1e9)
                if not data:
                    return b"", arrived
                received += data
    finally:
        loop.remove_reader(client)
    return received, arrived


def most_at_once(visits: Iterable[Visit]) -> int:
    """Return how many requests were at most under way at one time."""
    visits = list(visits)
    return max(
        (sum(other.began <= visit.began < other.ended for other in visits) for visit in visits),
        default=0,
    )


def _encode(reply: Reply) -> bytes:
    headers = {"Content-Length": str(len(reply.body) * reply.times), **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} -", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + reply.body


class Web:
    """Several servers for the length of an ``async with``, each on an address of its own."""

    def __init__(self) -> None:
        self.servers: list[Server] = []
        self._listening: list[asyncio.Task[None]] = []

    async def server(self, answers: Mapping[str, Answer], *, address: str = "") -> Server:
        """Start a server, on the next address or on one given."""
        server = Server(address or f"127.0.0.{len(self.servers) + 2}", answers)
        self._listening.append(server.listen())
        self.servers.append(server)
        return server

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for listening in self._listening:
            listening.cancel()
        for ended in await asyncio.gather(*self._listening, return_exceptions=True):
            if isinstance(ended, Exception | BaseExceptionGroup):
                raise ended
