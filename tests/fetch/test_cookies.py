from __future__ import annotations

import pytest

from andante.fetch import Cookies
from andante.fetch.cookies import COOKIE_SIZE_MAX, COOKIES_MAX, SITES_MAX


def jar(url: str, *lines: bytes) -> Cookies:
    cookies = Cookies()
    cookies.store(
        url, [(b"Content-Type", b"text/html"), *((b"set-Cookie", line) for line in lines)]
    )
    return cookies


def test_a_response_without_cookies_leaves_nothing():
    cookies = jar("http://a.example/")
    assert not cookies
    assert cookies.header("http://a.example/") == ""


def test_a_cookie_goes_back_to_its_host():
    cookies = jar("http://a.example/x/y", b"k=v", b"l=w; Path=/")
    assert cookies
    assert cookies.header("http://a.example/x/z") == "k=v; l=w"
    assert cookies.header("http://a.example:8080/") == "l=w"
    assert cookies.header("http://b.example/") == ""


@pytest.mark.parametrize(
    ("line", "url", "goes"),
    [
        (b"k=v", "https://www.shop.co.uk/", True),
        (b"k=v", "https://shop.co.uk/", False),
        (b"k=v; Domain=shop.co.uk", "https://shop.co.uk/", True),
        (b"k=v; Domain=shop.co.uk", "https://eu.shop.co.uk/", True),
        (b"k=v; Domain=co.uk", "https://other.co.uk/", False),
        (b"k=v; Domain=other.co.uk", "https://other.co.uk/", False),
        (b"k=v; Domain=eu.shop.co.uk", "https://eu.shop.co.uk/", False),
        (b"k=v; Secure", "http://www.shop.co.uk/", False),
        (b"k=v; Secure", "https://www.shop.co.uk/", True),
        (b"k=v; Path=/in", "https://www.shop.co.uk/in/side", True),
        (b"k=v; Path=/in", "https://www.shop.co.uk/inside", False),
        (b"k=v; Max-Age=0", "https://www.shop.co.uk/", False),
        (b"k=v; Expires=Thu, 01 Jan 1970 00:00:01 GMT", "https://www.shop.co.uk/", False),
    ],
)
def test_where_a_cookie_goes(line, url, goes):
    assert jar("https://www.shop.co.uk/", line).header(url) == ("k=v" if goes else "")


def test_a_cookie_can_be_changed_and_deleted():
    cookies = jar("http://127.0.0.1/", b"k=1")
    cookies.store("http://127.0.0.1/", [(b"Set-Cookie", b"k=2")])
    assert cookies.header("http://127.0.0.1/") == "k=2"
    cookies.store("http://127.0.0.1/", [(b"Set-Cookie", b"k=; Max-Age=0")])
    assert cookies.header("http://127.0.0.1/") == ""
    assert not cookies


def test_a_site_keeps_a_bounded_number():
    cookies = Cookies()
    for i in range(3):
        lines = [(b"Set-Cookie", b"k%d-%d=v" % (i, j)) for j in range(COOKIES_MAX + 10)]
        cookies.store("http://a.example/", lines)
        assert cookies.header("http://a.example/").count("=") == COOKIES_MAX
    assert "k2-0=v" in cookies.header("http://a.example/")


def test_a_bounded_number_of_sites_is_kept():
    cookies = Cookies()
    for i in range(SITES_MAX + 5):
        cookies.store(f"http://s{i}.example/", [(b"Set-Cookie", b"k=v")])
    assert len(cookies._jars) == SITES_MAX
    assert cookies.header("http://s0.example/") == ""
    assert cookies.header(f"http://s{SITES_MAX}.example/") == "k=v"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"=",
        b";;;",
        b"k=" + b"v" * COOKIE_SIZE_MAX,
        b"k=v\r\nX: y",
        b"k=\0",
        b"k=v; Expires=" + b"1" * 3000,
    ],
)
def test_malformed_cookies_harm_nobody(line):
    value = jar("http://a.example/", line).header("http://a.example/")
    assert all(" " <= letter <= "\xff" for letter in value)
    assert len(value) < COOKIE_SIZE_MAX
