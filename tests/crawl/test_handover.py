"""Logs that are read, and written anew. How servers come and go is seen in the simulator."""

import asyncio
from types import SimpleNamespace

import pytest

from andante.cluster.exchange import (
    BuriedError,
    ClusterError,
    Entry,
    Grant,
    Links,
    Mail,
    Marked,
    Rewrite,
)
from andante.cluster.outbox import Kept, Outbox
from andante.cluster.packing import pack
from andante.crawl.handover import Handover
from andante.frontier.block import Link

KEY = "http://x.example"
ENTRY = pack([Link("/new", 1)], b"\5")
ME, OTHER = 1, 2


@pytest.fixture
def handover():
    """With a server all of whose URLs have ended; its log is about to be written anew."""
    frontier = SimpleNamespace(
        servers={KEY: SimpleNamespace(key=KEY, queued=0)},
        waiting=lambda *_, **__: [],
        admit=lambda *_: None,
    )
    handover = Handover(SimpleNamespace(), frontier, Outbox(), None)
    assert handover.rewritten({KEY: bytearray(8)}) == [Rewrite(KEY, [])]
    assert not handover.has_grown(KEY)
    return handover


def test_links_that_another_node_found_meanwhile_are_not_in_it(handover):
    handover.mail([Mail(KEY, 3, [Entry(OTHER, entry=ENTRY)])], ME)
    assert handover.has_grown(KEY)
    assert not handover.has_grown("http://y.example")


def test_nor_are_links_that_the_store_has_heard_of_meanwhile(handover):
    kept = Kept(1, Links(KEY, b"12345678", ENTRY))
    handover.marked(kept, Marked(ME, b"\1", 4), ME)
    assert handover.has_grown(KEY)


def test_they_are_in_the_next_one(handover):
    handover.mail([Mail(KEY, 3, [Entry(OTHER, entry=ENTRY)])], ME)
    handover.rewritten({})
    assert not handover.has_grown(KEY)


def test_a_log_of_which_more_waits_than_a_report_takes_is_not_written_anew(handover):
    """Redis would stand still for as long as it takes: half a second for 100,000 URLs, 5 s for a million."""
    handover._frontier.servers[KEY].queued = 5_001
    assert handover.rewritten({KEY: bytearray(8 * 10_000)}) == []
    handover._frontier.servers[KEY].queued = 5_000
    assert handover.rewritten({KEY: bytearray(8)}) == [Rewrite(KEY, [])]


# Logs that are read


class Logs:
    """A store that gives the logs of servers, an answer for each question; it notes how many ask at once."""

    def __init__(self, answer):
        self._answer = answer
        self._asking = self.most = 0

    async def entries(self, server, start, count):
        self._asking += 1
        self.most = max(self.most, self._asking)
        await asyncio.sleep(0)
        self._asking -= 1
        return self._answer()


def opened(answer, servers=1):
    """Let a node read the logs of servers that it was granted; return how that went."""
    logs = Logs(answer)

    async def main():
        state = SimpleNamespace(settings=SimpleNamespace(heartbeat=0.0), wake=lambda: None)
        handover = Handover(state, SimpleNamespace(servers={}), Outbox(), logs)
        handover._arrive = lambda *_: None
        handover.open([Grant(f"http://{n}.example", 1, b"", 0.0) for n in range(servers)])
        while handover._tasks:
            await asyncio.sleep(0)
        return handover

    return asyncio.run(main()), logs


def test_a_thousand_servers_do_not_take_a_thousand_connections_to_the_store():
    """The heart-beat needs one, too: redis-py gives a hundred, and then none."""
    handover, logs = opened(list, servers=1_000)
    assert logs.most <= 8
    assert not handover.is_busy


def test_a_log_that_makes_no_sense_ends_the_crawl_and_is_not_just_never_crawled():
    handover, _ = opened(lambda: [Entry(OTHER, entry=b"\2of another version")])
    assert isinstance(handover.failure, ClusterError)
    assert "what the store has of http://0.example cannot be read" in str(handover.failure)
    handover._frontier.servers[KEY] = None
    with pytest.raises(ClusterError, match="an entry of another version"):
        handover.mail([Mail(KEY, 0, [Entry(OTHER, entry=b"\2")])], ME)


def test_a_log_that_a_buried_node_reads_is_none_of_its_business():
    def bury():
        raise BuriedError

    handover, _ = opened(bury)
    assert handover.failure is None
