from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.fetch import Cookies
from andante.fetch.cookies import BYTES_MAX, COOKIES_MAX, HEADER_MAX
from andante.fetch.set_cookie import SIZE_MAX

NOW = 1_000_000_000.0


def jar(url: str, *lines: bytes) -> Cookies:
    cookies = Cookies(lambda: NOW)
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
        (b"k=v", "https://a.www.shop.co.uk/", False),
        (b"k=v; Domain=shop.co.uk", "https://shop.co.uk/", True),
        (b"k=v; Domain=.SHOP.co.uk", "https://eu.shop.co.uk/", True),
        (b"k=v; Domain=www.shop.co.uk", "https://a.www.shop.co.uk/", True),
        (b"k=v; Domain=www.shop.co.uk", "https://shop.co.uk/", False),
        # Not a domain of the host's
        (b"k=v; Domain=eu.shop.co.uk", "https://www.shop.co.uk/", False),
        (b"k=v; Domain=eu.shop.co.uk", "https://eu.shop.co.uk/", False),
        (b"k=v; Domain=other.co.uk", "https://other.co.uk/", False),
        (b"k=v; Domain=op.co.uk", "https://www.shop.co.uk/", False),
        (b"k=v; Domain=www.shop.co.uk.", "https://www.shop.co.uk/", False),
        (b"k=v; Domain=www.shop.co.uk:443", "https://www.shop.co.uk/", False),
        (b'k=v; Domain="shop.co.uk"', "https://www.shop.co.uk/", False),
        # A public suffix
        (b"k=v; Domain=co.uk", "https://www.shop.co.uk/", False),
        (b"k=v; Domain=uk", "https://www.shop.co.uk/", False),
        # Schemes, paths and time
        (b"k=v; Secure", "http://www.shop.co.uk/", False),
        (b"k=v; Secure", "https://www.shop.co.uk/", True),
        (b"k=v; Path=/in", "https://www.shop.co.uk/in", True),
        (b"k=v; Path=/in", "https://www.shop.co.uk/in?side", True),
        (b"k=v; Path=/in", "https://www.shop.co.uk/in/side", True),
        (b"k=v; Path=/in", "https://www.shop.co.uk/inside", False),
        (b"k=v; Path=/in", "https://www.shop.co.uk/IN", False),
        (b"k=v; Path=/in/", "https://www.shop.co.uk/in", False),
        (b"k=v; Path=/in/", "https://www.shop.co.uk/in//side", True),
        (b"k=v; Path=/i%6E", "https://www.shop.co.uk/in", False),
        (b"k=v; Path=in", "https://www.shop.co.uk/", True),
        (b"k=v; Max-Age=1", "https://www.shop.co.uk/", True),
        (b"k=v; Max-Age=", "https://www.shop.co.uk/", True),
        (b"k=v; Max-Age=0", "https://www.shop.co.uk/", False),
        (b"k=v; Expires=Thu, 01 Jan 1970 00:00:01 GMT", "https://www.shop.co.uk/", False),
        # Prefixes
        (b"__Host-k=v; Secure; Path=/", "https://www.shop.co.uk/", True),
        (b"__Host-k=v; Secure; Path=/", "https://eu.shop.co.uk/", False),
    ],
)
def test_where_a_cookie_goes(line, url, goes):
    sent = line.partition(b";")[0].decode()
    assert jar("https://www.shop.co.uk/", line).header(url) == (sent if goes else "")


def test_sites_below_a_private_suffix_share_no_cookies():
    cookies = jar("https://mallory.github.io/", b"k=v; Domain=github.io", b"l=w")
    assert cookies.header("https://mallory.github.io/") == "l=w"
    assert cookies.header("https://alice.github.io/") == ""
    assert cookies.header("https://github.io/") == ""


def test_a_public_suffix_that_is_a_host_has_cookies_of_its_own():
    cookies = jar("https://github.io/", b"k=v; Domain=github.io")
    assert cookies.header("https://github.io/") == "k=v"
    assert cookies.header("https://alice.github.io/") == ""


