"""Logs that are written anew. How servers come and go is seen in the simulator."""

from types import SimpleNamespace

import pytest

from andante.cluster.exchange import Entry, Links, Mail, Marked, Rewrite
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
