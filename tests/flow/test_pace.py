"""The numbered rules of Pace by example; then that the ceiling is never broken, whatever happens; then how well it holds."""

import math
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.flow import Pace
from andante.sim.experiments.pid_plant import Phase, Plant, crawl, held


def send(pace, count, *, late=0.0, now=0.0):
    """Send as soon as the pace allows, each so much too late; return the times."""
    sent = []
    for _ in range(count):
        now = max(now, pace.next_time) + late
        pace.on_sent(now)
        sent.append(now)
    return sent


# The rules


def test_2_slots_lie_an_interval_apart_from_the_first_request_on():
    assert send(Pace(set_point=60), 4, now=10.0) == [10, 11, 12, 13]


def test_2_being_late_moves_no_slot():
    pace = Pace(set_point=60)
    pace.on_sent(10.0)
    assert pace.slot == pace.next_time == 11.0
    pace.on_sent(11.25)
    assert pace.slot == pace.next_time == 12.0


def test_3_missed_slots_stay_due_and_are_made_up_for_half_an_interval_apart():
    pace = Pace(set_point=60)
    pace.on_sent(10.0)
    assert send(pace, 6, now=13.5) == [13.5, 14, 14.5, 15, 15.5, 16]
    assert pace.next_time == 17.0


def test_3_whoever_is_later_than_the_credit_starts_anew():
    pace = Pace(set_point=60)
    pace.on_sent(10.0)
    assert send(pace, 3, now=14.25) == [14.25, 15.25, 16.25]


def test_3_a_slow_pace_has_a_slot_of_credit():
    pace = Pace(set_point=6)
    pace.on_sent(0.0)
    assert send(pace, 3, now=19.0) == [19, 24, 30]


def test_3_there_is_no_burst_at_the_start():
    pace = Pace(set_point=60, next_time=5.0)
    assert send(pace, 3, now=7.0) == [7, 8, 9]


def test_4_what_is_made_up_for_fills_no_window():
    """Half a second lost at 600 a minute: five requests follow quickly, and their window has room for one more than 600."""
    pace = Pace(set_point=600)
    pace.on_sent(0.0)
    sent = [0.0, *send(pace, 1_300, now=0.6)]
    assert all(
        later - earlier >= 60 - 1e-9 for earlier, later in zip(sent, sent[601:], strict=False)
    )
    assert sent[-1] == pytest.approx(130), "nothing was lost in the end"


def test_5_the_delay_runs_from_the_end_of_the_response():
    pace = Pace(set_point=60, delay=2.0)
    pace.on_sent(10.0)
    pace.on_finished(10.3)
    assert pace.next_time == 12.3


def test_5_with_several_connections_requests_go_a_delay_apart():
    pace = Pace(delay=2.0)
    pace.on_sent(10.0)
    assert pace.next_time == 12.0
    pace.on_sent(12.0)
    pace.on_finished(12.5)
    assert pace.next_time == 14.5


def test_5_a_delay_may_come_later():
    pace = Pace(set_point=60)
    pace.on_sent(10.0)
    pace.delay = 5.0
    pace.on_finished(10.5)
    assert pace.next_time == 15.5


def test_6_a_hold_wins_and_nothing_is_made_up_for_after_it():
    pace = Pace(set_point=60)
    pace.on_sent(10.0)
    pace.hold(12.5)
    assert send(pace, 3, now=11.0) == [12.5, 13.5, 14.5]


def test_6_an_earlier_hold_changes_nothing():
    pace = Pace(set_point=60, next_time=10.0)
    pace.hold(3.0)
    assert pace.next_time == 10.0


@pytest.mark.parametrize(
    ("set_point", "goes"), [(30, 12.0), (600, 10.5), (math.inf, 10.5), (1, 70)]
)
def test_7_a_change_counts_from_the_last_request(set_point, goes):
    pace = Pace(set_point=60)
    pace.on_sent(10.0)
    pace.change(set_point, 10.5)
    assert pace.set_point == set_point
    assert max(pace.next_time, 10.5) == goes


def test_7_a_change_keeps_delay_and_hold():
    pace = Pace(set_point=60, delay=5.0)
    pace.on_sent(10.0)
    pace.hold(13.0)
    pace.change(math.inf, 11.0)
    assert pace.next_time == 15.0


def test_7_a_change_before_the_first_request_starts_no_schedule():
    pace = Pace(set_point=60)
    pace.change(30, 5.0)
    assert send(pace, 3, now=7.0) == [7, 9, 11]


