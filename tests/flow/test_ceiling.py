"""The learnt ceiling, rule by rule. How it fares with whole servers is in tests/sim/test_backoff_experiment.py."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.flow.ceiling import Ceiling, Learnt

TRIP = 0.001
"""Seconds from a request to its answer."""


class Server:
    """Plays a server to a ceiling, one request at a time."""

    def __init__(self, ceiling=None):
        self.ceiling = ceiling or Ceiling()
        self.now = 0.0
        self.sent_at = 0.0

    def send(self, *, refuse=False, wait=0.0):
        """Send one request when it may go, and ``wait`` seconds later; return what the ceiling says of a refusal."""
        self.sent_at = max(self.now + wait, self.ceiling.next_time)
        self.now = self.sent_at + TRIP
        self.ceiling.on_sent(self.sent_at)
        if refuse:
            return self.ceiling.on_refused(self.sent_at, now=self.now)
        return self.ceiling.on_success(self.sent_at, now=self.now)

    def serve(self, count, wait=0.1):
        """Answer so many requests."""
        for _ in range(count):
            self.send(wait=wait)

    def ban(self, seconds=30.0, probes=()):
        """Refuse one request, those sent so many seconds later, and answer one ``seconds`` later."""
        self.send(refuse=True, wait=0.1)
        began = self.sent_at
        for probe in probes:
            self.send(refuse=True, wait=began + probe - self.now)
        self.send(wait=began + seconds - self.now)


def rate(ceiling):
    """Return requests a second."""
    return ceiling.set_point / 60


def test_without_refusals_there_is_no_ceiling():
    server = Server()
    server.serve(500, wait=0.01)
    assert server.ceiling.set_point == inf
    assert server.ceiling.learnt is None
    assert server.ceiling.next_time == server.sent_at


def test_the_first_guess_is_the_burst_in_ten_seconds():
    server = Server()
    server.serve(35, wait=0.02)
    server.ban()
    assert rate(server.ceiling) == pytest.approx(0.98 * 3.5, rel=0.001)


def test_the_first_guess_is_below_the_rate_that_was_refused():
    server = Server()
    server.serve(60, wait=0.5)  # 2 a second for 30 s
    server.ban()
    assert 0.7 * 2 < rate(server.ceiling) < 0.8 * 2


def test_a_small_burst_is_no_reason_for_less_than_one_a_second():
    server = Server()
    server.serve(3)
    server.ban()
    assert rate(server.ceiling) == pytest.approx(0.98)


@pytest.mark.parametrize("idle", [30.0, 110.0, 600.0])
def test_one_refusal_after_a_sparse_beginning_is_no_reason_for_less_than_one_a_second(idle):
    server = Server()
    server.serve(1)
    server.send(refuse=True, wait=idle)
    server.send(wait=6.5)
    assert rate(server.ceiling) == pytest.approx(0.98)
    server.serve(40, wait=0.0)
    assert server.ceiling.set_point == inf, "it was never asked faster"


def test_idle_time_is_not_time_in_which_requests_were_served():
    server = Server()
    server.serve(200, wait=0.1)  # 20 s
    server.now += 100.0
    server.ban()
    assert rate(server.ceiling) == pytest.approx(0.98 * 200 / (1.3 * 30), rel=0.02)


def test_refused_again_after_no_more_than_the_burst_the_rate_is_halved():
    server = Server()
    server.serve(60, wait=0.02)
    server.ban()
    before = rate(server.ceiling)
    server.serve(59, wait=0.0)
    server.ban()
    assert rate(server.ceiling) == pytest.approx(before / 2, rel=0.05)


def test_a_rate_that_proves_itself_is_doubled():
    server = Server()
    server.serve(35, wait=0.02)
    server.ban()
    before = rate(server.ceiling)
    server.serve(43, wait=0.0)
    assert rate(server.ceiling) == pytest.approx(2 * before)


def test_a_rate_that_is_not_used_does_not_prove_itself():
    server = Server()
    server.serve(35, wait=0.02)
    server.ban()
    before = rate(server.ceiling)
    server.serve(200, wait=1.0)
    assert rate(server.ceiling) == before


def test_the_second_ban_tells_the_window():
    """36 are refused within 7 s, and 42 were not in 12 s."""
    server = Server()
    server.serve(35, wait=0.02)
    server.ban()
    assert rate(server.ceiling) == pytest.approx(3.43, rel=0.001)
    server.serve(42, wait=0.0)
    assert rate(server.ceiling) == pytest.approx(6.86, rel=0.001)
    server.serve(40, wait=0.0)
    server.ban()
    assert rate(server.ceiling) == pytest.approx(0.95 * 6.86, rel=0.001)


def test_the_second_ban_comes_sooner_where_the_first_guess_was_right():
    """Of 35 in 10 s; 10 s before it most were served at the lower rate."""
    server = Server()
    server.serve(35, wait=0.02)
    server.ban()
    server.serve(42, wait=0.0)
    server.serve(3, wait=0.0)
    server.ban()
    assert rate(server.ceiling) == pytest.approx(3.55, abs=0.15)


def known(rate_=3.0, ban=30.0, now=0.0):
    return Ceiling(Learnt(rate=rate_, is_known=True, burst=35, ban=ban, peak=350.0), now=now)


def test_what_was_learnt_is_remembered():
    ceiling = known()
    assert ceiling.set_point == 180.0
    assert ceiling.learnt == Learnt(rate=3.0, is_known=True, burst=35, ban=30.0, peak=350.0)


def test_a_known_ceiling_that_is_refused_is_lowered():
    server = Server(known())
    server.serve(200, wait=0.0)
    server.ban()
    assert rate(server.ceiling) == pytest.approx(3.0 * (1 - 35 / 200))
    server.serve(5, wait=0.0)
    server.ban()
    assert rate(server.ceiling) == pytest.approx(1.5 * (1 - 35 / 200)), "never by more than half"


def test_more_is_tried_only_when_a_ban_would_cost_no_more_than_2_percent():
    server = Server(known())
    server.serve(4_490, wait=0.0)  # 1,497 s
    assert rate(server.ceiling) == 3.0
    server.serve(60, wait=0.0)
    assert rate(server.ceiling) == pytest.approx(3.0 * 17 / 16)


def test_more_tried_in_vain_leaves_the_ceiling_as_it_was():
    server = Server(known())
    server.serve(4_550, wait=0.0)
    assert rate(server.ceiling) > 3.0
    server.ban()
    assert rate(server.ceiling) == 3.0


def test_a_server_that_allows_more_is_found_out():
    server = Server(known())
    server.serve(10_000, wait=0.0)
    assert rate(server.ceiling) > 300, "more than ever before"
    server.serve(10_000, wait=0.0)
    assert server.ceiling.set_point == inf


# Bans


def test_the_length_of_a_ban_is_remembered():
    server = Server()
    server.serve(35)
    assert server.send(refuse=True) == 0.0, "not known yet"
    server.send(wait=30.0)
    server.serve(10)
    assert server.send(refuse=True) == pytest.approx(15.0, abs=0.2), "half-way first"
    assert server.send(refuse=True, wait=15.0) == pytest.approx(7.5, abs=0.2), "then again"
    assert server.send(refuse=True, wait=15.1) == 0.0, "and then it is longer than known"


def test_the_next_ban_is_tried_between_the_last_refusal_and_the_first_answer():
    server = Server()
    server.serve(35)
    server.ban(30.0, probes=[2.0, 6.0, 14.0])
    server.serve(10)
    assert server.send(refuse=True) == pytest.approx(22.0, abs=0.2)


def test_long_bans_are_not_waited_for_from_memory():
    server = Server()
    server.serve(35)
    server.ban(3_600.0)
    server.serve(10)
    assert server.send(refuse=True) == pytest.approx(120.0, abs=0.2)


def test_refusals_of_requests_in_flight_together_are_one():
    """Answers come in any order, and what was served before the first of them is what counts."""
    ceiling = Ceiling()
    for number in range(45):
        ceiling.on_sent(number / 100)
    for number in [*range(30), 37, 36, 40, 31, 30, 32, 33, 34, 35, 44, 38, 39, 41, 42, 43]:
        if number < 35:
            ceiling.on_success(number / 100, now=0.5)
        else:
            ceiling.on_refused(number / 100, now=0.5)
    ceiling.on_sent(30.0)
    ceiling.on_success(30.0, now=30.1)
    assert ceiling.learnt is not None
    assert ceiling.learnt.burst == 35


# Refusals that are no meter's


def test_a_rare_refusal_that_is_over_at_once_changes_nothing():
    server = Server()
    for _ in range(20):
        server.serve(60)
        server.ban(2.0)
    assert server.ceiling.set_point == inf


def test_frequent_ones_do():
    server = Server()
    for _ in range(2):
        server.serve(20)
        server.ban(2.0)
    assert server.ceiling.set_point < inf


def test_when_lowering_the_rate_does_not_help_there_is_no_ceiling():
    server = Server(known())
    for served in (100, 120, 90):
        server.serve(served, wait=0.0)
        server.ban(2.0)
    assert server.ceiling.set_point == inf
    for served in (30, 10, 45, 20, 7):
        server.serve(served)
        server.ban(2.0)
    assert server.ceiling.set_point == inf, "now it takes more to believe in one"
    for served in (20, 20, 21, 20):
        server.serve(served)
        server.ban(2.0)
    assert server.ceiling.set_point < inf


# Properties


@given(
    st.lists(
        st.tuples(st.sampled_from(["served", "refused"]), st.floats(0, 100), st.integers(1, 40)),
        max_size=50,
    )
)
def test_whatever_is_refused_the_ceiling_is_above_0_and_bans_are_bounded(events):
    server = Server()
    was_refused = False
    for kind, wait, count in events:
        for _ in range(count):
            left = server.send(refuse=kind == "refused", wait=wait / count)
            if kind == "refused":
                was_refused = True
                assert 0 <= left <= 120.0
        assert server.ceiling.set_point >= 1.0
        assert was_refused or server.ceiling.set_point == inf
        assert server.ceiling.next_time >= server.sent_at
        if server.ceiling.learnt is not None:
            assert Ceiling(server.ceiling.learnt).learnt == server.ceiling.learnt


@given(st.lists(st.floats(0, 5), min_size=2, max_size=50))
def test_requests_go_evenly_and_what_was_missed_is_not_made_up_for(lags):
    ceiling, now, last = known(2.0), 0.0, None
    for lag in lags:
        now = max(now, ceiling.next_time) + lag
        assert last is None or now - last >= 0.5 - 1e-9
        ceiling.on_sent(now)
        last = now


def test_the_clock_does_not_run_back():
    ceiling = Ceiling()
    ceiling.on_sent(10.0)
    for call in (
        lambda: ceiling.on_sent(9.0),
        lambda: ceiling.on_success(9.0, now=9.5),
        lambda: ceiling.on_refused(11.0, now=10.5),
    ):
        with pytest.raises(ValueError, match="clock must not run back"):
            call()
