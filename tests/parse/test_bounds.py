"""Limits of what is read of a page; within them, and beyond, all ways of reading it agree."""

from __future__ import annotations

import tracemalloc

import pytest

from andante.parse import href_value, html, parse_html, scan
from andante.parse.collect import VALUE_MAX, Collector
from andante.parse.html import QUICK_BYTES, TITLE_MAX
from andante.parse.references import text_value
from andante.parse.robots_meta import DIRECTIVES_MAX, Directives, header_directives, meta_directives
from andante.parse.tokens import TAG_MAX, TITLE_SOURCE_MAX, attributes, read_tokens
from andante.parse.tree import QUICK_TREE_TAGS, TITLES_MAX

MIB = 2**20


def by_tokens(page, **options):
    options = {"agent": "andante", "drop_nofollow": False, "links_max": 10_000} | options
    collector = Collector(**options)
    title = read_tokens(page, "utf-8", collector)
    return list(collector.hrefs), collector.base, collector.robots, text_value(title, "utf-8")


def read(page, **options):
    """Read a page on the fast way; see that the slow ones say the same."""
    document = parse_html(page, encoding="utf-8", **options)
    assert document.way == "scan"
    found = [href_value(href, "utf-8") for href in document.hrefs]
    other = parse_html(page + b"<xmp>", encoding="utf-8", **options)
    assert other.way != "scan"
    assert [href_value(href, "utf-8") for href in other.hrefs] == found
    assert (other.title, other.base, other.robots) == (
        document.title,
        document.base,
        document.robots,
    )
    hrefs, base, robots, title = by_tokens(page, **options)
    assert (hrefs, base, robots) == (found, document.base, document.robots)
    assert " ".join(title.split())[:TITLE_MAX] == document.title
    return document


@pytest.mark.parametrize("quote", [b'"', b"'", b""])
@pytest.mark.parametrize(
    "element",
    [
        b"<a href=%b></a>",
        b"<area href=%b>",
        b"<link rel=next href=%b>",
        b"<iframe src=%b></iframe>",
        b"<meta http-equiv=refresh content=0;%b>",
    ],
)
def test_a_reference_that_is_too_long_is_no_link(element, quote):
    for length, links in ((VALUE_MAX - 8, 2), (VALUE_MAX + 1, 1)):
        value = quote + b"x" * length + quote
        if b"content" in element:
            value = value.strip(quote)
        page = b"<head></head>" + element % value + b"<a href=1></a>"
        assert len(read(page).hrefs) == links


def test_a_longer_url_may_be_asked_for():
    page = b"<a href=" + b"x" * 3 * VALUE_MAX + b"></a><area href=" + b"y" * 3 * VALUE_MAX + b">"
    assert len(read(page, value_max=4 * VALUE_MAX).hrefs) == 2
    assert len(read(page).hrefs) == 0


def test_other_attributes_that_are_too_long_are_as_if_they_were_not_there():
    long = b" " * VALUE_MAX
    page = (
        b"<link rel='next" + long + b"' href=1><base href='2" + long + b"'><base href=3>"
        b"<meta name=robots content='noindex" + long + b"'><meta name=robots content=nofollow>"
        b"<a rel='nofollow" + long + b"' href=4></a>"
    )
    document = parse_html(page, encoding="utf-8", drop_nofollow=True)
    assert document.way == "tokens"
    assert (document.hrefs, document.base) == (["4"], "3")
    assert document.robots == Directives(nofollow=True)


def test_the_first_of_a_name_counts_though_it_is_too_long():
    page = b"<a href=" + b"x" * (VALUE_MAX + 1) + b" href=1></a>"
    assert read(page).hrefs == []


def test_attributes_without_number():
    names = b" ".join(b"a%d='>'" % n for n in range(50_000))
    page = b"<p " + names + b"><iframe " + names + b" src=1></iframe><a " + names + b" href=2></a>"
    assert [href_value(href, "utf-8") for href in read(page).hrefs] == ["1", "2"]


