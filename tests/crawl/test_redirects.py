from itertools import permutations

import pytest

from andante.crawl.redirects import Redirects

LOOP = {"/a": "/b", "/b": "/c", "/c": "/d", "/d": "/a"}


def closed(redirects, way):
    """Take redirects as a crawl does; return the URLs of those that close a loop."""
    found = []
    for url, target in way:
        if redirects.closes_loop(url, target):
            found.append(url)
        else:
            redirects.add(url, target)
    return found


@pytest.mark.parametrize("order", list(permutations(LOOP)))
def test_the_last_redirect_of_a_loop_closes_it(order):
    way = [("/leads into it", "/b"), *((url, LOOP[url]) for url in order), ("/so does it", "/a")]
    assert closed(Redirects(hops_max=10), way) == [order[-1]]


def test_a_redirect_to_itself_is_a_loop():
    assert closed(Redirects(hops_max=0), [("/a", "/a")]) == ["/a"]


def test_redirects_that_meet_or_end_are_no_loop():
    way = [("/a", "/b"), ("/c", "/b"), ("/b", "/d"), ("/e", "/a"), ("/d", "/page")]
    assert closed(Redirects(hops_max=10), way) == []


@pytest.mark.parametrize(("hops", "expected"), [(2, []), (3, ["/d"])])
def test_no_more_hops_than_allowed_are_looked_along(hops, expected):
    assert closed(Redirects(hops_max=hops), LOOP.items()) == expected


def test_what_is_remembered_is_bounded():
    redirects = Redirects(hops_max=10, size_max=3)
    for number in range(10):
        redirects.add(f"/{number}", f"/{number + 1}")
        assert len(redirects._targets) <= 3
    assert redirects.closes_loop("/10", "/7")
    assert not redirects.closes_loop("/10", "/6"), "forgotten"
