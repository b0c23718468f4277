"""Members at a real ZooKeeper: what is in it, and what befalls clients and server."""

import asyncio
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

import pytest
from kazoo.security import make_acl

from andante.cluster.exchange import ClusterError, UnreachableError
from andante.cluster.zookeeper import Address, ZooKeeper
from services.process import wait_until
from services.tls import Tls
from services.zookeeper import TICK, zookeeper

CHILD = """
import asyncio, sys
from andante.cluster.exchange import UnreachableError
from andante.cluster.zookeeper import ZooKeeper

async def main():
    members = await ZooKeeper.connect(sys.argv[1], "crawl", session=1.0)
    await members.enter(7, "child")
    while True:
        try:
            await members.confirm()
            print("confirmed", flush=True)
        except UnreachableError:
            print("unreachable", flush=True)
        await asyncio.sleep(0.1)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def server():
    with zookeeper() as server:
        yield server


roots = count()


@pytest.fixture
def root(server):
    """An address with a path of this test's own."""
    return f"{server.hosts}/test/{next(roots)}"


@pytest.fixture
def observer(server, root):
    """kazoo, which sees what is there."""
    client = server.client()
    client.ensure_path("/" + root.partition("/")[2])
    client.chroot = "/" + root.partition("/")[2]
    yield client
    client.stop()
    client.close()


