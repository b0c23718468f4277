"""Source 4's experiment, figure 1."""

from andante.sim.experiments.allocation import NODES, run


def test_figure_1():
    result = run(seed=2, tasks=30)
    (figure,) = result.figures
    total, reservation, usage, additional = (each.y for each in figure.series)
    assert all(each.x == tuple(range(NODES + 1)) for each in figure.series)
    needed = additional.index(0.0)
    # "Reservation cost rises with x; usage cost rises until the demand is met and is flat after that; additional cost falls to 0."
    assert all(a < b for a, b in zip(reservation, reservation[1:], strict=False))
    assert all(a < b for a, b in zip(usage[:needed], usage[1 : needed + 1], strict=True))
    assert set(usage[needed:]) == {usage[needed]}
    assert all(a > b for a, b in zip(additional[:needed], additional[1:], strict=False))
    # "The total falls, then rises, with its minimum where reserved = needed."
    assert all(a > b for a, b in zip(total[:needed], total[1 : needed + 1], strict=True))
    assert all(a < b for a, b in zip(total[needed:], total[needed + 1 :], strict=False))
    costs, uncertain = result.tables
    ours = min(row[5] for row in costs.rows if row[0] == "Andante")
    assert ours <= min(total)
    expected = {row[0]: row[2] for row in uncertain.rows}
    assert expected["best"] == min(expected.values())
