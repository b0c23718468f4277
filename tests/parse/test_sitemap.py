from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.parse import sitemap
from andante.parse.sitemap import MAX_ENTRIES, MAX_LOC, MAX_TOKEN, parse_sitemap

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def test_urlset():
    body = f"""\n<?xml version="1.0" encoding="UTF-8"?><urlset {NAMESPACE} xmlns:image="urn:i">
    <url><loc> http://h/a?x=1&amp;y=2 </loc><lastmod>2020-01-01</lastmod><image:image><image:loc>http://h/i</image:loc></image:image></url>
    <url><loc><![CDATA[http://h/b]]></loc></url><url><loc/></url></urlset>"""
    found = parse_sitemap(body.encode())
    assert (found.kind, found.locs, found.problem) == (
        "urlset",
        ["http://h/a?x=1&y=2", "http://h/b"],
        "",
    )


@pytest.mark.parametrize(
    ("body", "kind", "locs"),
    [
        (
            "<sitemapindex><sitemap><loc>http://h/1.xml</loc></sitemap></sitemapindex>",
            "index",
            ["http://h/1.xml"],
        ),
        (
            "<rss><channel><link>http://h/</link><item><link>http://h/1</link></item></channel></rss>",
            "feed",
            ["http://h/1"],
        ),
        (
            "<feed><link href='http://h/'/><entry><link rel='self' href='s'/><link href='http://h/1'/></entry></feed>",
            "feed",
            ["http://h/1"],
        ),
        ("http://h/1\r\n\n https://h/2 \nnonsense", "text", ["http://h/1", "https://h/2"]),
        ("\ufeffhttp://h/1", "text", ["http://h/1"]),
        ("\ufeff<urlset><url><loc>http://h/1</loc></url></urlset>", "urlset", ["http://h/1"]),
        (
            "\ufeff \n<?xml version='1.0'?><urlset><url><loc>http://h/1</loc></url></urlset>",
            "urlset",
            ["http://h/1"],
        ),
        ("\ufeff\n\t http://h/1\rhttp://h/2", "text", ["http://h/1", "http://h/2"]),
    ],
)
def test_other_forms(body, kind, locs):
    found = parse_sitemap(body.encode())
    assert (found.kind, found.locs, found.problem) == (kind, locs, "")


def test_utf_16():
    assert parse_sitemap(
        "<urlset><url><loc>http://h/é</loc></url></urlset>".encode("utf-16")
    ).locs == ["http://h/é"]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_white_space_after_the_byte_order_mark_of_utf_16(codec):
    text = "\ufeff \r\n<?xml version='1.0' encoding='UTF-16'?><urlset><url><loc>http://h/é</loc></url></urlset>"
    assert parse_sitemap(text.encode(codec)).locs == ["http://h/é"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            b"<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><urlset><url><loc>&b;</loc></url></urlset>",
            "document type",
        ),
        (b"<!DOCTYPE urlset SYSTEM 'file:///etc/passwd'><urlset/>", "document type"),
        (b"<html><body/></html>", "root element is html"),
        (b"<urlset><a>" + b"<a>" * 100_000, "deep"),
        (b"<urlset><url><loc>http://h/1</urlset>", "not well-formed"),
        (b"<?xml version='1.0' encoding='nonsense'?><urlset/>", "not well-formed"),
        (b"", "neither XML"),
        (b"\x00\x01\xff", "neither XML"),
        (b"\xff\xfe", "not well-formed"),
    ],
)
def test_bad_input_is_a_value_with_a_reason(body, problem):
    found = parse_sitemap(body)
    assert problem in found.problem
    assert found.locs == []


def test_what_came_before_the_fault_counts():
    found = parse_sitemap(b"<urlset><url><loc>http://h/1</loc></url><url>")
    assert found.locs == ["http://h/1"]
    assert "not well-formed" in found.problem


