from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from andante.plan import METHODS
from andante.plan.model import Costs, Resources, Tariff, costs
from andante.plan.packing import Bin, Kind, Packing
from andante.plan.search import Search
from andante.plan.squeeze import squeeze
from support.planning import check, node, planned, problem

PRICES = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 30))
AMOUNT = st.integers(0, 12)


@st.composite
def problems(draw, types=3, tasks=9):
    nodes = [
        node(
            f"n{at}",
            draw(st.integers(0, 4)),
            draw(st.tuples(*[st.integers(4, 16)] * 3)),
            "{} {} {}".format(*draw(PRICES)),
        )
        for at in range(draw(st.integers(1, types)))
    ]
    needs = draw(st.lists(st.tuples(AMOUNT, AMOUNT, AMOUNT), min_size=1, max_size=tasks))
    return problem(nodes, needs, hours=draw(st.sampled_from([1, 2.5])))


@st.composite
def reservations(draw, given_):
    return tuple(draw(st.integers(0, kind.count)) for kind in given_.nodes)


@pytest.mark.slow
@given(data=st.data(), found=problems())
@settings(max_examples=25, deadline=None)
def test_every_plan_is_sound(data, found):
    reserved = data.draw(st.none() | reservations(found))
    for method in METHODS:
        check(planned(found, reserved, method=method))


@given(data=st.data(), found=problems())
@settings(max_examples=20, deadline=None)
def test_ours_is_never_worse_than_the_others(data, found):
    reserved = data.draw(st.none() | reservations(found))
    ours = planned(found, reserved)
    for method in METHODS:
        other = planned(found, reserved, method=method)
        check(other)
        assert len(ours.waiting) <= len(other.waiting)
        if len(ours.waiting) == len(other.waiting):
            assert ours.costs.total <= other.costs.total + 1e-6


@given(found=problems(types=1), method=st.sampled_from(METHODS))
@settings(max_examples=12, deadline=None)
def test_more_reserved_never_raises_the_additional_cost(found, method):
    """Of one type. Of several, more reserved nodes can make another mix the cheapest."""
    additional = [
        planned(found, (count,), method=method).costs.additional
        for count in range(found.nodes[0].count + 1)
    ]
    assert additional == sorted(additional, reverse=True)


@given(found=problems(types=1))
@settings(max_examples=10, deadline=None)
def test_the_best_reservation_is_the_best(found):
    best = planned(found, None)
    for count in range(found.nodes[0].count + 1):
        assert best.costs.total <= planned(found, (count,)).costs.total + 1e-6


def test_more_reserved_of_several_types_can_raise_the_additional_cost_but_not_what_is_paid_besides():
    """Worked by hand: a second reserved node makes another mix the cheapest, half of which is added."""
    large = node("large", 1, (4, 4, 4), "1 5 20")
    small = node("small", 2, (2, 2, 2), "1 1 3")
    given_ = problem([large, small], [(2, 2, 2)] * 2)
    few, more = planned(given_, (1, 0)), planned(given_, (1, 1))
    assert few.bound == few.costs.total
    assert more.bound == more.costs.total
    # The large one, which is reserved: 5; two small ones would be 3 + 3.
    assert few.costs == Costs(1, 5, 0)
    # Now two small ones are 1 + 3.
    assert more.costs == Costs(2, 1, 3)


@given(found=problems(tasks=5), data=st.data())
@settings(max_examples=15, deadline=None)
def test_more_reserved_never_raises_what_the_same_nodes_cost_besides(found, data):
    """For nodes in use that stay the same, of any types."""
    used = planned(found, None).used
    few = data.draw(reservations(found))
    more = tuple(
        data.draw(st.integers(count, kind.count))
        for count, kind in zip(few, found.nodes, strict=True)
    )
    assert costs(found, more, used).additional <= costs(found, few, used).additional


