"""The grammar of robots.txt, section by section of RFC 9309; where it is silent, what the field does."""

from __future__ import annotations

import pytest

from andante.parse.robots import LINE_MAX, SITEMAPS_MAX, parse
from andante.parse.robots_rules import Matcher


def allows(body: str | bytes, target: str, agent: str = "andante") -> bool:
    body = body if isinstance(body, bytes) else body.encode()
    return Matcher(parse(body, agent).rules).allows(target)


def delay(body: str) -> float | None:
    return parse(body.encode(), "andante").crawl_delay


# 2.2.1 The user-agent line


@pytest.mark.parametrize(
    "name",
    [
        "andante",
        "Andante",
        "ANDANTE",
        "andante/0.1",
        "andante foo",
        "andante\tfoo",
        "andante*",
        "andante 2.0 (+http://a.example)",
        "andante;",
        "andante # we",
        "andante2",
    ],
)
def test_a_line_that_begins_with_our_product_token_names_us(name):
    body = f"User-agent: {name}\nDisallow: /\n\nUser-agent: *\nAllow: /\n"
    assert not allows(body, "/a")


@pytest.mark.parametrize(
    "name",
    ["and", "a", "andante-news", "andante_x", "andantebot", "x andante", "foo, andante", "Mozilla/5.0 (andante)", ""],
)  # fmt: skip
def test_no_other_line_names_us(name):
    body = f"User-agent: {name}\nAllow: /\n\nUser-agent: *\nDisallow: /\n"
    assert not allows(body, "/a")
    assert allows(f"User-agent: {name}\nDisallow: /\n", "/a")


def test_a_name_with_digits_of_the_users_own_is_known_whole():
    body = "User-agent: web2bot/1.0\nDisallow: /a\nUser-agent: web\nDisallow: /b\nUser-agent: web2bot3\nDisallow: /c\n"
    assert [allows(body, path, "web2bot") for path in ("/a", "/b", "/c")] == [False, True, True]


@pytest.mark.parametrize("agent", ["(x", "[a", "ü", "a.b", "*", "\\"])
def test_no_name_does_harm(agent):
    assert not allows("User-agent: *\nDisallow: /\n", "/", agent)


def test_the_groups_of_one_name_count_together():
    body = (
        "User-agent: andante\nDisallow: /a\n\nUser-agent: other\nDisallow: /b\n\n"
        "User-agent: andante\nDisallow: /c\nAllow: /a/b\n"
    )
    paths = {"/a": False, "/b": True, "/c": False, "/a/b": True}
    assert {path: allows(body, path) for path in paths} == paths


def test_those_of_all_crawlers_too():
    body = "User-agent: *\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n\nUser-agent: *\nDisallow: /c\n"
    paths = {"/a": False, "/b": True, "/c": False}
    assert {path: allows(body, path) for path in paths} == paths


@pytest.mark.parametrize("first", [True, False])
def test_all_crawlers_are_not_those_that_are_named(first):
    groups = ["User-agent: *\nDisallow: /\n", "User-agent: andante\nDisallow: /a\n"]
    body = "\n".join(groups if first else reversed(groups))
    assert allows(body, "/b")
    assert not allows(body, "/a")


@pytest.mark.parametrize("name", ["*", "* # all", "* foo"])
def test_how_all_crawlers_are_named(name):
    assert not allows(f"User-agent: {name}\nDisallow: /\n", "/a")


def test_a_star_before_a_name_is_not_all_crawlers():
    assert allows("User-agent: *bot\nDisallow: /\n", "/a")


def test_a_group_of_ours_without_rules_allows_all():
    assert allows("User-agent: *\nDisallow: /\n\nUser-agent: andante\n", "/a")
    assert allows("User-agent: andante\nDisallow:\n\nUser-agent: *\nDisallow: /\n", "/a")


def test_who_is_not_named_may_do_all():
    assert allows("", "/a")
    assert allows("User-agent: other\nDisallow: /\n", "/a")


# 2.1, 2.2.4: what ends a group

OTHER = [
    "",
    " \t ",
    "# comment",
    "Sitemap: https://a.example/s.xml",
    "Noindex: /x",
    "Crawl-delay: 1",
    "Host: a.example",
    "Request-rate: 1/5",
    "Clean-param: a /b",
    "no key at all",
    ":",
    "\0",
    "Allow-all: yes",
]


@pytest.mark.parametrize("line", OTHER)
def test_no_line_between_user_agents_ends_their_group(line):
    assert not allows(f"User-agent: andante\n{line}\nUser-agent: other\nDisallow: /\n", "/a")
    assert not allows(f"User-agent: other\n{line}\nUser-agent: andante\nDisallow: /\n", "/a")


@pytest.mark.parametrize("line", OTHER)
def test_no_line_between_rules_ends_their_group(line):
    body = f"User-agent: andante\n{line}\nDisallow: /a\n{line}\n{line}\nDisallow: /b\n"
    assert not allows(body, "/a")
    assert not allows(body, "/b")