def test_hosts_below_an_unlisted_top_level_domain_may_share_cookies():
    cookies = jar(
        "http://wiki.corp.internal/", b"k=v; Domain=corp.internal", b"l=w; Domain=internal"
    )
    assert cookies.header("http://mail.corp.internal/") == "k=v"


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("127.0.0.1", b"127.0.0.1"),
        ("127.0.0.1", b"0.0.1"),
        ("127.0.0.1", b"1"),
        ("[::1]", b"::1"),
        ("[::1]", b"1"),
        ("[fd00::1.2.3.4]", b"3.4"),
    ],
)
def test_an_address_is_no_domain(host, domain):
    """It is one host, and no other is below it."""
    cookies = jar(f"http://{host}/", b"k=v", b"l=w; Domain=" + domain)
    other = "http://127.0.1.1/"
    assert cookies.header(other) == ""
    assert "k=v" in cookies.header(f"http://{host}/")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://a.example/", "/"),
        ("http://a.example/x", "/"),
        ("http://a.example/x?y/z", "/"),
        ("http://a.example/x/", "/x"),
        ("http://a.example/x/y/z", "/x/y"),
    ],
)
def test_the_path_of_a_cookie_that_names_none_is_that_of_its_directory(url, path):
    cookies = jar(url, b"k=v")
    assert cookies.header("http://a.example" + path) == "k=v"
    assert cookies.header("http://a.example" + path.rstrip("/") + "/below") == "k=v"
    assert bool(cookies.header("http://a.example/other")) is (path == "/")


def test_longer_paths_are_sent_first_and_then_older_cookies():
    cookies = jar(
        "https://a.example/x/y",
        b"one=1; Path=/",
        b"two=2; Path=/x",
        b"three=3; Path=/",
        b"four=4; Path=/x; Domain=a.example",
        b"one=5; Path=/",  # it keeps its age
    )
    assert cookies.header("https://a.example/x/z") == "two=2; four=4; one=5; three=3"


def test_cookies_of_one_name_are_told_apart_by_domain_and_path():
    cookies = jar(
        "https://www.a.example/x/",
        b"k=1",
        b"k=2; Path=/",
        b"k=3; Path=/; Domain=a.example",
        b"k=4; Path=/; Domain=www.a.example",
    )
    assert cookies.header("https://www.a.example/x/") == "k=1; k=2; k=3; k=4"
    assert cookies.header("https://a.example/x/") == "k=3"


def test_a_cookie_can_be_changed_and_deleted():
    cookies = jar("http://127.0.0.1/", b"k=1")
    cookies.store("http://127.0.0.1/", [(b"Set-Cookie", b"k=2")])
    assert cookies.header("http://127.0.0.1/") == "k=2"
    cookies.store("http://127.0.0.1/", [(b"Set-Cookie", b"k=; Max-Age=0")])
    assert cookies.header("http://127.0.0.1/") == ""
    assert not cookies


def test_a_cookie_ends_when_its_time_has_come():
    now = [NOW]
    cookies = Cookies(lambda: now[0])
    cookies.store(
        "http://a.example/", [(b"Set-Cookie", b"k=v; Max-Age=60"), (b"Set-Cookie", b"l=w")]
    )
    now[0] += 59
    assert cookies.header("http://a.example/") == "k=v; l=w"
    now[0] += 1
    assert cookies.header("http://a.example/") == "l=w"


@pytest.mark.parametrize(
    "line",
    [
        b"k=http; Secure",
        b"k=http; Path=/x",
        b"k=http; Path=/x/below",
        b"k=http; Path=/x; Domain=a.example",
        b"k=; Path=/x; Max-Age=0",
    ],
)
def test_what_comes_by_http_does_not_stand_in_the_way_of_a_secure_cookie(line):
    cookies = jar("https://www.a.example/", b"k=v; Secure; Path=/x")
    cookies.store("http://www.a.example/x/", [(b"Set-Cookie", line)])
    assert cookies.header("https://www.a.example/x/below") == "k=v"


def test_what_comes_by_http_may_be_sent_by_https():
    cookies = jar("https://a.example/", b"k=v; Secure; Path=/x")
    cookies.store("http://a.example/", [(b"Set-Cookie", b"k=w"), (b"Set-Cookie", b"l=w")])
    assert cookies.header("https://a.example/x") == "k=v; k=w; l=w"


# Limits


def test_a_site_keeps_a_bounded_number():
    cookies = Cookies()
    for i in range(3):
        lines = [(b"Set-Cookie", b"k%d-%d=v" % (i, j)) for j in range(COOKIES_MAX + 10)]
        cookies.store(f"http://h{i}.a.example/", [(k, v + b"; Domain=a.example") for k, v in lines])
        assert cookies.header("http://a.example/").count("=") == COOKIES_MAX
    assert "k2-0=v" in cookies.header("http://a.example/")


def test_a_request_has_a_bounded_number_of_bytes_of_cookies():
    value = b"v" * 1_000
    lines = [b"k%d=%b; Path=/%b" % (n, value, b"x" if n % 2 else b"") for n in range(20)]
    cookies = jar("http://a.example/", *lines)
    sent = cookies.header("http://a.example/x")
    assert HEADER_MAX - 1_010 < len(sent) <= HEADER_MAX
    assert [pair.partition("=")[0] for pair in sent.split("; ")] == [
        f"k{n}" for n in (1, 3, 5, 7, 9, 11, 13, 15)
    ]


