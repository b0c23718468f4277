"""Every misbehaving server ends in its outcome, within the limits, and leaves a connection that says whether it can go on."""

from __future__ import annotations

import pytest
import uvloop

from andante.fetch import Client, Failure, Limits, Outcome, RequestTemplate, Response, decode
from support import hostile

LIMITS = Limits(
    connect_timeout=5.0,
    first_byte_timeout=0.15,
    idle_timeout=0.15,
    total_timeout=0.4,
    max_header=4096,
    max_body=100_000,
)
REQUEST = RequestTemplate(user_agent="test").render("http://127.0.0.1", "/")


async def fetch(name: str, limits: Limits = LIMITS) -> tuple[Response | Failure, bool]:
    """Return the result of one exchange, and whether the connection can take another."""
    async with hostile.serving(name) as port:
        client = Client(limits, allow_private=True)
        connection = await client.open("127.0.0.1", port, tls=False)
        assert not isinstance(connection, Failure)
        result = await connection.exchange(REQUEST)
        reusable = connection.is_reusable
        connection.close()
        await client.close()
        return result, reusable


FAILURES = {
    "closed-at-once": Outcome.CLOSED,
    "reset-at-once": Outcome.RESET,
    "reset-in-header": Outcome.RESET,
    "reset-in-body": Outcome.RESET,
    "closed-in-header": Outcome.CLOSED,
    "closed-in-chunks": Outcome.CLOSED,
    "length-too-large": Outcome.CLOSED,
    "silent": Outcome.FIRST_BYTE_TIMEOUT,
    "silent-in-body": Outcome.IDLE_TIMEOUT,
    "dripping-header": Outcome.TOTAL_TIMEOUT,
    "endless-headers": Outcome.HEADER_TOO_LARGE,
    "endless-header-line": Outcome.HEADER_TOO_LARGE,
    "endless-interim": Outcome.HEADER_TOO_LARGE,
    "endless-newlines": Outcome.HEADER_TOO_LARGE,
    "endless-chunk-extension": Outcome.BAD_RESPONSE,
    "endless-trailers": Outcome.BAD_RESPONSE,
    "garbage": Outcome.BAD_RESPONSE,
    "http-0-9": Outcome.BAD_RESPONSE,
    "ssh": Outcome.BAD_RESPONSE,
    "upgrade": Outcome.BAD_RESPONSE,
    "broken-chunks": Outcome.BAD_RESPONSE,
    "broken-chunk-size": Outcome.BAD_RESPONSE,
    "chunk-size-overflow": Outcome.BAD_RESPONSE,
    "negative-length": Outcome.BAD_RESPONSE,
    "two-lengths": Outcome.BAD_RESPONSE,
    "status-of-one-digit": Outcome.BAD_RESPONSE,
}
TRUNCATED = {"endless-body": "length", "endless-chunks": "length", "dripping-body": "time"}
WHOLE = {
    "fine": True,
    "until-eof": False,
    "length-too-small": False,
    "header-without-colon": False,
    "unsolicited": False,
    "wrong-encoding": True,
    "gzip-bomb": True,
}
"""Behaviours that end in a whole response, and whether the connection can go on."""


@pytest.mark.parametrize(("name", "outcome"), FAILURES.items())
def test_a_fault_ends_in_its_outcome(name, outcome):
    result, reusable = uvloop.run(fetch(name))
    assert isinstance(result, Failure)
    assert (result.outcome, reusable) == (outcome, False), result


@pytest.mark.parametrize(("name", "reason"), TRUNCATED.items())
def test_a_body_without_end_is_cut_and_kept(name, reason):
    result, reusable = uvloop.run(fetch(name))
    assert isinstance(result, Response)
    assert (result.status, result.truncated, reusable) == (200, reason, False)
    assert 0 < len(result.payload) <= LIMITS.max_body


def test_a_body_in_chunks_of_a_byte_is_cut_at_a_large_limit_too():
    """Their framing is several times as long as the limit."""
    result, _ = uvloop.run(fetch("endless-chunks", Limits(max_body=2**20)))
    assert isinstance(result, Response)
    assert (len(result.payload), result.truncated) == (2**20, "length")


@pytest.mark.parametrize(("name", "goes_on"), WHOLE.items())
def test_a_whole_response_is_whole(name, goes_on):
    limits = Limits(idle_timeout=1.0)
    result, reusable = uvloop.run(fetch(name, limits))
    assert isinstance(result, Response)
    assert (result.status, result.truncated, reusable) == (200, "", goes_on)


def test_a_gzip_bomb_is_refused_when_it_is_decoded():
    result, _ = uvloop.run(fetch("gzip-bomb", Limits()))
    assert isinstance(result, Response)
    decoded = decode(result.payload, b"gzip", limit=10**6)
    assert isinstance(decoded, Failure)
    assert decoded.outcome is Outcome.DECODED_TOO_LARGE


def test_a_gzip_bomb_of_10_gb_is_cut_on_its_way_and_refused_when_it_is_decoded():
    result, _ = uvloop.run(fetch("gzip-bomb-10-gb", Limits(max_body=10**6)))
    assert isinstance(result, Response)
    assert result.truncated == "length"
    decoded = decode(result.payload, b"gzip", limit=10**6)
    assert isinstance(decoded, Failure)
    assert decoded.outcome is Outcome.DECODED_TOO_LARGE


def test_a_server_in_a_thread_serves_robots_txt_besides():
    async def robots(port: int) -> Response | Failure:
        client = Client(allow_private=True)
        connection = await client.open("127.0.0.1", port, tls=False)
        assert not isinstance(connection, Failure)
        request = RequestTemplate(user_agent="test").render(
            f"http://127.0.0.1:{port}", "/robots.txt"
        )
        try:
            return await connection.exchange(request)
        finally:
            connection.close()
            await client.close()

    with hostile.running("garbage") as port:
        result = uvloop.run(robots(port))
    assert isinstance(result, Response)
    assert result.status == 404


def test_every_behaviour_is_tested():
    tested = {*FAILURES, *TRUNCATED, *WHOLE, "gzip-bomb-10-gb"}
    assert tested == set(hostile.BEHAVIOURS)
