from __future__ import annotations

import pytest

from andante.parse.robots_meta import Directives, header_directives, meta_directives

INDEX, FOLLOW = Directives(noindex=True), Directives(nofollow=True)
NONE, BOTH = Directives(), Directives(noindex=True, nofollow=True)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", NONE),
        ("index, follow", NONE),
        ("NoIndex", INDEX),
        ("nofollow ,x", FOLLOW),
        ("none", BOTH),
        ("noindexx", NONE),
    ],
)
def test_meta(content, expected):
    assert meta_directives(content) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], NONE),
        (["noindex"], INDEX),
        (["noindex", "nofollow"], BOTH),
        (["googlebot: noindex, nofollow"], NONE),
        (["Andante: nofollow"], FOLLOW),
        (["googlebot: noindex, andante: nofollow"], FOLLOW),
        (["unavailable_after: 25 Jun 2030 15:00:00 PST"], NONE),
        (["noindex, unavailable_after: 25 Jun 2030, nofollow"], BOTH),
        (["googlebot: x, max-snippet: 3, noindex"], NONE),
        ([":::,,:"], NONE),
    ],
)
def test_header(values, expected):
    assert header_directives(values, agent="andante") == expected
