"""The connection over a transport that is only a list: framing, limits, order, cancellation."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.fetch import Failure, Limits, Outcome, Response
from support.wire import PLAIN, REQUEST, answer, answers, bare, pair, start

# Framing

RESPONSES = {
    "length": (PLAIN, False, (200, "OK", "1.1", b"hello")),
    "chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;ext=1\r\nlo\r\n0\r\nTrailer: dropped\r\n\r\n",
        False,
        (200, "OK", "1.1", b"hello"),
    ),
    "until the end": (b"HTTP/1.1 200 OK\r\n\r\nhello", True, (200, "OK", "1.1", b"hello")),
    "until the end, empty": (b"HTTP/1.1 200 OK\r\n\r\n", True, (200, "OK", "1.1", b"")),
    "a coding other than chunked, until the end": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello",
        True,
        (200, "OK", "1.1", b"hello"),
    ),
    "HTTP/1.0": (
        b"HTTP/1.0 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
        False,
        (404, "Not Found", "1.0", b"no"),
    ),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", False, (200, "", "1.1", b"")),
    "reason in Latin-1": (
        b"HTTP/1.1 200 G\xfct\r\nContent-Length: 0\r\n\r\n",
        False,
        (200, "G\xfct", "1.1", b""),
    ),
    "204 has no body": (b"HTTP/1.1 204 No Content\r\n\r\n", False, (204, "No Content", "1.1", b"")),
    "304 has no body, whatever its length": (
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n",
        False,
        (304, "Not Modified", "1.1", b""),
    ),
    "interim responses first": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + PLAIN,
        False,
        (200, "OK", "1.1", b"hello"),
    ),
    "chunked beats length": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        False,
        (200, "OK", "1.1", b"hello"),
    ),
    "bare line feeds": (
        b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        False,
        (200, "OK", "1.1", b"hello"),
    ),
    "spaces after the chunk size": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5   \r\nhello\r\n0\r\n\r\n",
        False,
        (200, "OK", "1.1", b"hello"),
    ),
    "bare line feeds after the data of chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\n2\r\nlo\n0\r\n\r\n",
        False,
        (200, "OK", "1.1", b"hello"),
    ),
    "an offer to upgrade is no upgrade": (
        b"HTTP/1.1 200 OK\r\nUpgrade: h2,h2c\r\nConnection: Upgrade, Keep-Alive\r\nContent-Length: 5\r\n\r\nhello",
        False,
        (200, "OK", "1.1", b"hello"),
    ),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_framing(name):
    data, eof, expected = RESPONSES[name]
    result = answer(data, eof=eof)
    assert isinstance(result, Response), result
    assert (result.status, result.reason, result.http_version, result.payload) == expected
    assert not result.truncated
    assert all(field != b"Trailer" and field != b"Link" for field, _ in result.headers)


@pytest.mark.parametrize("name", RESPONSES)
def test_framing_a_byte_at_a_time(name):
    data, eof, _ = RESPONSES[name]
    assert bare(answer(*(data[i : i + 1] for i in range(len(data))), eof=eof)) == bare(
        answer(data, eof=eof)
    )


def test_headers_come_in_order_as_received():
    result = answer(
        b"HTTP/1.1 200 OK\r\nX-B:  one \r\nx-a: \xe9\r\nX-B:\r\nContent-Length: 0\r\n\r\n"
    )
    assert isinstance(result, Response)
    assert result.headers == [
        (b"X-B", b"one "),
        (b"x-a", b"\xe9"),
        (b"X-B", b""),
        (b"Content-Length", b"0"),
    ]


BROKEN = {
    "closed before the response": (b"", Outcome.CLOSED),
    "closed in the status line": (b"HTTP/1.1 20", Outcome.CLOSED),
    "closed in the header": (b"HTTP/1.1 200 OK\r\nContent-", Outcome.CLOSED),
    "closed before the length": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
        Outcome.CLOSED,
    ),
    "closed before the last chunk": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        Outcome.CLOSED,
    ),
    "closed after an interim response": (b"HTTP/1.1 100 Continue\r\n\r\n", Outcome.CLOSED),
    "switched protocols": (
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        Outcome.BAD_RESPONSE,
    ),
    "HTTP/2": (b"HTTP/2 200 OK\r\n\r\n", Outcome.BAD_RESPONSE),
    "HTTP/0.9": (b"<html>", Outcome.BAD_RESPONSE),
    "TLS": (b"\x15\x03\x01\x00\x02\x02\x46", Outcome.BAD_RESPONSE),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_responses(name):
    data, outcome = BROKEN[name]
    result = answer(data, eof=True)
    assert isinstance(result, Failure)
    assert result.outcome is outcome


@st.composite
def split(draw, data: bytes) -> list[bytes]:
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(data) - 1)), max_size=8)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if a < b]


bodies = st.binary(max_size=60)


@st.composite
def responses(draw) -> bytes:
    body = draw(bodies)
    status = draw(st.sampled_from([b"200 OK", b"404 Not Found", b"500"]))
    extra = b"".join(b"X-%d: %d\r\n" % (i, i) for i in range(draw(st.integers(0, 4))))
    if draw(st.booleans()):
        return b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, extra, len(body), body)
    cut = draw(st.integers(0, len(body)))
    chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (body[:cut], body[cut:]) if piece
    )
    return b"HTTP/1.1 %b\r\n%bTransfer-Encoding: chunked\r\n\r\n%b0\r\n\r\n" % (
        status,
        extra,
        chunks,
    )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_results_do_not_depend_on_how_the_bytes_are_split(data):
    parts = data.draw(st.lists(responses(), min_size=1, max_size=3))
    stream = b"".join(parts)
    if data.draw(st.booleans()):  # damaged somewhere
        at = data.draw(st.integers(0, len(stream) - 1))
        stream = stream[:at] + data.draw(st.binary(min_size=1, max_size=3)) + stream[at + 1 :]
    limits = Limits(max_body=40)
    whole, reusable = asyncio.run(answers(stream, eof=True, requests=len(parts), limits=limits))
    pieces, _ = asyncio.run(
        answers(*data.draw(split(stream)), eof=True, requests=len(parts), limits=limits)
    )
    assert [bare(result) for result in whole] == [bare(result) for result in pieces]
    assert not reusable


# Keep-alive

KEEP = {
    "HTTP/1.1": (PLAIN, True),
    "close": (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", False),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
    "HTTP/1.0 keep-alive": (
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
        True,
    ),
}


@pytest.mark.parametrize("name", KEEP)
def test_a_connection_is_kept_as_the_server_says(name):
    data, kept = KEEP[name]
    [result], reusable = asyncio.run(answers(data))
    assert isinstance(result, Response)
    assert reusable is kept


def test_one_exchange_after_another():
    async def main() -> None:
        connection, wire = pair()
        for served in range(1, 4):
            task = await start(connection)
            assert connection.in_flight == 1
            connection.data_received(PLAIN)
            result = await task
            assert isinstance(result, Response)
            assert (connection.served, connection.in_flight) == (served, 0)
            assert result.bytes_received == len(PLAIN)
            assert 0 <= result.first_byte <= result.total
        assert wire.written == [REQUEST] * 3
        assert "3 served" in repr(connection)
        connection.close()
        connection.close()
        assert not connection.is_reusable

    asyncio.run(main())


UNSOLICITED = {
    "a response": PLAIN,
    "the beginning of one": b"HTT",
    "garbage": b"\x00\xff",
}


@pytest.mark.parametrize("data", UNSOLICITED.values(), ids=UNSOLICITED)
@pytest.mark.parametrize("together", [True, False], ids=["in the same read", "later"])
def test_what_nobody_asked_for_closes_the_connection(data, together):
    reads = [PLAIN + data] if together else [PLAIN, data]
    [result], reusable = asyncio.run(answers(*reads))
    assert isinstance(result, Response)
    assert result.payload == b"hello"
    assert not reusable


def test_an_empty_line_after_a_response_is_harmless():
    _, reusable = asyncio.run(answers(PLAIN + b"\r\n"))
    assert reusable


def test_a_request_into_a_connection_that_the_server_closes_is_stale():
    async def main(error: Exception | None) -> None:
        connection, wire = pair()
        task = await start(connection)
        connection.data_received(PLAIN)
        await task
        task = await start(connection)
        wire.lose(error)
        result = await task
        assert isinstance(result, Failure)
        assert result.outcome is Outcome.STALE
        after = await connection.exchange(REQUEST)
        assert isinstance(after, Failure)
        assert after.outcome is Outcome.STALE

    asyncio.run(main(None))
    asyncio.run(main(ConnectionResetError()))


def test_the_first_request_of_a_connection_is_never_stale():
    for error, outcome in ((None, Outcome.CLOSED), (ConnectionResetError(), Outcome.RESET)):

        async def main(error: Exception | None = error, outcome: Outcome = outcome) -> None:
            connection, wire = pair()
            task = await start(connection)
            wire.lose(error)
            result = await task
            assert isinstance(result, Failure)
            assert result.outcome is outcome

        asyncio.run(main())


# Pipelining


def test_pipelined_responses_come_in_order():
    bodies = [b"one", b"", b"three"]
    stream = b"".join(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies
    )
    for reads in ([stream], [stream[i : i + 1] for i in range(len(stream))]):
        results, reusable = asyncio.run(answers(*reads, requests=3))
        assert [result.payload for result in results] == bodies
        assert reusable


@pytest.mark.parametrize(
    ("second", "outcome"),
    [
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            Outcome.STALE,
        ),  # alone it may be understood
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", Outcome.CLOSED),
        (b"", Outcome.STALE),
    ],
)
def test_after_a_failure_those_behind_it_are_stale(second, outcome):
    results, reusable = asyncio.run(answers(PLAIN + second, eof=True, requests=4))
    assert isinstance(results[0], Response)
    assert [result.outcome for result in results[1:]] == [outcome, Outcome.STALE, Outcome.STALE]
    assert not reusable


def test_those_behind_a_last_response_are_stale():
    last = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    results, reusable = asyncio.run(answers(last + PLAIN, requests=2))
    assert isinstance(results[0], Response)
    assert results[1].outcome is Outcome.STALE
    assert not reusable


# Limits


def response(body: bytes, *, chunk: int = 0) -> bytes:
    if not chunk:
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    pieces = [body[i : i + chunk] for i in range(0, len(body), chunk)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b0\r\n\r\n" % chunks


@pytest.mark.parametrize("size", [1, 7, 1000, 100_000])
@pytest.mark.parametrize("chunk", [0, 1, 10])
def test_a_body_is_cut_at_its_limit_and_not_before(size, chunk):
    body = bytes(i % 251 for i in range(5000))
    data = response(body, chunk=chunk)
    reads = [data[i : i + size] for i in range(0, len(data), size)]
    exact = answer(*reads, limits=Limits(max_body=5000))
    assert (exact.payload, exact.truncated) == (body, "")
    cut = answer(*reads, limits=Limits(max_body=4999))
    assert (cut.payload, cut.truncated) == (body[:4999], "length")


def test_an_exchange_may_have_its_own_limit():
    async def main() -> None:
        connection, _ = pair()
        task = await start(connection, max_body=2)
        behind = await start(connection)
        connection.data_received(PLAIN + PLAIN)
        assert (await task).payload == b"he"
        assert (await behind).payload == b"hello"  # the first came whole, so the connection goes on
        connection.close()

    asyncio.run(main())


def test_bodies_in_very_many_pieces_are_put_together():
    body = bytes(i % 251 for i in range(20_000))
    data = response(body, chunk=3)
    assert answer(data).payload == body
    assert answer(*(data[i : i + 2000] for i in range(0, len(data), 2000))).payload == body


@pytest.mark.parametrize("size", [1, 50, 100_000])
def test_a_header_may_be_as_large_as_its_limit(size):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\nX: " + b"x" * 200 + b"\r\n\r\n"
    data = head + b"b" * 900
    reads = [data[i : i + size] for i in range(0, len(data), size)]
    assert answer(*reads, limits=Limits(max_header=len(head))).status == 200
    failure = answer(*reads, limits=Limits(max_header=len(head) - 1))
    assert failure.outcome is Outcome.HEADER_TOO_LARGE


@pytest.mark.parametrize("eof", [True, False])
@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 103 Early Hints\r\nContent-Length: 90\r\n\r\n" + b"x" * 50,
        b"HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\n\r\nxx" + PLAIN,
        b"HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + PLAIN,
        b"HTTP/1.1 099 Low\r\n\r\nbody",
        b"HTTP/1.1 000\r\nContent-Length: 90\r\n\r\n" + b"x" * 50,
    ],
)
def test_no_result_has_an_interim_status_or_one_below(data, eof):
    assert answer(data, eof=eof, limits=Limits(max_body=40)).outcome is Outcome.BAD_RESPONSE


def test_the_header_limit_holds_for_each_of_many_pipelined_responses():
    results, _ = asyncio.run(answers(PLAIN * 50, requests=50, limits=Limits(max_header=len(PLAIN))))
    assert [result.payload for result in results] == [b"hello"] * 50


# Time

FAST = Limits(first_byte_timeout=0.03, idle_timeout=0.03, total_timeout=0.1)


def test_an_idle_connection_has_no_time_limit_and_no_timer():
    async def main() -> None:
        connection, wire = pair(FAST)
        task = await start(connection)
        connection.data_received(PLAIN)
        await task
        await asyncio.sleep(0.08)
        assert connection.is_reusable
        task = await start(connection)
        connection.data_received(PLAIN)
        assert isinstance(await task, Response)
        connection.close()
        assert wire.ended == "closed"

    asyncio.run(main())


def test_a_time_limit_that_is_shorter_than_the_one_before_is_kept():
    async def main() -> None:
        connection, _ = pair(Limits(first_byte_timeout=0.05, idle_timeout=3600, total_timeout=3600))
        task = await start(connection)
        connection.data_received(PLAIN[:-1])
        await asyncio.sleep(0.08)  # the timer now waits for the silence in this response
        connection.data_received(PLAIN[-1:])
        assert isinstance(await task, Response)
        result = await asyncio.wait_for(await start(connection), 5)
        assert isinstance(result, Failure)
        assert result.outcome is Outcome.FIRST_BYTE_TIMEOUT

    asyncio.run(main())


def test_the_time_of_a_pipelined_exchange_counts_from_its_turn():
    async def main() -> None:
        connection, _ = pair(Limits(first_byte_timeout=0.1, idle_timeout=1, total_timeout=5))
        first, second = await start(connection), await start(connection)
        await asyncio.sleep(0.06)
        connection.data_received(PLAIN)
        await first
        await asyncio.sleep(0.06)
        assert not second.done()
        result = await second
        assert isinstance(result, Failure)
        assert result.outcome is Outcome.FIRST_BYTE_TIMEOUT

    asyncio.run(main())


# Cancellation

PHASES = {
    "before a byte": b"",
    "in the status line": b"HTTP/1.1 2",
    "in the header": b"HTTP/1.1 200 OK\r\nX: y\r\n",
    "in the body": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
    "in a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
}


@pytest.mark.parametrize("received", PHASES.values(), ids=PHASES)
def test_cancelling_closes_the_connection(received):
    async def main() -> None:
        connection, wire = pair()
        task, behind = await start(connection), await start(connection)
        if received:
            connection.data_received(received)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert wire.ended == "aborted"
        assert not connection.is_reusable
        assert connection.in_flight == 0
        result = await behind
        assert isinstance(result, Failure)
        assert result.outcome is Outcome.STALE
        connection.data_received(b"late")  # as a transport may before it is gone

    asyncio.run(main())


def test_cancelling_after_the_response_came_but_before_it_was_taken():
    async def main() -> None:
        connection, _ = pair()
        task = await start(connection)
        connection.data_received(PLAIN)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not connection.is_reusable

    asyncio.run(main())