def test_the_three_costs():
    given_ = problem([node("small", 5, (4, 4, 4), "1 2 5")], [(3, 3, 3)] * 3, hours=10)
    found = [planned(given_, (count,)).costs for count in range(6)]
    assert found == [
        Costs(0, 0, 150),
        Costs(10, 20, 100),
        Costs(20, 40, 50),
        Costs(30, 60, 0),
        Costs(40, 60, 0),
        Costs(50, 60, 0),
    ]
    assert [each.total for each in found] == [150, 130, 110, 90, 100, 110]
    best = planned(given_, None)
    assert best.reserved == (3,)
    assert best.costs == found[3]
    assert best.gap == 0


def test_nobody_reserves_what_is_cheaper_to_add():
    given_ = problem([node("odd", 5, (4, 4, 4), "2 2 3")], [(3, 3, 3)] * 3)
    best = planned(given_, None)
    assert best.reserved == (0,)
    assert best.costs.total == 9


def test_copies_need_their_share_each_and_names_tell_them_apart():
    given_ = problem([node("small", 5, (4, 4, 4))], [(3, 3, 3)])
    given_ = replace(given_, tasks=(replace(given_.tasks[0], copies=3),))
    found = planned(given_, (1,))
    check(found)
    assert [found.name(each) for each in found.nodes] == ["small-1", "small-2", "small-3"]
    assert found.used == (3,)


def test_why_something_waits():
    given_ = problem([node("small", 1, (4, 4, 4))], [(3, 3, 3), (3, 3, 3), (5, 1, 1)])
    reasons = {each.item: each.reason for each in planned(given_, (0,)).waiting}
    assert reasons[2] == "it is larger than any node"
    assert min(set(reasons) - {2}) in (0, 1)
    assert "no node has room for it" in reasons.values()


def test_the_same_again():
    random = Random(4)
    needs = [tuple(random.randint(1, 9) for _ in range(3)) for _ in range(50)]
    given_ = problem([node("a", 40, (16, 16, 16)), node("b", 40, (9, 30, 30))], needs)
    assert planned(given_, None).nodes == planned(given_, None).nodes


def test_the_search_betters_what_it_is_given():
    """Four bins that are half empty become two."""
    kinds = [Kind(Resources(4, 4, 4), 9, Tariff(0, 1.0, 1.0))]
    start = Packing([Bin(0, (at,)) for at in range(4)], [])
    search = Search([Resources(2, 2, 2)] * 4, kinds, start, Random(1).random)
    search.run(50)
    assert search.best.cost(kinds) == 2.0


@pytest.mark.parametrize("count", [1, 2])
def test_the_search_places_what_waits_where_there_is_room(count):
    kinds = [Kind(Resources(4, 4, 4), count, Tariff(0, 1.0, 1.0))]
    start = Packing([Bin(0, (0,))], [1, 2])
    search = Search([Resources(2, 2, 2)] * 3, kinds, start, Random(1).random)
    search.run(50)
    assert len(search.best.waiting) == (1 if count == 1 else 0)


@pytest.mark.parametrize("seed", range(5))
def test_items_are_squeezed_into_bins_that_they_fill(seed):
    """Cut from three bins, so that nothing is left over."""
    random = Random(seed)
    needs = []
    for _ in range(3):
        cuts = [sorted(random.sample(range(1, 100), 3)) for _ in range(3)]
        edges = [[0, *each, 100] for each in cuts]
        needs += [Resources(*(each[at + 1] - each[at] for each in edges)) for at in range(4)]
    random.shuffle(needs)
    size = Resources(103, 103, 103)
    where = squeeze(needs, [size] * 3, random.random, moves=200_000)
    assert where is not None
    for at in range(3):
        inside = [need for need, there in zip(needs, where, strict=True) if there == at]
        assert size.fits(Resources(*map(sum, zip(*inside, strict=True))))
    assert squeeze(needs, [Resources(99, 103, 103)] * 3, random.random, moves=1000) is None


def test_the_plan_leaves_the_types_that_it_began_with():
    """Two large nodes hold all; by what a node holds for its price, small ones are the better."""
    small = node("small", 9, (5, 5, 5), "0 2 4")
    large = node("large", 9, (12, 12, 12), "0 4.2 9")
    found = planned(problem([small, large], [(4, 4, 4)] * 6), None)
    assert found.used == (0, 2)
    check(found)
