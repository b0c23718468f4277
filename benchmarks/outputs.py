"""What writing a page costs, sink by sink, against gzip of its body alone and against two WARC libraries.

Run ``python benchmarks/outputs.py``; give directories with HTML files to measure on real pages instead of generated ones.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from fastwarc.stream_io import GzipWriter
from fastwarc.warc import WarcRecord, WarcRecordType
from isal import igzip_lib
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from andante.page import Page
from andante.store.jsonl import JsonlSink
from andante.store.warc import WarcSink

_REQUEST = (
    b"GET /docs/%d.html HTTP/1.1\r\nHost: docs.example.org\r\nUser-Agent: Andante/0.1 (+https://andante.example/bot)\r\n"
    b"Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Language: en, *;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
)
_WORDS = re.findall(
    r"\w+",
    "the of a to in is and page crawl server which returns value when set by method class index type object string name",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "directory", nargs="*", type=Path, help="HTML files to measure on, one line a directory"
    )
    parser.add_argument("--pages", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.directory:
        sets = [(str(path), read(path, options.pages)) for path in options.directory]
    else:
        sets = [
            (f"{size // 1000} kB", generate(size, options.pages))
            for size in (14_000, 26_000, 96_000)
        ]
    for name, bodies in sets:
        report(name, [page(number, body) for number, body in enumerate(bodies)], options.rounds)


def report(name: str, pages: list[Page], rounds: int) -> None:
    mean = statistics.fmean(len(page.payload) for page in pages)
    links = statistics.fmean(len(page.links) for page in pages)
    print(f"\n{name}: {len(pages)} pages, mean {mean / 1000:.1f} kB, {links:.0f} links")
    print(f"{'':26}{'us/page':>9}{'ratio':>8}{'bytes/page':>12}")
    results = measure(encoders(), pages, rounds)
    base, _ = next(iter(results.values()))
    for label, (seconds, size) in results.items():
        print(f"{label:26}{seconds * 1e6:9.1f}{seconds / base:8.2f}{size:12.0f}")


def encoders() -> dict[str, Callable[[Page], bytes]]:
    return {
        "igzip 1 of the body": lambda page: igzip_lib.compress(
            page.payload, 1, igzip_lib.COMP_GZIP
        ),
        "andante .warc.gz": WarcSink({}).encode,
        "andante .warc": WarcSink({}, compress=False).encode,
        "andante .jsonl": JsonlSink().encode,
        "andante .jsonl.gz": JsonlSink(compress=True).encode,
        "fastwarc .warc.gz level 1": fastwarc_encode,
        "warcio .warc.gz": warcio_encode,
    }


def measure(
    encoders: dict[str, Callable[[Page], bytes]], pages: list[Page], rounds: int
) -> dict[str, tuple[float, float]]:
    """Return the seconds a page of each encoder's fastest round, and the bytes a page; the encoders take turns."""
    best = dict.fromkeys(encoders, (float("inf"), 0.0))
    for _ in range(rounds):
        for label, encode in encoders.items():
            start = time.perf_counter()
            size = sum(len(encode(page)) for page in pages)
            seconds = time.perf_counter() - start
            best[label] = min(best[label], (seconds / len(pages), size / len(pages)))
    return best


def fastwarc_encode(page: Page) -> bytes:
    """Write the same three records with fastwarc, payload digest as we have it."""
    out = BytesIO()
    http = http_header(page)
    response_id = ""
    for kind, content_type, block in (
        (WarcRecordType.response, "application/http;msgtype=response", http + page.payload),
        (WarcRecordType.request, "application/http;msgtype=request", page.request),
        (WarcRecordType.metadata, "application/warc-fields", metadata(page)),
    ):
        record = WarcRecord()
        record.init_headers(kind)
        record.record_date = datetime.fromtimestamp(page.fetched_at, UTC)
        record.headers["WARC-Target-URI"] = page.final_url
        record.headers["Content-Type"] = content_type
        if response_id:
            record.headers["WARC-Concurrent-To"] = response_id
        response_id = response_id or record.record_id or ""
        record.set_bytes_content(block)
        record.is_http = kind is WarcRecordType.response
        stream = GzipWriter(out, compression_level=1)
        record.write(stream, checksum_data=kind is WarcRecordType.response)
        stream.finish()
    return out.getvalue()


def warcio_encode(page: Page) -> bytes:
    """Write the same three records with warcio."""
    out = BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version="1.1")
    headers = StatusAndHeaders(
        f"{page.status} {page.reason}",
        [(k.decode(), v.decode()) for k, v in page.headers],
        protocol="HTTP/1.1",
    )
    response = writer.create_warc_record(
        page.final_url, "response", payload=BytesIO(page.payload), http_headers=headers
    )
    line, *fields = page.request.decode().split("\r\n")[:-2]
    asked = StatusAndHeaders(
        line, [tuple(field.split(": ", 1)) for field in fields], is_http_request=True
    )
    request = writer.create_warc_record(page.final_url, "request", http_headers=asked)
    writer.write_request_response_pair(request, response)
    writer.write_record(
        writer.create_warc_record(
            page.final_url,
            "metadata",
            payload=BytesIO(metadata(page)),
            warc_content_type="application/warc-fields",
        )
    )
    return out.getvalue()


def http_header(page: Page) -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"%b: %b\r\n" % field for field in page.headers) + b"\r\n"
    )


def metadata(page: Page) -> bytes:
    return b"".join(b"outlink: %b\r\n" % link.encode() for link in page.links)


def page(number: int, body: bytes) -> Page:
    url = f"https://docs.example.org/docs/{number}.html"
    hrefs = dict.fromkeys(re.findall(rb'href="([^"#]+)', body))
    return Page(
        url=url,
        final_url=url,
        status=200,
        reason="OK",
        headers=[
            (b"Server", b"nginx/1.22.1"),
            (b"Date", b"Fri, 21 Nov 2025 10:00:00 GMT"),
            (b"Content-Type", b"text/html"),
            (b"Content-Length", b"%d" % len(body)),
            (b"Last-Modified", b"Tue, 04 Jun 2024 16:47:06 GMT"),
            (b"Connection", b"keep-alive"),
            (b"ETag", b'"665f4a2a-39d2"'),
            (b"Accept-Ranges", b"bytes"),
        ],
        request=_REQUEST % number,
        payload=body,
        body=body,
        fetched_at=1_763_719_200 + number / 5000,
        elapsed=0.0123,
        address="192.0.2.1",
        depth=3,
        referrer="https://docs.example.org/docs/index.html",
        title=f"Page {number}",
        links=[f"https://docs.example.org/docs/{href.decode('latin-1')}" for href in hrefs],
    )


def read(directory: Path, count: int) -> list[bytes]:
    files = sorted(directory.rglob("*.html"))
    return [file.read_bytes() for file in random.Random(1).sample(files, min(count, len(files)))]


def generate(size: int, count: int) -> list[bytes]:
    """Make pages of words in tags, a link every 250 bytes, that compress about as well as documentation."""
    chance = random.Random(1)
    bodies = []
    for _ in range(count):
        parts = ["<!DOCTYPE html><html><head><title>Page</title></head><body>\n"]
        length = 0
        while length < size:
            words = " ".join(chance.choices(_WORDS, k=30))
            part = f'<p class="body">{words} <a href="section/{chance.randrange(10**6)}.html" title="next">{chance.random():.6f}</a></p>\n'
            parts.append(part)
            length += len(part)
        bodies.append("".join(parts).encode())
    return bodies


if __name__ == "__main__":
    main()
