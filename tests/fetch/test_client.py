from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import socket
import ssl

import pytest
import uvloop

from andante.fetch import (
    Client,
    Connection,
    Failure,
    Limits,
    Outcome,
    RequestTemplate,
    Response,
    client,
)
from support import hostile

REQUEST = RequestTemplate(user_agent="test").render("http://localhost", "/")
LIMITS = Limits(connect_timeout=0.6, first_byte_timeout=2, idle_timeout=2)


class Fixed:
    """A resolver with one answer."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)

    async def resolve(self, host: str, port: int):
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, float):
            await asyncio.sleep(answer)
        return answer

    async def close(self) -> None:
        pass


def make(*answers, **options) -> Client:
    resolver = Fixed(*answers) if answers else None
    return Client(LIMITS, resolver=resolver, **{"allow_private": True, **options})


def run(main) -> None:
    """Run a test on the loop that is used, and see that nothing was left open."""
    uvloop.run(main())
    gc.collect()


def failed(result: Connection | Failure, outcome: Outcome) -> str:
    assert isinstance(result, Failure), result
    assert result.outcome is outcome, result
    return result.detail


@contextlib.contextmanager
def deaf(host: str = "127.0.0.1"):
    """A port that takes no more connections and does not refuse any: packets to it are dropped."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((host, 0))
        listener.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


# Connecting


def test_a_connection_tells_where_it_is():
    async def main() -> None:
        async with hostile.serving("fine") as port:
            connection = await make().open("localhost", port, tls=False)
            assert isinstance(connection, Connection)
            assert connection.address == "127.0.0.1"
            assert connection.connect_time > 0
            assert connection.tls_time == 0
            assert "127.0.0.1" in repr(connection)
            response = await connection.exchange(REQUEST)
            assert isinstance(response, Response)
            assert response.payload == hostile.PAGE
            connection.close()

    run(main)


def test_refused():
    async def main() -> None:
        with hostile.closed_port() as port:
            failed(await make().open("127.0.0.1", port, tls=False), Outcome.REFUSED)

    run(main)


def test_no_answer():
    async def main() -> None:
        with deaf() as port:
            failed(await make().open("127.0.0.1", port, tls=False), Outcome.CONNECT_TIMEOUT)

    run(main)


def test_no_way_to_an_address():
    async def main() -> None:
        failed(
            await make(["255.255.255.255"]).open("a.example", 80, tls=False), Outcome.UNREACHABLE
        )

    run(main)


def test_no_address():
    async def main() -> None:
        failure = Failure(Outcome.NO_SUCH_HOST, "why")
        assert await make(failure).open("a.example", 80, tls=False) == failure

    run(main)


def test_overrides_lead_elsewhere():
    async def main() -> None:
        async with hostile.serving("fine") as port:
            opener = make(resolve=[f"a.example:{port}:127.0.0.1"])
            connection = await opener.open("a.example", port, tls=False)
            assert isinstance(connection, Connection)
            connection.close()
            await opener.close()

    run(main)


