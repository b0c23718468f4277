from __future__ import annotations

from datetime import UTC, datetime
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.fetch.set_cookie import (
    AGE_MAX,
    ATTRIBUTE_MAX,
    LINE_MAX,
    SIZE_MAX,
    SetCookie,
    cookie_date,
)

NOW = 1_000_000_000.0


def parse(line: bytes) -> SetCookie | None:
    return SetCookie.parse(line, now=NOW)


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (b"k=v", b"k", b"v"),
        (b" k \t=\t v ", b"k", b"v"),
        (b"k=", b"k", b""),
        (b"k=v=w", b"k", b"v=w"),
        (b"k==v", b"k", b"=v"),
        (b"k=v;", b"k", b"v"),
        (b"k=v;;;", b"k", b"v"),
        # Quotes, commas and brackets are letters like others.
        (b'k="v w"', b"k", b'"v w"'),
        (b'k="v;w"', b"k", b'"v'),
        (b'"k=v"', b'"k', b'v"'),
        (b"k=v, l=w", b"k", b"v, l=w"),
        (b"$Version=1; k=v", b"$Version", b"1"),
        (b"two words=v", b"two words", b"v"),
        (b"(k]=<v>", b"(k]", b"<v>"),
        # Bytes are kept as they are.
        ("größe=übergroß".encode(), "größe".encode(), "übergroß".encode()),
        (b"k=\xff\xfe", b"k", b"\xff\xfe"),
        (b"k=a\tb", b"k", b"a\tb"),
    ],
)
def test_a_cookie_is_a_name_and_a_value(line, name, value):
    cookie = parse(line)
    assert (cookie.name, cookie.value) == (name, value)
    assert cookie[2:] == (inf, b"", b"", False)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b" ",
        b"k",
        b"=",
        b"=v",
        b" =v",
        b"==v",
        b"; k=v",
        b"k; l=v",
        b"k=v\0",
        b"k=v; Path=/\x07",
        b"k\x7f=v",
        b"k=" + b"v" * SIZE_MAX,
        b"k=v; " + b"x" * LINE_MAX,
    ],
)
def test_what_is_no_cookie(line):
    assert parse(line) is None


def test_a_cookie_may_be_as_large_as_the_limit():
    assert parse(b"k=" + b"v" * (SIZE_MAX - 1)) is not None


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (b"Domain=a.example", {"domain": b"a.example"}),
        (b"Domain=.A.Example", {"domain": b"a.example"}),
        (b"Domain=..a.example", {"domain": b".a.example"}),
        (b"Domain=", {}),
        (b"Domain", {}),
        (b"Domain=a.example; Domain=", {"domain": b"a.example"}),
        (b"Domain=a.example; Domain=b.example", {"domain": b"b.example"}),
        (b'Domain="a.example"', {"domain": b'"a.example"'}),
        (b"Path=/in", {"path": b"/in"}),
        (b"pAtH = /in ", {"path": b"/in"}),
        (b"Path=/in;Path=", {}),
        (b"Path=;Path=/in", {"path": b"/in"}),
        (b"Path=" + b"/" * (ATTRIBUTE_MAX + 1), {}),
        (b"Path=/in; Path=/" + b"x" * ATTRIBUTE_MAX, {"path": b"/in"}),
        (b"Secure", {"secure": True}),
        (b"secure=no", {"secure": True}),
        (b"  SECURE  =", {"secure": True}),
        (b'"Secure"', {}),
        (b"Secure now", {}),
        (b'x="a;b"; Secure', {"secure": True}),
        (b"HttpOnly; SameSite=None; Partitioned; Priority=High; Version=1", {}),
    ],
)
def test_attributes(attributes, expected):
    assert parse(b"k=v; " + attributes) == SetCookie(b"k", b"v", inf, b"", b"", False)._replace(
        **expected
    )


