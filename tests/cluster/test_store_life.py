"""How nodes come, end and start again after a loss, with every store there is."""

import asyncio

import pytest

from andante.cluster.exchange import (
    POOL,
    BuriedError,
    ClusterError,
    Ended,
    Entry,
    Give,
    Keep,
    Known,
    LostError,
    Marked,
    Own,
    Report,
    Rewrite,
    Take,
)
from support.cluster import fingerprints, links

A, B, C = "http://a.example", "https://b.example:8443", "http://ünï.example"


def servers(grants):
    return [grant.server for grant in grants]


# Joining


def test_the_first_begins_the_crawl_and_epochs_count_up(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        assert (a.epoch, b.epoch) == (1, 2)
        assert a.joined.predecessor == POOL
        assert a.joined.settled
        assert a.joined.generation == b.joined.generation == (await a.report()).generation

    backend.run(main)


def test_no_two_nodes_have_one_name(backend):
    async def main(crawl):
        await crawl.join("a")
        with pytest.raises(ClusterError, match="there is a node 'a' in the crawl already"):
            await crawl.join("a", token="of another job")

    backend.run(main)


def test_another_config_is_refused_and_nothing_changes(backend):
    async def main(crawl):
        a = await crawl.join("a")
        with pytest.raises(ClusterError, match="the crawl has been started with other settings"):
            await crawl.join("b", config=b"other")
        assert list((await a.report()).nodes) == [a.epoch]

    backend.run(main)


def test_a_node_that_comes_back_hears_of_its_first_unburied_life(backend):
    async def main(crawl):
        first = await crawl.join("a")
        second = await crawl.join("a")
        assert second.joined.predecessor == first.epoch
        third = await crawl.join("a")
        assert third.joined.predecessor == first.epoch
        await third.store.bury(first.epoch, to=third.epoch)
        assert (await crawl.join("a")).joined.predecessor == second.epoch

    backend.run(main)


def test_epochs_are_never_used_again(backend):
    async def main(crawl):
        a = await crawl.join("a")
        await a.store.leave()
        assert (await crawl.join("a")).epoch == 2

    backend.run(main)


# The end of an epoch


def test_nothing_that_a_buried_node_says_counts(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1))
        assert await b.store.bury(a.epoch)
        for call in (
            lambda: a.report(links(A, 2), beat=b"x"),
            lambda: a.store.bury(b.epoch),
            lambda: a.store.tell("x"),
            a.store.told,
            lambda: a.store.entries(A, 0, 1),
            a.store.settle,
            a.store.leave,
        ):
            with pytest.raises(BuriedError):
                await call()
        answer = await b.report()
        assert answer.totals.waiting == 1
        assert list(answer.nodes) == [b.epoch]
        assert await b.store.told() == []
        assert (await a.join("a")).epoch == 3

    backend.run(main)


def test_a_report_with_an_answer_is_buried_too(backend):
    """Also what was answered before its epoch ended is refused: the node must not think that it lives."""

    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.report(links(A, 1))
        await b.store.bury(a.epoch)
        with pytest.raises(BuriedError):
            await a.again()
        with pytest.raises(BuriedError):
            await a.store.exchange(Report(1))  # as one that starts again

    backend.run(main)


def test_servers_of_the_buried_go_to_the_pool(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        names = [f"http://{number}.example" for number in range(700)]
        await a.say(*(links(name, name) for name in names), links(A, 1), Ended(A, fingerprints(1)))
        await b.say(links(B, 1), links(names[0], 1))
        assert await b.store.bury(a.epoch)
        assert await b.store.bury(a.epoch)
        answer = await b.report(Take(10**6, servers=1000))
        assert sorted(servers(answer.parts[0])) == sorted(names)
        assert (await b.say(links(A, 2))).owner == b.epoch
        assert (await b.say(Ended(B, fingerprints(1)))) is True

    backend.run(main)


def test_servers_of_the_buried_go_to_another_node(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1), Keep(A, b"state"))
        again = await crawl.join("a")
        assert again.joined.predecessor == a.epoch
        await again.store.bury(a.epoch, to=again.epoch)
        (grant,) = (await again.report()).grants
        assert (grant.server, grant.waiting, grant.state) == (A, 1, b"state")
        assert (await b.report()).totals.pool == 0

    backend.run(main)


def test_gifts_to_the_buried_go_to_the_pool(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1), links(B, 2), Give(A, b.epoch))
        await a.store.bury(b.epoch)
        assert (await a.report(Give(B, b.epoch))).totals.pool == 2

    backend.run(main)


