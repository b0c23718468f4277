from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.parse import scan
from andante.parse.collect import Collector
from andante.parse.html import Document, href_value, parse_html
from andante.parse.robots_meta import Directives
from andante.parse.tokens import read_tokens
from support.pages import SITES, pages, site_pages
from support.reference import reference_hrefs, reference_links, resolve

HEAD = "<!DOCTYPE html><html><head><title>t</title></head>"


def hrefs(document: Document) -> list[str]:
    return list(dict.fromkeys(cut(href_value(href, document.encoding)) for href in document.hrefs))


def cut(href: str) -> str:
    return href.partition("#")[0]


def framed(markup: str) -> str:
    """The same markup where the fast scan may take it: after a head, before an end tag."""
    return f"{HEAD}<body>{markup}</body></html>"


STATES = [
    # Data state
    ("x < y <a href=1>", ["1"]),
    ("<<a href=1>", ["1"]),
    ("<3 <a href='1'>", ["1"]),
    ('&lt;a href="1"&gt;', []),
    ('text href="1" text', []),
    ("<a href=1>\0<a href=2>", ["1", "2"]),
    # Tag open, end tag open
    ("</a href=1>", []),
    ("< a href=1>", []),
    ("</ a><a href=1>", ["1"]),
    ("</><a href=1>", ["1"]),
    ("<?a href=1><a href=2>", ["2"]),
    ("<!a href=1><a href=2>", ["2"]),
    # Tag name
    ("<a\thref=1><A\nHREF=2><a\fhref=3><a/href=4>", ["1", "2", "3", "4"]),
    ("<abbr href=1><a-b href=2><a\0 href=3>", []),
    # Before, in and after an attribute name
    ('<a  href="1"><a\nhref="2"><a x href="3"><a x/href="4">', ["1", "2", "3", "4"]),
    ('<a data-href="1"><a xlink:href="2"><a hreflang="3"><a href-x="4">', []),
    ('<a hreflang="en" href="1">', ["1"]),
    ('<a HREF="1"><a hReF="2">', ["1", "2"]),
    ('<a =href="1"><a "href="2"><a <a href="3">', ["3"]),
    ('<div <a href="1">', []),
    ('<a href="1" href="2"><a HREF="3" href="4">', ["1", "3"]),
    ("<a href><a href >", [""]),
    # Before an attribute value
    ('<a href = "1"><a href\n=\n"2"><a href= 3>', ["1", "2", "3"]),
    ("<a href=><a href=1>", ["", "1"]),
    # Double-quoted, single-quoted, unquoted
    ("<a href=\"a'b\"><a href='a\"b'>", ["a'b", 'a"b']),
    ('<a href="a>b"><a href="<a href=2>">', ["a>b", "<a href=2>"]),
    ('<a title=\'href="1"\' href="2">', ["2"]),
    ('<a title=" href=" href="2">', ["2"]),
    ('<img alt="<a href=1>"><a href="2">', ["2"]),
    ('<img alt="> <a href=1>" title=\'> <a href="2">\'>', []),
    ("<a href=a/b/><a href=a\"b'c=d`e>", ["a/b/", "a\"b'c=d`e"]),
    ("<a href=1\nx>", ["1"]),
    ('<a href="a\0b">', ["a\ufffdb"]),
    ('<a href=" 1\n">', [" 1\n"]),
    ('<a href="a\r\nb">', ["a\nb"]),
    # Character references in attribute values
    ('<a href="?a&amp;b&ampc&amp=d&amp">', ["?a&b&ampc&amp=d&"]),
    ('<a href="?a=1&copy=2"><a href="&copy;&copy&reg">', ["?a=1&copy=2", "©©®"]),
    ('<a href="&notit;&notin;&not;">', ["&notit;∉¬"]),
    ('<a href="a&#35;b">', ["a"]),
    ('<a href="a&#x26;b&#x26c">', ["a&b\u026c"]),
    (
        '<a href="&#0;&#xD800;&#x110000;&#99999999999;&#x80;&#x81;">',
        ["\ufffd\ufffd\ufffd\ufffd€\x81"],
    ),
    ('<a href="a&#b"><a href="c&"><a href="&#x;">', ["a&", "c&", "&"]),
    # After a quoted value
    ('<a title="x"href="1"><a title="x"/href="2">', ["1", "2"]),
    ('<a href="1"/><a href="2" / >', ["1", "2"]),
    # End of file in a tag, a value, a comment, raw text
    ("<a href=1><a href=2", ["1"]),
    ('<a href=1><a href="2', ["1"]),
    ('<a href="1><a href="2">', ["1><a href="]),
    ("<a href=1><!-- <a href=2>", ["1"]),
    ("<script><a href=1>", []),
    ("<title><a href=1>", []),
    # Comments
    ("<!-- <a href=1> --><a href=2>", ["2"]),
    ("<!--><a href=1>--><a href=2>", ["1", "2"]),
    ("<!---><a href=1>", ["1"]),
    ("<!----><a href=1>", ["1"]),
    ("<!-- --!><a href=1>", ["1"]),
    ("<!-- -- > <a href=1> --><a href=2>", ["2"]),
    ("<!--a<!--><a href=1>", ["1"]),
    ("<!-- <!-- --><a href=1>", ["1"]),
    ("<!-x <a href=1> --><a href=2>", ["2"]),
    ('<!-- href="1" --><a href="2">', ["2"]),
    ("<![CDATA[<a href=1>]]><a href=2>", ["2"]),
    # RCDATA and raw text
    ("<textarea><a href=1></textarea><a href=2>", ["2"]),
    ("<title><!-- </title><a href=1>", ["1"]),
    ("<style><a href=1></style><a href=2>", ["2"]),
    ("<style></styles><a href=1></style ><a href=2>", ["2"]),
    ("<STYLE><a href=1></Style/><a href=2>", ["2"]),
    (
        "<xmp><a href=1></xmp><noembed><a href=2></noembed><noframes><a href=3></noframes><a href=4>",
        ["4"],
    ),
    ("<iframe src=1><a href=2></iframe>", ["1"]),
    ("<plaintext><a href=1></plaintext><a href=2>", []),
    ("<noscript><a href=1></noscript>", ["1"]),
    # Script data
    ("<script>'<a href=1>'</script><a href=2>", ["2"]),
    ("<script></scripty><a href=1></script\n><a href=2>", ["2"]),
    ("<script><!-- </script><a href=1>", ["1"]),
    ("<script><!-- <script> </script> <a href=1> --></script><a href=2>", ["2"]),
    ("<script><!-- <script> </script> </script><a href=1>", ["1"]),
    ("<script><!--><script></script><a href=1>", ["1"]),
    # Tree
    ("<template><a href=1></template><a href=2>", ["2"]),
    ("<template><template></template><a href=1></template><a href=2>", ["2"]),
    ("<table><a href=1><tr><td><a href=2></table>", ["1", "2"]),
    ("<a href=1><p><a href=2></a></p>", ["1", "2"]),
    ("<p><a href=1>x<p>y<p>z", ["1"]),
    ("<svg><a href=1></a><path d='x'/></svg><a href=2>", ["1", "2"]),
    ("<area href=1><map><area href=2></map>", ["1", "2"]),
]