@pytest.mark.parametrize("rule", ["Disallow: /x", "Allow: /x", "Disallow:", "Disallow: x"])
def test_a_user_agent_behind_a_rule_begins_another_group(rule):
    assert allows(f"User-agent: andante\n{rule}\nUser-agent: other\nDisallow: /\n", "/a")


def test_rules_before_the_first_group_do_not_count():
    assert allows("Disallow: /\nUser-agent: andante\nDisallow: /b\n", "/a")


# Lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end):
    body = end.join(["User-agent: andante", "", "Disallow: /a", "Disallow: /b"])
    assert [allows(body, path) for path in ("/a", "/b", "/c")] == [False, False, True]


@pytest.mark.parametrize("mark", ["", "\ufeff", "\ufeff\ufeff"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(mark):
    assert not allows(f"{mark}User-agent: andante\nDisallow: /a\n", "/a")


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_known_by_its_mark(codec):
    body = "User-agent: andante\nDisallow: /\u00e9\n"
    marked = body if codec == "utf-16" else "\ufeff" + body
    assert not allows(marked.encode(codec), "/%C3%A9")


@pytest.mark.parametrize(
    "line",
    [
        "disallow: /a",
        "DISALLOW:/a",
        "\t Disallow \t:\t /a \t",
        "Disallow: /a# why",
        "Disallow: /a # why",
        "Disallow /a",
        "Disallow\t/a",
        "Disalow: /a",
        "Dissallow: /a",
        "Desallow: /a",
    ],
)
def test_how_a_rule_may_be_written(line):
    body = f"User-agent: andante\n{line}\n"
    assert not allows(body, "/a")
    assert not allows(body, "/ab")
    assert allows(body, "/b")


@pytest.mark.parametrize(
    "line",
    ["useragent: andante", "User agent: andante", "User-agent andante", "User Agent andante", "User-agent : andante"],
)  # fmt: skip
def test_how_a_user_agent_may_be_written(line):
    assert not allows(f"{line}\nDisallow: /a\n", "/a")


@pytest.mark.parametrize(
    "line", ["Disallow: a", "Disallow:", "Disallow: http://a.example/a", "foo: /a", "Disallow"]
)
def test_what_is_no_rule_forbids_nothing(line):
    assert allows(f"User-agent: andante\n{line}\n", "/a")


def test_a_long_line_is_cut():
    path = "/" + "a" * LINE_MAX
    body = f"User-agent: andante\nDisallow: {path}x\nDisallow: /b\n"
    assert not allows(body, path[: LINE_MAX - len("Disallow: ")] + "y")
    assert allows(body, "/aaa")
    assert not allows(body, "/b")


def test_octets_that_are_no_utf_8_are_compared_as_they_are():
    assert not allows(b"User-agent: andante\nDisallow: /caf\xe9\n", "/caf%E9")


# Crawl-delay and Sitemap


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10", 10.0),
        ("0", 0.0),
        ("2.5", 2.5),
        (".5", 0.5),
        ("3.", 3.0),
        ("7 # slowly", 7.0),
        ("7 seconds", 7.0),
        ("soon", None),
        ("", None),
        ("-1", None),
        ("1e9", None),
        ("nan", None),
        ("inf", None),
        ("1_0", None),
        ("1,5", None),
        ("9" * 400, None),
        ("\u0664", None),
    ],
)
def test_what_crawl_delays_say(value, seconds):
    assert delay(f"User-agent: *\nCrawl-delay: {value}\n") == seconds


def test_a_crawl_delay_is_for_the_user_agents_before_it():
    body = "User-agent: a\nCrawl-delay: 10\nUser-agent: andante\nCrawl-delay: 20\nUser-agent: *\nDisallow: /b\n"
    assert delay(body) == 20.0
    assert not allows(body, "/b")
    assert delay("User-agent: a\nUser-agent: andante\nCrawl-delay: 3\n") == 3.0
    assert delay("User-agent: *\nDisallow: /x\nCrawl-delay: 3\nUser-agent: b\nDisallow: /\n") == 3.0
    assert delay("User-agent: *\nCrawl-delay: 3\nUser-agent: andante\nDisallow: /\n") is None


def test_of_several_the_longest_counts():
    body = "User-agent: andante\nCrawl-delay: 3\nCrawl-delay: 9\n\nUser-agent: andante\nCrawl-delay: 5\n"
    assert delay(body) == 9.0


def test_sitemaps_are_taken_wherever_they_stand_each_once():
    body = b"Sitemap: https://a.example/one.xml\nUser-agent: x\nSITEMAP:/Two.xml\nDisallow: /\nSitemap /Two.xml\nSitemap:\n"
    assert parse(body, "andante").sitemaps == ("https://a.example/one.xml", "/Two.xml")


def test_sitemaps_are_bounded():
    body = b"".join(b"Sitemap: /%d\n" % number for number in range(SITEMAPS_MAX + 1))
    assert len(parse(body, "andante").sitemaps) == SITEMAPS_MAX
