from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.fetch import Failure, Outcome, Response, Robots, RobotsReading
from andante.fetch.robots import HOPS_MAX, PACKED_MAX, SIZE_MAX, TTL, TTL_UNREACHABLE

SERVER = "https://a.example"
RULES = b"User-agent: *\nDisallow: /private\n"


def response(status: int, body: bytes = b"", **fields: bytes) -> Response:
    headers = [(name.replace("_", "-").encode(), value) for name, value in fields.items()]
    return Response(status, "", "1.1", headers, body, 0.0, 0.0, 0.0, 0)


def read(*results: Response | Failure) -> Robots:
    reading = RobotsReading(SERVER, agent="andante")
    for result in results[:-1]:
        assert reading.on_result(result, now=100.0) is None
    robots = reading.on_result(results[-1], now=100.0)
    assert robots is not None
    return robots


def allowed(body: bytes, path: str) -> bool:
    return read(response(200, body)).allows(SERVER + path)


@pytest.mark.parametrize(
    ("result", "allows", "ttl"),
    [
        (response(200, RULES), False, TTL),
        (response(200, b""), True, TTL),
        (response(204), True, TTL),
        (response(304), True, TTL),
        (response(400), True, TTL),
        (response(401), True, TTL),
        (response(403), True, TTL),
        (response(404, RULES), True, TTL),
        (response(410), True, TTL),
        (response(429), False, TTL_UNREACHABLE),
        (response(500), False, TTL_UNREACHABLE),
        (response(503), False, TTL_UNREACHABLE),
        (response(999), False, TTL_UNREACHABLE),
        (response(200, RULES, Content_Encoding=b"compress"), False, TTL_UNREACHABLE),
        (Failure(Outcome.DNS), False, TTL_UNREACHABLE),
        (Failure(Outcome.TLS), False, TTL_UNREACHABLE),
        (Failure(Outcome.FIRST_BYTE_TIMEOUT), False, TTL_UNREACHABLE),
    ],
)
def test_what_a_result_means(result, allows, ttl):
    robots = read(result)
    assert robots.allows(f"{SERVER}/private/page") is allows
    assert robots.allows(f"{SERVER}/page") is (allows or ttl == TTL)
    assert robots.expires_at == 100.0 + ttl
    assert bool(robots.unreachable) is (ttl == TTL_UNREACHABLE)


def test_why_it_could_not_be_read_is_told():
    assert read(response(503)).unreachable == "503"
    assert read(Failure(Outcome.REFUSED)).unreachable == "refused"


def test_one_that_does_not_come_to_its_end_in_time_is_none():
    cut = response(200, b"User-agent: *\nDisallow: ")
    cut.truncated = "time"
    robots = read(cut)
    assert not robots.allows(SERVER + "/")
    assert robots.unreachable == "total-timeout"


def test_redirects_are_followed_to_other_servers_too():
    reading = RobotsReading(SERVER, agent="andante")
    assert reading.url == "https://a.example/robots.txt"
    assert reading.on_result(response(301, Location=b"//www.a.example/robots.txt"), now=0) is None
    assert reading.url == "https://www.a.example/robots.txt"
    assert reading.on_result(response(302, location=b"rules/all.txt#top"), now=0) is None
    assert reading.url == "https://www.a.example/rules/all.txt"
    robots = reading.on_result(response(200, RULES), now=0)
    assert robots is not None
    assert not robots.allows(f"{SERVER}/private")


def test_five_redirects_are_followed_and_no_more():
    hop = response(307, Location=b"/robots.txt")
    assert not read(*[hop] * HOPS_MAX, response(200, RULES)).allows(f"{SERVER}/private")
    assert read(*[hop] * (HOPS_MAX + 1)).allows(f"{SERVER}/private")


@pytest.mark.parametrize("location", [b"", b"file:///etc/passwd", b"http://[", b"javascript:0"])
def test_a_redirect_that_leads_nowhere_is_no_robots_txt(location):
    assert read(response(302, Location=location)).allows(f"{SERVER}/private")


def test_a_redirect_to_an_error_is_an_error():
    assert read(response(301, Location=b"/r"), response(500)).unreachable == "500"


GROUPS = b"User-agent: *\nDisallow: /\n\nUser-agent: Andante\nDisallow: /b\nAllow: /b/c\nCrawl-delay: 2.5\n"


def test_our_own_group_wins():
    robots = read(response(200, GROUPS))
    paths = {"/": True, "/a": True, "/b": False, "/b/d": False, "/b/c": True, "/b/c/d": True}
    assert {path: robots.allows(SERVER + path) for path in paths} == paths
    assert robots.crawl_delay == 2.5


