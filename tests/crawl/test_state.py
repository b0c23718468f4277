"""What the parts of a crawl share."""

from types import SimpleNamespace

import pytest

from andante.crawl import state as state_module
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


@pytest.mark.parametrize("directory", ["job", None])
def test_the_crawl_pauses_while_more_urls_wait_for_the_disk_than_may(directory, monkeypatch):
    """Not so where there is no disk: all is in memory anyway, and the next commit may be the last."""
    monkeypatch.setattr(state_module, "UNSTORED_MAX", 10)
    state = State(
        Settings(),
        job=SimpleNamespace(stats={}, seed_origins=[], load=None, pending=0, directory=directory),
        client=None,
        scope=None,
        seeds=[],
    )
    state.frontier.offer([f"http://a.example/{n}" for n in range(9)], depth=0)
    assert state.has_room()
    state.frontier.offer(["http://a.example/9"], depth=0)
    assert state.has_room() is (directory is None)
    state.frontier.changes()
    assert state.has_room()
