"""Source 5's experiments at a small size: what must hold at any size, and that the same seed gives the same tables."""

from __future__ import annotations

from math import inf

import pytest

from andante.frontier.quality import Found
from andante.sim.experiments import policies, protocol
from andante.sim.experiments.bound import Bound
from andante.sim.experiments.campus import Foreseen, Size, campus
from andante.sim.experiments.curve import Curve, area
from andante.sim.experiments.policies import CONTENDERS, SPEEDS, crawl, crawl_one

SMALL = Size(servers=30, pages=600, connections=5)


@pytest.fixture(scope="module", params=SPEEDS)
def crawled(request):
    return request.param, crawl(request.param, 3, SMALL)


def test_scores_are_ordered(crawled):
    _, result = crawled
    for kind in policies.KINDS:
        score = {name: result.figures[kind, name][-2] for name in [*CONTENDERS, "upper bound"]}
        assert score["breadth-first"] == 0
        assert score["upper bound"] == 1
        assert max(score[name] for name in CONTENDERS) < 1
        assert score["capability"] > max(score["breadth-first"], score["performance"])
        assert score["capability, all URLs given"] > score["capability by opic"]


@pytest.mark.parametrize("rate", [inf, 60.0])
@pytest.mark.parametrize("kind", policies.KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_no_crawl_is_above_the_bound(kind, rate, seed):
    web = campus(SMALL, seed=seed, quality=kind)
    bound = Bound(web, connections=SMALL.connections, rate=rate / 60)
    for name in ("breadth-first", "performance", "quality", "capability, all URLs given"):
        crawl = crawl_one(CONTENDERS[name], web, rate=rate, connections=SMALL.connections)
        curve = Curve.of(crawl.run(), web)
        for page in crawl.run().pages[::7]:
            assert curve.quality(page.time) <= bound.quality(page.time) + 1e-9, (name, page.time)


def test_the_bound_grows_to_all_there_is():
    web = campus(SMALL, seed=1)
    bound = Bound(web, connections=SMALL.connections)
    levels = [bound.quality(at) for at in (0.0, 1.0, 2.0, 4.0, 8.0, 1e6)]
    assert levels == sorted(levels)
    assert levels[0] == 0
    assert levels[-1] == pytest.approx(1)


def test_a_page_is_worth_what_it_would_show():
    web = campus(Size(servers=2, pages=12), seed=1, quality="zipf")
    quality, urls = Foreseen(web), list(web.urls())
    (worth,) = quality.seeds(urls[:1])
    left = 1 - web.quality(urls[0])
    new = [link for link in web.links(urls[0]) if link != urls[0]]
    assert worth == pytest.approx(web.quality(urls[0]) + len(new) * left / 11)
    # When all are found nothing is left to be shown.
    found = [Found(url, 1) for url in urls]
    assert quality.page(urls[0], found) == pytest.approx(web.qualities)
    changed = dict(quality.due())
    assert changed == pytest.approx({url: web.quality(url) for url in changed})
    assert not quality.due()


def test_a_curve_by_hand():
    curve = Curve([1.0, 2.0, 4.0], [0.5, 0.3, 0.2])
    assert [curve.quality(at) for at in (0.5, 1.0, 3.0, 9.0)] == [0, 0.5, 0.8, 1.0]
    assert [curve.time(share) for share in (0.4, 0.5, 0.6)] == [1.0, 1.0, 2.0]
    assert curve.area(3.0) == pytest.approx(0.5 + 0.8)
    assert curve.area(5.0) == pytest.approx(0.5 + 2 * 0.8 + 1)
    assert area(curve, 5.0) == pytest.approx(curve.area(5.0), rel=0.02)


def test_the_same_tables_again():
    tiny = Size(servers=10, pages=100, connections=3)
    first, again = (policies.run(seed=2, seeds=2, size=tiny) for _ in range(2))
    assert first == again
    assert [table.name for table in first.tables] == ["policies", "deviations"]
    assert len(first.tables[0].rows) == len(SPEEDS) * len(policies.KINDS) * (len(CONTENDERS) + 1)


def test_persistent_connections_are_about_twice_as_fast():
    found = protocol.run(size=Size(servers=100, pages=2_000), connections=(4, 16), fast=(2, 14, 20))
    for row in found.tables[0].rows:
        assert 1.6 < row[4] < 2.6
    (_, two), (_, fourteen), (_, twenty) = found.tables[1].rows
    assert fourteen > 4 * two
    assert twenty < 1.05 * fourteen
