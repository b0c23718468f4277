"""What a node says, and makes of the answers, besides what the simulator shows."""

import asyncio

import pytest

from andante.cluster.exchange import (
    BuriedError,
    Give,
    Links,
    LostError,
    Marked,
    Node,
    UnreachableError,
)
from andante.cluster.lease import HELD
from andante.cluster.memory import Memory, MemoryStore
from andante.cluster.outbox import Kept
from andante.crawl.cluster import Cluster
from andante.crawl.settings import Settings
from andante.crawl.start import engine, open_job
from andante.sim.clock import Inline, run

A, B = "http://a.example.org", "http://b.example.org"
MOVED = "https://www.example.org"
ME, OTHER = 1, 2


def made(memory, *, job=None, header=(), **options):
    """Return the engine of a node, in a running loop."""
    settings = Settings(heartbeat=0.1, lease=1.0, header=header)
    cluster = Cluster(store=MemoryStore(memory), node="a", **options)
    job = job or open_job(settings, None, Inline())
    return engine(settings, [A + "/"], job=job, client=None, cluster=cluster, clock=lambda: 0.0)


def peer(memory, **options):
    return made(memory, **options).peer


# A plan


@pytest.fixture
def planned():
    """The peer of a node that has found a server which is to be another's."""

    async def main():
        found = peer(Memory(lambda: 0.0), owners={B: "b"})
        found._epoch, found._nodes = ME, {OTHER: Node(OTHER, "b", 1, b"")}
        return found

    return run(main())


def said(peer):
    return list(peer._outbox.report(b"").parts)


def test_a_server_that_was_planned_for_another_node_goes_there(planned):
    planned._take(Kept(1, Links(B, b"12345678", b"")), Marked(ME, b"\1", 1, taken=True))
    assert said(planned) == [Give(B, OTHER)]


def test_no_server_waits_for_ever_for_what_was_planned_for_another_node(planned):
    """As for a robots.txt that has moved there: who asks for that is not to have it, but to go where it is."""
    frontier = planned._frontier
    sender = frontier.server(A)
    assert frontier.reach(sender, B) is None
    planned._take(Kept(1, Links(B, b"", b"")), Marked(ME, b"", 0, taken=True))
    assert not frontier.is_absent(sender)


def test_nor_is_a_server_asked_for_it_that_is_on_its_way_there(planned):
    frontier = planned._frontier
    planned._take(Kept(1, Links(B, b"12345678", b"")), Marked(ME, b"\1", 1, taken=True))
    assert frontier.reach(frontier.server(A), B) is None
    planned._take(Kept(2, Links(B, b"", b"")), Marked(ME, b"", 1))
    assert B not in frontier.servers


# Seeds that have moved


@pytest.mark.parametrize("error", [BuriedError, LostError, UnreachableError])
def test_that_a_seed_has_moved_is_told_in_the_end(error):
    """Else the others drop the links to where it is now."""
    memory = Memory(lambda: 0.0)

    async def main():
        teller = peer(memory)
        await teller.join()
        tell, errors = teller._store.tell, [error]

        async def fail_once(text):
            if errors:
                raise errors.pop()
            await tell(text)

        teller._store.tell = fail_once
        teller._state.seed_has_moved(B + "/")
        for _ in range(3):
            await teller._speak()

    run(main())
    assert memory.told == [B + "/"]


def test_where_seeds_have_moved_to_is_told_by_the_next_life():
    memory = Memory(lambda: 0.0)

    async def main():
        job = open_job(Settings(), None, Inline())
        job._meta["seeds"] = [A + "/", B + "/"]
        teller = peer(memory, job=job)
        await teller.join()
        speaking = asyncio.create_task(teller.run())
        await asyncio.sleep(1.0)
        speaking.cancel()

    run(main())
    assert memory.told == [B + "/"]


def test_no_seed_that_others_tell_of_gets_the_credentials_of_this_node():
    """They are for the seeds that its own user gave, now or at an earlier start."""

    async def main():
        memory, job = Memory(lambda: 0.0), open_job(Settings(), None, Inline())
        job._meta["seeds"] = ["http://c.example/"]
        memory.told.append(B + "/")
        node = peer(memory, job=job, header=("Authorization: secret",))
        await node.join()
        state = node._state
        assert state.scope.admits(B + "/1")
        return [
            b"secret" in state.request(state.frontier.server(key), "/")
            for key in (A, B, "http://c.example")
        ]

    assert run(main()) == [True, False, False]


def test_links_to_where_a_seed_of_another_node_has_moved_are_taken_though_they_were_dropped_before():
    async def main():
        running = made(Memory(lambda: 0.0))
        ends, found = running._visitor._ends, [MOVED + "/page"]
        ends.follow(found, depth=1, referrer=A + "/")
        assert not running.peer._outbox.has_links(MOVED)
        running.peer._hear(MOVED + "/")
        ends.follow(found, depth=1, referrer=A + "/")
        assert running.peer._outbox.has_links(MOVED)

    run(main())


# The lease


def test_a_report_that_is_sent_again_keeps_the_lease_from_when_it_was_sent_first():
    """The store counts it once, and may have done so then."""
    now = [0.0]

    async def main():
        speaker = peer(Memory(lambda: now[0]))
        speaker._state.now = lambda: now[0]
        await speaker.join()
        exchange, errors = speaker._store.exchange, [UnreachableError, UnreachableError]

        async def fail_twice(report):
            if now[0] > 1.0 and errors:
                raise errors.pop()
            return await exchange(report)

        speaker._store.exchange = fail_twice
        ends = []
        for now[0] in (1.0, 1.25, 1.5, 1.75):
            await speaker._speak()
            ends.append(speaker._lease.until)
        return ends

    assert run(main()) == [1.0 + HELD, 1.0 + HELD, 1.0 + HELD, 1.25 + HELD]
