"""The table of outcomes, and the back-off of a server in trouble."""

from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.fetch import Outcome
from andante.flow.backoff import (
    OUTCOMES,
    STATUSES,
    Again,
    Backoff,
    BackoffSettings,
    Sign,
    Trouble,
    Verdict,
    verdict,
)

BAD, MILD, GOOD, NEUTRAL, FATAL = Sign.BAD, Sign.MILD, Sign.GOOD, Sign.NEUTRAL, Sign.FATAL


# The table


def test_every_outcome_of_a_fetch_has_its_row_and_every_row_its_outcome():
    assert set(OUTCOMES) == {outcome.value for outcome in Outcome} - {"ok"}
    assert all(verdict(outcome) is OUTCOMES[outcome] for outcome in Outcome if outcome != "ok")


def test_every_status_has_a_verdict():
    assert all(isinstance(verdict("ok", status), Verdict) for status in range(100, 1000))


def test_what_is_no_outcome_has_none():
    with pytest.raises(KeyError):
        verdict("tired")


@pytest.mark.parametrize(
    ("statuses", "again", "server"),
    [
        (range(200, 400), Again.NEVER, GOOD),
        ([400, 401, 403, 404, 410, 418, 451], Again.NEVER, GOOD),
        ([408], Again.COUNTED, MILD),
        ([429, 503], Again.PATIENTLY, BAD),
        ([500, 502, 504, 507, 520, 529, 599], Again.COUNTED, MILD),
        ([501, 505], Again.NEVER, GOOD),
        ([600, 999], Again.NEVER, GOOD),
    ],
)
def test_statuses(statuses, again, server):
    assert {verdict("ok", status)[:2] for status in statuses} == {(again, server)}


def test_only_refusals_teach_the_ceiling():
    assert [status for status in range(100, 1000) if verdict("ok", status).refused] == [429, 503]
    assert not any(row.refused for row in OUTCOMES.values())


def test_a_refusal_is_no_sign_of_too_many_connections_and_a_gateway_in_trouble_is():
    assert [status for status, row in STATUSES.items() if row.overload] == [502, 503, 504]


def test_what_says_nothing_of_the_machine_does_not_hold_its_address():
    alone = {name for name, row in OUTCOMES.items() if row.address in (NEUTRAL, GOOD)}
    assert {"no-such-host", "dns", "tls", "refused", "stale"} <= alone
    assert alone.isdisjoint({"connect-timeout", "unreachable"})


def test_the_documented_table_is_this_one():
    text = (Path(__file__).parents[2] / "docs/explanation/back-off.md").read_text()
    rows = {f"`{name}`": row for name, row in OUTCOMES.items()}
    rows |= {str(status): row for status, row in STATUSES.items()}
    rows |= {"other 5xx": verdict("ok", 520), "all others": verdict("ok", 404)}
    lines = [
        f"| {name} | {word(row.again)} | {word(row.server)} | {word(row.address)} "
        f"| {'yes' if row.overload else ''} | {'yes' if row.refused else ''} |"
        for name, row in rows.items()
    ]
    assert "\n".join(lines) in text


def word(member):
    return member.name.lower().replace("_", " ")


# Waits


def fail(backoff, now, sign=BAD, jitter=0.0, **more):
    return backoff.on_outcome(sign, sent_at=now, now=now, jitter=jitter, **more)


def test_each_wait_is_twice_the_one_before():
    backoff, now, waits = Backoff(), 100.0, []
    for _ in range(7):
        until = fail(backoff, now)
        waits.append(until - now)
        now = until
    assert waits == [2, 4, 8, 16, 32, 64, 128]


def test_chance_makes_waits_longer_by_up_to_a_quarter():
    assert fail(Backoff(), 0.0, jitter=0.5) == 2.25


def test_what_the_server_asks_for_counts_where_it_is_longer():
    assert fail(Backoff(), 0.0, at_least=30.0) == 30.0
    assert fail(Backoff(), 0.0, at_least=1.0) == 2.0
    assert fail(Backoff(), 0.0, at_least=30.0, jitter=0.5) == 30.5


@pytest.mark.parametrize("sign", [GOOD, NEUTRAL, MILD])
def test_what_the_server_asks_for_counts_though_nothing_is_wrong(sign):
    backoff = Backoff()
    assert fail(backoff, 10.0, sign, at_least=30.0, jitter=0.5) == 40.5
    assert backoff.failures == 0
    assert not backoff.is_over(40.0)


