"""The ZooKeeper that the tests use."""

import subprocess
import sys
import time

from kazoo.client import KazooClient

from services.process import wait_until
from services.zookeeper import zookeeper


def test_a_test_has_a_root_of_its_own(zookeeper_hosts, running_zookeeper):
    client = KazooClient(zookeeper_hosts)
    client.start()
    client.create("/node", b"data")
    assert client.get_children("/") == ["node"]
    client.stop()
    client.close()
    assert zookeeper_hosts.startswith(running_zookeeper.hosts + "/test-")


def test_a_dead_session_is_seen_within_its_time_and_a_tick(running_zookeeper):
    watcher = running_zookeeper.client("/sessions")
    lines = f"from kazoo.client import KazooClient as K; k = K({running_zookeeper.hosts + '/sessions'!r}, timeout=1.0); k.start(); k.create('/node', ephemeral=True); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", lines], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as dying:
        dying.stdout.readline()
        assert watcher.exists("/node")
        dying.kill()
    began = time.monotonic()
    wait_until(lambda: not watcher.exists("/node"), 10.0)
    assert time.monotonic() - began > 0.2
    watcher.stop()
    watcher.close()


def test_a_session_outlives_a_restart():
    with zookeeper() as server:
        client = server.client("/crawl", timeout=10.0)
        client.create("/node", b"data", ephemeral=True)
        session = client.client_id
        server.restart()
        wait_until(lambda: client.connected)
        assert client.client_id == session
        assert client.get("/node")[0] == b"data"
        server.pause()
        assert not server.is_ready()
        server.resume()
        wait_until(server.is_ready)
        client.stop()
        client.close()