@pytest.mark.parametrize("form", ["<urlset>%s</urlset>", "%s"])
def test_entries_are_limited(form):
    entry = "http://h/1\n" if form == "%s" else "<url><loc>http://h/1</loc></url>"
    found = parse_sitemap((form % (entry * (MAX_ENTRIES + 5))).encode())
    assert len(found.locs) == MAX_ENTRIES
    assert "more than 50000 entries" in found.problem
    assert parse_sitemap((form % (entry * MAX_ENTRIES)).encode()).problem == ""


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<urlset>" + b"<url/>" * (MAX_ENTRIES + 1), "more than 50000 entries"),
        (b"<urlset><url a='" + b"x" * 2 * MAX_TOKEN, "a tag or comment longer than 65536 bytes"),
        (b"<urlset><!--" + b"x" * 2 * MAX_TOKEN, "a tag or comment longer than 65536 bytes"),
        (b"<urlset><?x " + b"x" * 2 * MAX_TOKEN, "a tag or comment longer than 65536 bytes"),
    ],
    ids=["entries without a URL", "attribute", "comment", "instruction"],
)
def test_what_takes_time_without_saying_anything_is_limited(body, problem):
    assert problem in parse_sitemap(body + b" " * 2 * MAX_TOKEN).problem


def test_elements_are_limited(monkeypatch):
    monkeypatch.setattr(sitemap, "MAX_ELEMENTS", 10)
    page = b"<urlset><url><loc>http://h/1</loc></url><a b='' c=''/>%b</urlset>"
    assert parse_sitemap(page % b"<a b=''/>").problem == ""
    found = parse_sitemap(page % b"<a b=''/><a/><a/><a/>")
    assert (found.locs, found.problem) == (
        ["http://h/1"],
        "more than 10 elements and attributes",
    )


@pytest.mark.parametrize("form", ["<urlset><url><loc>%s</loc></url></urlset>", "http://h/\n%s\n"])
def test_a_url_that_is_too_long_is_left_out(form):
    def locs(length):
        url = "http://h/" + "x" * (length - 9)
        return [each for each in parse_sitemap((form % url).encode()).locs if each == url]

    assert (len(locs(MAX_LOC)), len(locs(MAX_LOC + 1))) == (1, 0)


@pytest.mark.parametrize("form", ["<urlset>%s</urlset>", "%s"])
def test_urls_are_limited_by_their_length_together(form):
    entry = "http://h/%s\n" if form == "%s" else "<url><loc>http://h/%s</loc></url>"
    found = parse_sitemap((form % (entry % ("x" * 7_991) * 3_000)).encode())
    assert (len(found.locs), found.problem) == (2_097, "more than 16777216 characters of URLs")


def test_size_is_limited(monkeypatch):
    monkeypatch.setattr(sitemap, "MAX_BYTES", 10)
    assert "larger than 10 bytes" in parse_sitemap(b"http://h/12").problem


@given(st.binary(max_size=300))
def test_never_raises(body):
    parse_sitemap(body)
    parse_sitemap(b"<urlset><url><loc>" + body)


def test_what_entries_state_wherever_in_them():
    found = parse_sitemap(
        b"""<urlset><url><lastmod>2024-05-31</lastmod><loc>http://h/1</loc><priority> 0.8 </priority></url>
        <url><loc>http://h/2</loc></url>
        <url><priority>1.5</priority><loc>http://h/3</loc><lastmod>yesterday</lastmod></url>
        <url><loc>http://h/4</loc><priority>0</priority><x><priority>1</priority></x></url></urlset>"""
    )
    assert found.locs == [f"http://h/{n}" for n in (1, 2, 3, 4)]
    assert found.lastmods == [1717113600.0, None, None, None]
    assert found.priorities == [0.8, None, None, 0.0]


@pytest.mark.parametrize(
    "body",
    [b"http://h/1\nhttp://h/2", b"<urlset><url><loc>http://h/1</loc><loc>http://h/2</loc><url>"],
)
def test_there_is_a_statement_for_each_url(body):
    found = parse_sitemap(body)
    assert found.lastmods == found.priorities == [None, None]
    assert len(found.locs) == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024", 1704067200.0),
        ("2024-05", 1714521600.0),
        ("2024-05-31", 1717113600.0),
        ("2024-05-31T08:00Z", 1717142400.0),
        ("2024-05-31T08:00:00+02:00", 1717135200.0),
        ("2024-05-31T08:00:00.5Z", 1717142400.5),
        ("1960-01-01", -315619200.0),
        ("", None),
        ("31.5.2024", None),
        ("2024-13", None),
        ("2024-05-31" + " " * 100, None),
        ("0001-01-01T00:00+14:00", -62135647200.0),
    ],
)
def test_dates_of_the_w3c(text, seconds):
    assert sitemap.timestamp(text) == seconds
