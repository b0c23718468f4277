"""A page's header fields."""

import pytest

from andante.page import Page

PAGE = Page(
    url="http://a/",
    final_url="http://a/",
    status=200,
    reason="OK",
    headers=[
        (b"ETAG", b'"1"'),
        (b"Content-Type", b" Text/HTML ;charset=x"),
        (b"etag", b'"2"'),
        (b"X-\xe9", b"\xff"),
    ],
    request=b"",
    payload=b"",
    body=b"",
    fetched_at=0.0,
    elapsed=0.0,
)


@pytest.mark.parametrize("name", ["etag", "ETag", b"etag", b"ETag", b"ETAG"])
def test_a_field_is_found_in_whatever_case_by_text_or_bytes(name):
    assert PAGE.header(name) == b'"1"'


@pytest.mark.parametrize("name", ["etags", b"", "", "\u2603", b"x-\xc9"])
def test_a_field_that_is_not_there_is_empty(name):
    assert PAGE.header(name) == b""


def test_a_name_beyond_ascii():
    assert PAGE.header("x-é") == PAGE.header(b"x-\xe9") == b"\xff"


def test_the_content_type_has_no_parameters():
    assert PAGE.content_type == "text/html"