def test_who_has_beaten_since_is_not_buried(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.report(links(A, 1), beat=b"x")
        assert await b.store.bury(a.epoch, count=0) is False
        await a.report(beat=b"x")
        assert await b.store.bury(a.epoch, count=1) is False
        assert (await a.report()).totals.pool == 0
        assert await b.store.bury(a.epoch, count=2) is True
        assert await b.store.bury(a.epoch, count=2) is True
        with pytest.raises(BuriedError):
            await a.report()

    backend.run(main)


def test_several_bury_at_once(backend):
    async def main(crawl):
        nodes = await crawl.join("a", "b", "c", "d")
        a, *others = nodes
        await a.say(*(links(f"http://{n}.example", n) for n in range(500)))
        await asyncio.gather(*(other.store.bury(a.epoch, count=0) for other in others))
        taken = [grant.server for other in others for grant in await other.say(Take(10**6))]
        assert len(taken) == len(set(taken)) == 500

    backend.run(main)


def test_to_leave_is_to_end_ones_epoch(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.say(links(A, 1))
        await a.store.leave()
        answer = await b.report(Take(1))
        assert servers(answer.parts[0]) == [A]
        assert list(answer.nodes) == [b.epoch]
        with pytest.raises(BuriedError):
            await a.report()

    backend.run(main)


# What nodes tell each other


def test_what_is_told_once_is_told_to_all(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        assert (await a.report()).news == 0
        for text in ("x", "ü", "x"):
            await a.store.tell(text)
        assert (await b.report()).news == 2
        assert await b.store.told() == ["x", "ü"]
        assert (await crawl.join("c")).joined.told == ["x", "ü"]

    backend.run(main)


# Loss


async def lost(crawl):
    """Return two nodes whose store has lost its data; only the first has joined again."""
    a, b = await crawl.join("a", "b")
    await a.say(links(A, 1))
    crawl.lose()
    for call in (
        a.report,
        b.store.told,
        lambda: a.store.entries(A, 0, 1),
        lambda: a.store.bury(2),
    ):
        with pytest.raises(LostError):
            await call()
    generation = a.joined.generation
    await a.join("a", again=True)
    assert not a.joined.settled
    assert a.joined.generation != generation
    return a, b


def test_until_the_store_is_settled_nobody_is_given_anything(backend):
    async def main(crawl):
        a, b = await lost(crawl)
        with pytest.raises(LostError):
            await b.report(links(A, 1))
        await b.join("b", again=True)
        assert not b.joined.settled
        assert (await a.say(links(A, 1))) == Marked(POOL, b"\1", 1)
        assert (await a.say(Own(B), links(B, 2), Give(B)))[2] is True
        answer = await b.report(Take(10))
        assert answer.parts == [[]]
        assert not answer.settled

    backend.run(main)


def test_all_say_what_they_hold(backend):
    async def main(crawl):
        a, b = await lost(crawl)
        await b.join("b", again=True)
        rewrite = Rewrite(A, [(fingerprints(1), b"1")])
        assert await b.say(Known(fingerprints(2, 3)), Own(A), rewrite) == [None, True, True]
        assert await a.say(Own(A)) is False
        assert await b.say(links(A, 1, 2, 4)) == Marked(b.epoch, b"\0\0\1", 2)
        assert await a.say(links(C, 3, 5)) == Marked(POOL, b"\0\1", 1)
        await a.store.settle()
        assert await a.say(Own(B)) is False
        assert await b.say(Own(A)) is False
        answer = await a.report(Take(10))
        assert servers(answer.parts[0]) == [C]
        assert answer.settled
        assert (await crawl.join("c")).joined.settled
        assert (await a.say(links(B, 8))).owner == a.epoch

    backend.run(main)


def test_settle_may_be_said_twice(backend):
    async def main(crawl):
        a, _ = await lost(crawl)
        await a.say(*(links(f"http://{n}.example", n) for n in range(500)))
        await a.store.settle()
        await a.store.settle()
        assert (await a.report()).totals.pool == 500

    backend.run(main)


def test_a_claim_drops_what_an_earlier_life_of_the_node_has_said(backend):
    """It was not answered, and is said anew."""

    async def main(crawl):
        a, b = await lost(crawl)
        await b.join("b", again=True)
        rewrite = Rewrite(A, [(fingerprints(1, 2), b"1 2")])
        await b.say(Own(A), rewrite)
        before = b.epoch
        await b.join("b", again=True)
        await b.store.bury(before, to=b.epoch)
        assert servers((await b.report()).grants) == [A]
        answer = await b.report(Own(A), Rewrite(A, [(fingerprints(2), b"2")]))
        assert answer.parts == [True, True]
        assert (answer.grants, answer.mail, answer.totals.waiting) == ([], [], 1)
        assert await b.store.entries(A, 0, 9) == [Entry(b.epoch, entry=b"2")]
        await a.store.bury(b.epoch)
        assert await a.say(Own(A)) is True
        await a.store.settle()
        assert (await a.report()).totals.pool == 0

    backend.run(main)


def test_no_epoch_is_used_again_after_a_loss(backend):
    async def main(crawl):
        a, b = await crawl.join("a", "b")
        before = {a.epoch, b.epoch}
        crawl.lose()
        await b.join("b", again=True)
        await a.join("a", again=True)
        assert not before & {a.epoch, b.epoch}

    backend.run(main)


def test_a_gap_in_the_numbers_says_that_something_is_lost(backend):
    """As when the store was started again from an old copy: what it had acknowledged since is not there."""

    async def main(crawl):
        a, b = await crawl.join("a", "b")
        await a.report(links(A, 1))
        await b.report(links(B, 1))
        if hasattr(a.store, "_sequences"):  # a node that knows more than the store
            a.store._sequences = [count + 1 for count in a.store._sequences]
        a.number += 1
        with pytest.raises(LostError):
            await a.report(links(A, 2), links(B, 2), beat=b"x")
        await a.join("a", again=True)
        with pytest.raises(LostError):
            await b.report()
        assert not (await b.join("b", again=True)).joined.settled
        answer = await a.report(links(A, 1))
        assert answer.parts[0].fresh == b"\1"
        assert (answer.totals.waiting, answer.totals.pool) == (1, 0)

    backend.run(main)
