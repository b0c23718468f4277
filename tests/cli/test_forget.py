import time

import pytest
from kazoo.client import KazooClient

from andante.cli import main
from support.crawls import beat, crawl, two_nodes


def forget(*arguments):
    return main(["forget", *map(str, arguments)])


async def gone(join):
    """A node that has died: its lease is over."""
    await (await join("a")).report(beat=beat(lease=0.001))


def test_all_is_deleted_and_said(redis, capsys):
    async def left(join):
        await two_nodes(join)
        a, b = await join("c"), await join("d")
        await a.store.leave()
        await b.store.leave()

    crawl(redis.url, left)
    crawl(redis.url, gone, name="other")
    time.sleep(0.01)
    assert forget("--cluster", redis.url, "--crawl-name", "test", "--force") == 0
    said = "test is forgotten: 4 URLs known, of which 4 waited, on 3 servers\n"
    assert capsys.readouterr().out == said
    assert {key.split(b"{")[1][:5] for key in redis.control.scan_iter("andante:{*")} == {b"other"}
    assert forget("--cluster", redis.url) == 0, "there is but one"
    assert redis.control.dbsize() == 0


def test_nodes_at_work(redis, capsys):
    crawl(redis.url, two_nodes)
    before = redis.control.dbsize()
    assert forget("--cluster", redis.url) == 1
    said = capsys.readouterr().err
    assert said.startswith("andante: test is crawled by a (silent for ")
    assert said.endswith("): stop them first, or give --force\n")
    assert "b (silent for " in said
    assert redis.control.dbsize() == before


def test_a_node_that_has_just_come(redis, capsys):
    crawl(redis.url, lambda join: join("a"))
    assert forget("--cluster", redis.url) == 1
    assert "test is crawled by a (no beat yet): stop" in capsys.readouterr().err


def test_redis_in_cluster_mode(masters, capsys):
    crawl(masters.url, two_nodes)
    assert forget("--cluster", masters.url, "--force") == 0
    assert capsys.readouterr().out.endswith("on 3 servers\n")
    assert not any(server.control.dbsize() for server in masters.servers)


@pytest.fixture
def nodes(zookeeper_hosts):
    """A client of ZooKeeper, where another crawl is."""
    client = KazooClient(zookeeper_hosts)
    client.start()
    client.ensure_path("/andante/other/nodes")
    yield client
    client.stop()
    client.close()


def test_what_zookeeper_has(redis, zookeeper_hosts, nodes, capsys):
    own = ("--cluster", redis.url, "--zookeeper", zookeeper_hosts)
    crawl(redis.url, gone)
    time.sleep(0.01)
    nodes.create("/andante/test/nodes/1", b"a", ephemeral=True, makepath=True)
    assert forget(*own) == 1, "the node lives by ZooKeeper"
    assert "test is crawled by a (silent for" in capsys.readouterr().err
    nodes.delete("/andante/test/nodes/1")
    assert forget(*own) == 0
    assert nodes.get_children("/andante") == ["other"]
    assert redis.control.dbsize() == 0
    assert capsys.readouterr().out.endswith("on 0 servers; ZooKeeper has nothing of it any more\n")


def test_a_crawl_that_has_its_nodes_in_zookeeper_is_not_forgotten_without_it(
    redis, zookeeper_hosts, nodes, capsys
):
    """Else what is there would stay for ever, and nobody knew of it."""
    config = b'{"zookeeper":true}'

    async def judged(join):
        await (await join("a", config=config)).report(beat=beat(lease=0.001))

    crawl(redis.url, judged)
    time.sleep(0.01)
    nodes.ensure_path("/andante/test/nodes")
    own = ("--cluster", redis.url, "--crawl-name", "test")
    assert forget(*own) == 2
    said = "andante: test has its nodes in ZooKeeper, too: give --zookeeper HOSTS as they had it"
    assert capsys.readouterr().err.startswith(said)
    assert redis.control.dbsize()
    assert forget(*own, "--zookeeper", zookeeper_hosts) == 0
    assert nodes.get_children("/andante") == ["other"]
    assert redis.control.dbsize() == 0


def test_it_can_be_repeated(redis, zookeeper_hosts, nodes, capsys):
    """One that was cut off in the middle, or came without --zookeeper, leaves nothing that a second could not remove."""
    crawl(redis.url, gone)
    time.sleep(0.01)
    nodes.ensure_path("/andante/test/nodes")
    own = ("--cluster", redis.url, "--crawl-name", "test")
    assert forget(*own, "--force") == 0
    assert forget(*own) == 0
    assert capsys.readouterr().out.endswith("\nRedis has nothing of test\n")
    assert forget(*own, "--zookeeper", zookeeper_hosts) == 0
    said = "Redis has nothing of test; ZooKeeper has nothing of it any more\n"
    assert capsys.readouterr().out == said
    assert nodes.get_children("/andante") == ["other"]


def test_a_name_without_a_crawl_goes_too(redis, capsys):
    """As it may be left by one that was cut off at its very end."""
    redis.control.sadd("andante:crawls", "test")
    assert forget("--cluster", redis.url) == 0
    assert redis.control.dbsize() == 0


def test_what_zookeeper_has_by_force(redis, zookeeper_hosts, nodes):
    crawl(redis.url, two_nodes)
    nodes.create("/andante/test/nodes/1", b"a", ephemeral=True, makepath=True)
    assert forget("--cluster", redis.url, "--zookeeper", zookeeper_hosts, "--force") == 0
    assert nodes.get_children("/andante") == ["other"]


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("no answer from Redis at 127.0.0.1:1", ["--cluster", "redis://:hush@127.0.0.1:1/0"]),
        ("the URL of Redis must be like", ["--cluster", "http://127.0.0.1/"]),
        ("there is no crawl on this Redis", ["--cluster", "REDIS"]),
    ],
)
def test_nothing_to_forget(redis, capsys, said, arguments):
    assert forget(*(redis.url if each == "REDIS" else each for each in arguments)) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"andante: {said}")
    assert told.count("\n") == 1
    assert "hush" not in told


def test_several_crawls(redis, capsys):
    crawl(redis.url, gone, name="one")
    crawl(redis.url, gone, name="two")
    assert forget("--cluster", redis.url) == 2
    said = "andante: there are several crawls: give --crawl-name one or two\n"
    assert capsys.readouterr().err == said


def test_no_redis_named(capsys):
    with pytest.raises(SystemExit, match="2"):
        forget()
    assert "--cluster" in capsys.readouterr().err
