"""Which rule decides, and how paths are compared: RFC 9309, 2.2.2 and 2.2.3; what that costs."""

from __future__ import annotations

import sys
import tracemalloc

import pytest

from andante.parse import robots_rules
from andante.parse.robots import parse
from andante.parse.robots_rules import LITERALS_FEW, STARRED_FEW, Matcher, check, write


def matcher(*rules: str) -> Matcher:
    """Of rules as ``-/a`` and ``+/b``."""
    lines = [f"{'Allow' if rule[0] == '+' else 'Disallow'}: {rule[1:]}" for rule in rules]
    return Matcher(parse("\n".join(["User-agent: *", *lines]).encode(), "andante").rules)


@pytest.mark.parametrize(
    ("rules", "target", "allows"),
    [
        # the most octets win, wherever they stand
        (["-/", "+/a"], "/a", True),
        (["+/a", "-/"], "/a", True),
        (["-/", "+/a"], "/b", False),
        (["+/", "-/a"], "/ab", False),
        (["-/a/b", "+/a", "-/"], "/a/b/c", False),
        (["-/a/b", "+/a", "-/"], "/a/c", True),
        # the same: it is allowed
        (["-/a", "+/a"], "/a", True),
        (["+/a", "-/a"], "/a", True),
        (["-/%61", "+/a"], "/a", True),
        (["-/a*c", "+/abc"], "/abcd", True),
        (["-/abc", "+/a*c"], "/abcd", True),
        # case counts
        (["-/A"], "/a", True),
        # from the first octet of the path
        (["-/b"], "/a/b", True),
        (["-*/b"], "/a/b", False),
        # wildcards
        (["-/*.gif"], "/x.gif?y", False),
        (["-/*.gif$"], "/x.gif", False),
        (["-/*.gif$"], "/x.gif?y", True),
        (["-/*.gif$"], "/x.gif.gif", False),
        (["-/a*b*c"], "/axbxc", False),
        (["-/a*b*c"], "/axcxb", True),
        (["-/a*a$"], "/a", True),
        (["-/a*a$"], "/aa", False),
        (["-/*/feed/$"], "/a/feed/", False),
        (["-/*/feed/$"], "/feed/", True),
        (["-*"], "/", False),
        (["-*$"], "/a", False),
        (["-/**a***b"], "/xaxb", False),
        (["-/$"], "/", False),
        (["-/$"], "/a", True),
        (["-/a$"], "/a", False),
        (["-/a$"], "/ab", True),
        (["-/a$"], "/a$", True),
        (["-/a$b"], "/a$b", False),
        (["-/a$b"], "/a", True),
        (["-/a$$"], "/a$", False),
        (["-/fish*", "+/fish"], "/fish", False),  # one octet more
        (["-/fish", "+/fish*"], "/fish", True),
        # characters with a meaning, standing for themselves (2.2.3)
        (["-/path/file-with-a-%2A.html"], "/path/file-with-a-*.html", False),
        (["-/path/file-with-a-%2A.html"], "/path/file-with-a-%2a.html", False),
        (["-/path/file-with-a-%2A.html"], "/path/file-with-a-x.html", True),
        (["-/path/foo-%24"], "/path/foo-$", False),
        (["-/path/foo-%24"], "/path/foo-", True),
        # the table of 2.2.2
        (["-/foo/bar?baz=quz"], "/foo/bar?baz=quz", False),
        (["-/foo/bar?baz=https://foo.bar"], "/foo/bar?baz=https://foo.bar", False),
        (["-/foo/bar?baz=https://foo.bar"], "/foo/bar?baz=https%3A%2F%2Ffoo.bar", False),
        (["-/foo/bar?baz=https%3A%2F%2Ffoo.bar"], "/foo/bar?baz=https://foo.bar", False),
        (["-/foo/bar?baz=https%3a%2f%2ffoo.bar"], "/foo/bar?baz=https%3A%2F%2Ffoo.bar", False),
        (["-/foo/bar/\u30c4"], "/foo/bar/%E3%83%84", False),
        (["-/foo/bar/%E3%83%84"], "/foo/bar/%E3%83%84", False),
        (["-/foo/bar/%e3%83%84"], "/foo/bar/%E3%83%84", False),
        (["-/foo/bar/%62%61%7A"], "/foo/bar/baz", False),
        (["-/foo/bar/baz"], "/foo/bar/%62%61%7A", False),
        # escapes
        (["-/%7Ejoe"], "/~joe", False),
        (["-/~joe"], "/%7ejoe", False),
        (["-/a%2Fb"], "/a/b", True),
        (["-/a/b"], "/a%2Fb", True),
        (["-/a%2fb"], "/a%2Fb", False),
        (["-/a%3Cb"], "/a%3cb", False),
        (["-/a<b"], "/a%3Cb", False),
        (["-/a b"], "/a%20b", False),
        (["-/a?x=[1]"], "/a?x=%5B1%5D", False),
        (["-/a?x={1}"], "/a?x=%7B1%7D", False),
        (["-/*%2Fb"], "/a?x=%2Fb", False),
        (["-/a?x=%26b"], "/a?x=&b", False),
        (["-/a;b=1"], "/a%3Bb%3d1", False),
        (["-/a%3Ab"], "/a:b", False),
        (["-/a%3Fb"], "/a?b", True),
        (["-/a?b"], "/a%3Fb", True),
        (["-/a%23b"], "/a%23b", False),
        (["-/*%2F*"], "/a/b", True),
        (["-/*%2F*"], "/a?x=/b", True),
        (["-/*%2F*"], "/a%2fb", False),
        (["-/100%"], "/100%25", False),
        (["-/100%2"], "/100%252", False),
        (["-/%C3%28"], "/%C3%28", False),
        # /robots.txt may always be asked for
        (["-/"], "/robots.txt", True),
        (["-/"], "/robots.txt?x", True),
        (["-/"], "/robots.txtx", False),
        (["-/"], "/a/robots.txt", False),
        (["-/$", "+/*"], "/", True),
        # no rule matches
        (["-/a"], "/", True),
        ([], "/", True),
    ],
)
@pytest.mark.parametrize("more", [[], [f"-/~{n}" for n in range(LITERALS_FEW)] + [f"-/~{n}*" for n in range(STARRED_FEW)]])  # fmt: skip
def test_what_rules_say(rules, target, allows, more):
    assert matcher(*rules, *more).allows(target) is allows


