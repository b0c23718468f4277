import io
import itertools
import re
import uuid
import zlib
from argparse import Namespace

import pytest
from fastwarc.warc import ArchiveIterator, has_payload_digest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.checker import Checker

from andante.store.warc import WarcSink
from support.fetched import make_page, pages


def read(data):
    """Return each record's type, header fields and block."""
    records = ArchiveIterator(io.BytesIO(data), parse_http=False)
    return [
        (record.headers["WARC-Type"], dict(record.headers.astuples()), record.reader.read())
        for record in records
    ]


def parts(page):
    """Return the fields and blocks of the three records of a page, by record type."""
    return {
        kind: (fields, block)
        for kind, fields, block in read(WarcSink({}, compress=False).encode(page))
    }


def recorded_header(**changes):
    block = parts(make_page(**changes))["response"][1]
    return block.partition(b"\r\n\r\n")[0].split(b"\r\n")


def members(data):
    """Count the gzip members."""
    count = 0
    while data:
        member = zlib.decompressobj(31)
        member.decompress(data)
        assert member.eof
        data = member.unused_data
        count += 1
    return count


def fields_of(block):
    return [tuple(line.split(": ", 1)) for line in block.decode().splitlines()]


def test_a_page_is_a_request_a_response_and_metadata():
    found = parts(make_page())
    assert list(found) == ["request", "response", "metadata"]
    ids = {kind: fields.pop("WARC-Record-ID") for kind, (fields, _) in found.items()}
    assert len(set(ids.values())) == 3
    common = {
        "WARC-Date": "2023-11-14T22:13:20.123456Z",
        "WARC-Target-URI": "http://a.example/page?q=1",
    }
    asked = b"GET /page?q=1 HTTP/1.1\r\nHost: a.example\r\n\r\n"
    assert found["request"] == (
        common
        | {
            "WARC-Type": "request",
            "WARC-IP-Address": "192.0.2.7",
            "WARC-Concurrent-To": ids["response"],
            "Content-Type": "application/http;msgtype=request",
            "Content-Length": str(len(asked)),
        },
        asked,
    )
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\nContent-Length: 13\r\n\r\n<p>Hello.</p>"
    assert found["response"] == (
        common
        | {
            "WARC-Type": "response",
            "WARC-IP-Address": "192.0.2.7",
            "WARC-Payload-Digest": "sha1:LS25NBNLIDQADEBOF6LMWFFXMBLUY25W",
            "Content-Type": "application/http;msgtype=response",
            "Content-Length": str(len(answer)),
        },
        answer,
    )
    said = b"via: http://a.example/\r\ndepth: 2\r\nfetchTimeMs: 250\r\noutlink: http://a.example/1\r\noutlink: http://b.example/2\r\n"
    assert found["metadata"] == (
        common
        | {
            "WARC-Type": "metadata",
            "WARC-Refers-To": ids["response"],
            "Content-Type": "application/warc-fields",
            "Content-Length": str(len(said)),
        },
        said,
    )


def test_a_file_begins_with_what_wrote_it():
    sink = WarcSink({"user_agent": "Andante/0.1 (+mailto:a@a.example)", "robots": "obey"})
    ((kind, fields, block),) = read(sink.header("pages-00001.warc.gz"))
    assert kind == "warcinfo"
    assert fields["WARC-Filename"] == "pages-00001.warc.gz"
    assert fields["Content-Type"] == "application/warc-fields"
    said = dict(fields_of(block))
    assert re.fullmatch(r"Andante/\d+\.\d+.*", said.pop("software"))
    assert said == {
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "http-header-user-agent": "Andante/0.1 (+mailto:a@a.example)",
        "robots": "obey",
    }


@pytest.mark.parametrize(
    ("headers", "payload", "recorded"),
    [
        pytest.param(
            [(b"Transfer-Encoding", b"chunked"), (b"ETag", b"x")],
            b"12345",
            [b"X-Andante-Transfer-Encoding: chunked", b"ETag: x", b"Content-Length: 5"],
            id="chunked",
        ),
        pytest.param(
            [(b"content-length", b"9")],
            b"12345",
            [b"X-Andante-content-length: 9", b"Content-Length: 5"],
            id="cut",
        ),
        pytest.param(
            [(b"transfer-encoding", b"chunked"), (b"Content-Length", b"5")],
            b"12345",
            [b"X-Andante-transfer-encoding: chunked", b"Content-Length: 5"],
            id="both, and the length is right",
        ),
        pytest.param(
            [(b"Content-Length", b"1000")],
            b"",
            [b"X-Andante-Content-Length: 1000", b"Content-Length: 0"],
            id="the length of what a 304 does not carry",
        ),
        pytest.param([(b"Content-Length", b"5")], b"12345", [b"Content-Length: 5"], id="right"),
        pytest.param(
            [(b"Connection", b"close")], b"12345", [b"Connection: close"], id="until close"
        ),
        pytest.param(
            [(b"Content-Encoding", b"gzip"), (b"Content-Length", b"5")],
            b"12345",
            [b"Content-Encoding: gzip", b"Content-Length: 5"],
            id="the content coding stays",
        ),
    ],
)
def test_the_recorded_header_fits_the_recorded_body(headers, payload, recorded):
    assert recorded_header(headers=headers, payload=payload)[1:] == recorded


