"""Source 1, claim by claim; then what holds whatever is measured."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.flow.pid import Pid

# The published record of source 1's experiment, set-point 40: pages in the last minute, and the delay that followed, ms.
RECORD = [
    (80, 3799),
    (32, 4039),
    (30, 3980),
    (30, 3720),
    (32, 3400),
    (36, 3200),
    (36, 2920),
    (42, 2980),
    (40, 2980),
    (40, 2980),
    (40, 2980),
    (40, 2980),
    (40, 2980),
    (40, 2980),
    (40, 2980),
    (40, 2980),
    (40, 2980),
    (40, 2980),
    (39, 2910),
    (40, 2910),
    (41, 2980),
    (39, 2930),
    (41, 3000),
    (40, 3000),
    (39, 2930),
]


def test_the_published_record_comes_out_to_a_millisecond():
    pid = Pid(40)
    assert len(RECORD) == 25
    for pages, delay in RECORD:
        assert pid.update(pages) * 1000 == pytest.approx(delay, abs=1)


def test_the_record_enters_five_percent_in_the_eighth_period_and_stays():
    within = [abs(pages - 40) <= 2 for pages, _ in RECORD]
    assert within.index(True) == 7
    assert all(within[7:])


def test_3_1_the_worked_example():
    pid = Pid(40, ki=0)
    assert pid.delay == 1.0
    assert pid.update(100) == pytest.approx(4.0)
    assert pid.update(30) == pytest.approx(3.5)


def test_4_1_all_three_terms():
    pid = Pid(40, kp=-0.05, ki=-0.02, kd=-0.1, delay=10)
    assert pid.update(50) == pytest.approx(10 + 0.05 * 10 + 0.02 * 10), "no error before the first"
    assert pid.update(45) == pytest.approx(10.7 + 0.05 * 5 + 0.02 * 15 - 0.1 * 5)


def test_application_details_the_delay_is_limited():
    pid = Pid(40, delay_min=0.5, delay_max=5)
    assert pid.update(1_000) == 5
    assert pid.update(0) == pytest.approx(5 - 2 + 0.02 * 60), (
        "the accumulated error is limited to 100"
    )
    for _ in range(10):
        pid.update(0)
    assert pid.delay == 0.5


def test_application_details_the_accumulated_error_is_limited():
    pid = Pid(40, kp=0, error_sum_max=50, delay_max=1_000, delay=500)
    for _ in range(100):
        pid.update(0)
    before = pid.delay
    pid.update(39)
    assert pid.delay == pytest.approx(before - 0.02 * 50)


def test_the_accumulated_error_is_cleared_when_the_error_is_0():
    pid = Pid(40)
    pid.update(50)
    delay = pid.update(40)
    assert pid.update(40) == delay


def test_a_new_set_point_forgets_the_errors_of_the_old():
    pid = Pid(40, kd=-1)
    pid.update(50)
    delay = pid.delay
    pid.set_point = 60
    assert pid.set_point == 60
    assert pid.update(59) == pytest.approx(delay - 0.07)


@pytest.mark.parametrize("set_point", [0, -40, math.nan, math.inf, -math.inf])
def test_a_set_point_is_a_finite_number_above_0(set_point):
    with pytest.raises(ValueError, match="must be a finite number of pages a minute above 0"):
        Pid(set_point)
    pid = Pid(40)
    with pytest.raises(ValueError, match="is not a rate"):
        pid.set_point = set_point
    assert pid.set_point == 40


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kp": 0.05}, "kp 0.05 is not a gain: it must be finite and at most 0"),
        ({"ki": math.nan}, "ki nan is not a gain"),
        ({"kd": -math.inf}, "kd -inf is not a gain"),
        ({"delay": 61}, "delay 61 s is not in delay_min to delay_max, 0 to 60 s"),
        ({"delay_min": -1}, "delay 1 s is not in delay_min to delay_max, -1 to 60 s"),
        ({"delay_max": math.inf}, "0 to inf s"),
        ({"error_sum_max": -1}, "error_sum_max -1 is not a bound"),
        ({"error_sum_max": math.nan}, "error_sum_max nan is not a bound"),
    ],
)
def test_wrong_arguments(wrong, message):
    with pytest.raises(ValueError, match=message):
        Pid(40, **wrong)


@pytest.mark.parametrize("pages", [-1, math.nan, math.inf])
def test_a_measurement_is_a_number_of_pages(pages):
    pid = Pid(40)
    with pytest.raises(ValueError, match="is not a measurement"):
        pid.update(pages)
    assert pid.delay == 1.0


@given(
    st.floats(0.01, 1e4),
    st.floats(-1, 0),
    st.floats(-1, 0),
    st.floats(-1, 0),
    st.lists(st.floats(0, 1e6), max_size=30),
)
def test_the_delay_stays_in_its_bounds(set_point, kp, ki, kd, measured):
    pid = Pid(set_point, kp=kp, ki=ki, kd=kd, delay_min=0.5, delay_max=30)
    for pages in measured:
        assert 0.5 <= pid.update(pages) <= 30


def test_repr_says_what_it_is():
    assert repr(Pid(40)) == "<Pid: set-point 40/min, delay 1.000 s>"
