from __future__ import annotations

import pytest

from andante.parse.collect import refresh_url


@pytest.mark.parametrize(
    ("content", "url"),
    [
        ("0; url=a", "a"),
        ("5;URL = 'a b' x", "a b"),
        ('1,url="a', "a"),
        ("1 a", "a"),
        ("1;a", "a"),
        ("1; url", "url"),
        ("1; urls=3", "urls=3"),
        (".5; url=a", "a"),
        ("1.5.5;url=a", "a"),
        ("  3  ;  url=a", "a"),
        ("5", ""),
        ("5;", ""),
        ("5; url=", ""),
        ("a; url=b", ""),
        ("5a; url=b", ""),
        ("; url=b", ""),
        ("", ""),
    ],
)
def test_refresh_steps(content, url):
    assert refresh_url(content) == url
