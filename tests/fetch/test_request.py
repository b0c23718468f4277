from __future__ import annotations

import pytest

from andante.fetch import RequestTemplate

TEMPLATE = RequestTemplate(user_agent="andante/1")


def lines(request: bytes) -> list[bytes]:
    head, _, rest = request.partition(b"\r\n\r\n")
    assert rest == b""
    return head.split(b"\r\n")


def test_a_request_is_this():
    assert lines(TEMPLATE.render("https://example.com", "/a?b=c")) == [
        b"GET /a?b=c HTTP/1.1",
        b"Host: example.com",
        b"User-Agent: andante/1",
        b"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        b"Accept-Encoding: gzip, deflate, br, zstd",
    ]


@pytest.mark.parametrize(
    ("server", "host"),
    [
        ("http://example.com", b"Host: example.com"),
        ("http://example.com:8080", b"Host: example.com:8080"),
        ("https://[::1]", b"Host: [::1]"),
        ("https://[::1]:8443", b"Host: [::1]:8443"),
    ],
)
def test_the_host_field_has_the_port_where_it_is_not_the_schemes_own(server, host):
    for _ in range(2):
        assert lines(TEMPLATE.render(server, "/"))[1] == host


def test_a_cookie_comes_last():
    assert lines(TEMPLATE.render("http://a", "/", "k=v; x=\xe9"))[-1] == b"Cookie: k=v; x=\xe9"


def test_further_fields_are_added_and_replace_ours():
    template = RequestTemplate(
        user_agent="a", headers=["X-Key: 1", "accept:  text/html ", "Host: other.example"]
    )
    assert lines(template.render("http://a.example", "/")) == [
        b"GET / HTTP/1.1",
        b"Host: other.example",
        b"User-Agent: a",
        b"accept: text/html",
        b"Accept-Encoding: gzip, deflate, br, zstd",
        b"X-Key: 1",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "X",
        ": v",
        "X y: v",
        "X: a\r\nY: b",
        "X: a\nY: b",
        "X: a\0",
        "X\r\n: a",
        " X: a",
        "X : a",
    ],
)
def test_fields_that_are_malformed_or_smuggle_are_refused(line):
    with pytest.raises(ValueError, match="Name: value"):
        RequestTemplate(user_agent="a", headers=[line])


@pytest.mark.parametrize("agent", ["a\r\nX: y", "a\n", "\0"])
def test_a_user_agent_of_two_lines_is_refused(agent):
    with pytest.raises(ValueError, match="one line"):
        RequestTemplate(user_agent=agent)


def test_the_store_of_rendered_headers_is_bounded():
    for i in range(10_050):
        TEMPLATE.render(f"http://{i}.example", "/")
    assert len(TEMPLATE._heads) <= 10_000


# Secrets

SECRETS = RequestTemplate(
    user_agent="a",
    headers=["AUTHORIZATION: token", "X-Key: key", "X-Open: all", "Cookie: own=1; two=2"],
    secret=["x-KEY"],
    origins=["https://a.example", "http://b.example:8080"],
)
USUAL = lines(TEMPLATE.render("http://a", "/"))[3:]


@pytest.mark.parametrize("server", ["https://a.example", "http://b.example:8080"])
def test_secret_fields_go_to_the_origins_that_are_named(server):
    for _ in range(2):
        assert lines(SECRETS.render(server, "/"))[5:] == [
            b"X-Open: all",
            b"AUTHORIZATION: token",
            b"X-Key: key",
            b"Cookie: own=1; two=2",
        ]
    assert not SECRETS.withholds_from(server)


@pytest.mark.parametrize(
    "server",
    [
        "http://a.example",
        "https://a.example:8443",
        "https://www.a.example",
        "http://b.example",
        "http://c.example",
    ],
)
def test_secret_fields_go_to_no_other_origin(server):
    for _ in range(2):
        assert lines(SECRETS.render(server, "/"))[3:] == [*USUAL, b"X-Open: all"]
        assert lines(SECRETS.render(server, "/", "set=1"))[-1] == b"Cookie: set=1"
    assert SECRETS.withholds_from(server)


def test_cookies_that_servers_set_come_behind_those_of_the_user():
    assert lines(SECRETS.render("https://a.example", "/", "set=1"))[-1] == (
        b"Cookie: own=1; two=2; set=1"
    )


def test_where_nothing_is_secret_nothing_is_withheld():
    template = RequestTemplate(user_agent="a", headers=["X-Open: all"], origins=[])
    assert not template.withholds_from("http://a.example")


def test_a_field_of_ours_that_is_secret_is_the_usual_one_for_others():
    template = RequestTemplate(
        user_agent="a", headers=["User-Agent: me"], secret=["User-Agent"], origins=["http://a"]
    )
    assert lines(template.render("http://a", "/"))[2] == b"User-Agent: me"
    assert lines(template.render("http://b", "/"))[2] == b"User-Agent: a"
