"""Pages to write: a plain one to vary, and arbitrary ones for properties."""

from hypothesis import strategies as st

from andante.page import Page


def make_page(**changes):
    """Return a small page, with some of its fields changed."""
    fields = {
        "url": "http://a.example/old",
        "final_url": "http://a.example/page?q=1",
        "status": 200,
        "reason": "OK",
        "headers": [(b"Content-Type", b"Text/HTML; charset=utf-8"), (b"Content-Length", b"13")],
        "request": b"GET /page?q=1 HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "payload": b"<p>Hello.</p>",
        "body": b"<p>Hello.</p>",
        "fetched_at": 1_700_000_000.123456,
        "elapsed": 0.25,
        "address": "192.0.2.7",
        "depth": 2,
        "referrer": "http://a.example/",
        "title": "Hello",
        "links": ["http://a.example/1", "http://b.example/2"],
    }
    return Page(**(fields | changes))


_token = st.text("!#$%&'*+-.^_`|~abcXYZ019", min_size=1).map(str.encode)
_value = st.text([chr(n) for n in range(32, 256) if n != 127]).map(
    lambda text: text.encode("latin-1").strip()
)
_framing = st.sampled_from(
    [
        (b"Content-Length", b"5"),
        (b"content-length", b"0"),
        (b"Transfer-Encoding", b"chunked"),
        (b"TRANSFER-ENCODING", b"gzip, chunked"),
        (b"Content-Encoding", b"gzip"),
    ]
)
urls = st.builds(
    lambda path: f"http://a.example/{path}",
    st.text("abc/?&=%é中", max_size=40) | st.just("x" * 3000),
)

pages = st.builds(
    make_page,
    url=urls,
    final_url=urls,
    status=st.integers(200, 999),
    reason=st.text([chr(n) for n in range(32, 256) if n != 127], max_size=20).map(str.strip),
    headers=st.lists(st.tuples(_token, _value) | _framing, max_size=8),
    payload=st.binary(max_size=2000) | st.sampled_from([b"\r\n\r\n", b"WARC/1.1\r\n", bytes(5000)]),
    fetched_at=st.floats(0, 4e9),
    elapsed=st.floats(0, 1e4),
    address=st.sampled_from(["", "192.0.2.7", "2001:db8::1"]),
    http_version=st.sampled_from(["1.0", "1.1"]),
    truncated=st.sampled_from(["", "length", "time"]),
    depth=st.integers(0, 2**31 - 1),
    referrer=urls | st.just(""),
    encoding=st.sampled_from(["utf-8", "cp1252"]),
    title=st.text(max_size=50),
    links=st.lists(urls, max_size=5, unique=True),
)