@pytest.mark.parametrize(
    "addresses", [["127.0.0.2", "127.0.0.1"], ["::1", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"]]
)
def test_the_next_address_is_tried_when_one_refuses(addresses):
    async def main() -> None:
        async with hostile.serving("fine") as port:
            connection = await make(addresses).open("a.example", port, tls=False)
            assert isinstance(connection, Connection)
            assert connection.address == "127.0.0.1"
            connection.close()

    run(main)


def test_the_first_address_that_answers_is_taken():
    async def main() -> None:
        async with hostile.serving("fine") as port:
            other = await asyncio.start_server(lambda _, w: w.close(), "127.0.0.2", port)
            async with other:
                for addresses in (["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"]):
                    connection = await make(addresses).open("a.example", port, tls=False)
                    assert isinstance(connection, Connection)
                    assert connection.address == addresses[0]
                    connection.close()

    run(main)


def test_the_next_address_is_tried_while_one_hangs():
    async def main() -> None:
        with deaf("127.0.0.3") as port:
            listener = await asyncio.start_server(lambda _, w: w.close(), "127.0.0.1", port)
            async with listener:
                connection = await make(["127.0.0.3", "127.0.0.1"]).open(
                    "a.example", port, tls=False
                )
                assert isinstance(connection, Connection)
                assert connection.address == "127.0.0.1"
                connection.close()

    run(main)


def test_when_all_refuse_the_first_ones_error_counts():
    async def main() -> None:
        with hostile.closed_port() as port:
            addresses = ["127.0.0.1", "255.255.255.255", "127.0.0.2"]
            failed(await make(addresses).open("a.example", port, tls=False), Outcome.REFUSED)

    run(main)


def test_families_take_turns():
    order = client._interleaved(["::1", "::2", "::3", "127.0.0.1", "127.0.0.2"])
    assert order == ["::1", "127.0.0.1", "::2", "127.0.0.2", "::3"]
    assert client._interleaved(["127.0.0.1", "::1"]) == ["127.0.0.1", "::1"]


# The guard


def test_addresses_that_are_not_public_are_refused_before_connecting():
    async def main() -> None:
        async with hostile.serving("fine") as port:
            for host, answers in (
                ("localhost", ()),
                ("127.0.0.1", ()),
                ("a.example", (["127.0.0.1", "::1"],)),
            ):
                opener = make(*answers, allow_private=False)
                detail = failed(await opener.open(host, port, tls=False), Outcome.FORBIDDEN_ADDRESS)
                assert "127.0.0.1" in detail

    run(main)


def test_a_seed_may_be_there_and_nobody_else():
    async def main() -> None:
        async with hostile.serving("fine") as port:
            opener = make(allow_private=False)
            opener.trust({"localhost": None})
            connection = await opener.open("localhost", port, tls=False)
            assert isinstance(connection, Connection)
            connection.close()
            failed(await opener.open("other.localhost", port, tls=False), Outcome.FORBIDDEN_ADDRESS)

    run(main)


def test_the_peer_of_the_connection_is_looked_at_again(monkeypatch):
    async def main() -> None:
        async with hostile.serving("fine") as port:
            opener = make(["1.1.1.1"], allow_private=False)

            async def elsewhere(addresses, port):
                assert addresses == ["1.1.1.1"]
                return await connect(["127.0.0.1"], port)

            connect = client._connect_any
            monkeypatch.setattr(client, "_connect_any", elsewhere)
            failed(await opener.open("a.example", port, tls=False), Outcome.FORBIDDEN_ADDRESS)

    run(main)


# TLS


@pytest.fixture(scope="module")
def certificates():
    return hostile.Certificates()


@pytest.fixture(scope="module")
def ca_file(certificates, tmp_path_factory):
    return certificates.ca_file(tmp_path_factory.mktemp("ca"))


def test_tls(certificates, ca_file):
    async def main() -> None:
        async with hostile.serving("fine", tls=certificates.good) as port:
            for host in ("localhost", "127.0.0.1"):
                connection = await make(ca_file=ca_file).open(host, port, tls=True)
                assert isinstance(connection, Connection), connection
                assert connection.tls_time > 0
                for _ in range(3):
                    response = await connection.exchange(REQUEST)
                    assert isinstance(response, Response)
                    assert response.payload == hostile.PAGE
                connection.close()
                await asyncio.sleep(0.01)

    run(main)


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        ("expired", "certificate has expired"),
        ("wrong_host", "Hostname mismatch, certificate is not valid for 'localhost'"),
        ("unknown_issuer", "unable to get local issuer certificate"),
        ("self_signed", "self-signed certificate"),
    ],
)
def test_tls_that_cannot_be_trusted(certificates, ca_file, kind, detail):
    async def main() -> None:
        async with hostile.serving("fine", tls=getattr(certificates, kind)) as port:
            assert detail in failed(
                await make(ca_file=ca_file).open("localhost", port, tls=True), Outcome.TLS
            )

    run(main)


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "version"),
        (
            b"\x15\x03\x01\x00\x02\x02\x46",
            "protocol version",
        ),  # the alert of a server that is too old
        (b"\x15\x03\x01\x00\x02\x02\x28", "handshake failure"),
    ],
)
def test_tls_without_a_common_language(said, detail):
    async def main() -> None:
        async def answer(_, writer) -> None:
            writer.write(said)
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            assert detail in failed(await make().open("localhost", port, tls=True), Outcome.TLS)

    run(main)


