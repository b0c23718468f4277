from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.flow import AimdLimit, GradientLimit, KneeLimit, RttLimit, VegasLimit

ALL = (AimdLimit, GradientLimit, KneeLimit, RttLimit, VegasLimit)


def limits_after(limit, rtts, *, gap=0.1, in_flight=100):
    """Show response times, one each ``gap`` seconds; return the limit after each."""
    found = []
    for number, rtt in enumerate(rtts):
        limit.on_response(rtt, now=number * gap, in_flight=in_flight)
        found.append(limit.limit)
    return found


# Source 2, claim by claim


def test_steps_1_1_and_1_4_a_response_faster_than_the_smoothed_minimum_adds_one():
    # alpha 1/2: SRTT 1.0, 0.75, 0.875 ...; the minimum after the second is 0.75, and 0.5 is less.
    limit = RttLimit(alpha=0.5, interval=10, limit_min=1)
    assert limits_after(limit, [1.0, 0.5, 1.0, 0.7]) == [1, 2, 2, 3]


def test_step_1_6_a_response_slower_than_the_smoothed_maximum_takes_one():
    limit = RttLimit(alpha=0.5, interval=10)
    assert limits_after(limit, [1.0, 0.5, 0.5, 2.0]) == [1, 2, 3, 2]


def test_steps_1_2_and_1_3_each_interval_the_extremes_begin_anew():
    # SRTT 1.0, 2.0, 2.5. At the third the interval has passed: both extremes are 2.5, so 2.4 would add one.
    limit = RttLimit(alpha=0.5, interval=0.2)
    limits_after(limit, [1.0, 3.0, 3.0])
    limit.on_response(2.0, now=0.3, in_flight=1)
    assert limit.limit == 2
    kept = RttLimit(alpha=0.5, interval=100)
    limits_after(kept, [1.0, 3.0, 3.0])
    kept.on_response(2.0, now=0.3, in_flight=1)
    assert kept.limit == 1, "within the interval the minimum is still 1.0"


def test_below_rtt_min_it_always_grows_and_above_rtt_max_it_always_falls():
    limit = RttLimit(alpha=0.5, interval=100, rtt_min=0.5, rtt_max=3.0)
    assert limits_after(limit, [0.4, 0.4, 0.4]) == [2, 3, 4], "as it is below rtt_min"
    assert limits_after(RttLimit(rtt_max=3.0, limit_min=1), [4.0, 4.0]) == [1, 1], "at its bound"


def test_steps_and_bounds_are_settings():
    limit = RttLimit(rtt_min=1.0, increase=3, decrease=2, limit_min=2, limit_max=6)
    assert limits_after(limit, [0.1, 0.1, 0.1]) == [5, 6, 6]
    limit.on_failure(now=1.0, in_flight=6)
    assert limit.limit == 4


def test_the_smoothed_time_is_that_of_rfc_793():
    limit = RttLimit(alpha=0.875, interval=100)
    limits_after(limit, [1.0, 2.0])
    assert limit._srtt == pytest.approx(0.875 * 1.0 + 0.125 * 2.0)


# The others, as published


def test_aimd_adds_one_a_round_trip_and_halves():
    limit = AimdLimit()
    limits = limits_after(limit, [0.1] * 12)
    assert limits[0] == 2
    assert 5 <= limits[-1] <= 6, "1 + 2 + 3 + 4 responses make 5"
    limit.on_failure(now=10.0, in_flight=5)
    limit.on_failure(now=10.05, in_flight=5)
    assert limit.limit == 3, "once in a round trip"


def test_vegas_keeps_a_few_in_the_queue():
    limit = VegasLimit()
    assert limits_after(limit, [0.1] * 20)[-1] > 4, "no queue: it grows"
    before = limit.limit
    for number in range(200):
        limit.on_response(0.4, now=3 + number / 10, in_flight=100)
    assert limit.limit < before
    assert limit._exact * (1 - 0.1 / 0.4) <= 3.75, "beta, and one step"


def test_gradient_falls_when_responses_slow_down_and_waits_when_little_is_used():
    limit = GradientLimit()
    limits_after(limit, [0.1] * 100)
    grown = limit.limit
    for number in range(20):
        limit.on_response(1.0, now=20 + number / 10, in_flight=100)
    assert limit.limit < grown
    idle = GradientLimit()
    assert limits_after(idle, [0.1] * 50, in_flight=3)[-1] == 20


# All of them


@pytest.mark.parametrize("kind", ALL)
@given(
    steps=st.lists(
        st.tuples(
            st.floats(0, 10), st.floats(0, 5), st.integers(1, 300), st.booleans(), st.floats(0, 1)
        ),
        max_size=300,
    )
)
def test_limits_stay_in_bounds_whatever_is_shown(kind, steps):
    limit, now = kind(limit_min=2, limit_max=50), 0.0
    for gap, rtt, in_flight, fails, _ in steps:
        now += gap
        if fails:
            limit.on_failure(now=now, in_flight=in_flight)
        else:
            limit.on_response(rtt, now=now, in_flight=in_flight)
        assert isinstance(limit.limit, int)
        assert 2 <= limit.limit <= 50


@pytest.mark.parametrize("kind", ALL)
def test_the_clock_must_not_run_back(kind):
    limit = kind()
    limit.on_response(0.1, now=5.0, in_flight=1)
    with pytest.raises(ValueError, match="clock must not run back"):
        limit.on_response(0.1, now=4.9, in_flight=1)
    with pytest.raises(ValueError, match="clock must not run back"):
        limit.on_failure(now=4.0, in_flight=1)
    for rtt in (-0.1, inf, nan):
        with pytest.raises(ValueError, match="response time"):
            limit.on_response(rtt, now=6.0, in_flight=1)


@pytest.mark.parametrize("kind", ALL)
def test_bounds_must_be_in_order(kind):
    for bounds in ({"limit_min": 0}, {"limit_min": 5, "limit_max": 4}):
        with pytest.raises(ValueError, match="limit_min"):
            kind(**bounds)


@pytest.mark.parametrize(
    "wrong", [{"alpha": 1.0}, {"interval": 0}, {"rtt_min": 2.0, "rtt_max": 1.0}]
)
def test_wrong_parameters_of_the_rule(wrong):
    with pytest.raises(ValueError, match="alpha"):
        RttLimit(**wrong)
