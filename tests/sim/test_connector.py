"""The contract of a connector: the same assertions hold on simulated connections and on real ones to the same servers."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest
import uvloop

from andante.fetch import Client, Failure, Limits, Outcome
from andante.sim import clock
from andante.sim.network import Network
from andante.sim.server import Meter, Server, Traits
from support.simulated import serving

LIMITS = Limits(connect_timeout=5.0, first_byte_timeout=1.0, idle_timeout=1.0)
PAGES = {"/": b"<p>Front", **{f"/p/{n}.html": b"<p>%d" % n * n for n in range(1, 60)}}


class Simulated:
    """A virtual clock and a simulated network."""

    run = staticmethod(clock.run)

    @staticmethod
    @asynccontextmanager
    async def connector(server):
        found = {("localhost", 80): server}
        yield Network(lambda host, port: found.get((host, port)), LIMITS), 80


class Real:
    """The clock on the wall, and sockets on 127.0.0.1."""

    run = staticmethod(uvloop.run)

    @staticmethod
    @asynccontextmanager
    async def connector(server):
        client = Client(LIMITS, allow_private=True, resolve=["localhost:1:127.0.0.1"])
        try:
            if server.traits.refuses:
                with socket.socket() as nobody_listens:
                    nobody_listens.bind(("127.0.0.1", 0))
                    yield client, nobody_listens.getsockname()[1]
            else:
                async with serving(server) as port:
                    yield client, port
        finally:
            await client.close()


@pytest.fixture(params=[Simulated, Real], ids=["simulated", "real"])
def world(request):
    return request.param


def play(world, talk, **traits):
    """Connect to a server and talk to it; return what is said."""
    fast = {"service_time": 0.002, "sigma": 0.0, "rtt": 0.001, "connect_time": 0.001}
    server = Server(Traits(**{**fast, **traits}), PAGES.get)

    async def main():
        async with world.connector(server) as (connector, port):
            connection = await connector.open("localhost", port, tls=False)
            try:
                return await talk(connection)
            finally:
                if not isinstance(connection, Failure):
                    connection.close()
                    await asyncio.sleep(0)

    return world.run(main())


def ask(target):
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def plain(result):
    """Return what does not depend on how long it took."""
    if isinstance(result, Failure):
        return result.outcome
    return result.status, result.http_version, result.headers, result.payload


def test_one_response_after_another_on_one_connection(world):
    async def talk(connection):
        results = [await connection.exchange(ask(target)) for target in ("/", "/p/7.html", "/no")]
        assert connection.served == 3
        assert connection.is_reusable
        assert connection.address
        assert connection.connect_time > 0
        return results

    results = play(world, talk)
    html = (b"Content-Type", b"text/html; charset=utf-8")
    assert [plain(result) for result in results] == [
        (200, "1.1", [html, (b"Content-Length", b"8")], b"<p>Front"),
        (200, "1.1", [html, (b"Content-Length", b"28")], b"<p>7" * 7),
        (404, "1.1", [(b"Content-Length", b"0")], b""),
    ]
    assert all(0 < result.first_byte <= result.total for result in results)
    assert all(result.bytes_received > len(result.payload) for result in results)


@pytest.mark.parametrize("allowed", [1, 2, 5])
def test_the_server_closes_after_the_last_request_it_allows(world, allowed):
    async def talk(connection):
        results = []
        while connection.is_reusable:
            results.append(await connection.exchange(ask("/")))
        return [*results, await connection.exchange(ask("/"))]

    *results, after = play(world, talk, requests=allowed)
    assert len(results) == allowed
    assert [result.status for result in results] == [200] * allowed
    assert results[0].http_version == ("1.0" if allowed == 1 else "1.1")
    assert (b"Connection", b"close") in results[-1].headers
    assert after.outcome is Outcome.STALE


def test_pipelined_requests_are_answered_in_their_order(world):
    async def talk(connection):
        requests = [connection.exchange(ask(f"/p/{number}.html")) for number in range(1, 9)]
        return await asyncio.gather(*requests)

    results = play(world, talk, sigma=1.0)
    assert [result.payload for result in results] == [PAGES[f"/p/{n}.html"] for n in range(1, 9)]
    ends = [result.sent_at + result.total for result in results]
    assert ends == sorted(ends)


def test_pipelined_requests_behind_the_last_one_are_stale(world):
    async def talk(connection):
        return await asyncio.gather(*(connection.exchange(ask("/")) for _ in range(5)))

    results = play(world, talk, requests=3)
    assert [plain(result)[0] for result in results[:3]] == [200] * 3
    assert [plain(result) for result in results[3:]] == [Outcome.STALE] * 2


@pytest.mark.parametrize(
    ("traits", "outcome"),
    [
        ({"resets": 1.0}, Outcome.RESET),
        ({"silences": 1.0}, Outcome.FIRST_BYTE_TIMEOUT),
        ({"service_time": 9.0}, Outcome.FIRST_BYTE_TIMEOUT),
    ],
    ids=["reset", "silence", "slow"],
)
def test_failures_have_the_same_names(world, traits, outcome):
    async def talk(connection):
        result = await connection.exchange(ask("/"))
        assert not connection.is_reusable
        return result

    assert play(world, talk, **traits).outcome is outcome


def test_a_server_that_refuses(world):
    async def talk(connection):
        return connection

    assert play(world, talk, refuses=True).outcome is Outcome.REFUSED


def test_errors_and_refusals_are_responses(world):
    async def talk(connection):
        return [(await connection.exchange(ask("/"))).status for _ in range(3)]

    assert play(world, talk, errors=1.0) == [500] * 3
    assert play(world, talk, meter=Meter(requests=2)) == [200, 200, 429]


def test_a_server_closes_a_connection_that_idles(world):
    async def talk(connection):
        await connection.exchange(ask("/"))
        kept = connection.is_reusable
        for _ in range(1_000):
            if not connection.is_reusable:
                break
            await asyncio.sleep(0.01)
        return kept, connection.is_reusable

    assert play(world, talk, keep_alive=0.1) == (True, False)


def test_a_request_that_is_cancelled_closes_the_connection(world):
    async def talk(connection):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await connection.exchange(ask("/"))
        return connection.is_reusable

    assert play(world, talk, service_time=0.9) is False