@pytest.mark.parametrize(("markup", "expected"), STATES)
def test_reads_each_tokenizer_state_as_browsers_do(markup, expected):
    assert hrefs(parse_html(markup.encode(), encoding="utf-8")) == expected


@pytest.mark.parametrize("markup", [row[0] for row in STATES])
def test_each_state_within_a_page(markup):
    page = framed(markup)
    expected = [cut(href) for href in reference_hrefs(page)[0]]
    assert hrefs(parse_html(page.encode(), encoding="utf-8")) == list(dict.fromkeys(expected))


@pytest.mark.parametrize(("markup", "expected"), STATES)
def test_without_the_compiled_scanner_the_answer_is_the_same(markup, expected, monkeypatch):
    monkeypatch.setattr(scan, "scan", None)
    document = parse_html(markup.encode(), encoding="utf-8")
    assert document.way == "tree"
    assert hrefs(document) == expected


@pytest.mark.parametrize(("markup", "expected"), [row for row in STATES if "<svg" not in row[0]])
def test_the_tokenizer_alone_agrees(markup, expected):
    collector = Collector(agent="andante", drop_nofollow=False, links_max=100)
    read_tokens(markup.encode(), "utf-8", collector)
    assert list(dict.fromkeys(collector.hrefs)) == expected


