"""The bound and the optimum, against all partitions of small problems."""

import time
from itertools import product
from math import inf
from random import Random

import pytest

from andante.plan import best
from andante.plan.bound import lower_bound, rounding
from andante.plan.model import Resources, Tariff
from andante.plan.optimum import optimum
from andante.plan.packing import Kind, decreasing
from support.planning import check, node, planned, problem


def partitions(items):
    """Return all ways to put items into groups."""
    if not items:
        yield []
        return
    first, *rest = items
    for groups in partitions(rest):
        yield [[first], *groups]
        for at in range(len(groups)):
            yield [*groups[:at], [first, *groups[at]], *groups[at + 1 :]]


def least(needs, kinds):
    """Return the least cost by trying all; infinite if there is no way."""
    lowest = inf
    for groups in partitions(list(range(len(needs)))):
        able = []
        for group in groups:
            total = [sum(needs[item][at] for item in group) for at in range(3)]
            able.append([at for at, kind in enumerate(kinds) if kind.size.fits(Resources(*total))])
        for chosen in product(*able):
            used = [chosen.count(at) for at in range(len(kinds))]
            if all(count <= kind.stock for count, kind in zip(used, kinds, strict=True)):
                cost = sum(kind.tariff.cost(n) for kind, n in zip(kinds, used, strict=True))
                lowest = min(lowest, cost)
    return lowest


def drawn(seed):
    random = Random(seed)
    kinds = [
        Kind(
            Resources(*(random.randint(5, 12) for _ in range(3))),
            random.randint(1, 4),
            Tariff(random.randint(0, 3), random.randint(1, 4) / 2, random.randint(2, 12) / 2),
        )
        for _ in range(random.randint(1, 2))
    ]
    needs = [Resources(*(random.randint(0, 6) for _ in range(3))) for _ in range(5)]
    return needs, kinds


@pytest.mark.parametrize("seed", range(60))
def test_no_plan_costs_less_than_the_bound(seed):
    needs, kinds = drawn(seed)
    true = least(needs, kinds)
    bound = lower_bound(needs, kinds)
    assert bound <= true + 1e-9


def test_the_bound_is_worth_something():
    """Over all those, it is the optimum in most cases."""
    pairs = [(lower_bound(*drawn(seed)), least(*drawn(seed))) for seed in range(60)]
    exact = [low for low, true in pairs if true == inf or low > true - 1e-6]
    assert len(exact) > 40


def one(size=(10, 10, 10), count=9, tariff=Tariff(0, 1.0, 1.0)):  # noqa: B008
    return [Kind(Resources(*size), count, tariff)]


def test_bounds_worked_by_hand():
    # 15 of 10: two nodes.
    assert lower_bound([Resources(5, 1, 1)] * 3, one()) == pytest.approx(2.0)
    # Each needs more than half: three nodes, though 18 of 10 would be two.
    assert lower_bound([Resources(6, 1, 1)] * 3, one()) == pytest.approx(3.0)
    # Two are reserved at 1, the third costs 4.
    assert lower_bound([Resources(6, 1, 1)] * 3, one(tariff=Tariff(2, 1.0, 4.0))) == pytest.approx(
        6
    )
    # More than there is.
    assert lower_bound([Resources(6, 1, 1)] * 3, one(count=2)) == inf
    assert lower_bound([], one()) == 0
    assert lower_bound([Resources(0, 0, 0)], one()) >= 0


def test_prices_add_up_to_multiples_of_their_divisor():
    kinds = [*one(tariff=Tariff(1, 0.4, 1.0)), *one(tariff=Tariff(0, 9.0, 0.6))]
    assert rounding(kinds)(1.1) == pytest.approx(1.2)
    assert rounding(kinds)(1.2) == pytest.approx(1.2)
    assert rounding(kinds)(inf) == inf


# The optimum


def left(seconds=20.0):
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


@pytest.mark.parametrize("seed", range(30))
def test_the_optimum_is_the_optimum(seed, capfd):
    needs, kinds = drawn(seed)
    true = least(needs, kinds)
    begin = decreasing(needs, kinds, fit="first", measure="dominant")
    if begin.waiting:
        return
    found = optimum(needs, kinds, begin, seconds_left=left())
    assert found.packing.cost(kinds) == pytest.approx(true)
    assert found.bound == pytest.approx(true)
    for bin_ in found.packing.bins:
        total = [sum(needs[item][at] for item in bin_.items) for at in range(3)]
        assert kinds[bin_.kind].size.fits(Resources(*total))
    assert sorted(item for bin_ in found.packing.bins for item in bin_.items) == list(range(5))
    assert capfd.readouterr().err == ""


def test_the_best_plan_is_sound():
    given = problem(
        [node("a", 9, (10, 10, 10)), node("b", 9, (6, 6, 6), "1 1 2")], [(6, 1, 1), (5, 5, 5)] * 4
    )
    begin = planned(given, (2, 0), method="matching")
    found = best(begin, is_reserved_best=False, seconds_left=left())
    check(found)
    assert found.gap == 0
    assert found.costs.total < begin.costs.total
    waits = planned(problem([node("a", 1, (6, 6, 6))], [(6, 1, 1)] * 2), None)
    assert best(waits, is_reserved_best=True, seconds_left=left()) is waits


def test_without_time_the_plan_stays_and_its_bound():
    given = problem([node("a", 9, (10, 10, 10))], [(6, 1, 1), (5, 5, 5), (3, 3, 3)])
    begin = planned(given, None)
    found = best(begin, is_reserved_best=True, seconds_left=lambda: 0.0)
    assert found.nodes == begin.nodes
    assert found.bound == begin.bound
