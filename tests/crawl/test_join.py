"""What a node needs of a cluster, from its settings."""

import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from andante.cluster.exchange import ClusterError, Node
from andante.crawl import Settings, SettingsError
from andante.crawl.join import clock, differing, join

SEEDS = ["https://docs.example.org/"]


def joined(hosts=("docs.example.org",), **settings):
    async def main():
        async with AsyncExitStack() as stack:
            given = Settings(cluster="redis://127.0.0.1:1/0", **settings)
            return await join(given, SEEDS, hosts, stack)

    return asyncio.run(main())


def test_the_owners_of_a_plan_are_read(tmp_path):
    path = tmp_path / "owners.json"
    path.write_text('{"small-1": ["https://a.example", "https://b.example"], "small-2": []}')
    cluster = joined(owners=path, node="small-2")
    assert cluster.owners == {"https://a.example": "small-1", "https://b.example": "small-1"}
    assert cluster.node == "small-2"


def test_the_node_that_is_to_have_a_server(tmp_path):
    path = tmp_path / "owners.json"
    servers = [f"https://{number}.example" for number in range(9)]
    path.write_text(json.dumps({"a": ["https://a.example"], "b-1": servers}))
    cluster = joined(owners=path)

    def planned(server, *names):
        nodes = [Node(epoch, name, 1, b"") for epoch, name in enumerate(names, 1)]
        return cluster.planned(server, nodes)

    assert planned("https://a.example", "b-1", "a") == 2
    assert planned("https://a.example", "b-1", "w1", "ab") is None
    assert planned("https://other.example", "b-1", "a") is None
    # Of the processes of a node each gets some.
    assert {planned(each, "a", "b-1-w1", "b-1-w2") for each in servers} == {2, 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "owners: cannot read .*: No such file or directory"),
        ("{", "owners: .* is not of the form"),
        ('{"a": "https://a.example"}', "owners: .* is not of the form"),
        ('["a"]', "owners: .* is not of the form"),
    ],
)
def test_owners_that_cannot_be_read(tmp_path, text, message):
    path = tmp_path / "owners.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match=message):
        joined(owners=path)


@pytest.mark.parametrize("name", ["a b", "", "a/b", "ü", "x" * 65])
def test_a_crawl_whose_name_is_none(name):
    with pytest.raises(ClusterError, match="cannot be the name of a crawl"):
        joined(crawl_name=name)


def test_what_must_be_the_same_for_all_nodes():
    same = joined(), joined(node="b", heartbeat=2.0, connections=7)
    assert same[0].config == same[1].config
    for other in (
        {"rate": 10.0},
        {"scope": "any"},
        {"max_pages": 3},
        {"policy": "capability"},
        {"per_ip": False},
        {"lease": 20.0},
    ):
        assert differing(joined(**other).config, same[0].config) == list(other)


def test_nor_may_one_node_have_a_judge_that_the_others_do_not_ask(monkeypatch):
    """It would be buried while that keeps its lease alive."""

    class Members:
        @classmethod
        async def connect(cls, *_, **__):
            return cls()

        async def close(self):
            pass

    monkeypatch.setattr("andante.cluster.zookeeper.ZooKeeper", Members)
    assert joined(zookeeper="zoo:2181").config != joined().config


def test_the_clock_of_a_lease_does_not_go_back():
    assert clock() <= clock()


def test_nodes_with_seeds_of_other_hosts_are_told_apart_unless_all_is_in_scope():
    """One drops what is in the other's scope only."""
    one, other = (joined(hosts).config for hosts in (["a.example"], ["a.example", "b.example"]))
    assert differing(one, other) == ["seeds"]
    assert one == joined(["a.example", "a.example"]).config
    assert joined(["a.example"], scope="any").config == joined(["b.example"], scope="any").config


def test_settings_in_the_store_that_no_node_has_written():
    assert differing(b"garbage", b"{}") == ["what the store has of them cannot be read"]
