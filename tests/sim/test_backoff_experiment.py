"""What the learnt ceiling and back-off get from servers that refuse; measured bounds, over seeds and connections."""

from math import inf
from random import Random

import pytest

from andante.sim.experiments import backoff
from andante.sim.experiments.backoff import CONTENDERS, METERS, SECONDS, Andante
from andante.sim.experiments.backoff_plant import (
    Changing,
    Closed,
    FixedWindow,
    Flaky,
    SlidingWindow,
    TokenBucket,
    crawl,
)


def used_and_refused(crawled, rate):
    return len(crawled.served) / (rate * SECONDS), crawled.refused_share


@pytest.mark.parametrize("tells", [False, True], ids=["silent", "Retry-After"])
@pytest.mark.parametrize("set_point", [inf, 600.0])
@pytest.mark.parametrize("connections", [1, 2, 4, 8, 16])
def test_of_3_5_a_second_85_percent_are_used_and_no_more_than_2_percent_refused(
    connections, set_point, tells
):
    for seed in range(8):
        client, meter = Andante(set_point), SlidingWindow(35, 10, 30)
        crawled = crawl(client, meter, Random(seed), connections=connections, tells=tells)
        used, refused = used_and_refused(crawled, 3.5)
        assert used >= 0.85
        assert refused <= 0.02


def test_what_was_learnt_is_not_paid_for_again():
    first = Andante()
    crawl(first, SlidingWindow(35, 10, 30), Random(1))
    second = Andante(learnt=first.ceiling.learnt)
    crawled = crawl(second, SlidingWindow(35, 10, 30), Random(2))
    assert used_and_refused(crawled, 3.5) >= (0.95, 0.0)
    assert not crawled.refused


BOUNDS = {
    "35 in 10 s, then 30 s": (0.85, 0.02),
    "the same, renewed by each request": (0.76, 0.02),
    "35 in 10 s by its clock, then 30 s": (0.45, 0.02),
    "35 in 10 s, the excess": (0.92, 0.02),
    "17 in 5 s, then 30 s": (0.83, 0.02),
    "70 in 20 s, then 30 s": (0.82, 0.02),
    "10 in 1 s, then 30 s": (0.62, 0.01),
    "10 in 1 s, the excess": (0.78, 0.01),
    "1 in 1 s, the excess": (0.50, 0.09),
    "60 in 60 s, the excess": (0.74, 0.06),
    "60 in 60 s by its clock, the excess": (0.70, 0.06),
    "3.5 a second, 5 at once, the excess": (0.90, 0.03),
    "3.5 a second, 35 at once, the excess": (0.82, 0.03),
    "3.5 a second, 35 at once, then 30 s": (0.70, 0.02),
    "35 in 10 s, later 70, then 30 s": (0.55, 0.02),
    "70 in 10 s, later 35, then 30 s": (0.72, 0.02),
}
"""The least used and the most refused, with 1 to 16 connections."""


@pytest.mark.parametrize("name", METERS)
def test_other_meters(name):
    least, most = BOUNDS[name]
    rate, meter = METERS[name]
    for seed in range(1, 4):
        for connections in (1, 4, 16):
            chance = Random(seed)
            crawled = crawl(Andante(), meter(chance), chance, connections=connections)
            used, refused = used_and_refused(crawled, rate)
            assert used >= least
            assert refused <= most


def test_a_limit_that_was_raised_is_found():
    meter = Changing(SlidingWindow(35, 10, 30), 600, SlidingWindow(350, 10, 30))
    crawled = crawl(Andante(), meter, Random(1), seconds=6_000.0)
    _, rates = crawled.rates(6_000.0, 600.0)
    assert rates[0] < 3.5
    assert rates[-1] > 20.0


@pytest.mark.parametrize("share", [0.003, 0.01])
def test_refusals_by_chance_do_not_bring_the_rate_down_for_good(share):
    for seed in range(4):
        learning = crawl(Andante(), Flaky(share, Random(seed)), Random(seed))
        plain = crawl(Andante(learns=False), Flaky(share, Random(seed)), Random(seed))
        assert len(learning.served) > 0.3 * len(plain.served)


def test_after_an_outage_the_rate_is_soon_what_it_was():
    for seed in range(4):
        crawled = crawl(Andante(), Closed(60.0), Random(seed))
        plain = crawl(Andante(learns=False), Closed(60.0), Random(seed))
        assert len(crawled.served) > 0.9 * len(plain.served)
        assert len(crawled.refused) < 10


def test_one_outage_of_a_server_that_does_not_meter_costs_little():
    meter = Changing(Closed(0.0), 100, Changing(Closed(145.0), 150, Closed(0.0)))
    crawled = crawl(Andante(), meter, Random(1))
    assert crawled.rates(SECONDS, 60.0)[1][-1] > 40


def test_others_are_refused_more_or_use_less():
    def judge(name, connections):
        crawled = crawl(
            CONTENDERS[name](), SlidingWindow(35, 10, 30), Random(1), connections=connections
        )
        return used_and_refused(crawled, 3.5)

    for name in ("back-off only", "AIMD on the rate", "AutoThrottle (Scrapy)", "5 x fetch time"):
        used, refused = judge(name, 16)
        assert used < 0.85 or refused > 0.02
    used, refused = judge("fixed: 204/min, just below what is allowed", 16)
    assert used > 0.95, "who knows the rate does better"
    assert refused == 0.0


# The plants


def serve(meter, times):
    """Return which requests at these times are served."""
    return "".join("-" if meter.ask(at) is not None else "+" for at in times)


def test_a_sliding_window_counts_back_from_each_request():
    meter = SlidingWindow(2, 10.0)
    assert serve(meter, [0, 9, 9.9, 10, 18.9, 19]) == "++-+-+"


def test_a_fixed_window_begins_with_its_clock():
    meter = FixedWindow(2, 10.0, phase=1.0)
    assert serve(meter, [8, 8.5, 8.9, 9.1, 9.2, 9.3, 19.1]) == "++-++-+"


def test_a_token_bucket_fills_with_time():
    meter = TokenBucket(1.0, 2)
    assert serve(meter, [0, 0, 0, 0.9, 1.0, 100, 100, 100]) == "++--+++-"


def test_a_ban_refuses_everything():
    assert serve(SlidingWindow(1, 1.0, 30), [0, 0.5, 5, 30.4, 30.5]) == "+---+"
    assert SlidingWindow(1, 1.0, 30).ask(0.0) is None


def test_a_ban_may_be_renewed():
    meter = SlidingWindow(1, 1.0, 30, is_renewed=True)
    assert serve(meter, [0, 0.5, 30.4, 60.3, 90.3]) == "+---+"


def test_how_long_is_told():
    meter = SlidingWindow(1, 1.0, 30)
    meter.ask(0.0)
    assert [meter.ask(0.5), meter.ask(10.5)] == [30.0, 20.0]
    meter = SlidingWindow(1, 10.0)
    meter.ask(0.0)
    assert meter.ask(4.0) == 6.0


# The result


def test_a_run_has_its_tables_and_the_same_seed_the_same_ones():
    result = backoff.run(seed=2)
    assert result == backoff.run(seed=2)
    assert [table.name for table in result.tables] == ["rules", "meters", "others"]
    for table in result.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert len(result.tables[0].rows) == 2 * len(CONTENDERS)
    (figure,) = result.figures
    assert all(len(series.x) == len(series.y) == 60 for series in figure.series)
    assert len(figure.series) == 4
