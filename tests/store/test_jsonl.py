import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.store.jsonl import JsonlSink
from support.fetched import make_page, pages

LINE = (
    b'{"url":"http://a.example/old","final_url":"http://a.example/page?q=1","status":200,"content_type":"text/html",'
    b'"fetched_at":"2023-11-14T22:13:20.123Z","depth":2,"referrer":"http://a.example/","title":"Hello",'
    b'"links":["http://a.example/1","http://b.example/2"],"elapsed_ms":250.0,"bytes":13,"encoding":"utf-8","truncated":""}\n'
)


def test_a_page_is_a_line():
    assert JsonlSink().encode(make_page()) == LINE


def test_compressed_lines_are_whole_gzip_members():
    sink = JsonlSink(compress=True)
    assert gzip.decompress(sink.encode(make_page())) == LINE
    assert gzip.decompress(sink.encode(make_page()) * 2) == LINE * 2


def test_a_file_begins_with_its_first_line():
    assert JsonlSink().header("pages.jsonl") == b""


@given(st.lists(pages, max_size=4))
def test_json_reads_each_page_back(some):
    sink = JsonlSink()
    rows = [json.loads(line) for line in b"".join(map(sink.encode, some)).splitlines()]
    assert len(rows) == len(some)
    for row, page in zip(rows, some, strict=True):
        assert [
            row[name]
            for name in ("url", "final_url", "status", "depth", "referrer", "title", "links")
        ] == [
            page.url,
            page.final_url,
            page.status,
            page.depth,
            page.referrer,
            page.title,
            page.links,
        ]
        assert row["bytes"] == len(page.payload)
        assert row["elapsed_ms"] == pytest.approx(page.elapsed * 1000, abs=0.051)


def test_what_no_utf8_can_carry_becomes_a_question_mark():
    row = json.loads(
        JsonlSink().encode(make_page(title="a\ud800b", links=["http://a.example/\udfff"]))
    )
    assert (row["title"], row["links"]) == ("a?b", ["http://a.example/?"])
    assert row["url"] == "http://a.example/old"
