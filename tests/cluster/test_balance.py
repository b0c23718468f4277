from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.cluster.balance import Load, Move, Never, Throughput, Vessels, choose, shares
from support.vessels import Cluster


def sizes(rng, count, *, least=20, most=2_000):
    """Return servers as the web has them: many small, few large."""
    return {f"s{n}": int(min(least * rng.paretovariate(1.2), most)) for n in range(count)}


def cluster(speeds, *, seed=1, servers=600, pause=None, most=2_000, **options):
    """Return a cluster whose first node has all."""
    rng = Random(seed)
    owned = sizes(rng, servers, most=most)
    made = Cluster(rng, pauses=dict.fromkeys(owned, pause) if pause else None, **options)
    made.join(speeds[0], owned)
    for speed in speeds[1:]:
        made.join(speed)
    return made


def spread(made):
    """Return how much earlier than the last node the first is done, as part of the time."""
    times = [node.finished_at for node in made.nodes.values()]
    return 1 - min(times) / max(times)


def parts(made, by="speed"):
    """Return what each node has of its fair share."""
    total = sum(getattr(node, by) for node in made.nodes.values())
    return [
        node.waiting / (made.waiting * getattr(node, by) / total) for node in made.nodes.values()
    ]


# What is measured


def test_the_throughput_is_a_mean_over_the_last_beats():
    meter = Throughput(beats=3)
    assert (meter.rate, meter.power, meter.known) == (0.0, 0.0, 0.0)
    for pages in (100, 10, 20):
        meter.add(1.0, pages, use=1.0)
    meter.add(2.0, 50, use=1.0)
    assert meter.rate == 20.0


def test_power_is_throughput_at_full_use_and_outlives_idle_times():
    meter = Throughput(beats=4)
    meter.add(1.0, 10, use=0.25)
    assert (meter.power, meter.known) == (40.0, 0.125)
    for _ in range(20):
        meter.add(1.0, 10, use=0.25)
    assert meter.known == 1.0
    for _ in range(100):
        meter.add(1.0, 0, use=0.0)
    assert meter.rate == 0.0
    assert meter.power == pytest.approx(40.0)
    for _ in range(60):
        meter.add(1.0, 7, use=1.0)
    assert meter.power == pytest.approx(7.0, rel=0.05)


def test_no_time_is_no_beat():
    meter = Throughput()
    meter.add(0.0, 5, use=1.0)
    assert meter.rate == 0.0


# The level


def test_shares_are_as_the_powers():
    loads = {
        1: Load(waiting=0, power=300.0, known=1.0),
        2: Load(waiting=0, power=100.0, known=1.0),
        3: Load(waiting=0),
    }
    assert shares(loads, 600) == pytest.approx({1: 300.0, 2: 100.0, 3: 200.0}), (
        "of whom nothing is known has the mean"
    )


def test_a_server_is_a_stone_in_the_vessel():
    """It stays where it is, and the water is levelled among the others."""
    loads = {
        1: Load(waiting=950, power=1.0, known=1.0, largest=900),
        2: Load(waiting=40, power=1.0, known=1.0, largest=10),
        3: Load(waiting=10, power=1.0, known=1.0, largest=10),
    }
    assert shares(loads, 1_000) == {1: 900.0, 2: 50.0, 3: 50.0}


def test_what_the_nodes_have_counts_when_the_store_has_lost_count():
    assert shares({1: Load(waiting=50), 2: Load(waiting=50)}, 0) == {1: 50.0, 2: 50.0}


@st.composite
def loads(draw):
    waiting = draw(st.integers(0, 10**9))
    return Load(
        waiting=waiting,
        throughput=draw(st.floats(0, 1e5)),
        power=draw(st.floats(0, 1e5)),
        known=draw(st.floats(0, 1)),
        largest=draw(st.integers(0, waiting)),
    )


@given(st.dictionaries(st.integers(1, 99), loads(), min_size=1, max_size=50), st.integers(0, 10**9))
def test_shares_add_up_and_none_is_less_than_a_server(nodes, pool):
    waiting = sum(load.waiting for load in nodes.values()) + pool
    share = shares(nodes, waiting)
    assert sum(share.values()) == pytest.approx(waiting)
    assert all(share[each] >= load.largest for each, load in nodes.items())


