"""The qualities that follow no links: depth, sitemaps, given scores."""

from __future__ import annotations

import pytest

from andante.frontier.quality import Depth, Found, Given, SitemapQuality
from andante.frontier.quality.sitemap import HALF_LIFE

NOW = 1_700_000_000.0


def test_each_level_is_worth_half_of_the_one_above():
    depth = Depth()
    assert depth.seeds(["http://h/"]) == [1.0]
    found = [Found("http://h/a", depth=n) for n in (1, 2, 3, 5000)]
    assert depth.page("http://h/", found) == [0.5, 0.25, 0.125, 0.0]
    assert depth.due() is None


@pytest.mark.parametrize(
    ("priority", "age", "worth"),
    [
        (None, None, 0.5),
        (1.0, None, 0.75),
        (0.0, None, 0.25),
        (None, 0.0, 0.75),
        (None, HALF_LIFE, 0.5),
        (1.0, 0.0, 1.0),
        (1.0, -HALF_LIFE, 1.0),
        (0.0, 2 * HALF_LIFE, 0.125),
        (0.0, 1e12, 0.0),
    ],
)
def test_the_mean_of_priority_and_freshness(priority, age, worth):
    lastmod = None if age is None else NOW - age
    found = [Found("http://h/a", sitemap_priority=priority, lastmod=lastmod)]
    assert SitemapQuality(NOW).page("http://h/sitemap.xml", found) == [pytest.approx(worth)]


def test_a_link_on_a_page_does_not_overrule_a_sitemap():
    quality = SitemapQuality(NOW)
    quality.page("http://h/sitemap.xml", [Found("http://h/a", sitemap_priority=1.0)])
    assert quality.page("http://h/", [Found("http://h/a"), Found("http://h/b")]) == [0.75, 0.5]


LIST = """# what the editors say
http://h/a 0.5
http://H:80/b\t3
\thttp://h/c   1e-3

http://h/a 0.75
"""


def test_given_scores_are_found_by_canonical_url():
    given = Given(LIST.splitlines(keepends=True))
    assert given.seeds([f"http://h/{name}" for name in "abcd"]) == [0.75, 3.0, 0.001, 0.0]
    assert given.page("http://h/", [Found("http://h/b"), Found("http://h/x")]) == [3.0, 0.0]
    assert Given([], unknown=0.1).seeds(["http://h/"]) == [0.1]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("http://h/a", "'http://h/a' is not a URL and a score"),
        ("http://h/a 1 2", "is not a URL and a score"),
        ("h/a 1", "'h/a' is not an http or https URL"),
        ("http://h/a one", "score 'one' is not a number of at least 0"),
        ("http://h/a -1", "score '-1' is"),
        ("http://h/a nan", "score 'nan' is"),
        ("http://h/a inf", "score 'inf' is"),
    ],
)
def test_a_bad_line_is_named(line, problem):
    with pytest.raises(ValueError, match=rf"^scores\.txt:2: .*{problem}"):
        Given(["# scores\n", line], name="scores.txt")