SCANNED = [
    '<a class="x y" id=z href="1" title=\'">"\'>',
    "<script>if (a < b && c > d) x = '</p>'</script>",
    '<svg viewBox="0 0 1 1"><title>t</title><g><path d="M0"/></g></svg><a href=1>',
    "<svg><title/><path></svg><a href=1>",
    "<svg/><a href=1>",
    "<svg><!-- <a href=2> --></svg><a href=1>",
    "<select><optgroup><option>1</option></select><a href=1>",
    "<iframe src=1><a href=2></iframe>",
    "<table><tr><a href=1></table>",
    "<a x=y",
    "\0<a href=1>",
    "<link rel=next href=1><a href=2><link rel=next href=3>",
    "<title></title>",
    "</svg></select></template><a href=1>",
]
LEFT_TO_TREE = [
    "<template><a href=1></template>",
    "<math><a href=1></math>",
    "<xmp></xmp>",
    "<noframes></noframes>",
    "<svg><a href=1></a></svg>",
    "<svg><title><a href=1></title></svg>",
    "<svg></p><a href=1></svg>",
    "<svg><svg></svg></svg>",
    "<svg><![CDATA[<a href=1>]]></svg>",
    "<select><a href=1></select>",
    "<select></p></select>",
    "<base href=1><table><base href=2></table>",
    "<title>1</title><table><title>2</title></table>",
]


@pytest.mark.parametrize("markup", SCANNED)
def test_what_the_scanner_reads(markup):
    document = parse_html(markup.encode(), encoding="utf-8")
    assert document.way == "scan"
    assert hrefs(document) == [cut(href) for href in reference_hrefs(markup)[0]]


@pytest.mark.parametrize("markup", LEFT_TO_TREE)
def test_what_it_leaves_to_the_tree(markup):
    document = parse_html(markup.encode(), encoding="utf-8")
    assert document.way == "tree"
    assert hrefs(document) == [cut(href) for href in reference_hrefs(markup)[0]]


@pytest.mark.parametrize(
    "head",
    [
        "<!DOCTYPE <link rel=next href=1>><title></title>",
        "<!-- <link rel=next href=1> -->",
        '<script>"<meta http-equiv=refresh>"</script>',
        '<meta name="&#114;obots" content="noindex">',
        "<LINK rel=next href=1>",
        '<link rel=next title=">" href=1>',
        "<a href=1>",
        "<title></head></title>",
        "<template><link rel=next href=1></template>",
    ],
)
def test_unusual_heads(head):
    page = f"<html><head>{head}</head><body></body></html>"
    assert hrefs(parse_html(page.encode(), encoding="utf-8")) == reference_hrefs(page)[0]


def test_no_more_links_are_taken_than_allowed():
    page = framed("".join(f"<a href={n}><a href=0><area href=x{n}>" for n in range(9))).encode()
    for tail in (b"", b"<xmp>"):
        document = parse_html(page + tail, encoding="utf-8", links_max=3)
        assert hrefs(document) == ["0", "x0", "1"]


def test_meta_robots_for_this_crawler():
    page = b'<meta name="OurBot" content="noindex"><meta name="andante" content="nofollow">'
    directives = parse_html(page, encoding="utf-8", agent="ourbot").robots
    assert directives == Directives(noindex=True)