def test_7_the_same_set_point_again_changes_nothing():
    pace = Pace(set_point=60)
    pace.on_sent(10.0)
    pace.on_sent(13.5)
    pace.change(60, 13.6)
    assert pace.slot == 12.0


@pytest.mark.parametrize("before", [60, math.inf])
@pytest.mark.parametrize("sent", [0, 1])
def test_8_in_a_pause_nothing_goes_and_after_it_the_new_set_point_holds(before, sent):
    pace = Pace(set_point=before, delay=0.5)
    for _ in range(sent):
        pace.on_sent(10.0)
        pace.on_finished(10.2)
    pace.change(0, 11.0)
    pace.hold(30.0)
    assert (pace.set_point, pace.next_time, pace.owed) == (0, math.inf, 30.0)
    pace.change(120, 40.0)
    assert send(pace, 3, now=40.0) == [40.0, 40.5, 41.0]


def test_8_what_was_under_way_when_the_pause_came_changes_nothing():
    pace = Pace(set_point=0, delay=2.0)
    assert pace.pause == 2.0
    pace.on_sent(10.0)
    pace.on_finished(11.0)
    assert (pace.next_time, pace.owed) == (math.inf, 13.0)
    pace.change(60, 11.5)
    assert pace.next_time == 13.0


def test_without_a_set_point_only_delay_and_hold_count():
    pace = Pace()
    assert send(pace, 3, now=4.0) == [4, 4, 4]
    pace.hold(6.0)
    assert send(pace, 2, now=4.0) == [6, 6]
    assert pace.slot == -math.inf


def test_who_sends_too_early_pays_back():
    pace = Pace(set_point=60)
    for now in (0.0, 0.1, 0.2):
        pace.on_sent(now)
    assert pace.next_time == 3.0


@pytest.mark.parametrize("set_point", [-40, math.nan, -math.inf])
def test_a_set_point_is_a_number_of_0_or_more(set_point):
    with pytest.raises(ValueError, match="must be a number of pages a minute, infinity for none"):
        Pace(set_point=set_point)
    pace = Pace(set_point=40)
    with pytest.raises(ValueError, match="is not a rate"):
        pace.change(set_point, 0.0)
    assert pace.set_point == 40


def test_a_clock_that_goes_back_is_refused():
    pace = Pace(set_point=60)
    pace.on_sent(10.0)
    for told in (pace.on_sent, pace.on_finished, lambda now: pace.change(30, now)):
        with pytest.raises(ValueError, match=r"the clock went back from 10\.0+ to 9\.9"):
            told(9.9)


def test_who_is_on_time_or_idle_keeps_no_record():
    """A million servers may be known: what each needs counts."""
    pace = Pace(set_point=600)
    send(pace, 2_000, late=0.05)
    assert pace._late is None
    send(pace, 1, now=1_000.0)
    assert pace._late is None


def test_repr_says_what_it_is():
    assert repr(Pace(set_point=40)) == "<Pace: next at 0.000, set-point 40/min, delay 0 s>"


# The ceiling


@settings(deadline=None, max_examples=300)
@given(
    st.integers(1, 200) | st.floats(0.3, 200),
    st.floats(0, 1e6),
    st.lists(
        st.tuples(
            st.sampled_from([0, 0, 0, 1e-3, 0.5, 1, 2, 3, 3.1, 61]) | st.floats(0, 5),
            st.sampled_from([0, 0, 0.05, 1]) | st.floats(0, 10),
            st.none() | st.floats(0, 20),
            st.integers(1, 80),
        ),
        max_size=12,
    ),
    st.sampled_from([0, 0, 0.5]) | st.floats(0, 3),
)
def test_no_window_ever_holds_more_than_the_set_point_and_one(set_point, start, turns, delay):
    """In each turn: a pause, a hold perhaps, then some requests, each so late and with a response that took so long."""
    pace, now, sent = Pace(set_point=set_point, delay=delay), start, []
    least, ended = start, -math.inf
    for pause, late, hold, count in turns:
        now += pause
        if hold is not None:
            pace.hold(now + hold)
            least = max(least, now + hold)
        for number in range(count):
            now = max(now, pace.next_time) + (late if number % 7 == 0 else 0)
            assert now >= least, "a hold wins"
            assert now >= ended + delay, "the delay wins"
            pace.on_sent(now)
            sent.append(now)
            ended = now + (late if number % 3 == 0 else 0)
            pace.on_finished(ended)
            now = ended
    most = math.floor(set_point) + 1
    assert all(
        later - earlier >= 60 - 1e-6 for earlier, later in zip(sent, sent[most:], strict=False)
    )
    gap = 30 / set_point - 1e-6
    assert all(later - earlier >= gap for earlier, later in pairwise(sent))
    for number, at in enumerate(sent):
        assert at >= sent[0] + number * 60 / set_point - 1e-6, "not even in the long run"