def test_failures_of_requests_in_flight_together_count_once():
    backoff = Backoff()
    fail(backoff, 10.0)
    backoff.on_outcome(BAD, sent_at=9.9, now=10.1, jitter=0.0)
    assert (backoff.failures, backoff.until) == (1, 12.0)
    backoff.on_outcome(BAD, sent_at=9.9, now=10.2, jitter=0.0, at_least=60.0)
    assert (backoff.failures, backoff.until) == (1, 70.2), "but what they ask for is heeded"


def test_in_trouble_one_request_is_in_flight_at_a_time():
    backoff = Backoff()
    assert backoff.limit == inf
    fail(backoff, 0.0)
    assert backoff.limit == 1


# Mild signs


def test_five_mild_signs_are_one_bad_sign():
    backoff = Backoff()
    for now in range(4):
        assert fail(backoff, float(now), MILD) == -inf
    assert fail(backoff, 4.0, MILD) == 6.0


def test_an_answer_between_mild_signs_begins_the_count_anew():
    backoff = Backoff()
    for now, sign in enumerate([MILD] * 4 + [GOOD] + [MILD] * 4):
        fail(backoff, float(now), sign)
    assert backoff.failures == 0


def test_neutral_signs_say_nothing():
    backoff = Backoff()
    fail(backoff, 0.0)
    before = repr(backoff)
    fail(backoff, 3.0, NEUTRAL)
    assert repr(backoff) == before


# Forgiveness


def test_each_answer_takes_a_failure_back():
    backoff = Backoff()
    for now in (0.0, 10.0, 20.0):
        fail(backoff, now)
    for now in (40.0, 41.0):
        fail(backoff, now, GOOD)
    assert backoff.failures == 1
    assert not backoff.is_over(42.0)
    fail(backoff, 42.0, GOOD)
    assert backoff.is_over(42.0)


def test_an_answer_to_a_request_from_before_the_failure_takes_nothing_back():
    backoff = Backoff()
    fail(backoff, 10.0)
    backoff.on_outcome(GOOD, sent_at=9.0, now=11.0, jitter=0.0)
    assert backoff.failures == 1


def test_quiet_time_forgives_without_another_outcome():
    backoff, now = Backoff(), 0.0
    for _ in range(5):
        now = fail(backoff, now)
    assert not backoff.is_over(now + 5 * 300.0 - 1)
    assert backoff.is_over(now + 5 * 300.0)


def test_quiet_time_forgives_mild_signs():
    backoff = Backoff()
    fail(backoff, 10.0, MILD)
    assert not backoff.is_over(300.0)
    assert backoff.is_over(310.0)


def test_one_that_is_rarely_asked_is_given_up_too():
    """As where a total rate, or what others at its address do, leaves it few turns."""
    backoff, now = Backoff(has_answered=False), 0.0
    for _ in range(5):
        now = fail(backoff, now) + 3_600.0
    assert backoff.is_given_up


def test_one_that_answers_four_of_five_requests_hardly_waits():
    backoff, now, waited = Backoff(), 0.0, 0.0
    for number in range(500):
        sign = BAD if number % 5 == 0 else GOOD
        until = fail(backoff, now, sign)
        waited += max(0.0, until - now)
        now = max(now, until) + 1.0
    assert waited == 100 * 2.0


# Set aside, given up


def trouble(backoff):
    """Let it fail until it is given up; return the waits."""
    now, waits = 0.0, []
    while not backoff.is_given_up:
        until = fail(backoff, now)
        waits.append(until - now)
        now = until
    return waits[:-1]


def test_one_that_has_answered_is_set_aside_three_times_before_it_is_given_up():
    assert trouble(Backoff()) == [2, 4, 8, 16, 32, 64, 128, 900, 900, 900]


def test_one_that_has_never_answered_is_given_up_after_half_a_minute():
    assert trouble(Backoff(has_answered=False)) == [2, 4, 8, 16]


@pytest.mark.parametrize("after", [1, 5, 7, 8, 9, 20])
def test_one_that_has_never_answered_is_given_up_at_the_failure_that_was_asked_for(after):
    waits = trouble(Backoff(BackoffSettings(give_up_after=after), has_answered=False))
    assert waits == ([2, 4, 8, 16, 32, 64, 128] + [900] * 12)[: after - 1]


@pytest.mark.parametrize("has_answered", [True, False])
def test_it_goes_on_where_another_has_left_it(has_answered):
    backoff, now, waits = Backoff(has_answered=has_answered), 0.0, []
    while True:
        until = fail(backoff, now)
        if backoff.is_given_up:
            break
        waits.append(until - now)
        backoff, now = Backoff(trouble=backoff.trouble, quiet_from=until), until
    assert waits == trouble(Backoff(has_answered=has_answered))
    assert backoff.trouble is None