def test_elements_that_are_links():
    page = """<head><link rel="stylesheet" href="0"><link rel="alternate NEXT" href="1"><link rel=canonical href=2>
    <link href=3><meta http-equiv=Refresh content="5; url='4'">
    </head><a href=5></a><area href=6><iframe src=7></iframe><iframe></iframe><img src=8><link rel=alternate href=9>"""
    assert hrefs(parse_html(page.encode(), encoding="utf-8")) == ["1", "2", "4", "5", "6", "7", "9"]


@pytest.mark.parametrize("tail", ["</html>", "<template></template>"])
def test_head_is_read_alike_on_both_ways(tail):
    page = f"""<html><head><title> a
    &amp;  b </title><base target=x><base href="/b/"><link rel="next" href="n?a&amp;b"><meta name="ROBOTS" content="NoIndex, x">
    <meta name="andante" content="nofollow"><meta http-equiv="refresh" content="0;r#f"></head><a href="c#d">{tail}"""
    document = parse_html(page.encode(), encoding="utf-8")
    assert document.way == ("scan" if tail == "</html>" else "tree")
    assert document.title == "a & b"
    assert document.base == "/b/"
    assert document.robots == Directives(noindex=True, nofollow=True)
    assert hrefs(document) == ["n?a&b", "r", "c"]


def test_nofollow_links_are_left_out_on_request():
    page = framed('<a href="1" rel="x NoFollow"></a><a href="2"></a>').encode()
    assert hrefs(parse_html(page, encoding="utf-8")) == ["1", "2"]
    assert hrefs(parse_html(page, encoding="utf-8", drop_nofollow=True)) == ["2"]


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-16-le", "\ufeff"),
        ("utf-16-be", ""),
        ("cp1251", ""),
        ("cp932", ""),
        ("gb18030", ""),
        ("iso2022-jp", ""),
        ("utf-8", "\ufeff"),
    ],
)
def test_pages_in_other_encodings(encoding, mark):
    page = framed('<a href="Ж"></a><a href="1&amp;2#x"></a>')
    assert hrefs(parse_html((mark + page).encode(encoding), encoding=encoding)) == ["Ж", "1&2"]
    assert hrefs(parse_html((mark + page + "<xmp>").encode(encoding), encoding=encoding)) == [
        "Ж",
        "1&2",
    ]


def test_undecodable_bytes_do_no_harm():
    for tail in (b"", b"<xmp>"):
        page = HEAD.encode() + b'<a href="\xff\xe2"></a><a href=\xe2></a></html>' + tail
        assert hrefs(parse_html(page, encoding="utf-8")) == ["\ufffd\ufffd", "\ufffd"]


def test_generated_pages_agree_with_lexbor():
    ways: Counter[str] = Counter()

    @settings(max_examples=1500, deadline=None, derandomize=True)
    @given(pages())
    def agrees(page: str) -> None:
        document = parse_html(page.encode(), encoding="utf-8")
        ways[document.way] += 1
        expected, base = reference_hrefs(page)
        # As sets: a link in a table but in no cell comes before the table in the tree, not in the source.
        assert set(hrefs(document)) == {cut(href) for href in expected}
        assert document.base == base

    agrees()
    assert ways["scan"] > 100
    assert ways["tree"] > 100


MUTATIONS = [
    b"<",
    b">",
    b'"',
    b"'",
    b"=",
    b"-",
    b"!",
    b"/",
    b" ",
    b"&",
    b"#",
    b"\0",
    b"",
    b"<a ",
    b"<!--",
    b"<table>",
    b"</script>",
    b' href="',
    b"<svg>",
    b"<template>",
]


