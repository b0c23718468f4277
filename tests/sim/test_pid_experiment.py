"""Source 1's experiment: what its tables must show; and that plant and judge are right."""

from itertools import pairwise
from random import Random

import pytest

from andante.sim.experiments import pid
from andante.sim.experiments.pid_plant import Phase, Plant, crawl, held, settled, windows


@pytest.fixture(scope="module")
def result():
    return pid.run(seed=3)


def rows(result, table):
    """Return the rows of a table by their first two cells."""
    found = next(each for each in result.tables if each.name == table)
    return {row[:2]: dict(zip(found.columns[2:], row[2:], strict=True)) for row in found.rows}


def test_the_published_record_is_replayed_to_a_millisecond(result):
    record = next(table for table in result.tables if table.name == "record")
    assert len(record.rows) == 25
    assert all(abs(published - ours) <= 1 for _, _, published, ours in record.rows)


def test_andante_holds_every_set_point_and_never_breaks_the_ceiling(result):
    judged = rows(result, "steps") | rows(result, "set-points")
    ours = {plant: row for (plant, rule), row in judged.items() if rule == "Andante"}
    assert len(ours) == len(pid.STEPS) + len(pid.CONSTANT)
    assert all(row["over"] <= 1 for row in ours.values())
    busy = ours.pop("40/min, 80 % busy")
    assert all(row["held, %"] == 100 for row in ours.values())
    assert busy["held, %"] > 95, "there the server is at times too slow"


def test_andante_is_back_within_two_periods_of_each_step(result):
    for (_, rule), row in rows(result, "steps").items():
        if rule == "Andante":
            assert row["settled, start"] <= 1
            assert row["settled, step"] <= 2


def test_a_token_bucket_does_as_well_until_the_machine_stalls(result):
    """The comparison is honest: this is where ours is not better, and where it is."""
    judged = rows(result, "steps") | rows(result, "set-points")
    for (plant, rule), row in judged.items():
        if rule == "token bucket, 2" and "stalls" not in plant and "busy" not in plant:
            assert row["held, %"] == 100
            assert row["over"] <= 1
    for plant in ("600/min, machine stalls", "6,000/min, machine stalls"):
        assert judged[plant, "token bucket, 2"]["pages sent, %"] < 98.9
        assert judged[plant, "Andante"]["pages sent, %"] > 99.5


def test_the_classic_controller_winds_up_where_the_set_point_is_out_of_reach(result):
    row = rows(result, "steps")["ten minutes out of reach", "PID (source 1)"]
    assert row["over"] > 100


def test_1_a_fixed_wait_loses_speed_when_responses_slow_down():
    """The source's own example: 6 pages a minute, a wait of 9.5 s; with a read time of 9.5 s a page takes 19 s."""
    for response, fixed in ((0.5, 10.0), (9.5, 19.0)):
        plant = Plant((Phase(600, 6, response, 1),), spread=0.0, failures=0.0, lateness=0.0)
        waits = pid.CONTENDERS["fixed wait"](6, 1)
        waits.pause = 9.5
        for pacer, expected in ((waits, fixed), (pid.CONTENDERS["Andante"](6, 1), 10.0)):
            sent = crawl(pacer, plant, Random(1))
            gaps = [later - earlier for earlier, later in pairwise(sent)]
            assert gaps == pytest.approx([expected] * len(gaps))


def test_the_same_seed_gives_the_same_result(result):
    assert pid.run(seed=3) == result


def test_figures_have_as_many_times_as_values(result):
    assert {figure.name for figure in result.figures} >= {"record", "nothing-changes"}
    for figure in result.figures:
        assert figure.series
        assert all(len(series.x) == len(series.y) > 20 for series in figure.series)


# The plant and the judge


def test_windows_are_half_open_and_slide_over_every_moment():
    sent = [0.0, 30.0, 60.0, 90.0]
    assert list(windows(sent, 0.0, 100.0)) == [(2, 30.0), (2, 10.0)]
    assert list(windows([10.0, 70.0], 0.0, 130.0)) == [(1, 10.0), (1, 60.0)]
    assert list(windows([], 0.0, 100.0)) == [(0, 40.0)]


def test_a_speed_is_judged_by_its_fullest_and_emptiest_windows():
    sent = [float(at) for at in range(0, 300, 2)]
    result = held(sent, 60, 300, 30)
    assert (result.share, result.over, result.under) == (1.0, 0, 0)
    result = held(sent, 60, 300, 40)
    assert (result.share, result.over, result.under) == (0.0, -10, 10)


def test_settled_counts_periods_until_every_window_holds():
    sent = [*map(float, range(150)), *(150.0 + 2 * number for number in range(300))]
    assert settled(sent, 0, 700, 30) == 3
    assert settled(sent, 0, 700, 60) is None
    assert settled(sent, 0, 400, 30) is None, "too short to tell"


def test_no_more_connections_than_the_phase_has():
    plant = Plant((Phase(100, 40, 5.0, 4), Phase(100, 40, 5.0, 2)), spread=0.0, failures=0.0)
    sent = crawl(pid.CONTENDERS["token bucket, 10"](6_000, 4), plant, Random(1))
    for start, end, connections in ((0, 100, 4), (106, 200, 2)):
        inside = [at for at in sent if start <= at < end]
        assert len(inside) == pytest.approx((end - start) / 5 * connections, abs=connections)
        assert all(
            later - earlier >= 5 - 1e-9
            for earlier, later in zip(inside, inside[connections:], strict=False)
        )


def test_nothing_is_sent_while_the_machine_stalls():
    sent = crawl(
        pid.CONTENDERS["Andante"](600, 4), Plant((Phase(300, 600, 0.05),), stalls=6), Random(1)
    )
    assert sum(later - earlier > 0.45 for earlier, later in pairwise(sent)) > 10