def test_quiet_time_since_then_forgives():
    backoff = Backoff(trouble=Trouble(2, 0, has_answered=True), quiet_from=1_000.0)
    assert backoff.limit == 1
    assert not backoff.is_over(1_599.0)
    assert backoff.is_over(1_600.0)


def test_an_answer_takes_back_that_it_was_given_up():
    backoff = Backoff(has_answered=False)
    trouble(backoff)
    fail(backoff, 1_000.0, GOOD)
    assert not backoff.is_given_up
    fail(backoff, 1_001.0)
    assert not backoff.is_given_up


def test_being_given_up_stays_without_an_answer():
    backoff = Backoff(has_answered=False)
    fail(backoff, 0.0, FATAL)
    fail(backoff, 10.0)
    assert backoff.is_given_up


def test_an_answer_after_many_failures_leaves_no_more_than_one_that_had_answered_has():
    backoff, now = Backoff(BackoffSettings(give_up_after=20), has_answered=False), 0.0
    for _ in range(15):
        now = fail(backoff, now)
    fail(backoff, now, GOOD)
    assert backoff.failures == 7


def test_settings():
    settings = BackoffSettings(base=1.0, set_aside_after=3, set_aside=60.0, set_asides=1)
    assert trouble(Backoff(settings)) == [1, 2, 60]


def test_back_from_being_set_aside_it_starts_again():
    backoff, now = Backoff(), 0.0
    for _ in range(8):
        now = fail(backoff, now)
    assert backoff.is_set_aside
    for _ in range(8):
        now += 1.0
        fail(backoff, now, GOOD)
    assert fail(backoff, now) == now + 2.0


def test_a_fatal_sign_gives_up_only_one_that_has_never_answered():
    known, unknown = Backoff(), Backoff(has_answered=False)
    assert fail(known, 0.0, FATAL) == 2.0
    fail(unknown, 0.0, FATAL)
    assert (known.is_given_up, unknown.is_given_up) == (False, True)


def test_an_answer_makes_it_one_that_has_answered():
    backoff = Backoff(has_answered=False)
    fail(backoff, 0.0, GOOD)
    assert backoff.has_answered
    fail(backoff, 1.0, FATAL)
    assert not backoff.is_given_up


# Properties

outcomes = st.lists(
    st.tuples(
        st.sampled_from(Sign),
        st.floats(0, 5_000),  # until the next call
        st.floats(0, 60),  # since it was sent
        st.floats(0, 1, exclude_max=True),
        st.one_of(st.just(0.0), st.floats(0, 86_400)),
    ),
    max_size=60,
)


@given(outcomes)
def test_whatever_happens_the_hold_is_bounded_and_never_taken_back(outcomes):
    settings = BackoffSettings()
    longest = settings.set_aside * (1 + settings.jitter)
    backoff, now, before, ends = Backoff(settings), 0.0, -inf, -inf
    for sign, gap, age, jitter, asked in outcomes:
        now += gap
        until = backoff.on_outcome(sign, sent_at=now - age, now=now, jitter=jitter, at_least=asked)
        ends = max(ends, now + max(longest, asked + 1))
        assert until == backoff.until
        assert before <= until <= ends
        assert 0 <= backoff.failures <= settings.set_aside_after
        if asked:
            assert until >= now + asked
        before = until


@given(outcomes)
def test_quiet_or_as_many_answers_as_failures_forgive_all(outcomes):
    quiet, answered, now = Backoff(), Backoff(), 0.0
    for sign, gap, age, jitter, asked in outcomes:
        now += gap
        for backoff in (quiet, answered):
            backoff.on_outcome(sign, sent_at=now - age, now=now, jitter=jitter, at_least=asked)
    later = max(now, quiet.until) + 9 * 300.0
    assert quiet.is_over(later)
    now = max(now, answered.until)
    for _ in range(8):
        fail(answered, now, GOOD)
    assert answered.is_over(now)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=20))
def test_any_number_of_failures_in_flight_together_counts_once(ages):
    backoff = Backoff()
    for age in sorted(ages):
        backoff.on_outcome(BAD, sent_at=-1.0, now=age, jitter=0.0)
    assert backoff.failures == 1


@pytest.mark.parametrize(("sent_at", "now"), [(9.0, 9.0), (11.0, 10.5)])
def test_the_clock_does_not_run_back(sent_at, now):
    backoff = Backoff()
    fail(backoff, 10.0)
    with pytest.raises(ValueError, match="clock must not run back"):
        backoff.on_outcome(BAD, sent_at=sent_at, now=now, jitter=0.0)