@pytest.mark.parametrize("site", SITES)
def test_mutated_real_pages_agree_with_lexbor(site):
    names = site_pages(site, every=97)
    if not names:
        pytest.skip("documentation package not installed")
    ways: Counter[str] = Counter()

    @settings(max_examples=500, deadline=None, derandomize=True)
    @given(st.sampled_from(names), st.data())
    def agrees(name: Path, data: st.DataObject) -> None:
        page = name.read_bytes()[:30_000]
        for _ in range(data.draw(st.integers(1, 3))):
            nearest = data.draw(st.sampled_from(MUTATIONS))
            start = max(0, page.find(nearest, data.draw(st.integers(0, len(page)))))
            end = start + data.draw(st.sampled_from([0, 1, 2, 30]))
            page = page[:start] + data.draw(st.sampled_from(MUTATIONS)) + page[end:]
        document = parse_html(page, encoding="utf-8")
        ways[document.way] += 1
        expected = {cut(href) for href in reference_hrefs(page.decode("utf-8", "replace"))[0]}
        if document.way == "tokens":
            # A broken SVG ends where a tree builder meets an element that cannot be in it.
            assert set(hrefs(document)) >= expected
        else:
            assert set(hrefs(document)) == expected

    agrees()
    assert ways["scan"] > 20
    assert ways["tree"] > 10


@pytest.mark.parametrize(("site", "every"), [("postgresql", 1), ("python", 1), ("openjdk", 5)])
def test_real_sites_agree_with_lexbor(site, every):
    names = site_pages(site, every=every)
    if not names:
        pytest.skip("documentation package not installed")
    plain = 0
    for name in names:
        page, url = name.read_bytes(), f"http://site{name}"
        document = parse_html(page, encoding="utf-8")
        found = resolve(
            [href_value(href, document.encoding) for href in document.hrefs], url, document.base
        )
        assert found == reference_links(page, url, "utf-8"), name
        plain += document.way == "scan"
    assert plain >= 0.95 * len(names)


MILLION = 1_000_000


@pytest.mark.parametrize(
    ("page", "way", "links"),
    [
        (
            HEAD.encode() + b"".join(b'<a href="/%d">x</a>' % n for n in range(50_000)),
            "tokens",
            50_000,
        ),
        (HEAD.encode() + b'<a href="' + b"x" * MILLION + b'"></a>', "tokens", 0),
        (b"<a href='" + b"x" * MILLION + b"'></a>", "tokens", 0),
        (b"<div>" * 100_000 + b"<a href=1>", "tokens", 1),
        (b"<div>" * 19_990 + b"<a href=1>", "tree", 1),
        (b"<" * 10 * MILLION, "tokens", 0),
        (b"<a " * 3 * MILLION, "tokens", 0),
        (b'="' * 5 * MILLION, "tokens", 0),
        (b"<!--" * 2 * MILLION, "tokens", 0),
        (b"<script><!--<script" * MILLION, "tokens", 0),
        (b"<a " + b" ".join(b"a%d" % n for n in range(100_000)) + b" href=1>", "tokens", 1),
        (b"<a " + b" ".join(b'a%d=">"' % n for n in range(90_000)) + b" href=1>", "tokens", 1),
        (
            b"<p>"
            + b"".join(b"<font a=%d>" % n for n in range(5_000))
            + b"<p>x" * 5_000
            + b"<a href=1>",
            "tokens",
            1,
        ),
    ],
    ids=[
        "links",
        "long href",
        "long quoted",
        "deep",
        "as deep as trees go",
        "lt",
        "a",
        "eq quote",
        "comments",
        "scripts",
        "attributes",
        "long quoted attributes",
        "copies",
    ],
)
def test_pathological_pages_stay_out_of_the_tree(page, way, links):
    document = parse_html(b"<xmp></xmp>" + page, encoding="utf-8", links_max=MILLION)
    assert (document.way, len(document.hrefs)) == (way, links)
    document = parse_html(page, encoding="utf-8", links_max=MILLION)
    assert (document.way, len(document.hrefs)) == ("scan", links)
