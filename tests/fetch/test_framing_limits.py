"""What a server may send beside the body, and what that costs: counted in bytes read and calls made, never in time."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest

from andante.fetch import Failure, Limits, Outcome, Response
from andante.fetch import lenient as lenient_module
from support.wire import OK_HEAD as OK
from support.wire import pair, start

CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
READ = 64 * 1024
MEGABYTE = b"100000\r\n" + bytes(2**20) + b"\r\n"

ENDLESS = {
    # What comes first, and what comes then without end.
    "an extension": (CHUNKED + b"1;", b"x" * READ),
    "an extension for each byte": (CHUNKED, (b"1;" + b"x" * 1000 + b"\r\nx\r\n") * 64),
    "trailers": (CHUNKED + b"0\r\n", b"X: y\r\n" * 10_000),
    "a trailer": (CHUNKED + b"0\r\nX: ", b"y" * READ),
    "a trailer after a large body": (CHUNKED + MEGABYTE + b"0\r\nX: ", b"y" * READ),
    "an extension after a large body": (CHUNKED + MEGABYTE + b"1;", b"x" * READ),
    "odd trailers after a large body": (CHUNKED + b"1\nx\n" + MEGABYTE + b"0\n", b"X\n" * 30_000),
    "odd extensions": (CHUNKED + b"1\nx\n", (b"1;" + b"x" * 1000 + b"\nx\n") * 64),
    "interim responses": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 3000),
    "odd interim responses": (b"", b"HTTP/1.1 100 Continue\r\nX\r\n\r\n" * 3000),
    "empty lines": (b"", b"\r\n" * 30_000),
    "header fields": (OK, b"X: y\r\n" * 10_000),
    "odd header lines": (OK, b"X\r\n" * 20_000),
    "a folded header line": (OK + b"X: y\r\n", b" y\r\n" * 20_000),
}


async def read_until_refused(first: bytes, rest: bytes) -> tuple[Response | Failure, int]:
    """Return the result, and the bytes that were read after ``first`` until it came."""
    connection, wire = pair()
    task = await start(connection)
    for at in range(0, len(first), READ):
        connection.data_received(first[at : at + READ])
    read = 0
    while not wire.ended:
        connection.data_received(rest)
        read += len(rest)
        assert read < 10**7
    return await task, read


@pytest.mark.parametrize("name", ENDLESS)
def test_what_has_no_end_is_refused_soon_and_takes_little_memory(name):
    tracemalloc.start()
    result, read = asyncio.run(read_until_refused(*ENDLESS[name]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(result, Failure)
    assert result.outcome in (Outcome.BAD_RESPONSE, Outcome.HEADER_TOO_LARGE)
    assert read <= 512 * 1024
    assert peak < 8 * 10**6


def test_a_header_limit_above_that_of_framing_is_kept():
    head = OK + b"X: " + b"y" * 10**6 + b"\r\nContent-Length: 2\r\n\r\n"

    async def main() -> Response | Failure:
        connection, _ = pair(Limits(max_header=2 * 10**6))
        task = await start(connection)
        for at in range(0, len(head), READ):
            connection.data_received(head[at : at + READ])
        connection.data_received(b"hi")
        return await task

    result = asyncio.run(main())
    assert isinstance(result, Response)
    assert result.payload == b"hi"


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_chunks_of_a_byte_cost_alike_however_many_there_are(end, monkeypatch):
    calls = 0

    class Counted(lenient_module.LenientParser):
        def _line(self, size_max=None):
            nonlocal calls
            calls += 1
            return super()._line(size_max)

    monkeypatch.setattr("andante.fetch.connection.LenientParser", Counted)

    async def main(number: int) -> int:
        data = CHUNKED + (b"1" + end + b"x" + end) * number + b"0" + end + end
        connection, _ = pair()
        task = await start(connection)
        for at in range(0, len(data), READ):
            connection.data_received(data[at : at + READ])
        result = await task
        assert isinstance(result, Response)
        assert result.payload == b"x" * number
        return calls

    once = asyncio.run(main(20_000))
    assert asyncio.run(main(40_000)) - once <= 2 * once + 20
