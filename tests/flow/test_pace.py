from hypothesis import given
from hypothesis import strategies as st

from andante.flow import Pace


def test_requests_start_an_interval_apart():
    pace = Pace(interval=1.0)
    pace.on_sent(10.0)
    assert pace.next_time == 11.0
    pace.on_finished(10.3)
    assert pace.next_time == 11.0


def test_a_delay_counts_from_the_end_of_the_response():
    pace = Pace(interval=1.0, delay=2.0)
    pace.on_sent(10.0)
    pace.on_finished(10.3)
    assert pace.next_time == 12.3


def test_a_hold_wins_over_what_is_earlier():
    pace = Pace(interval=1.0)
    pace.hold(60.0)
    pace.on_sent(10.0)
    assert pace.next_time == 60.0
    pace.hold(20.0)
    assert pace.next_time == 60.0


@given(
    st.floats(0, 10),
    st.floats(0, 10),
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), max_size=30),
)
def test_no_rule_is_ever_broken(interval, delay, exchanges):
    """Whoever waits for next_time keeps both rules, whatever the responses take."""
    pace, now, sent, ended = Pace(interval=interval, delay=delay), 0.0, None, None
    for idle, took in exchanges:
        now = max(now + idle, pace.next_time)
        if sent is not None:
            assert now >= sent + interval
            assert now >= ended + delay
        pace.on_sent(sent := now)
        now += took
        pace.on_finished(ended := now)


def test_with_several_connections_requests_start_a_delay_apart():
    pace = Pace(delay=2.0)
    pace.on_sent(10.0)
    assert pace.next_time == 12.0
    pace.on_sent(12.0)
    pace.on_finished(12.5)
    assert pace.next_time == 14.5