# How well it holds


class Paced:
    """A Pace as the plant knows pacers."""

    pause = 0.0

    def __init__(self, set_point, delay=0.0):
        self.pace = Pace(set_point=set_point, delay=delay)
        self.next_time = 0.0

    def on_sent(self, now):
        self.pace.on_sent(now)
        self.next_time = self.pace.next_time

    def on_finished(self, now, took, *, ok):
        self.pace.on_finished(now)
        self.next_time = self.pace.next_time

    def change(self, set_point, now):
        self.pace.change(set_point, now)
        self.next_time = self.pace.next_time


def judge(phases, *, seed=1, **plant):
    """Crawl through the phases; return the requests, the start and the end of each phase."""
    sent = crawl(Paced(phases[0].set_point), Plant(tuple(phases), **plant), Random(seed))
    edges = [sum(phase.seconds for phase in phases[:number]) for number in range(len(phases) + 1)]
    return sent, list(pairwise(edges))


def grid():
    """All plants in which a connection is free at each slot, even after the slowest response."""
    for set_point in (2, 6, 20, 40, 60, 100, 600, 1_200, 6_000):
        for response in (0.05, 0.2, 0.5, 1.0, 3.0):
            for connections in (1, 2, 4, 16):
                for spread, failures in ((0.1, 0.0), (0.5, 0.0), (0.5, 0.1), (0.9, 0.3)):
                    slowest = response * (1 + spread) * (3 if failures else 1)
                    if slowest <= connections * 60 / set_point:
                        yield set_point, response, connections, spread, failures


@pytest.mark.parametrize("set_point", sorted({plant[0] for plant in grid()}))
@pytest.mark.parametrize("stalls", [0.0, 3.0])
def test_b_every_window_from_the_second_minute_on_holds_the_set_point(set_point, stalls):
    plants = [plant[1:] for plant in grid() if plant[0] == set_point]
    assert plants
    for seed, (response, connections, spread, failures) in enumerate(plants):
        seconds = 300 if set_point < 1_000 else 150
        sent, _ = judge(
            [Phase(seconds, set_point, response, connections)],
            seed=seed,
            spread=spread,
            failures=failures,
            stalls=stalls,
        )
        result = held(sent, 60, seconds, set_point)
        assert result.share == pytest.approx(1.0), (response, connections, spread, failures, result)
        assert held(sent, 0, seconds, set_point).over <= 1


BEFORE = Phase(300)
STEPS = {
    "response times five times as long": BEFORE._replace(response=2.5),
    "half of the connections gone": BEFORE._replace(connections=2, response=0.7),
    "set-point up": BEFORE._replace(set_point=60),
    "set-point down": BEFORE._replace(set_point=10),
    "set-point from a few to many": BEFORE._replace(set_point=300),
}


@pytest.mark.parametrize("step", STEPS)
def test_c_back_within_two_periods_after_a_step(step):
    after = STEPS[step]
    for seed in range(10):
        sent, (_, (start, end)) = judge([BEFORE, after], seed=seed, failures=0.0)
        assert held(sent, start + 120, end, after.set_point).share == pytest.approx(1.0)
        assert held(sent, 0, end, max(BEFORE.set_point, after.set_point)).over <= 1
        assert held(sent, start + 1e-3, end, after.set_point).over <= 1, "the count starts anew"


def test_d_nothing_winds_up_where_the_set_point_cannot_be_reached():
    for seed in range(10):
        phases = [BEFORE, BEFORE._replace(response=30.0), BEFORE]
        sent, (_, slow, (start, end)) = judge(phases, seed=seed, failures=0.0, spread=0.9)
        assert held(sent, *slow, 40).under > 20, "it could not be reached"
        recovered = start + 60  # the slow ones under way have to end first
        assert held(sent, recovered, end, 40).share == pytest.approx(1.0)
        assert held(sent, 0, end, 40).over <= 1


def test_e_the_delay_wins_over_the_set_point():
    pacer = Paced(600, delay=1.0)
    sent = crawl(pacer, Plant((Phase(120, 600, 0.05, 16),)), Random(1))
    assert min(later - earlier for earlier, later in pairwise(sent)) >= 1.0
