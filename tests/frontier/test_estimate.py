import pytest

from andante.frontier import Estimate, Measured
from andante.frontier.estimate import Estimates


def visit(connection_time=None, responses=0, seconds=0.0, served=0, used_up=False):
    return Measured(
        connection_time=connection_time,
        responses=responses,
        seconds=seconds,
        served=served,
        is_used_up=used_up,
    )


def test_the_first_measurement_counts_in_full_and_then_a_fifth():
    """E(i) = 0.8 E(i - 1) + 0.2 M(i - 1)."""
    estimates = Estimates()
    known = estimates.learn(None, visit(0.2, 4, 2.0))
    assert (known.connection_time, known.response_time) == pytest.approx((0.2, 0.5))
    known = estimates.learn(known, visit(0.7, 2, 0.2))
    assert (known.connection_time, known.response_time) == pytest.approx((0.3, 0.42))
    known = estimates.learn(known, visit())
    assert (known.connection_time, known.response_time) == pytest.approx((0.3, 0.42))


def test_requests_of_a_connection():
    """50 until a connection has ended; a longer one shows that there are more."""
    estimates = Estimates()
    known = estimates.learn(None, visit(0.1, 3, 0.3, served=3))
    assert known.requests == 50
    assert estimates.learn(known, visit(served=60)).requests == 60
    assert estimates.learn(known, visit(served=1, used_up=True)).requests == 1
    assert estimates.learn(known, visit(served=2)).requests == 2


def test_of_a_new_server_what_servers_do_on_average_is_expected():
    estimates = Estimates()
    assert estimates.crawl == Estimate(0.1, 0.3, 50), "before anything is known"
    estimates.learn(None, visit(1.0, 1, 2.0))
    estimates.learn(None, visit(0.0, 1, 1.0))
    assert (estimates.crawl.connection_time, estimates.crawl.response_time) == (0.5, 1.5)
    for _ in range(1_000):
        estimates.learn(None, visit(0.3, 10, 1.0))
    assert estimates.crawl.connection_time == pytest.approx(0.3, rel=0.01)
    assert estimates.crawl.response_time == pytest.approx(0.1, rel=0.01)


def test_a_server_that_only_let_us_connect():
    estimates = Estimates()
    estimates.learn(None, visit(0.5, 1, 0.7))
    known = estimates.learn(None, visit(0.1))
    assert (known.connection_time, known.response_time) == pytest.approx((0.1, 0.7))


@pytest.mark.parametrize(("pipelined", "seconds"), [(False, 2.2), (True, 0.2 + 2.0 / 1.2)])
def test_the_time_of_a_visit(pipelined, seconds):
    """T = 2 c + P r / p."""
    estimates = Estimates(pipelined=pipelined)
    assert estimates.seconds(Estimate(0.1, 0.2), 10) == pytest.approx(seconds)
