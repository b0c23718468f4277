"""The Redis that the tests use: ready, and as it was asked for, whatever is done to it."""

import os
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import pytest
from redis.exceptions import (
    AuthenticationError,
    ConnectionError,  # noqa: A004 (its name there)
    OutOfMemoryError,
    TimeoutError,  # noqa: A004
)

from services.process import wait_until
from services.redis import redis_server


def test_a_test_has_an_empty_redis(redis):
    with redis.client() as client:
        assert client.dbsize() == 0
        client.set("key", "value")
        assert redis.control.get("key") == b"value"


def test_what_others_left_is_gone(redis):
    with redis.client() as client:
        assert client.dbsize() == 0


def test_restart_with_and_without_its_data():
    with redis_server(appendonly=True) as server, server.client() as client:
        client.set("key", "value")
        server.restart()
        assert client.get("key") == b"value"
        server.restart(empty=True)
        assert client.get("key") is None


def test_password_and_tls():
    with redis_server(password="p:a/s@s", tls=True) as server:
        assert server.url.startswith("rediss://:p%3Aa%2Fs%40s@127.0.0.1:")
        with server.client() as client:
            assert client.ping()
        server.url = server.url.replace("p%3A", "wrong")
        with server.client() as client, pytest.raises(AuthenticationError):
            client.ping()


def test_full():
    with redis_server(maxmemory=2_000_000) as server, server.client() as client:
        with pytest.raises(OutOfMemoryError):
            deque(client.set(f"{number}", b"x" * 10_000) for number in range(1000))
        assert client.get("0")


def test_a_server_that_hangs_goes_on():
    with redis_server() as server, server.client(socket_timeout=0.05, retry=None) as client:
        assert client.ping()
        server.pause()
        with pytest.raises(TimeoutError):
            client.ping()
        server.resume()
        assert client.ping()


def test_killed_and_stopped():
    with redis_server() as server, server.client(retry=None) as client:
        server.kill()
        with pytest.raises(ConnectionError):
            client.ping()
        server.start()
        assert client.ping()
        server.stop()
        assert not Path(f"/proc/{server.pid}").exists()


def test_one_that_cannot_start_says_why():
    with pytest.raises(AssertionError, match="no-such-option"):
        redis_server(no_such_option="1").__enter__()


def test_masters_share_the_slots(masters):
    with masters.client() as client:
        for number in range(100):
            client.set(f"key{number}", number)
        assert client.get("key7") == b"7"
    shares = [server.control.dbsize() for server in masters.servers]
    assert sum(shares) == 100
    assert min(shares) > 10


def test_it_dies_with_a_test_that_is_killed(tmp_path):
    lines = "from services.redis import redis_server as r\nwith r() as s:\n print(s.pid, flush=True)\n input()"
    with subprocess.Popen(
        [sys.executable, "-c", lines],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as test:
        server = Path(f"/proc/{int(test.stdout.readline())}/stat")
        assert server.exists()
        test.kill()
    wait_until(lambda: not server.exists() or server.read_text().split()[2] == "Z")


def test_it_is_ready_soon():
    """Much more than it takes: 20 ms."""
    began = time.monotonic()
    with redis_server():
        assert time.monotonic() - began < 5.0
