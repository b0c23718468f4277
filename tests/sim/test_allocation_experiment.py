"""Source 4's experiment, figure 1."""

from itertools import pairwise

from andante.sim.experiments.allocation import NODES, run


def rises(values):
    return all(a < b for a, b in pairwise(values))


def test_figure_1():
    result = run(seed=2, tasks=30)
    (figure,) = result.figures
    total, reservation, usage, additional = (each.y for each in figure.series)
    assert all(each.x == tuple(range(NODES + 1)) for each in figure.series)
    needed = additional.index(0.0)
    # "Reservation cost rises with x; usage cost rises until the demand is met and is flat after that; additional cost falls to 0."
    assert rises(reservation)
    assert rises(usage[: needed + 1])
    assert set(usage[needed:]) == {usage[needed]}
    assert rises(additional[needed::-1])
    # The total falls, then rises: its minimum is where as many are reserved as are needed.
    assert rises(total[needed::-1])
    assert rises(total[needed:])
    costs, uncertain = result.tables
    ours = min(row[5] for row in costs.rows if row[0] == "Andante")
    assert ours <= min(total)
    expected = {row[0]: row[2] for row in uncertain.rows}
    assert expected["best"] == min(expected.values())
