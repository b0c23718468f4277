from __future__ import annotations

from andante.sim.experiments import limit
from andante.sim.experiments.limit import STEP, FixedLimit
from andante.sim.experiments.limit_plant import Phase, Plant, judge, lognormal


def test_an_oracles_limit_reaches_what_queueing_theory_says():
    # L = 7 at 4 workers and 26 at 16: 0.96 and 1.13, 0.97 and 1.05 of a published simulation.
    for workers, best, share, p95 in ((4, 7, 0.96, 1.13), (16, 26, 0.97, 1.05)):
        phases = [Phase(workers=workers, seconds=200)]
        (found,) = judge(Plant(FixedLimit(best), phases, 1).run(), phases)
        assert abs(found.share - share) < 0.015
        assert abs(found.p95 - p95) < 0.07


def test_a_limit_of_one_is_a_request_after_the_other():
    phases = [Phase(workers=3, seconds=50, service=lognormal(0.05, 0.0001))]
    run = Plant(FixedLimit(1), phases, 1).run()
    assert abs(len(run.responses) - 50 / 0.08) < 2
    assert all(abs(rtt - 0.08) < 0.001 for _, rtt in run.responses)


def test_other_clients_take_their_share():
    phases = [Phase(workers=4, seconds=100, others=0.5)]
    run = Plant(FixedLimit(30), phases, 1).run()
    theirs = sum(seconds for _, seconds, is_ours in run.work if not is_ours)
    assert abs(theirs / 400 - 0.5) < 0.05


def test_the_tables_and_the_figure():
    short = {STEP: [Phase(seconds=4), Phase(workers=4, seconds=4)]}
    result = limit.run(servers=short)
    compared, ours = result.tables
    assert {row[0] for row in compared.rows} == set(limit.CONTENDERS)
    assert len(ours.rows) == 2
    assert all(len(row) == len(compared.columns) for row in (*compared.rows, *ours.rows))
    assert len(result.figures[0].series) == 5
    assert limit.run(servers=short) == result, "the same seed"