def test_a_prefix_is_looked_up_among_many():
    rules = [f"-/dir/{n:x}/" for n in range(1_000)] + ["+/dir/7f/a", "-/dir/7f/a/b$"]
    many = matcher(*rules)
    paths = {"/dir/7f/": False, "/dir/7f/ab": True, "/dir/7f/a/b": False, "/dir/7f/a/bc": True, "/dir/x/": True}  # fmt: skip
    assert {path: many.allows(path) for path in paths} == paths


def test_rules_with_wildcards_are_looked_up_among_many():
    rules = [f"-/*?p{n}=" for n in range(500)] + [f"-/d{n}/*/x$" for n in range(500)]
    many = matcher(*rules, "+/*?p7=1", "-*.php", "+/d*9/x$")
    paths = {
        "/a?p7=2": False,
        "/a?p7=1": True,
        "/a?p499=1": False,
        "/a?p500=1": True,
        "/d8/a/x": False,
        "/d9/a/x": False,
        "/d9/x": True,
        "/d8/a/xy": True,
        "/a.php": False,
        "/a?x?p8=": False,
    }
    assert {path: many.allows(path) for path in paths} == paths


# What is kept


def test_equal_rules_are_equal_texts():
    one = parse(b"User-agent: *\nDisallow: /b\nAllow: /%61\nDisallow: /*c\n", "andante")
    two = parse(b"User-agent: andante\nDisallow: /**c\nDisallow: /a\nDisallow: /b\nAllow: /a\n", "andante")  # fmt: skip
    assert one.rules == two.rules


def test_rules_that_forbid_nothing_take_no_room():
    assert parse(b"User-agent: *\nAllow: /\nAllow: /a\nDisallow:\n", "andante").rules == ""