@given(
    st.dictionaries(st.integers(1, 99), loads(), min_size=1, max_size=50),
    st.integers(0, 10**9),
    st.integers(0, 5),
)
def test_nobody_gives_below_the_level_and_what_is_in_the_pool_is_taken(nodes, waiting, pool):
    rules = {epoch: Vessels() for epoch in nodes}
    for _ in range(20):
        moves = {
            each: rules[each].decide(each, nodes, waiting=waiting, pool=pool) for each in nodes
        }
    share = shares(nodes, waiting)
    for epoch, move in moves.items():
        assert not (move.give and move.take)
        assert nodes[epoch].waiting - move.give >= (share[epoch] - 1 if move.give else 0)
    assert not pool or all(move.take for move in moves.values())


def node(waiting, *, known=1.0, throughput=0.0):
    return Load(waiting=waiting, throughput=throughput, power=10.0, known=known)


@pytest.mark.parametrize(
    ("own", "other", "pool", "move"),
    [
        (node(1_290), node(710), 0, Move()),  # within the band
        (node(1_310), node(690), 0, Move(give=310)),
        (node(690), node(1_310), 0, Move()),  # there is nothing to take
        (node(690), node(1_310), 5, Move(take=310)),
        (node(840), node(1_160), 5, Move(take=160)),
        (node(860), node(1_140), 5, Move()),  # not at once
        (
            node(1_400, throughput=200.0),
            node(600, throughput=200.0),
            0,
            Move(),
        ),  # five seconds to go
        (node(2_000, throughput=200.0), node(0, throughput=200.0), 0, Move(give=1_000)),
    ],
)
def test_two_nodes(own, other, pool, move):
    assert Vessels().decide(1, {1: own, 2: other}, waiting=2_000, pool=pool) == move


def test_who_does_not_know_its_power_gives_only_to_one_that_is_too_empty():
    loads = {1: node(1_400, known=0.5), 2: node(800), 3: node(800)}
    assert Vessels().decide(1, loads, waiting=3_000, pool=0) == Move()
    known = loads | {1: node(1_400)}
    assert Vessels().decide(1, known, waiting=3_000, pool=0) == Move(give=400)


def test_a_node_that_does_nothing_any_more_has_next_to_no_share():
    loads = {1: Load(waiting=500, power=0.0, known=1.0), 2: node(500)}
    assert shares(loads, 1_000)[1] == pytest.approx(0.5, rel=0.01)


# Which servers


def test_those_that_would_be_reached_last_go_and_those_visited_only_at_need():
    servers = [("b", 5, False), ("c", 9, False), ("d", 0, False), ("e", 2, False), ("a", 5, True)]
    assert choose(servers, 4) == ["e"]
    assert choose(servers, 8) == ["e", "b"]
    assert choose(servers, 100) == ["e", "c", "b", "a"]
    assert choose([("a", 5, True)], 5) == ["a"]
    assert choose(servers, 1) == []


# Clusters


@pytest.mark.parametrize("seed", range(3))
def test_a_joiner_has_its_share_within_ten_beats(seed):
    made = cluster([100, 100], seed=seed)
    made.beats(30)
    made.join(100)
    made.beats(10)
    assert parts(made) == pytest.approx([1, 1, 1], abs=0.25)


@pytest.mark.parametrize("seed", range(3))
def test_a_joiner_among_fifty_has_its_share_within_ten_beats(seed):
    made = cluster([20] * 50, servers=1_500, seed=seed)
    made.beats(20)
    made.join(20)
    made.beats(10)
    assert parts(made)[-1] == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("speed", [25, 400])
@pytest.mark.parametrize("seed", range(3))
def test_a_joiner_of_another_speed_has_its_share_soon(seed, speed):
    made = cluster([100, 100], seed=seed)
    made.beats(30)
    made.join(speed)
    made.beats(12)
    assert parts(made) == pytest.approx([1, 1, 1], abs=0.35)


@pytest.mark.parametrize("speeds", [[100, 100, 100], [200, 100, 30], [150, 100, 60, 20]])
@pytest.mark.parametrize("seed", range(3))
def test_nodes_of_unequal_speed_finish_together(seed, speeds):
    made = cluster(speeds, seed=seed)
    ideal = made.waiting / sum(speeds)
    assert made.drain() < 1.08 * ideal + 6
    assert spread(made) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_nothing_moves_in_the_steady_state(seed):
    """Ten minutes at a beat a second, all finding links."""
    rng = Random(seed)
    made = cluster(
        [100, 70, 40], seed=seed, fresh=lambda server: [server] if rng.random() < 0.999 else []
    )
    made.beats(40)
    moves = len(made.moves)
    made.beats(600)
    assert len(made.moves) == moves