@pytest.mark.parametrize(
    ("rule", "path", "allows"),
    [
        ("/*.pdf$", "/a.pdf", False),
        ("/*.pdf$", "/a.pdf?x", True),
        ("/*?", "/a?b", False),
        ("/*?", "/a", True),
        ("/a%C3%A9", "/a%C3%A9", False),
        ("/a\u00e9", "/a%C3%A9", False),
        ("/", "/robots.txt", True),
        ("", "/a", True),
    ],
)
def test_rules(rule, path, allows):
    assert allowed(f"User-agent: *\nDisallow: {rule}\n".encode(), path) is allows


def test_no_group_of_ours_means_all_is_allowed():
    assert allowed(b"User-agent: other\nDisallow: /\n", "/a")


def test_no_delay_unless_one_is_asked_for():
    assert read(response(200, RULES)).crawl_delay is None
    assert read(response(200, b"User-agent: *\nCrawl-delay: soon\n")).crawl_delay is None
    robots = read(response(200, b"User-agent: *\nCrawl-delay: 7\n"))
    assert robots.crawl_delay == 7
    assert robots.allows(f"{SERVER}/a")


def test_sitemaps_are_listed():
    body = b"Sitemap: https://a.example/one.xml\nUser-agent: *\nDisallow: /\nSitemap: /two.xml\n"
    assert read(response(200, body)).sitemaps == ["https://a.example/one.xml", "/two.xml"]


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\xff\xfe garbage\n", b"\r\n\r\n"])
def test_the_start_of_the_file_does_not_hide_its_rules(start):
    assert not allowed(start + RULES, "/private")


@pytest.mark.parametrize("start", [b"<!doctype html>", b"\xef\xbb\xbf\n <html>", b"<p>"])
def test_html_has_no_rules(start):
    assert allowed(start + b"\nUser-agent: *\nDisallow: /\n</html>", "/private")


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_line_ends(line_end):
    assert not allowed(RULES.replace(b"\n", line_end), "/private")


def test_only_the_first_500_kib_count():
    def padded(before: int) -> bytes:
        return RULES + b"#" * (before - len(RULES) - 1) + b"\nDisallow: /late\n"

    assert not allowed(padded(SIZE_MAX - 20), "/late")
    assert allowed(padded(SIZE_MAX), "/late")
    assert not allowed(padded(SIZE_MAX), "/private")


def test_a_rule_that_is_cut_in_two_is_dropped():
    body = b"User-agent: *\n" + b"#" * (SIZE_MAX - 14 - 14) + b"\nDisallow: /a-long-path\n"
    assert body[:SIZE_MAX].endswith(b"Disallow: /a-")
    assert allowed(body, "/a-")
    assert allowed(b"x" * (SIZE_MAX + 10), "/")


def test_a_coded_file_is_decoded_and_a_bomb_is_cut():
    coded = response(200, gzip.compress(RULES), Content_Encoding=b"gzip")
    assert not read(coded).allows(f"{SERVER}/private")
    bomb = response(200, gzip.compress(RULES + b"\n" * 10**7), Content_Encoding=b"gzip")
    assert not read(bomb).allows(f"{SERVER}/private")


# Packed


def unpack(packed: bytes) -> Robots:
    return Robots.unpack(packed, agent="andante", expires_at=100.0)


def deflate(body: bytes) -> bytes:
    return zlib.compress(body, 9, -15)


@given(st.binary(max_size=500))
def test_whatever_a_server_sends_can_be_packed_and_means_the_same(body: bytes) -> None:
    for text in (body, RULES + body, b"\xef\xbb\xbf" * 2 + RULES + body):
        robots = read(response(200, text))
        assert robots.packed is not None
        again = unpack(robots.packed)
        assert again.packed == robots.packed
        assert again.sitemaps == robots.sitemaps
        for path in ("/", "/private/page"):
            assert again.allows(SERVER + path) == robots.allows(SERVER + path)


def test_what_allows_all_takes_no_room():
    assert read(response(404)).packed == b""
    assert unpack(b"").allows(SERVER + "/private/page")


@pytest.mark.parametrize("size", [16 * 1024 - 1, 16 * 1024])
def test_a_long_one_that_is_short_packed_travels(size):
    robots = read(response(200, RULES + b"#" * (size - len(RULES))))
    assert not unpack(robots.packed).allows(SERVER + "/private/page")


@pytest.mark.parametrize(
    "body",
    [
        RULES + b"#" * 16 * 1024,
        b"".join(b"Disallow: /%x\n" % (n * 7919 % 10_007) for n in range(900)),
    ],
)
def test_one_that_is_too_long_is_not_packed(body):
    assert read(response(200, body)).packed is None


@pytest.mark.parametrize(
    "packed",
    [
        b"\xff" * 10,
        deflate(RULES)[:-1],
        deflate(RULES) + b"x",
        deflate(b"\xff"),
        deflate(b"#" * (16 * 1024 + 1)),
        deflate(bytes(1_000_000)),
        bytes(PACKED_MAX),
    ],
)
def test_what_was_not_packed_so_is_refused(packed):
    with pytest.raises(ValueError, match=r"packed robots\.txt|utf-8"):
        unpack(packed)
