"""A transport to a simulated server: takes the place of a socket below `andante.fetch.Connection`."""

from __future__ import annotations

import asyncio
from collections import deque
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from andante.sim.machine import Machine
    from andante.sim.server import Reply, Server

_PIECE = 5.0
"""Longest time between two pieces of a response that takes long to send, seconds."""


class SimulatedTransport(asyncio.Transport):
    """One connection. Requests are answered one after another, in their order; pipelined ones wait at the server.

    A server that has kept an idle connection for long enough has closed it; that is seen when the connection is next looked at.

    Args:
        loop: of the virtual clock.
        protocol: what reads the responses.
        server: what answers.
        machine: what it costs the crawler to read; None: nothing.
        note: called with each request: the time it was sent, and its target.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol: asyncio.Protocol,
        server: Server,
        *,
        machine: Machine | None = None,
        note: Callable[[float, str], None],
    ) -> None:
        super().__init__()
        self._loop = loop
        self._protocol = protocol
        self._server = server
        self._machine = machine
        self._note = note
        self._buffer = b""
        self._waiting: deque[tuple[str, float]] = deque()  # targets, and when they arrive
        self._working = False
        self._closed = False
        self._served = 0
        self._idle_since = loop.time()
        if machine is not None:
            machine.connections += 1

    # What a protocol calls

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send requests."""
        if self.is_closing():
            return
        now = self._loop.time()
        *requests, self._buffer = (self._buffer + data).split(b"\r\n\r\n")
        for request in requests:
            target = request.split(b" ", 2)[1].decode("ascii")
            self._note(now, target)
            self._waiting.append((target, now + self._server.traits.rtt / 2))
        if not self._working and self._waiting:
            self._serve(now)

    def is_closing(self) -> bool:
        """Tell whether it is closed, by either side."""
        if self._closed:
            return True
        idle = self._loop.time() - self._idle_since
        return not self._working and idle >= self._server.traits.keep_alive

    def close(self) -> None:
        """Close it; nothing is received from now on."""
        self._lose(None)

    def abort(self) -> None:
        """Close it."""
        self._lose(None)

    # What the server does

    def _serve(self, free: float) -> None:
        """Let the server work on the first request that waits, not before ``free``, when it was done with the one before."""
        target, arrives = self._waiting.popleft()
        traits = self._server.traits
        self._working = True
        self._served += 1
        last = self._served >= traits.requests
        reply = self._server.serve(target, max(arrives, free), last=last)
        if reply.fault == "reset":
            self._loop.call_at(reply.starts + traits.rtt / 2, self._lose, ConnectionResetError())
        if reply.fault:
            return
        pieces = _pieces(reply)
        for number, (at, piece) in enumerate(pieces, 1):
            done = reply.ends if number == len(pieces) else None
            self._loop.call_at(at + traits.rtt / 2, self._arrive, piece, done, last)

    def _arrive(self, data: bytes, done: float | None, last: bool) -> None:  # noqa: FBT001  # a callback
        """Bytes have come to the machine; with ``done``, when the server was, the response ends."""
        if self._machine is None:
            self._read(data, done, last)
        elif not self._closed:
            read_at = self._machine.receives(self._loop.time(), len(data), ends=done is not None)
            self._loop.call_at(read_at, self._read, data, done, last)

    def _read(self, data: bytes, done: float | None, last: bool) -> None:  # noqa: FBT001  # a callback
        if self._closed:
            return
        if done is not None:
            self._working = False
            self._idle_since = self._loop.time()
            if self._waiting and not last:
                self._serve(done)
        self._protocol.data_received(data)
        if done is not None and last:
            self._lose(None)

    def _lose(self, exc: Exception | None) -> None:
        if self._closed:
            return
        self._closed = True
        self._waiting.clear()
        if self._machine is not None:
            self._machine.connections -= 1
        self._loop.call_soon(self._protocol.connection_lost, exc)


def _pieces(reply: Reply) -> list[tuple[float, bytes]]:
    """Return a response as it is sent: when each piece leaves, and the piece."""
    body, seconds = reply.body, reply.ends - reply.starts
    if not body or seconds <= 0:
        return [(reply.ends, reply.head + body)]
    size = ceil(len(body) / ceil(seconds / _PIECE))
    ends = [*range(size, len(body), size), len(body)]
    pieces = [
        (reply.starts + seconds * end / len(body), body[end - size : end]) for end in ends[:-1]
    ]
    last = body[size * (len(ends) - 1) :]
    return [(reply.starts, reply.head), *pieces, (reply.ends, last)]
