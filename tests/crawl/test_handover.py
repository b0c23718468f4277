"""Logs that are read, and written anew. How servers come and go is seen in the simulator."""

import asyncio
from types import SimpleNamespace

import pytest

from andante import url as urls
from andante.cluster.exchange import (
    BuriedError,
    Entry,
    Give,
    Grant,
    Heard,
    Links,
    Mail,
    Marked,
    Rewrite,
)
from andante.cluster.outbox import Kept, Outbox
from andante.cluster.packing import pack
from andante.crawl import Settings
from andante.crawl.admission import Admission
from andante.crawl.handover import Handover
from andante.frontier.block import Link

KEY = "http://x.example"
ENTRY = pack([Link("/new", 1)], b"\5")
ME, OTHER = 1, 2


def a_state(events):
    return SimpleNamespace(
        settings=Settings(heartbeat=0.01, scope="any"),
        scope=urls.Scope("any"),
        seeds=[f"{KEY}/"],
        emit=events.append,
        wake=lambda: None,
        now=lambda: 0.0,
    )


def made(frontier, store=None):
    """Return a handover; the events that it emits are in its ``events``."""
    events = []
    state = a_state(events)
    made = Handover(state, frontier, Outbox(), store, Admission(state, None))
    made.events = events
    return made


@pytest.fixture
def handover():
    """With a server all of whose URLs have ended; its log is about to be written anew."""
    frontier = SimpleNamespace(
        servers={KEY: SimpleNamespace(key=KEY, queued=0)},
        waiting=lambda *_, **__: [],
        admit=lambda *_: None,
    )
    handover = made(frontier)
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


async def nothing_new():
    return True


def opened(answer, servers=1):
    """Let a node read the logs of servers that it was granted; return how that went."""
    logs = Logs(answer)

    async def main():
        handover = made(SimpleNamespace(servers={}), logs)
        handover._arrive = lambda *_: None
        handover._admission._listen = nothing_new
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


@pytest.mark.parametrize("entry", [b"\2of another version", b"", b"\1garbage"])
def test_what_makes_no_sense_in_a_log_is_dropped_and_the_log_written_anew(handover, entry):
    """Else who counts what waits would wait for that."""
    handover._frontier.servers[KEY].queued = 1
    handover.mail([Mail(KEY, 0, [Entry(OTHER, entry=entry or b"\0")])], ME)
    (event,) = handover.events
    assert event.event == "cluster.refused"
    assert f"{KEY}: an entry cannot be read" in event.detail
    rewritten = Rewrite(KEY, [])
    assert handover.rewritten({}) == [rewritten]
    handover.was_rewritten(rewritten, done=False)
    assert handover.rewritten({}) == [rewritten], "there was mail"
    handover.was_rewritten(rewritten, done=True)
    assert handover.rewritten({}) == []


def test_the_rest_of_a_log_is_read():
    handover, _ = opened(lambda: [Entry(OTHER, entry=b"\2"), Entry(OTHER, entry=ENTRY)])
    assert handover.failure is None
    assert not handover.is_busy


def test_what_is_no_server_goes_back_with_nothing_that_waits():
    handover = made(SimpleNamespace(servers={}))
    for key in (
        "ftp://x.example",
        "http://x.example/path",
        "",
        "ip x",
        "http://\udcff",
        "http://X",
    ):
        handover.open([Grant(key, 5, b"", 0.0)])
        parts = list(handover._outbox.report(b"").parts)
        assert [type(part) for part in parts] == [Heard, Rewrite, Give]
        assert parts[1:] == [Rewrite(key, []), Give(key)]
        handover._outbox.heard([None, True, True])
    assert not handover._tasks


def test_long_mail_is_read_a_piece_at_a_time(handover):
    time = [0.0]

    def tick():
        time[0] += 0.06
        return time[0]

    handover._state.now = tick
    other = "http://y.example"
    letters = [Mail(key, 0, [Entry(OTHER, entry=ENTRY)]) for key in (KEY, other)]
    handover.mail(letters * 2, ME)
    heard = [part.server for part in handover._outbox.report(b"").parts]
    assert heard == [KEY]


def test_a_log_that_a_buried_node_reads_is_none_of_its_business():
    def bury():
        raise BuriedError

    handover, _ = opened(bury)
    assert handover.failure is None
