from __future__ import annotations

import contextlib
import gzip
import random
import zlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.fetch import Failure, Outcome, Response, Robots, RobotsReading
from andante.fetch.robots import HOPS_MAX, SIZE_MAX, TTL, TTL_UNREACHABLE, pack, unpack
from andante.parse.robots_rules import Matcher, write

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


def allows(robots: Robots, path: str) -> bool:
    return not robots.unreachable and Matcher(robots.rules).allows(path)


def allowed(body: bytes, path: str) -> bool:
    return allows(read(response(200, body)), path)


@pytest.mark.parametrize(
    ("result", "is_free", "ttl"),
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
def test_what_a_result_means(result, is_free, ttl):
    robots = read(result)
    assert allows(robots, "/private/page") is is_free
    assert allows(robots, "/page") is (is_free or ttl == TTL)
    assert robots.expires_at == 100.0 + ttl
    assert bool(robots.unreachable) is (ttl == TTL_UNREACHABLE)


def test_why_it_could_not_be_read_is_told():
    assert read(response(503)).unreachable == "503"
    assert read(Failure(Outcome.REFUSED)).unreachable == "refused"


def test_one_that_does_not_come_to_its_end_in_time_is_none():
    cut = response(200, b"User-agent: *\nDisallow: ")
    cut.truncated = "time"
    robots = read(cut)
    assert not allows(robots, "/")
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
    assert not allows(robots, "/private")


def test_five_redirects_are_followed_and_no_more():
    hop = response(307, Location=b"/robots.txt")
    assert not allows(read(*[hop] * HOPS_MAX, response(200, RULES)), "/private")
    assert allows(read(*[hop] * (HOPS_MAX + 1)), "/private")


@pytest.mark.parametrize("location", [b"", b"file:///etc/passwd", b"http://[", b"javascript:0"])
def test_a_redirect_that_leads_nowhere_is_no_robots_txt(location):
    assert allows(read(response(302, Location=location)), "/private")


def test_a_redirect_to_an_error_is_an_error():
    assert read(response(301, Location=b"/r"), response(500)).unreachable == "500"


GROUPS = b"User-agent: *\nDisallow: /\n\nUser-agent: Andante\nDisallow: /b\nAllow: /b/c\nCrawl-delay: 2.5\n"


def test_our_own_group_wins():
    robots = read(response(200, GROUPS))
    paths = {"/": True, "/a": True, "/b": False, "/b/d": False, "/b/c": True, "/b/c/d": True}
    assert {path: allows(robots, path) for path in paths} == paths
    assert robots.crawl_delay == 2.5


@pytest.mark.parametrize(
    ("rule", "path", "is_free"),
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
def test_rules(rule, path, is_free):
    assert allowed(f"User-agent: *\nDisallow: {rule}\n".encode(), path) is is_free


def test_no_group_of_ours_means_all_is_allowed():
    assert allowed(b"User-agent: other\nDisallow: /\n", "/a")


def test_no_delay_unless_one_is_asked_for():
    assert read(response(200, RULES)).crawl_delay is None
    assert read(response(200, b"User-agent: *\nCrawl-delay: soon\n")).crawl_delay is None
    robots = read(response(200, b"User-agent: *\nCrawl-delay: 7\n"))
    assert robots.crawl_delay == 7
    assert allows(robots, "/a")


def test_sitemaps_are_listed():
    body = b"Sitemap: https://a.example/one.xml\nUser-agent: *\nDisallow: /\nSitemap: /two.xml\n"
    assert read(response(200, body)).sitemaps == ("https://a.example/one.xml", "/two.xml")


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
    assert not allowed(body.replace(b"\n", b"\r").replace(b"##", b"\rDisallow: /b\r##", 1), "/b")


def test_a_coded_file_is_decoded_and_a_bomb_is_cut():
    coded = response(200, gzip.compress(RULES), Content_Encoding=b"gzip")
    assert not allows(read(coded), "/private")
    bomb = response(200, gzip.compress(RULES + b"\n" * 10**7), Content_Encoding=b"gzip")
    assert not allows(read(bomb), "/private")


# Packed


def packed_and_back(robots: Robots) -> Robots:
    packed = pack(robots, agent="andante", took_sitemaps=False)
    return unpack(packed, agent="andante", wants_sitemaps=False, expires_at=100.0 + TTL)


@settings(deadline=None)
@given(st.binary(max_size=500))
def test_whatever_a_server_sends_can_be_packed_and_means_the_same(body: bytes) -> None:
    for text in (body, RULES + body, RULES + b"Disallow: /" + body):
        robots = read(response(200, text))
        again = packed_and_back(robots)
        assert (again.rules, again.crawl_delay) == (robots.rules, robots.crawl_delay)
        assert again.expires_at == robots.expires_at
        assert again.sitemaps == ()


def test_what_allows_all_takes_no_room():
    robots = read(response(404))
    assert robots.rules == ""
    assert len(pack(robots, agent="andante", took_sitemaps=True)) < 20


def test_an_ordinary_one_takes_a_few_hundred_bytes():
    body = RULES + b"".join(b"Disallow: /section-%d/archive/\n" % n for n in range(40))
    robots = read(response(200, body * 2 + b"# comment\n" * 100 + b"User-agent: x\nDisallow: /\n"))
    assert len(robots.rules) < 1_100
    assert len(pack(robots, agent="andante", took_sitemaps=False)) < 300


def test_it_is_for_a_crawler_of_the_same_name_that_wants_no_more():
    robots = read(response(200, RULES))
    packed = pack(robots, agent="andante", took_sitemaps=False)
    for agent, sitemaps in (("other", False), ("andante", True)):
        with pytest.raises(ValueError, match="for another crawler"):
            unpack(packed, agent=agent, wants_sitemaps=sitemaps, expires_at=0.0)
    packed = pack(robots, agent="andante", took_sitemaps=True)
    for sitemaps in (True, False):
        assert unpack(packed, agent="andante", wants_sitemaps=sitemaps, expires_at=0.0).rules


def deflate(value: object, form: bytes = b"\x01") -> bytes:
    return form + zlib.compress(msgspec.msgpack.encode(value), 9, -15)


GOOD = ["andante", True, 2.0, write({"/a": False})]


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x01",
        b"\xff" * 10,
        bytes(2048),
        deflate(GOOD)[:-1],
        deflate(GOOD) + b"x",
        deflate(GOOD, form=b"\x02"),
        deflate(GOOD)[1:],
        deflate(GOOD[:3]),
        deflate({"agent": "andante"}),
        deflate([*GOOD[:2], -1.0, GOOD[3]]),
        deflate([*GOOD[:2], float("nan"), GOOD[3]]),
        deflate([*GOOD[:2], float("inf"), GOOD[3]]),
        deflate([*GOOD[:3], "rules"]),
        deflate([*GOOD[:3], "-\n/a\n/b"]),
        deflate([*GOOD[:3], "x" * 10_000_000]),
        b"\x01" + zlib.compress(RULES, 9, -15),
        b"\x01" + zlib.compress(b"\xa1\xff", 9, -15),
        zlib.compress(RULES, 9, -15),
    ],
)
def test_what_was_not_packed_so_is_refused(packed):
    with pytest.raises(ValueError, match=r"packed robots\.txt|no rules"):
        unpack(packed, agent="andante", wants_sitemaps=False, expires_at=100.0)


@pytest.mark.parametrize("seed", range(3))
def test_what_was_damaged_is_refused_or_means_something(seed):
    chance = random.Random(seed)
    good = deflate(["andante", True, 2.0, write({f"/{n}": False for n in range(30)})])
    for _ in range(1_000):
        packed = bytearray(good)
        for _ in range(chance.randrange(1, 4)):
            packed[chance.randrange(len(packed))] = chance.randrange(256)
        with contextlib.suppress(ValueError):
            robots = unpack(bytes(packed), agent="andante", wants_sitemaps=False, expires_at=0.0)
            assert Matcher(robots.rules).allows("/1") in (True, False)