@pytest.mark.parametrize(
    "text",
    ["x", "\n", "-", "-\n/a\n/b", "--\n/a\n/a", "--\n/a\n/bb", "-\n/a*", " -\n/a", "+\n/a", "*\n/a", "-  \n/a", "-- -\n/a"],
)  # fmt: skip
def test_what_is_no_text_of_rules_is_refused(text):
    with pytest.raises(ValueError, match="no rules"):
        check(text)


def test_a_text_of_rules_is_one():
    check("")
    check(write({"/a": False, "/b*": True, "/c": True, "/dd": False}))


# What it costs

SHAPES = {
    "literals": lambda n: [f"-/p{i}/" for i in range(n)],
    "starred": lambda n: [f"-/*a{i}*b{i}*c" for i in range(n)],
    "one prefix": lambda n: [f"-/shop/*a{i}" for i in range(n)],
    "one piece": lambda n: [f"-/*q*{i}" for i in range(n)],
    "nested": lambda n: ["-/" + "q" * i for i in range(n // 20)],
    "nested pieces": lambda n: ["-/*" + "q" * i + "x" for i in range(n // 20)],
    "anchored": lambda n: [f"-/*{i}$" for i in range(n)],
}


class _Counted(str):
    """A text that counts what is looked for in it."""

    __slots__ = ()
    looked = 0

    def find(self, *args):
        _Counted.looked += 1
        return super().find(*args)

    def startswith(self, *args):
        _Counted.looked += 1
        return super().startswith(*args)

    def __contains__(self, other):
        _Counted.looked += 1
        return super().__contains__(other)

    def __getitem__(self, key):
        _Counted.looked += 1
        return super().__getitem__(key)


def looks(rules: list[str], target: str) -> int:
    many = matcher(*rules)
    _Counted.looked = 0
    many._decide(_Counted(target + "$"))
    return _Counted.looked


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("target", ["/shop/a/page?q=qqq", "/" + "q" * 1_990])
def test_a_url_costs_no_more_the_more_rules_there_are(shape, target):
    few, many = (looks(SHAPES[shape](n), target) for n in (1_000, 8_000))
    bound = len(target) * robots_rules._KEY_MAX + 3 * robots_rules.PIECES_MAX
    assert many <= max(4 * few, few + 1_000)
    assert many < bound


def test_what_cannot_be_decided_in_time_is_not_allowed(monkeypatch):
    rules = [f"-/*q*{i}" for i in range(200)]
    assert matcher(*rules).allows("/q-")
    monkeypatch.setattr(robots_rules, "PIECES_MAX", 100)
    assert not matcher(*rules).allows("/q-")
    assert matcher(*rules).allows("/-")


def test_the_size_of_compiled_rules_is_told_well_enough():
    for shape in SHAPES.values():
        for count in (20, 2_000):
            text = parse(
                ("User-agent: *\n" + "".join(f"Disallow: {rule[1:]}\n" for rule in shape(count))).encode(), "a"
            ).rules  # fmt: skip
            tracemalloc.start()
            compiled = Matcher(text)
            taken = tracemalloc.get_traced_memory()[0] + sys.getsizeof(text)
            tracemalloc.stop()
            assert taken / 3 < compiled.size < 6 * taken


@pytest.mark.parametrize(
    "body",
    [
        lambda n: b"User-agent: *\n" * n + b"Disallow: /%d\n" * n,
        lambda n: b"User-agent: *\nUser-agent: andante\n" * n + b"Disallow: /p\n" * n,
        lambda n: b"".join(b"User-agent: a%d\n" % i for i in range(n)) + b"Disallow: /p\n" * n,
        lambda n: b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % i for i in range(2 * n)),
        lambda n: b"User-agent: *\n" + b"".join(b"Disallow: /*%d*\n" % i for i in range(2 * n)),
        lambda n: b"User-agent: *\nDisallow: /" + b"%41\xff" * n,
        lambda n: b"Sitemap: /a\n" * n,
        lambda n: b" " * 30 * n,
        lambda n: b"allow" + b" \t" * 15 * n + b"\n",
    ],
)
def test_reading_takes_memory_in_proportion_to_the_file(body):
    def taken(count: int) -> float:
        text = body(count)
        tracemalloc.start()
        parse(text, "andante")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak / len(text)

    assert taken(4_000) <= 2 * taken(1_000) + 1
    assert taken(4_000) < 30
