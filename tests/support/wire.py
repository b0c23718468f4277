"""A connection over a transport that is only a list; the test plays the server."""

from __future__ import annotations

import asyncio

from andante.fetch import Connection, Failure, Limits, Response
from andante.fetch.bodies import BodyMemory

REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
OK_HEAD = b"HTTP/1.1 200 OK\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Wire(asyncio.Transport):
    """A transport that keeps what is written; the test plays the server."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.ended = ""
        self._connection = connection
        connection.connection_made(self)

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self._end("closed")

    def abort(self) -> None:
        self._end("aborted")

    def _end(self, how: str) -> None:
        if not self.ended:
            self.ended = how
            asyncio.get_running_loop().call_soon(self._connection.connection_lost, None)

    def lose(self, error: Exception | None = None) -> None:
        """The server closes, or the network breaks."""
        self.ended = "lost"
        self._connection.connection_lost(error)


def pair(limits: Limits | None = None, memory: BodyMemory | None = None) -> tuple[Connection, Wire]:
    connection = Connection(limits or Limits(), memory=memory)
    return connection, Wire(connection)


async def start(connection: Connection, **options) -> asyncio.Task[Response | Failure]:
    task = asyncio.create_task(connection.exchange(REQUEST, **options))
    await asyncio.sleep(0)
    return task


async def answers(
    *reads: bytes,
    eof: bool = False,
    limits: Limits | None = None,
    requests: int = 1,
    memory: BodyMemory | None = None,
):
    """Return the results of pipelined requests that the server answers with ``reads``, and the connection."""
    connection, wire = pair(limits, memory)
    tasks = [await start(connection) for _ in range(requests)]
    for read in reads:
        if not wire.ended:
            connection.data_received(read)
    if eof and not wire.ended:
        wire.lose()
    results = await asyncio.wait_for(asyncio.gather(*tasks), 5)
    reusable = connection.is_reusable
    connection.close()
    return results, reusable


def answer(
    *reads: bytes,
    eof: bool = False,
    limits: Limits | None = None,
    memory: BodyMemory | None = None,
) -> Response | Failure:
    return asyncio.run(answers(*reads, eof=eof, limits=limits, memory=memory))[0][0]


def bare(result: Response | Failure):
    """Return what does not depend on time."""
    if isinstance(result, Failure):
        return result.outcome
    return (
        result.status,
        result.reason,
        result.http_version,
        result.headers,
        result.payload,
        result.truncated,
    )
