"""What the parts of a crawl share."""

from types import SimpleNamespace

from andante.crawl.settings import Settings
from andante.crawl.state import State


def test_the_time_of_day_goes_on_while_the_machine_sleeps_and_the_clock_stands_still():
    wall = [1_000.0]
    state = State(
        Settings(),
        job=SimpleNamespace(stats={}, seed_origins=[], load=None),
        client=None,
        scope=None,
        seeds=[],
        clock=lambda: 5.0,
        wall=lambda: wall[0],
    )
    assert (state.now(), state.wall()) == (5.0, 1_000.0)
    wall[0] = 9_000.0
    assert (state.now(), state.wall()) == (5.0, 9_000.0)