@pytest.mark.parametrize("seed", range(3))
def test_where_servers_are_slow_a_joiner_has_its_share_all_the_same(seed):
    """A page a second from each: no node is at its limit, the throughput of each is that of its servers."""
    made = cluster([1_000, 1_000], servers=300, pause=1.0, most=300, seed=seed)
    made.beats(60)
    made.join(1_000)
    made.beats(10)
    assert parts(made) == pytest.approx([1, 1, 1], abs=0.3)
    moves = len(made.moves)
    made.beats(100)
    assert len(made.moves) <= moves + 10


def test_a_giant_does_not_draw_all_else_away_from_the_level():
    """One server of 20,000 URLs beside 300 usual ones, at 5 pages a second each: it stays, and the rest is shared by the others."""
    rng = Random(1)
    owned = sizes(rng, 300, most=200) | {"giant": 20_000}
    made = Cluster(rng, pauses=dict.fromkeys(owned, 0.2))
    first = made.join(100, owned)
    made.join(100)
    made.join(100)
    made.beats(30)
    assert "giant" in first.servers
    others = [node.waiting for epoch, node in made.nodes.items() if epoch > 1]
    assert max(others) < 1.5 * min(others)
    assert not [move for move in made.moves if move[1] == "giant"]


def test_a_small_rest_is_not_passed_around():
    made = cluster([100, 100, 100], servers=40, most=60)
    made.drain()
    moved = [server for _, server, what in made.moves if what == "take"]
    assert len(moved) <= 60


def test_where_little_waits_but_much_is_still_found_nobody_is_idle():
    """A link a page: 300 URLs wait at any time, three seconds' work for one node."""
    left = [0] * 9_000
    rng = Random(1)
    made = Cluster(
        rng, fresh=lambda _: [f"s{rng.randrange(400)}"] if left and not left.pop() else []
    )
    made.join(100, {f"s{n}": 1 for n in range(300)})
    made.join(100)
    made.join(100)
    assert made.drain() < 9_300 / 100 / 2


def test_when_nodes_leave_the_others_take_what_they_had():
    made = cluster([100] * 4)
    made.beats(20)
    made.leave(2)
    made.leave(3)
    made.beats(10)
    assert not made.pool
    assert parts(made) == pytest.approx([1, 1], abs=0.3)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whatever_happens_all_is_done_in_time_and_nothing_goes_round(data):
    """Up to 50 nodes of any speeds, servers of any size, joins and leaves; then peace."""
    rng = Random(data.draw(st.integers(0, 2**32)))
    speeds = data.draw(st.lists(st.integers(5, 200), min_size=1, max_size=50))
    servers = sizes(rng, data.draw(st.integers(1, 300)), most=data.draw(st.integers(20, 500)))
    pause = data.draw(st.sampled_from([0.001, 0.1]))
    fresh = [0] * data.draw(st.integers(0, 1_000))
    made = Cluster(
        rng,
        pauses=dict.fromkeys(servers, pause),
        fresh=lambda _: [f"s{rng.randrange(400)}"] if fresh and fresh.pop() == 0 else [],
    )
    made.join(speeds[0], servers)
    total = made.waiting + len(fresh)
    for speed in speeds[1:]:
        made.join(speed)
        made.beats(data.draw(st.sampled_from([0, 0, 0, 1, 5])))
        if len(made.nodes) > 1 and data.draw(st.booleans()):
            made.leave(data.draw(st.sampled_from(sorted(made.nodes))))
    made.beats(30)
    left = [waiting for node in made.nodes.values() for waiting in node.servers.values()]
    slowest = min(node.speed for node in made.nodes.values())
    together = sum(node.speed for node in made.nodes.values())
    least = max(made.waiting / together, max(left, default=0) * pause)
    before = len(made.moves)
    assert made.drain() <= 1.3 * least + 2 * max(left, default=0) / slowest + len(fresh) / 40 + 20
    assert made.fetched == total
    assert not made.pool
    taken = Counter(server for _, server, what in made.moves[before:] if what == "take")
    assert max(taken.values(), default=0) <= 3


# No rule


def test_never_gives_nothing_and_leaves_nothing():
    made = cluster([100, 100], rule=Never)
    made.beats(20)
    assert not made.moves
    made.leave(1)
    made.drain()
    assert made.nodes[2].finished_at
    assert Never().decide(1, {1: Load(waiting=3)}, waiting=9, pool=4) == Move()
