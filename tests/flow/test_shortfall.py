import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.flow import Pace
from andante.flow.shortfall import REASONS, Shortfall


def play(seconds, *, set_point, every, held=(), start=1_000.0):
    """Send a request every so many seconds; in between ``held`` says who holds the next one back, from when on."""
    shortfall, pace = Shortfall(start), Pace(set_point=set_point)
    now = start
    while now < start + seconds:
        pace.on_sent(now)
        shortfall.on_sent(now, pace.slot)
        for reason, after in held:
            shortfall.on_held(reason, now + after)
        now += every
    return shortfall, start + seconds


def test_on_time():
    shortfall, now = play(300, set_point=60, every=1)
    assert abs(shortfall.sent(now) - 60) <= 1
    assert shortfall.reason(60, now) == ""


@pytest.mark.parametrize("set_point", [0.5, 1, 2, 7, 40, 100.5, 600])
def test_on_time_at_any_moment(set_point):
    interval = 60 / set_point
    for part in range(20):
        count = int(set_point) * 3 + 3
        shortfall, now = play((count - 0.5) * interval, set_point=set_point, every=interval)
        assert shortfall.reason(set_point, now + (part / 20 - 0.49) * interval) == ""


@pytest.mark.parametrize("set_point", [0.5, 1, 2, 7, 40])
def test_a_server_that_is_held_is_below_any_set_point(set_point):
    shortfall, now = play(600, set_point=set_point, every=60 / set_point)
    shortfall.on_held("back-off", now)
    assert shortfall.reason(set_point, now + 200) == "back-off"


def test_late_but_all_sent_is_held():
    """Half a slot late each time, as on a crowded connection: nothing is missing."""
    shortfall, pace = Shortfall(0.0), Pace(set_point=60)
    for number in range(200):
        pace.on_sent(number + (0.5 if number else 0))
        shortfall.on_sent(number + 0.5, pace.slot)
        shortfall.on_held("server", number + 0.5)
    assert sum(shortfall._boxes[5].lost.values()) > 2
    assert shortfall.reason(60, 200.0) == ""


def test_within_a_page_or_2_5_percent_is_on_time():
    shortfall, now = play(300, set_point=400, every=60 / 391)
    assert shortfall.reason(400, now) == ""
    shortfall, now = play(300, set_point=400, every=60 / 388)
    assert shortfall.reason(400, now) != ""


@pytest.mark.parametrize("reason", REASONS)
def test_what_held_it_back_is_the_reason(reason):
    shortfall, now = play(300, set_point=60, every=2, held=[(reason, 0.1)])
    assert abs(shortfall.sent(now) - 30) <= 1
    assert shortfall.reason(60, now) == reason


def test_if_nobody_said_why_the_machine_was_late():
    shortfall, now = play(300, set_point=60, every=1.5)
    assert shortfall.reason(60, now) == "machine"


def test_what_cost_most_is_the_reason():
    """Each request waits 10 s: 3 s for its slot, which is no loss, then 3 s for the server and 4 s for robots.txt."""
    held = [("no-urls", 0.1), ("server", 3.0), ("robots", 6.0)]
    shortfall, now = play(300, set_point=20, every=10, held=held)
    assert shortfall.reason(20, now) == "robots"


def test_the_wait_for_a_slot_is_no_loss():
    held = [("total-rate", 0.0), ("server", 10.0)]
    shortfall, now = play(300, set_point=6, every=15, held=held)
    assert shortfall.reason(6, now) == "server"


def test_it_is_known_before_anything_is_sent():
    shortfall = Shortfall(0.0)
    shortfall.on_held("back-off", 0.0)
    assert shortfall.reason(60, 0.0) == "", "nothing is due yet"
    assert shortfall.reason(60, 30.0) == "back-off"
    assert shortfall.sent(30.0) == 0


def test_a_long_hold_does_not_outlive_its_minute():
    shortfall, now = play(300, set_point=60, every=1)
    shortfall.on_held("back-off", now)
    now += 3_000
    assert shortfall.sent(now) == 0
    assert shortfall.reason(60, now) == "back-off"
    shortfall.on_sent(now, now + 1)
    shortfall.on_held("no-urls", now)
    assert shortfall.reason(60, now + 20) == "back-off"
    assert shortfall.reason(60, now + 40) == "no-urls"


def test_it_recovers_within_a_period():
    shortfall, now = play(300, set_point=60, every=4, held=[("server", 0.5)])
    for _ in range(61):
        now += 1
        shortfall.on_sent(now, now + 1)
    assert shortfall.reason(60, now) == ""


def test_without_a_set_point_something_always_holds():
    shortfall, now = play(120, set_point=float("inf"), every=0.1, held=[("server", 0.0)])
    assert shortfall.reason(float("inf"), now) == "server"
    assert shortfall.sent(now) == 600


def test_a_clock_that_goes_back_is_refused():
    shortfall = Shortfall(10.0)
    with pytest.raises(ValueError, match="the clock went back"):
        shortfall.on_sent(9.0, 10.0)


@given(
    st.floats(0, 1e6),
    st.lists(st.tuples(st.floats(0, 200), st.sampled_from(["", *REASONS])), max_size=50),
)
def test_no_more_than_the_period_is_ever_lost(start, events):
    """An empty reason: a request is sent."""
    shortfall, now = Shortfall(start), start
    for after, reason in events:
        now += after
        if reason:
            shortfall.on_held(reason, now)
        else:
            shortfall.on_sent(now, now)
        assert shortfall.reason(1e9, now) in {"", *REASONS}
        assert len(shortfall._boxes) <= 11
        lost = sum(shortfall._weight(box) * sum(box.lost.values()) for box in shortfall._boxes)
        assert lost <= 60 + 1e-6
        assert shortfall.sent(now) <= len(events)