@pytest.fixture
def child(root):
    """Another process that has entered as 7, and confirms ten times a second."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, root],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PYTHONPATH": str(Path(sys.modules[ZooKeeper.__module__].__file__).parents[2])},
    ) as process:
        yield process
        process.kill()


def lines_until(child, word):
    """Read what the child prints, which is nothing but whether it is confirmed, until it says so."""
    for line in child.stdout:
        assert line in {"confirmed\n", "unreachable\n"}
        if line.strip() == word:
            return
    pytest.fail("it has ended")


async def confirm(members):
    """Confirm until that succeeds."""
    async with asyncio.timeout(20.0):
        while True:
            with suppress(UnreachableError):
                return await members.confirm()
            await asyncio.sleep(0.02)


async def disconnected(members):
    """Wait until it is known that the server does not answer, asking it."""
    async with asyncio.timeout(20.0):
        while members._client.connected:
            with suppress(UnreachableError):
                await members.confirm()
            await asyncio.sleep(0.02)


# What is in it


def test_the_node_is_ephemeral_and_has_the_name(root, observer):
    async def main():
        members = await ZooKeeper.connect(root, "a crawl")
        await members.enter(3, "näme")
        assert repr(members) == f"<ZooKeeper {root}/andante/a%20crawl/nodes, CONNECTED>"
        data, stat = observer.get("/andante/a%20crawl/nodes/3")
        assert data.decode() == "näme"
        assert stat.ephemeralOwner == members._client.session_id
        version = stat.version
        await members.confirm()
        assert observer.exists("/andante/a%20crawl/nodes/3").version == version + 1
        observer.create("/andante/a%20crawl/nodes/readme")
        assert await members.present() == {3}
        await members.close()
        assert observer.get_children("/andante/a%20crawl/nodes") == ["readme"]

    asyncio.run(main())


def test_the_time_is_as_granted(root):
    async def main():
        granted = []
        for asked in (0.9, 1.5, 600.0):  # the test's server grants from 1 s to 60 s
            members = await ZooKeeper.connect(root, "crawl", session=asked)
            granted.append(members.ttl)
            await members.close()
        return granted

    assert asyncio.run(main()) == [1.0, 1.5, 60.0]


def test_a_node_of_an_earlier_session_is_replaced(root, observer):
    """It would go with that session, whatever was written to it."""

    async def main():
        members = await ZooKeeper.connect(root, "crawl")
        observer.create("/andante/crawl/nodes/3", ephemeral=True)
        await members.enter(3, "name")
        owner = observer.exists("/andante/crawl/nodes/3").ephemeralOwner
        assert owner == members._client.session_id
        await members.close()

    asyncio.run(main())


def test_all_data_lost(root, observer):
    async def main():
        members = await ZooKeeper.connect(root, "crawl")
        await members.enter(3, "name")
        observer.delete("/andante", recursive=True)
        assert await members.present() == frozenset()
        await members.confirm()
        assert await members.present() == {3}
        await members.close()

    asyncio.run(main())


# Who may


def test_user_and_password(root):
    mine, theirs = f"me:p%40ss%2Fw@{root}", f"me:wrong@{root}"

    async def main():
        one, two = await ZooKeeper.connect(mine, "crawl"), await ZooKeeper.connect(mine, "crawl")
        await one.enter(1, "one")
        assert await two.present() == {1}
        for address in (theirs, root):
            with pytest.raises(ClusterError, match="refuses access") as caught:
                await ZooKeeper.connect(address, "other")
            assert "wrong" not in str(caught.value)
        await one.close()
        await two.close()

    asyncio.run(main())


def test_access_that_is_taken_away(root, observer):
    async def main():
        members = await ZooKeeper.connect(root, "crawl")
        await members.enter(1, "one")
        observer.set_acls("/andante/crawl/nodes", [make_acl("world", "anyone", read=True)])
        observer.set_acls("/andante/crawl/nodes/1", [make_acl("world", "anyone", read=True)])
        assert await members.present() == {1}
        with pytest.raises(ClusterError, match=r"refuses access to /test/.*/andante/crawl/nodes"):
            await members.confirm()
        await members.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("host", ("host", "", "")),
        (" h1:2181,h2:2182 ", ("h1:2181,h2:2182", "", "")),
        ("h1,[::1]:2181/a//b/", ("h1,[::1]:2181", "/a/b", "")),
        ("me:secret@h1,h2/a", ("h1,h2", "/a", "me:secret")),
        ("m%3Ae:s%40%2F:@h", ("h", "", "m:e:s@/:")),
        ("tls://me:secret@h:1/a", ("h:1", "/a", "me:secret", {})),
        ("tls://h:1?ssl_ca_certs=/a/ca.pem", ("h:1", "", "", {"ssl_ca_certs": "/a/ca.pem"})),
        (
            "tls://h?ssl_certfile=c.pem&ssl_keyfile=k%26.pem",
            ("h", "", "", {"ssl_certfile": "c.pem", "ssl_keyfile": "k&.pem"}),
        ),
    ],
)
def test_addresses(text, parts):
    assert Address.parse(text) == (*parts, None)[:4]


@pytest.mark.parametrize(
    "text",
    ["", "/", "host:port", "host:99999", ",", "h1,,h2", "me@host", ":secret@host", "@", "h/../a",
     "me:sec/ret@host", "me:secret@", "me:secret@host:port", "tls://", "tls://me:secret@h?ca=f",
     "tls://me:secret@h?ssl_keyfile", "zk://me:secret@host"],
)  # fmt: skip
def test_addresses_that_are_none(text):
    with pytest.raises(ClusterError, match=r"must be \[USER:PASSWORD@\]HOST:PORT") as caught:
        Address.parse(text)
    assert "sec" not in str(caught.value)
    assert "\n" not in str(caught.value)


# TLS


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return Tls.make(tmp_path_factory.mktemp("tls"), "127.0.0.1")


@pytest.fixture(scope="module")
def secure(tls):
    with zookeeper(tls=tls) as server:
        yield server


def tls_address(server, **files):
    """Return the address by which a server is spoken to by TLS."""
    return f"tls://me:secret@{server.secure_hosts}/test?{urlencode(files)}"


def test_by_tls_with_a_certificate_and_a_password(secure, tls):
    files = {"ssl_ca_certs": tls.ca_file, "ssl_certfile": tls.certificate, "ssl_keyfile": tls.key}

    async def main():
        members = await ZooKeeper.connect(tls_address(secure, **files), "crawl", session=1.0)
        await members.enter(7, "a" * 100_000)
        for _ in range(20):  # longer than the session
            await members.confirm()
            await asyncio.sleep(0.1)
        assert await members.present() == {7}
        secure.restart()
        await confirm(members)
        assert await members.present() == {7}
        await members.close()

    asyncio.run(main())


def test_a_server_that_is_not_trusted(secure, tls, tmp_path):
    other = Tls.make(tmp_path, "127.0.0.1")

    async def reason(**files):
        with pytest.raises(ClusterError) as caught:
            await ZooKeeper.connect(tls_address(secure, **files), "crawl", patience=1.0)
        assert "secret" not in str(caught.value)
        return str(caught.value)

    assert "certificate verify failed" in asyncio.run(reason())
    assert "certificate verify failed" in asyncio.run(reason(ssl_ca_certs=other.ca_file))
    assert "file for TLS" in asyncio.run(reason(ssl_ca_certs="nowhere.pem"))
    assert "file for TLS" in asyncio.run(reason(ssl_certfile=tls.ca_file))


def test_a_server_with_the_name_of_another(tmp_path):
    tls = Tls.make(tmp_path, "another.example")

    async def main(server):
        address = tls_address(server, ssl_ca_certs=tls.ca_file)
        with pytest.raises(ClusterError, match="IP address mismatch"):
            await ZooKeeper.connect(address, "crawl", patience=1.0)

    with zookeeper(tls=tls) as server:
        asyncio.run(main(server))


# Who does not answer at the start


def answering(reply):
    """Return a server that gives each client an answer, and ends with its socket."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                with client:
                    client.recv(100)
                    client.sendall(reply)

    threading.Thread(target=serve, daemon=True).start()
    return server


@pytest.mark.parametrize("reply", [b"", b"-ERR unknown command\r\n", b"\0\0\0\1?", b"\0\0\0\0"])
def test_what_is_no_zookeeper(reply):
    async def main():
        with answering(reply) as server:
            address = f"me:secret@127.0.0.1:{server.getsockname()[1]}"
            with pytest.raises(ClusterError) as caught:
                await ZooKeeper.connect(address, "crawl", patience=0.3)
            server.shutdown(socket.SHUT_RDWR)
        return str(caught.value)

    message = asyncio.run(main())
    assert message.startswith("ZooKeeper does not answer at 127.0.0.1:")
    assert message.endswith(" (0.3 s)")


