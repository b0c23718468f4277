"""Source 4's priority matching, step by step, on examples worked by hand."""

from andante.plan.matching import priority_matching
from andante.plan.model import Resources


def matched(needs, nodes):
    return priority_matching([Resources(*n) for n in needs], [Resources(*n) for n in nodes])


def test_the_first_task_takes_the_first_node_of_the_list():
    assert matched([(1, 1, 1)], [(4, 4, 4), (1, 1, 1)]) == [0]


def test_nodes_in_use_come_before_idle_ones():
    # t0 -> node 0 (left 1 1 1); t1 does not fit there: the first idle one is 1 (left 2 2 2); t2 fits node 0; t3 fits node 1.
    needs = [(3, 3, 3), (2, 2, 2), (1, 1, 1), (2, 2, 2)]
    assert matched(needs, [(4, 4, 4)] * 3) == [0, 1, 0, 1]


def test_all_three_resources_must_suffice():
    # After t0 node 0 has 3 3 3 left; each of the next lacks one resource there.
    nodes = [(4, 4, 4)] * 4
    for need in [(4, 1, 1), (1, 4, 1), (1, 1, 4)]:
        assert matched([(1, 1, 1), need], nodes) == [0, 1]
    assert matched([(1, 1, 1), (3, 3, 3)], nodes) == [0, 0]


def test_idle_nodes_are_looked_through_in_order_for_one_that_fits():
    # t0 is too large for the first two nodes, and takes the third: t1 then goes there, as it is in use, and t2 to the first idle one.
    nodes = [(1, 1, 1), (2, 2, 2), (4, 4, 4)]
    assert matched([(3, 3, 3), (1, 1, 1), (1, 1, 1)], nodes) == [2, 2, 0]


def test_nodes_in_use_are_looked_through_in_the_order_of_the_list():
    # Node 2 was taken first, then node 0: t2 fits both, and goes to node 0.
    nodes = [(2, 2, 2), (1, 1, 1), (4, 4, 4)]
    assert matched([(3, 3, 3), (2, 2, 2), (0, 0, 0)], nodes) == [2, 0, 0]


def test_a_task_waits_when_no_node_is_left_and_later_ones_go_on():
    nodes = [(4, 4, 4)]
    assert matched([(3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1)], nodes) == [0, None, 0, None]
    assert matched([(5, 1, 1)], nodes) == [None]
    assert matched([(1, 1, 1)], []) == [None]


def test_no_order_is_made():
    # First-fit decreasing would need two nodes; tasks are taken as they come, and it is three.
    needs = [(2, 2, 2), (2, 2, 2), (3, 3, 3), (3, 3, 3)]
    assert matched(needs, [(5, 5, 5)] * 3) == [0, 0, 1, 2]