@pytest.mark.parametrize(
    "filler", [b"a ", b"a=b ", b"a='b'", b"=", b"/", b"rel ", b"href=x ", b"'"]
)
def test_the_memory_for_attributes_does_not_grow_with_their_number(filler):
    source = filler * (MIB // len(filler)) + b" src=1>"
    tracemalloc.start()
    attributes(source, "utf-8")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 1024


@pytest.mark.parametrize("room", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("quote", [b"", b"'"])
def test_attributes_far_behind_in_a_tag_are_not_read(room, quote):
    href = b"href=%b1%b" % (quote, quote)
    source = b"name=2" + b" " * (TAG_MAX - len(href) - 6 - room) + href + b">"
    assert attributes(source, "utf-8").get("href") == ("1" if room > 0 else None)


@pytest.mark.parametrize(
    "source",
    [
        b"href=1 HREF=2",
        b" class=x id='href=2' href = 1",
        b"=href=2 href=1",
        b"hrefx=2 xhref=2 href-x=2 href=1",
        b"x=href href=1",
        b"x = 'a' href='1'",
        b"x='a'href='1'",
        b"x/href=1",
        b'"href=2 href=1',
        b'x="a\' href=2" href=1 y',
    ],
)
def test_attributes_that_are_read_are_told_from_others(source):
    assert attributes(source, "utf-8")["href"] == "1"


def test_titles_are_cut():
    assert read(b"<title> a  b" + b"&#65;" * TITLE_MAX + b"</title>").title == "a b" + "A" * (
        TITLE_MAX - 3
    )
    long = b"x" * 2 * TITLE_SOURCE_MAX
    document = parse_html(b"<title>" + long + b"</title>", encoding="utf-8")
    assert document.title == "x" * TITLE_MAX
    assert len(document._title) <= TITLE_SOURCE_MAX


@pytest.mark.parametrize(
    "title",
    [
        b"&#" + b"1" * 5_000 + b";",
        b"&#x" + b"1" * 5_000,
        b"&#" + b"0" * 5_000 + b"65;",
        b"&#x" + b"0" * 5_000 + b"41;",
        b"&#0;&#00;&#x0;&#x00g&#0a&#00a",
    ],
)
def test_numbers_of_thousands_of_digits_in_a_title(title):
    page = b"<title>" + title + b"</title>"
    assert (
        parse_html(page, encoding="utf-8").title
        == parse_html(page + b"<xmp>", encoding="utf-8").title
    )


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (b"<svg><title>1</title></svg><title>2</title>", "2"),
        (b"<svg><g><title>1</title></g></svg>", ""),
        (b"<svg/><title>1</title>", "1"),
        (b"<title>1</title><svg><title>2</title></svg>", "1"),
    ],
)
def test_the_title_of_a_drawing_is_not_that_of_the_page(page, title):
    assert read(b"<body>" + page).title == title


def test_titles_of_drawings_are_passed_over_up_to_a_number():
    page = b"<svg>" + b"<title>1</title>" * TITLES_MAX + b"</svg>%b<title>2</title><xmp>"
    assert parse_html(page % b"", encoding="utf-8").title == ""
    assert parse_html(b"<title>2</title>" + page, encoding="utf-8").title == "2"


def test_a_title_in_html_within_a_drawing_counts():
    page = b"<svg><foreignObject><title>1</title></foreignObject></svg>"
    assert parse_html(page, encoding="utf-8").title == "1"


def test_references_in_attributes_go_on_over_letters_and_digits():
    assert href_value(b"?a&copya=1&copy=2&copy3&amp;x", "utf-8") == "?a&copya=1&copy=2&copy3&x"


def test_a_fragment_after_a_space():
    page = b"<a href='?q=a #x'></a><a href='b#x'></a><a href=' #x'></a><area href='?r=b #y'>"
    assert [href_value(href, "utf-8") for href in read(page).hrefs] == [
        "?q=a #",
        "b",
        " #",
        "?r=b #",
    ]


def test_links_are_no_more_than_allowed_on_every_way():
    page = b"".join(b"<a href=%d></a><area href=x%d>" % (n, n) for n in range(50))
    for way in (page, page + b"<xmp>", page + b"<xmp>" + b"<p>" * 20_001):
        assert len(parse_html(way, encoding="utf-8", links_max=30).hrefs) == 30
    assert len(by_tokens(page, links_max=30)[0]) == 30


def test_directives_are_limited():
    assert meta_directives("x," * DIRECTIVES_MAX + "noindex") == Directives()
    assert meta_directives("x," * (DIRECTIVES_MAX - 1) + "noindex") == Directives(noindex=True)
    values = ["x," * (DIRECTIVES_MAX // 2)] * 2 + ["noindex"]
    assert header_directives(values, agent="andante") == Directives()
    assert header_directives(values[1:], agent="andante") == Directives(noindex=True)


@pytest.mark.parametrize(
    ("page", "is_quick"),
    [
        (b"x" * QUICK_BYTES, True),
        (b"x" * (QUICK_BYTES + 1), False),
        (b"<xmp>" + b"<p>" * (QUICK_TREE_TAGS - 1), True),
        (b"<xmp>" + b"<p>" * QUICK_TREE_TAGS, False),
        (b"<xmp>" + b"".join(b"<p><b a=%d>" % n for n in range(300)), False),
    ],
)
def test_what_may_take_long_is_not_read_where_others_wait(page, is_quick):
    assert (parse_html(page, encoding="utf-8", quick=True) is not None) == is_quick
    assert parse_html(page, encoding="utf-8") is not None


def test_without_the_compiled_scanner_the_limits_are_the_same(monkeypatch):
    monkeypatch.setattr(scan, "scan", None)
    page = b"<a href=" + b"x" * (VALUE_MAX + 1) + b"></a><title>" + b"y" * 9_000 + b"</title>"
    document = html.parse_html(page, encoding="utf-8")
    assert (document.hrefs, document.title) == ([], "y" * TITLE_MAX)