def test_nobody_there_and_no_such_name():
    async def main():
        with closing(socket.create_server(("127.0.0.1", 0))) as gone:
            port = gone.getsockname()[1]
        for hosts in (f"127.0.0.1:{port}", "no-such-host.invalid"):
            with pytest.raises(ClusterError, match=f"does not answer at {hosts}"):
                await ZooKeeper.connect(hosts, "crawl", patience=0.3)

    asyncio.run(main())


def test_one_of_an_ensemble_is_enough(server, monkeypatch):
    """Of the others one refuses, one takes no connection, and one takes it and is silent."""

    async def main():
        with (
            socket.create_server(("127.0.0.1", 0), backlog=0) as full,
            closing(socket.create_connection(full.getsockname())),
            socket.create_server(("127.0.0.1", 0)) as silent,
        ):
            with closing(socket.create_server(("127.0.0.1", 0))) as gone:
                refusing = gone.getsockname()
            others = [
                f"127.0.0.1:{port}"
                for _, port in (refusing, full.getsockname(), silent.getsockname())
            ]
            hosts = ",".join([*others, server.hosts])
            members = await ZooKeeper.connect(hosts, "crawl", session=40.0, patience=9.0)
            await members.enter(1, "one")
            await members.close()

    monkeypatch.setattr("kazoo.protocol.connection.random.shuffle", lambda hosts: None)
    asyncio.run(main())


# What befalls a node


def test_a_killed_node_is_gone_when_its_time_is_over(child, observer):
    lines_until(child, "confirmed")
    child.kill()
    wait_until(lambda: not observer.exists("/andante/crawl/nodes/7"), 20 * (1.0 + TICK))


def test_a_node_whose_loop_hangs_is_gone_though_its_threads_live(root, observer):
    async def main():
        members = await ZooKeeper.connect(root, "crawl", session=1.0)
        with suppress(UnreachableError):  # a second may be too short for a busy machine
            await members.enter(1, "one")
        await confirm(members)
        wait_until(lambda: not observer.exists("/andante/crawl/nodes/1"))  # this blocks the loop
        await confirm(members)
        assert await members.present() == {1}
        await members.close()

    asyncio.run(main())


def test_a_node_that_was_stopped_is_gone_and_comes_back(child, observer):
    lines_until(child, "confirmed")
    before = observer.exists("/andante/crawl/nodes/7").ephemeralOwner
    child.send_signal(signal.SIGSTOP)
    wait_until(lambda: not observer.exists("/andante/crawl/nodes/7"), 20 * (1.0 + TICK))
    child.send_signal(signal.SIGCONT)
    lines_until(child, "unreachable")
    lines_until(child, "confirmed")
    assert observer.exists("/andante/crawl/nodes/7").ephemeralOwner != before


# What befalls the server


def test_sessions_outlive_a_restart_and_the_client_comes_back():
    async def main():
        with zookeeper() as server:
            members = await ZooKeeper.connect(server.hosts, "crawl")
            await members.enter(1, "one")
            session = members._client.session_id
            server.kill()
            await disconnected(members)
            for ask in (members.confirm, members.present, members.leave):
                with pytest.raises(UnreachableError):
                    await ask()
            with pytest.raises(UnreachableError):
                await members.enter(1, "one")
            await asyncio.to_thread(server.start)
            await confirm(members)
            assert members._client.session_id == session
            assert await members.present() == {1}
            await members.close()

    asyncio.run(main())


def test_a_server_that_hangs_blocks_nobody():
    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        with zookeeper() as server:
            members = await ZooKeeper.connect(server.hosts, "crawl", session=2.0)
            await members.enter(1, "one")
            ticking = asyncio.create_task(tick())
            server.pause()
            with pytest.raises(UnreachableError):
                await members.confirm()
            assert ticks > 10
            await disconnected(members)
            for _ in range(100):
                with pytest.raises(UnreachableError):
                    await members.confirm()
            assert len(members._client._queue) + len(members._client._pending) < 10
            server.resume()
            await confirm(members)
            assert await members.present() == {1}
            server.pause()
            ticks = 0
            await members.close()
            assert ticks > 10
            ticking.cancel()
            server.resume()

    asyncio.run(main())


def test_an_answer_that_makes_no_sense_is_survived(root):
    async def main():
        members = await ZooKeeper.connect(root, "crawl")
        await members.enter(1, "one")
        members._client._connection._xid += 1_000_000  # the next answer is not to what was asked
        members._client._pending.append((None, None, -7))
        with pytest.raises(UnreachableError):
            await members.confirm()
        await confirm(members)
        assert await members.present() == {1}
        await members.close()

    asyncio.run(main())


def test_nothing_is_printed_or_left_running(root, capfd):
    before = threading.active_count()

    async def main():
        members = await ZooKeeper.connect(root, "crawl")
        await members.enter(1, "one")
        await members.close()

    asyncio.run(main())
    wait_until(lambda: threading.active_count() <= before)
    assert capfd.readouterr() == ("", "")
