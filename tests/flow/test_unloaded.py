from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.flow import Unloaded


def test_the_first_responses_are_compared_with_their_mean_so_far():
    unloaded = Unloaded()
    assert [unloaded.load(latency) for latency in (0.5, 1.5, 1.0)] == [1.0, 1.5, 1.0]


def test_then_with_the_least_average():
    unloaded = Unloaded()
    for _ in range(32):
        unloaded.load(0.1)
    assert unloaded.load(0.4) == pytest.approx(4.0)
    for _ in range(200):
        assert unloaded.load(0.4) == pytest.approx(4.0), "a queue that stays is a queue"
    for _ in range(300):
        unloaded.load(0.05)
    assert unloaded.load(0.05) == pytest.approx(1.0, abs=0.01)


def test_servers_that_differ_a_thousandfold_look_alike():
    random = Random(1)
    work = [random.lognormvariate(0, 0.5) for _ in range(2_000)]
    means = []
    for scale in (0.002, 2.0):
        unloaded = Unloaded()
        loads = [unloaded.load(scale * each) for each in work]
        means.append(sum(loads[1_000:]) / 1_000)
    assert means == [pytest.approx(1.2, abs=0.2)] * 2


def test_what_this_machine_is_late_is_load():
    unloaded = Unloaded()
    assert unloaded.load(0.3, lag=0.2) == pytest.approx(3.0), "also of a server that is new"
    assert unloaded.load(0.1) == pytest.approx(1.0)


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)).map(sorted), min_size=1, max_size=100)
)
def test_a_load_is_always_a_time(latencies):
    unloaded = Unloaded()
    for lag, latency in latencies:
        assert 0 < unloaded.load(latency, lag=lag) < 1e10