def test_cookies_that_have_ended_make_room_first():
    now = [NOW]
    cookies = Cookies(lambda: now[0])
    old = [(b"Set-Cookie", b"old%d=v" % i) for i in range(COOKIES_MAX - 10)]
    short = [(b"Set-Cookie", b"short%d=v; Max-Age=1" % i) for i in range(10)]
    cookies.store("http://a.example/", old + short)
    now[0] += 2
    cookies.store("http://a.example/", [(b"Set-Cookie", b"new%d=v" % i) for i in range(10)])
    assert cookies.header("http://a.example/").count("=") == COOKIES_MAX
    assert cookies.header("http://a.example/").startswith("old0=v")


def fill(cookies: Cookies, *, size: int, sites: int, each: int) -> None:
    value = b"v" * size
    for i in range(sites):
        lines = [(b"Set-Cookie", b"k%d=%b" % (j, value)) for j in range(each)]
        cookies.store(f"http://s{i}.example/", lines)


def test_all_sites_together_keep_a_bounded_number_of_bytes():
    cookies = Cookies()
    sites = BYTES_MAX // (SIZE_MAX * COOKIES_MAX) + 20
    fill(cookies, size=SIZE_MAX - 3, sites=sites, each=COOKIES_MAX)
    assert cookies.header("http://s0.example/") == ""
    assert cookies.header(f"http://s{sites - 1}.example/") != ""
    assert BYTES_MAX * 0.9 < cookies._bytes <= BYTES_MAX


@pytest.mark.parametrize(
    ("size", "sites", "each"), [(1, 5_000, 1), (1, 200, 50), (40, 2_000, 5), (4_000, 10, 50)]
)
def test_the_bytes_that_are_counted_are_those_that_are_taken(size, sites, each):
    cookies = Cookies()
    tracemalloc.start()
    try:
        fill(cookies, size=size, sites=sites, each=each)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken <= cookies._bytes * 1.1


def test_a_site_that_sets_cookies_again_is_not_the_next_to_go():
    cookies = Cookies()
    cookies.store("http://first.example/", [(b"Set-Cookie", b"k=v")])
    fill(cookies, size=4_000, sites=100, each=50)
    cookies.store("http://first.example/", [(b"Set-Cookie", b"k=w")])
    fill(cookies, size=4_000, sites=100, each=50)
    assert cookies.header("http://first.example/") == "k=w"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"=",
        b";;;",
        b"k=" + b"v" * SIZE_MAX,
        b"k=v\r\nX: y",
        b"k=\0",
        b"k=v; Expires=" + b"1" * 3000,
        b"k=v; Max-Age",
        b"k=v; Max-Age=-" + b"9" * 900,
        b"k=v; Domain=" + b"." * 900,
        b"k=v; Domain=\xff\xfe",
    ],
)
def test_malformed_cookies_harm_nobody(line):
    cookies = jar("http://a.example/", line, b"good=one")
    value = cookies.header("http://a.example/")
    assert value.endswith("good=one")
    assert all(" " <= letter <= "\xff" for letter in value)
    assert len(value) < SIZE_MAX


HOSTS = st.sampled_from(
    ["a.example", "www.a.example", "b.co.uk", "127.0.0.1", "[::1]", "x", "x.github.io"]
)
PIECES = st.sampled_from(
    b"k= = ; . / x Max-Age= 9 - Secure __Host-k=v Domain= a.example example co.uk github.io 0.0.1 Path= \xff".split()
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["http", "https"]),
            HOSTS,
            st.lists(PIECES, max_size=20).map(b"".join) | st.binary(max_size=40),
        ),
        max_size=8,
    )
)
def test_nothing_that_is_set_is_an_error_or_leaves_its_site(responses):
    cookies = Cookies(lambda: NOW)
    for scheme, host, line in responses:
        cookies.store(
            f"{scheme}://{host}/",
            [(b"Set-Cookie", b"mine=%b" % host.encode()), (b"Set-Cookie", line)],
        )
    for host in ("a.example", "x.github.io", "127.0.0.1"):
        sent = cookies.header(f"https://{host}/").split("; ")
        assert {pair for pair in sent if pair.startswith("mine=")} <= {f"mine={host}"}
    for stranger in ("evil.example", "other.co.uk", "y.github.io", "1.0.0.1"):
        assert cookies.header(f"https://{stranger}/") == ""