def test_a_handshake_that_never_ends():
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            detail = failed(await make().open("127.0.0.1", port, tls=True), Outcome.CONNECT_TIMEOUT)
            assert "TLS" in detail

    run(main)


@pytest.mark.parametrize("how", ["closed", "reset"])
def test_a_handshake_that_is_broken_off(how):
    async def main() -> None:
        async def answer(_, writer) -> None:
            if how == "reset":
                hostile._reset(writer)
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            detail = failed(await make().open("127.0.0.1", port, tls=True), Outcome.RESET)
            assert "TLS" in detail

    run(main)


@pytest.mark.parametrize("politely", [True, False])
def test_a_body_until_the_end_over_tls(certificates, ca_file, politely):
    """Many servers end without a farewell of TLS; what the body was cannot be told then, and is taken as whole."""

    async def act(writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n<p>all")
        await writer.drain()
        if politely:
            writer.close()
        else:
            writer.transport.abort()

    async def main() -> None:
        async with hostile.serving(act, tls=certificates.good) as port:
            connection = await make(ca_file=ca_file).open("localhost", port, tls=True)
            assert isinstance(connection, Connection)
            response = await connection.exchange(REQUEST)
            assert isinstance(response, Response), response
            assert response.payload == b"<p>all"
            connection.close()

    run(main)


def test_a_ca_file_without_certificates_is_refused(tmp_path):
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    with pytest.raises(ssl.SSLError):
        Client(ca_file=empty)
    with pytest.raises(OSError, match="No such file"):
        Client(ca_file=tmp_path / "missing.pem")


# Cancellation


@pytest.mark.parametrize(
    "phase", ["resolving", "connecting", "connecting to one of many", "shaking hands"]
)
def test_cancelling_leaves_nothing_open(phase):
    async def main() -> None:
        with contextlib.ExitStack() as stack:
            if phase == "shaking hands":
                port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            else:
                port = stack.enter_context(deaf())
            answer = {"resolving": 10.0, "connecting to one of many": ["127.0.0.1", "127.0.0.1"]}
            opener = make(answer.get(phase, ["127.0.0.1"]))
            before = open_sockets()
            opening = asyncio.create_task(opener.open("a.example", port, tls=True))
            await asyncio.sleep(0.05)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            await asyncio.sleep(0.01)
            assert open_sockets() == before

    run(main)


def live_sockets() -> list[socket.socket]:
    gc.collect()
    return [
        thing
        for thing in gc.get_objects()
        if isinstance(thing, socket.socket) and thing.fileno() >= 0
    ]


def open_sockets() -> int:
    return len(live_sockets())


def test_an_attempt_that_comes_too_late_is_closed(monkeypatch):
    monkeypatch.setattr(client, "_STAGGER", 0)

    async def main() -> None:
        async with hostile.serving("fine") as port:
            raw = await client._connect_any(["127.0.0.1", "127.0.0.1", "127.0.0.1"], port)
            await asyncio.sleep(0.05)
            assert [thing for thing in live_sockets() if _goes_to(thing, port)] == [raw]
            raw.close()

    run(main)


def _goes_to(thing: socket.socket, port: int) -> bool:
    try:
        return thing.getpeername() == ("127.0.0.1", port)
    except OSError:
        return False


def test_connections_are_measured_by_the_clock_that_is_given():
    times = itertools.count(100.0, 0.5)

    async def main() -> None:
        async with hostile.serving("fine") as port:
            client = Client(LIMITS, resolver=Fixed(["127.0.0.1"]), clock=lambda: next(times))
            client.trust({"localhost": None})
            connection = await client.open("localhost", port, tls=False)
            assert connection.connect_time == 0.5
            response = await connection.exchange(REQUEST)
            assert response.sent_at > 100.0
            assert response.total % 0.5 == 0.0
            connection.close()
            await client.close()

    run(main)
