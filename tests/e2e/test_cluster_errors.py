"""A cluster that cannot be joined: one clear line, exit status 1 or 2, and nothing changed in the store."""

import os
import subprocess
import sys

import pytest

from services.process import HERE
from services.redis import redis_server

URL = "http://127.0.0.1:9/"


def andante(*arguments, cwd, code=""):
    """Run the command, after some code in the same process; return exit status and what it said."""
    script = f"import sys\n{code}\nfrom andante.cli import main\nsys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"COLUMNS": "200"},
    )
    return done.returncode, done.stderr


def refused(status, message, *flags, cwd, code=""):
    """Check that a crawl is refused in one line."""
    got, said = andante("crawl", URL, "--job", "job", "--quiet", *flags, cwd=cwd, code=code)
    assert said.count("\n") == 1, said
    assert said.startswith("andante: ")
    assert message in said
    assert got == status
    return said


def data(server):
    """Return all that a Redis holds."""
    return {key: server.control.dump(key) for key in server.control.scan_iter()}


@pytest.mark.parametrize("url", ["localhost", "http://127.0.0.1/", "redis://", "redis://h:port/0"])
def test_no_url_of_a_redis(tmp_path, url):
    refused(1, "the URL of Redis must be like redis://", "--cluster", url, cwd=tmp_path)


def test_nobody_there(tmp_path):
    port = HERE.free_port()
    url = f"redis://user:secret@127.0.0.1:{port}/0"
    said = refused(1, f"no answer from Redis at 127.0.0.1:{port}", "--cluster", url, cwd=tmp_path)
    assert "secret" not in said


def test_a_wrong_password(tmp_path):
    with redis_server(password="open sesame") as server:
        for url in (
            server.url.replace("open%20sesame", "secret"),
            f"redis://127.0.0.1:{server.port}/0",
        ):
            said = refused(1, "refuses the login", "--cluster", url, cwd=tmp_path)
            assert "secret" not in said
        assert not data(server)


def test_one_that_drops_keys(tmp_path):
    with redis_server(maxmemory=10**8, policy="allkeys-lru") as server:
        refused(1, "set it to noeviction", "--cluster", server.url, cwd=tmp_path)
        assert not data(server)


def test_one_that_is_too_old(redis, tmp_path):
    code = (
        "from andante.cluster.redis import client\n"
        "client.Client._infos = lambda self, _: later()\n"
        "async def later(): return [{'redis_version': '5.0.14'}]"
    )
    refused(1, "is 5.0.14; 6.2 or newer is needed", "--cluster", redis.url, cwd=tmp_path, code=code)
    assert not data(redis)


def test_a_crawl_that_has_other_settings(redis, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    own = ("--cluster", redis.url, "--crawl-name", "docs", "--quiet", "--max-time", "1s")
    status, said = andante("crawl", URL, "--job", "job", "--node", "a", *own, cwd=first)
    assert status == 0, said
    before = data(redis)
    for which, *flags in (
        ("other settings: rate; give all its nodes the same", "--rate", "2/s"),
        ("other settings: max_depth, scope;", "--scope", "any", "--max-depth", "3"),
        ("another seen test", "--seen", "bloom"),
    ):
        message = f"the crawl has been started with {which}"
        refused(1, message, *own, "--node", "b", *flags, cwd=second)
        assert data(redis) == before


def test_two_nodes_of_one_name(redis, tmp_path):
    code = (
        "import os, signal\n"
        "from andante.crawl.peer import Peer\n"
        "Peer._speak = lambda self: os.kill(os.getpid(), signal.SIGKILL)"
    )
    own = ("--cluster", redis.url, "--node", "a", "--quiet")
    status, _ = andante("crawl", URL, "--job", "first", *own, cwd=tmp_path, code=code)
    assert status == -9
    before = data(redis)
    message = "there is a node 'a' in the crawl already, with another job: give this one another"
    refused(1, message, *own, cwd=tmp_path)
    assert data(redis) == before


@pytest.mark.slow
def test_no_zookeeper(redis, tmp_path):
    port = HERE.free_port()
    flags = ("--cluster", redis.url, "--zookeeper", f"127.0.0.1:{port}")
    refused(1, f"127.0.0.1:{port}", *flags, cwd=tmp_path)
    assert not data(redis)


def test_what_it_needs_is_not_installed(redis, tmp_path):
    code = "import sys; sys.modules['kazoo'] = sys.modules['kazoo.client'] = None"
    message = "; install it with: pip install 'kazoo>=2.11' 'redis>=7.1'"
    refused(1, message, "--cluster", redis.url, cwd=tmp_path, code=code)
    code = "import sys; sys.modules['redis'] = sys.modules['redis.asyncio'] = None"
    refused(1, message, "--cluster", redis.url, cwd=tmp_path, code=code)


@pytest.mark.parametrize("name", ["a b", "a/b", "{a}", "é", "", "x" * 65, "*"])
def test_no_name_of_a_crawl(redis, tmp_path, name):
    message = "cannot be the name of a crawl"
    refused(1, message, "--cluster", redis.url, "--crawl-name", name, cwd=tmp_path)
    assert not data(redis)


def test_a_lease_too_short_for_its_heartbeat(redis, tmp_path):
    flags = ("--cluster", redis.url, "--lease", "3s", "--heartbeat", "1s")
    refused(2, "lease: it must be 4 times the heartbeat, or more", *flags, cwd=tmp_path)
