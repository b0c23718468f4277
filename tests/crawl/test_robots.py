"""What follows from robots.txt in a crawl; how it is read is in tests/fetch."""

from math import inf
from types import SimpleNamespace

import pytest

from andante.crawl.robots import RobotsBook
from andante.fetch import Response
from andante.frontier import Frontier


@pytest.mark.parametrize("delay", [0.0, 2.0])
def test_a_crawl_delay_can_get_longer_and_shorter_but_not_below_our_own(delay):
    kept = []
    state = SimpleNamespace(
        settings=SimpleNamespace(
            ignore_robots=False,
            robots_name="andante",
            max_crawl_delay=60.0,
            delay=delay,
            sitemaps=False,
        ),
        job=SimpleNamespace(crawl_delay=lambda _, seconds: kept.append(seconds)),
        now=lambda: 0.0,
        robots=SimpleNamespace(put=lambda *_: None),
    )
    throttle = SimpleNamespace(read_robots=lambda *_, **__: None)
    book = RobotsBook(state, None, throttle)
    state.frontier = Frontier(lambda _: [], set_point=inf, delay=delay)
    server = state.frontier.server("http://a.example")
    pauses = []
    for asked in (5, 9, 1, 0):
        text = f"User-agent: *\nCrawl-delay: {asked}\n".encode() if asked else b""
        response = Response(200, "", "1.1", [], text, 0.0, 0.1, 0.1, 0)
        book.on_result(server, response, 0.0, at=server)
        pauses.append(server.origin_pace.delay)
    assert pauses == [5, 9, max(1, delay), delay]
    assert kept == ([5, 9, 1, 0] if not delay else [5, 9, 1])
