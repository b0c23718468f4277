import pytest

from andante.plan.model import Resources, Tariff
from andante.plan.packing import Kind, decreasing, sizes, weights


def kind(size, count=9, price=1.0):
    return Kind(Resources(*size), count, Tariff(0, price, price))


def packed(needs, kinds, **options):
    found = decreasing([Resources(*need) for need in needs], kinds, **options)
    return [(each.kind, list(each.items)) for each in found.bins], found.waiting


FIRST = {"fit": "first", "measure": "dominant"}
BEST = {"fit": "best", "measure": "weighted"}


def test_the_largest_go_first():
    bins = packed([(2, 1, 1), (2, 1, 1), (3, 1, 1), (3, 1, 1)], [kind((5, 9, 9))], **FIRST)
    assert bins == ([(0, [2, 0]), (0, [3, 1])], [])


def test_first_fit_takes_the_first_bin_and_best_fit_the_fullest():
    # 6 and 7 of 10 open a bin each; 3 fits both, and fills the second.
    needs = [(6, 0, 0), (7, 0, 0), (3, 0, 0), (4, 0, 0)]
    assert packed(needs, [kind((10, 1, 1))], **FIRST)[0] == [(0, [1, 2]), (0, [0, 3])]
    needs = [(7, 0, 0), (8, 0, 0), (2, 0, 0)]
    assert packed(needs, [kind((10, 1, 1))], **FIRST)[0] == [(0, [1, 2]), (0, [0])]
    needs = [(8, 0, 0), (5, 0, 0), (3, 0, 0), (2, 0, 0)]
    assert packed(needs, [kind((10, 1, 1))], fit="first", measure="dominant")[0] == [
        (0, [0, 3]),
        (0, [1, 2]),
    ]
    needs = [(5, 0, 0), (4, 0, 0), (8, 0, 0), (2, 0, 0), (1, 0, 0)]
    # 8 | 5 4 | 2 fits the first only for best fit; then 1 fills the second.
    assert packed(needs, [kind((10, 1, 1))], **BEST)[0] == [(0, [2, 3]), (0, [0, 1, 4])]


def test_dominant_and_weighted_sizes():
    needs = [Resources(4, 0, 0), Resources(3, 3, 0), Resources(0, 0, 1)]
    kinds = [kind((10, 10, 10), count=1)]
    assert sizes(needs, kinds, "dominant") == [0.4, 0.3, 0.1]
    # Wanted are 7, 3 and 1 of 10: the scarcest counts in full.
    assert weights(needs, kinds) == pytest.approx((0.1, 3 / 70, 1 / 70))
    first, second, _ = sizes(needs, kinds, "weighted")
    assert first == 0.4
    assert second > first


def test_the_kind_that_holds_most_for_its_price_is_opened():
    small, large = kind((4, 4, 4), price=1.0), kind((10, 10, 10), price=2.0)
    assert packed([(1, 1, 1)], [small, large], **FIRST)[0] == [(1, [0])]
    assert packed([(1, 1, 1)], [small, large], only=0, **FIRST)[0] == [(0, [0])]
    assert packed([(5, 1, 1)], [small, large], only=0, **FIRST)[0] == [(1, [0])]


def test_what_has_no_place_waits():
    bins = packed([(3, 0, 0), (3, 0, 0), (1, 0, 0)], [kind((4, 1, 1), count=1)], **FIRST)
    assert bins == ([(0, [0, 2])], [1])
