"""Exact times of simulated connections."""

import asyncio

import pytest

from andante.fetch import Limits, Outcome
from andante.sim.clock import run
from andante.sim.machine import Machine, MachineTraits
from andante.sim.network import Network
from andante.sim.server import Server, Traits

BODY = bytes(10_000)
REQUEST = b"GET / HTTP/1.1\r\n\r\n"
HEAD = 82


def play(talk, *, machine=None, limits=None, tls=False, **traits):
    usual = {"rtt": 0.1, "connect_time": 0.3, "service_time": 0.5, "sigma": 0.0}
    server = Server(Traits(**{**usual, **traits}), lambda _: BODY)

    async def main():
        network = Network(lambda *_: server, limits, machine=machine)
        connection = await network.open("s", 443 if tls else 80, tls=tls)
        found = await talk(connection)
        if hasattr(connection, "close"):
            connection.close()
        await asyncio.sleep(0)
        return network, connection, found

    return run(main())


def now():
    return asyncio.get_running_loop().time()


async def one(connection):
    return await connection.exchange(REQUEST)


def test_a_response_takes_the_way_there_the_work_and_the_way_back():
    network, connection, response = play(one)
    assert connection.connect_time == 0.3
    assert response.sent_at == pytest.approx(0.3)
    assert response.first_byte == response.total == pytest.approx(0.6)
    assert response.lag == 0.0
    assert [(a.server, a.target, a.connection) for a in network.arrivals] == [("s:80", "/", 1)]
    assert network.arrivals[0].time == response.sent_at


def test_tls_takes_another_round_trip():
    _, connection, response = play(one, tls=True)
    assert connection.tls_time == 0.1
    assert response.sent_at == pytest.approx(0.4)


def test_the_first_byte_comes_before_the_last_where_the_line_is_slow():
    _, _, response = play(one, bandwidth=1_000.0)
    assert response.first_byte == pytest.approx(0.6)
    assert response.total == pytest.approx(0.6 + (HEAD + len(BODY)) / 1_000)
    assert response.payload == BODY


def test_a_response_that_takes_long_comes_in_pieces_so_that_it_is_not_silent():
    _, _, response = play(one, bandwidth=100.0, limits=Limits(idle_timeout=6.0))
    assert response.total == pytest.approx(0.6 + (HEAD + len(BODY)) / 100)
    assert response.payload == BODY


def test_pipelining_saves_the_way_but_not_the_work():
    async def three(connection):
        return await asyncio.gather(*(connection.exchange(REQUEST) for _ in range(3)))

    _, _, responses = play(three)
    assert [response.total for response in responses] == pytest.approx([0.6, 1.1, 1.6])


def test_connecting_may_take_too_long():
    async def talk(connection):
        return now()

    _, failure, time = play(talk, connect_time=9.0, limits=Limits(connect_timeout=2.0))
    assert failure.outcome is Outcome.CONNECT_TIMEOUT
    assert time == 2.0


def test_the_machine_works_on_one_page_after_another():
    machine = Machine(MachineTraits(cpu_per_page=1.0, cpu_per_open=2.0))

    async def three(connection):
        assert now() == pytest.approx(2.3)
        assert machine.connections == 1
        return await asyncio.gather(*(connection.exchange(REQUEST) for _ in range(3)))

    _, _, responses = play(three, machine=machine, service_time=0.0)
    assert [response.total for response in responses] == pytest.approx([1.1, 2.1, 3.1])
    assert machine.connections == 0
    assert machine.busy == 5.0


def test_a_connection_is_kept_while_a_response_is_under_way():
    async def talk(connection):
        before = await connection.exchange(REQUEST)
        await asyncio.sleep(0.9)
        after = await connection.exchange(REQUEST)
        await asyncio.sleep(1.1)
        return before.status, after.status, connection.is_reusable

    _, _, found = play(talk, service_time=5.0, keep_alive=1.0)
    assert found == (200, 200, False)


def test_requests_may_come_in_pieces_or_together():
    async def talk(connection):
        transport = connection._transport
        first = asyncio.ensure_future(connection.exchange(REQUEST[:5]))
        await asyncio.sleep(0)
        transport.write(REQUEST[5:])
        return await first

    network, _, response = play(talk)
    assert response.status == 200
    assert len(network.arrivals) == 1


def test_a_host_that_does_not_exist():
    async def main():
        network = Network(lambda *_: None)
        return await network.resolve("nowhere", 80), await network.open("nowhere", 80, tls=False)

    assert [failure.outcome for failure in run(main())] == [Outcome.NO_SUCH_HOST] * 2