def test_status_line_without_reason():
    assert recorded_header(status=404, reason="", http_version="1.0")[0] == b"HTTP/1.0 404 "


@pytest.mark.parametrize("why", ["length", "time"])
def test_a_cut_body_is_marked(why):
    assert parts(make_page(truncated=why))["response"][0]["WARC-Truncated"] == why


def test_a_whole_body_and_an_unknown_address_leave_no_field():
    found = parts(make_page(truncated="", address=""))
    assert "WARC-Truncated" not in found["response"][0]
    assert all("WARC-IP-Address" not in fields for fields, _ in found.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(pages, max_size=4), st.booleans())
def test_what_is_written_is_what_fastwarc_reads(some, compress):
    sink = WarcSink({}, compress=compress)
    data = sink.header("a.warc") + b"".join(map(sink.encode, some))
    if compress:
        assert members(data) == 1 + 3 * len(some)
    records = iter(read(data))
    assert next(records)[0] == "warcinfo"
    for page in some:
        (_, asked, request), (_, answered, response), (_, said, metadata) = itertools.islice(
            records, 3
        )
        assert {fields["WARC-Target-URI"] for fields in (asked, answered, said)} == {page.final_url}
        assert request == page.request
        head, _, body = response.partition(b"\r\n\r\n")
        assert body == page.payload
        assert head.startswith(
            f"HTTP/{page.http_version} {page.status} {page.reason}".encode("latin-1")
        )
        assert [value for name, value in fields_of(metadata) if name == "outlink"] == page.links
    assert next(records, None) is None


@settings(max_examples=30, deadline=None)
@given(st.lists(pages, min_size=1, max_size=3))
def test_fastwarc_verifies_the_payload_digests(some):
    data = b"".join(map(WarcSink({}).encode, some))
    responses = [
        record
        for record in ArchiveIterator(io.BytesIO(data))
        if record.is_http and record.headers["WARC-Type"] == "response"
    ]
    assert len(responses) == len(some)
    for record in ArchiveIterator(io.BytesIO(data), func_filter=has_payload_digest):
        assert record.verify_payload_digest()


def test_a_url_of_any_length_fits(tmp_path):
    page = make_page(final_url="http://a.example/" + "x" * 1_000_000, payload=bytes(1_000_000))
    path = tmp_path / "pages.warc"
    path.write_bytes(WarcSink({}, compress=False).encode(page))
    assert checked(path) == 0
    with path.open("rb") as file:
        found = [
            record.rec_headers.get_header("WARC-Target-URI") for record in WarcioIterator(file)
        ]
    assert found == [page.final_url] * 3


def checked(path):
    return Checker(Namespace(inputs=[str(path)], verbose=False)).process_all()


@settings(max_examples=20, deadline=None)
@given(some=st.lists(pages, max_size=4), suffix=st.sampled_from([".warc", ".warc.gz"]))
def test_warcio_check_passes(some, suffix, tmp_path_factory):
    sink = WarcSink({}, compress=suffix == ".warc.gz")
    path = tmp_path_factory.mktemp("warc") / f"pages{suffix}"
    path.write_bytes(sink.header(path.name) + b"".join(map(sink.encode, some)))
    assert checked(path) == 0


def test_warcio_check_finds_a_changed_body(tmp_path, capsys):
    path = tmp_path / "pages.warc"
    path.write_bytes(
        WarcSink({}, compress=False).encode(make_page()).replace(b"Hello.</p>", b"Jello.</p>")
    )
    assert checked(path) == 1
    assert "payload digest failed" in capsys.readouterr().out


def test_record_ids_are_random_uuids_and_never_repeat():
    sink = WarcSink({}, compress=False)
    page = make_page()
    found = [
        fields["WARC-Record-ID"] for _ in range(200) for _, fields, _ in read(sink.encode(page))
    ]
    assert len(set(found)) == 600
    for one in found:
        identifier = uuid.UUID(one.removeprefix("<urn:uuid:").removesuffix(">"))
        assert identifier.version == 4
        assert identifier.variant == uuid.RFC_4122


@pytest.mark.parametrize(
    ("seconds", "date"),
    [
        (0.0, "1970-01-01T00:00:00.000000Z"),
        (1_700_000_000.000001, "2023-11-14T22:13:20.000001Z"),
        (1_709_251_199.5, "2024-02-29T23:59:59.500000Z"),
        (1_709_251_199.999999, "2024-02-29T23:59:59.999999Z"),
    ],
)
def test_dates_are_utc_with_microseconds(seconds, date):
    assert parts(make_page(fetched_at=seconds))["response"][0]["WARC-Date"] == date
