"""What tests of several folders share."""

from itertools import count

import pytest
from hypothesis import settings

from services.redis import redis_cluster, redis_server
from services.zookeeper import zookeeper
from support.demo import demo_web

_roots = count()

# The same examples each time: what fails, fails for everybody.
settings.register_profile("andante", derandomize=True)
settings.load_profile("andante")


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The demo web, for all tests that want it."""
    with demo_web(tmp_path_factory.mktemp("demo")) as web:
        yield web


@pytest.fixture(scope="session")
def running_redis():
    """One Redis for all tests; they take `redis`."""
    with redis_server() as server:
        yield server


@pytest.fixture
def redis(running_redis):
    """A Redis that is empty. A test that kills or changes it starts its own."""
    running_redis.control.flushall()
    running_redis.control.config_resetstat()
    return running_redis


@pytest.fixture(scope="session")
def running_masters():
    """One Redis in cluster mode for all tests, as it takes two seconds to come up; they take `masters`."""
    with redis_cluster() as joined:
        yield joined


@pytest.fixture
def masters(running_masters):
    """Three masters in cluster mode that are empty."""
    for server in running_masters.servers:
        server.control.flushall()
        server.control.config_resetstat()
    return running_masters


@pytest.fixture(scope="session")
def running_zookeeper():
    """One ZooKeeper for all tests; they take `zookeeper_hosts`, or give `client` a chroot of their own."""
    with zookeeper() as server:
        yield server


@pytest.fixture
def zookeeper_hosts(running_zookeeper):
    """What a client is told of ZooKeeper, with a root of this test's own that exists."""
    root = f"/test-{next(_roots)}"
    client = running_zookeeper.client(root)
    client.stop()
    client.close()
    return running_zookeeper.hosts + root
