from statistics import fmean, pstdev

import pytest

from andante.plan.demand import lognormal, quantile, uncertain
from andante.plan.model import costs
from support.planning import node, planned, problem


def ten(prices):
    """Return a plan that needs ten of thirty nodes."""
    return planned(problem([node("n", 30, (4, 4, 4), prices)], [(3, 3, 3)] * 10), (0,))


SAMPLES = [0.5, 0.8, 0.9, 1.0, 1.0, 1.1, 1.3, 1.7, 2.2, 2.9]


@pytest.mark.parametrize("prices", ["1 2 5", "1 0 20", "3 2 5.5", "0 2 5", "4 1 4", "1 1 9"])
def test_no_other_reservation_is_expected_to_cost_less(prices):
    plan = ten(prices)
    found = uncertain(plan, SAMPLES)
    best = found.choices[0]
    needs = [round(sample * 10) for sample in SAMPLES]

    def expected(held):
        return fmean(costs(plan.problem, (held,), (need,)).total for need in needs)

    assert best.cost == pytest.approx(min(map(expected, range(31))))
    assert [each.name for each in found.choices] == ["best", "mean", "maximum", "nothing"]
    assert [each.reserved for each in found.choices[1:]] == [(13,), (29,), (0,)]
    for each in found.choices:
        assert each.cost == pytest.approx(expected(each.reserved[0]))


def test_the_quantile():
    assert quantile(node("n", 9, (1, 1, 1), "1 2 5")) == pytest.approx(2 / 3)
    assert quantile(node("n", 9, (1, 1, 1), "0 2 5")) == 1
    assert quantile(node("n", 9, (1, 1, 1), "3 2 4")) == 0
    assert quantile(node("n", 9, (1, 1, 1), "1 5 4")) == 0
    found = uncertain(ten("1 2 5"), SAMPLES)
    assert found.quantiles == pytest.approx((2 / 3,))
    assert found.choices[0].reserved == (13,)  # the seventh of ten


def test_where_there_are_not_nodes_enough():
    found = uncertain(ten("1 2 5"), [1.0, 1.0, 3.5, 4.0])
    assert found.short == 0.5
    assert max(each.reserved[0] for each in found.choices) == 30


def test_lognormal_samples_have_the_mean_and_the_deviation():
    samples = lognormal(1.5, 0.4)
    assert fmean(samples) == pytest.approx(1.5, rel=0.002)
    assert pstdev(samples) == pytest.approx(0.4, rel=0.02)
    assert lognormal(2.0, 0.0) == [2.0]
