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
        # Quotes count without "url=" too, and an URL that only begins like that word is one.
        ("0; 'a b' x", "a b"),
        ('0;"a', "a"),
        ("0;''", ""),
        ("0; url='a\"b'", 'a"b'),
        ("0;uRl\n=\t'a'", "a"),
        ("0; urn:x", "urn:x"),
        ("0; u", "u"),
        ("0 , ; a", "; a"),
        ("0;;a", ";a"),
        ("0 url=a", "a"),
        (".;a", "a"),
        ("0.x;a", ""),
        ("0" * 300_000, ""),
        ("0" * 300_000 + "x", ""),
        ("0" * 300_000 + ";a", "a"),
    ],
)
def test_refresh_steps(content, url):
    assert refresh_url(content) == url
