"""Whatever three nodes say, Redis answers as the model does."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import structs

from andante.cluster.exchange import (
    BuriedError,
    Ended,
    Give,
    Grant,
    Heard,
    Keep,
    Known,
    LostError,
    Marked,
    Own,
    Rewrite,
    Take,
)
from andante.cluster.memory import Memory
from support.cluster import fingerprints, in_memory, links, on_redis

NODES, SERVERS, NAMES = range(3), [f"http://{number}.example" for number in range(3)], range(40)

servers = st.sampled_from(SERVERS)
names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=12)
small = st.integers(0, 6)


def links_of(server, found, takes):
    return links(server, *found, takes=takes)


parts = st.one_of(
    st.builds(links_of, servers, names, st.booleans()),
    st.builds(links_of, servers, names, st.just(True)),
    st.builds(Ended, servers, names.map(lambda found: fingerprints(*found[:2]))),
    st.builds(Keep, servers, st.binary(max_size=20)),
    st.builds(Give, servers, st.integers(0, 4)),
    st.builds(Take, small, servers=small),
    st.builds(
        Rewrite,
        servers,
        st.lists(st.tuples(names.map(lambda found: fingerprints(*found)), st.binary()), max_size=3),
    ),
    st.builds(Heard, servers, small),
    st.builds(Own, servers),
    st.builds(Rewrite, servers, st.just([])),
    st.builds(Known, names.map(lambda found: fingerprints(*found))),
)
reports = st.tuples(
    st.just("report"),
    st.sampled_from(NODES),
    st.lists(parts, min_size=1, max_size=4),
    st.binary(max_size=2),
)
others = st.one_of(
    st.tuples(st.just("again"), st.sampled_from(NODES)),
    st.tuples(
        st.just("bury"),
        st.sampled_from(NODES),
        st.integers(1, 5),
        st.integers(0, 5),
        st.none() | small,
    ),
    st.tuples(st.just("entries"), st.sampled_from(NODES), servers, small, small),
    st.tuples(st.just("tell"), st.sampled_from(NODES), st.text(max_size=3)),
    st.tuples(st.just("settle"), st.sampled_from(NODES)),
    st.tuples(st.just("lose"), st.just(0)),
)
steps = st.integers(0, 9).flatmap(lambda luck: reports if luck else others)


async def do(crawl, members, step):
    """Carry out a step; return what came of it, without what may differ: order, age, the generation's name."""
    what, node, *words = step
    member = members[node]
    try:
        if what == "report":
            return plain(await member.report(*words[0], beat=words[1]))
        if what == "again":
            return plain(await member.again())
        if what == "bury":
            epoch = min(
                words[0], member.epoch
            )  # of the others only those are buried that have joined
            return await member.store.bury(epoch, to=words[1], count=words[2])
        if what == "entries":
            return await member.store.entries(*words)
        if what == "tell":
            return await member.store.tell(*words), await member.store.told()
        if what == "settle":
            return await member.store.settle()
        crawl.lose()
    except (BuriedError, LostError) as error:
        joined = (await member.join(f"node {node}", again=isinstance(error, LostError))).joined
        await member.report()  # there is one to be sent again
        return type(error), joined.epoch, joined.predecessor, joined.told, joined.settled


def plain(answer):
    totals = answer.totals
    return (
        [ageless(part) for part in answer.parts],
        sorted((letter.server, letter.start, letter.entries) for letter in answer.mail),
        sorted(ageless(answer.grants), key=str),
        answer.nodes,
        (totals.waiting, totals.known, totals.pool, totals.changes),
        (answer.news, answer.settled),
    )


def ageless(part):
    if isinstance(part, list):
        return [ageless(each) for each in part]
    return structs.replace(part, aged=0.0) if isinstance(part, Grant | Marked) else part


async def compare(model, crawl, history):
    crawls = [
        (each, [await each.join(f"node {node}") for node in NODES]) for each in (model, crawl)
    ]
    for _, members in crawls:
        for member in members:
            await member.report()
    for step in history:
        expected, got = [await do(each, members, step) for each, members in crawls]
        assert got == expected, step


@pytest.mark.parametrize("seen", ["exact", "bloom"])
def test_redis_answers_as_the_model_does(running_redis, seen):
    @settings(
        max_examples=60,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(st.lists(steps, min_size=20, max_size=60))
    def compared(history):
        running_redis.control.flushall()
        memory = Memory(lambda: 0.0)
        after = {"wall": lambda: memory.last - 1}  # the model joins first: epochs are the same
        model = in_memory(memory)
        crawl = on_redis([running_redis], running_redis.url, seen=seen, **after)
        crawl.run(lambda _: compare(model, crawl, history))

    compared()