EPOCH = b"Thu, 01 Jan 1970 00:00:00 GMT"
NEXT_DAY = datetime.fromtimestamp(NOW + 86_400, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").encode()


@pytest.mark.parametrize(
    ("attributes", "left"),
    [
        (b"", inf),
        (b"Max-Age=60", 60),
        (b"max-age = 60 ", 60),
        (b"Max-Age=0", 0),
        (b"Max-Age=-1", 0),
        (b"Max-Age=-" + b"9" * 1000, 0),
        (b"Max-Age=" + b"9" * 1000, AGE_MAX),
        (b"Max-Age=60; Max-Age=30", 30),
        # What is no number says nothing.
        (b"Max-Age", inf),
        (b"Max-Age=", inf),
        (b"Max-Age=+60", inf),
        (b"Max-Age=6e1", inf),
        (b"Max-Age=60,5", inf),
        (b'Max-Age="60"', inf),
        (b"Max-Age=--60", inf),
        (b"Max-Age=\xd9\xa3", inf),
        (b"Max-Age=60; Max-Age=", 60),
        (b"Expires=" + NEXT_DAY, 86_400),
        (b"Expires=" + EPOCH, -NOW),
        (b"Expires=soon", inf),
        (b"Expires=", inf),
        (b"Expires=" + NEXT_DAY + b"; Expires=soon", 86_400),
        (b"Expires=Fri, 31 Dec 9999 23:59:59 GMT", AGE_MAX),
        (b"Expires=" + EPOCH + b"; Max-Age=60", 60),
        (b"Max-Age=60; Expires=" + EPOCH, 60),
        (b"Max-Age=soon; Expires=" + NEXT_DAY, 86_400),
    ],
)
def test_when_a_cookie_ends(attributes, left):
    assert parse(b"k=v; " + attributes).expires == NOW + left


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        (b"__Secure-k=v; Secure", True),
        (b"__Secure-k=v", False),
        (b"__SECURE-k=v", False),
        (b"__Host-k=v; Secure; Path=/", True),
        (b"__host-k=v; Path=/", False),
        (b"__Host-k=v; Secure", False),
        (b"__Host-k=v; Secure; Path=/in", False),
        (b"__Host-k=v; Secure; Path=/; Domain=a.example", False),
        (b"__Hostess=v", True),
    ],
)
def test_the_prefix_of_a_name_is_a_promise(line, is_one):
    assert (parse(line) is not None) is is_one


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "06 Nov 1994 08:49:37",
        "6 Nov 94 8:49:37",
        "1994 november 6 08:49:37",
        "08:49:37 1994 6 NOVEM",
        "Nov/06/1994@08:49:37",
        "Moonday; 6 - Novembre - 94, 08:49:37 and so on",
        "Sun, 06 Nov 1994 08:49:37 GMT+0200 (CEST)",  # always UTC
        "Sun, 06 Nov 1994 08:49:37.250",
        "6th Nov 1994x 08:49:37Z",
        # The first of each kind counts.
        "06 Nov 1994 08:49:37 07 Dec 1995 09:50:38",
        ":: 06 Nov 1994 08:49:37",
    ],
)
def test_dates_in_many_forms(text):
    assert cookie_date(text.encode()) == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("year", "meant"), [("70", 1970), ("99", 1999), ("00", 2000), ("69", 2069), ("1601", 1601)]
)
def test_years_of_two_digits(year, meant):
    found = cookie_date(f"01 Jan {year} 00:00:00".encode())
    assert found == datetime(meant, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "06 Nov 1994",
        "Nov 1994 08:49:37 123",
        "06 1994 08:49:37",
        "06 Nov 08:49:37",
        "06 Nov 1600 08:49:37",
        "06 Nov 101 08:49:37",
        "06 Nov 12345 08:49:37",
        "006 Nov 1994 08:49:37",
        "00 Nov 1994 08:49:37",
        "31 Nov 1994 08:49:37",
        "29 Feb 2001 00:00:00",
        "06 Nov 1994 24:00:00",
        "06 Nov 1994 08:60:37",
        "06 Nov 1994 08:49:60",
        "06 Nov 1994 08:49:370",
        "06 Nov 1994 08:49",
        "06 Nov 1994 108:49:37",
        "06 No 1994 08:49:37",
        "99:99:99 06 Nov 1994 08:49:37",
    ],
)
def test_what_is_no_date(text):
    assert cookie_date(text.encode()) is None


PIECES = st.sampled_from(
    [
        *b"= ; , . / - : k 99 60 Max-Age Expires Domain Path Secure __Host- Jan 1994 8:49:37".split(),
        *(b" ", b"\t", b'"', b"\0", b"\xff"),
    ]
)


@given(st.lists(PIECES | st.binary(max_size=8), max_size=40).map(b"".join))
def test_nothing_is_an_error(line):
    cookie = parse(line)
    if cookie is not None:
        assert cookie.name
        assert len(cookie.name) + len(cookie.value) <= SIZE_MAX
        assert not set(b";\r\n\0") & set(cookie.name + cookie.value)
        assert cookie.expires == inf or cookie.expires <= NOW + AGE_MAX
