"""WARC 1.1 (ISO 28500:2017): request, response and metadata record of each page, a gzip member for each record.

The response is recorded as received, but for its framing: chunks are taken off, and a body may have been cut at a limit. So that the recorded
header does not lie about the recorded body, ``Transfer-Encoding`` becomes ``X-Andante-Transfer-Encoding``, a ``Content-Length`` that is not
the length of the recorded body becomes ``X-Andante-Content-Length``, and the true ``Content-Length`` is added. The content coding stays on.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from base64 import b32encode
from functools import lru_cache, partial
from importlib.metadata import version

from isal import igzip_lib

from andante.page import Page

_POOL = 256
"""Record ids for which random bytes are drawn at once."""


class WarcSink:
    """Encodes pages as WARC records.

    Responses carry a payload digest and no block digest: hashing each body twice would add a fifth to a third to the cost of a page.

    Args:
        about: ``user_agent`` and ``robots`` (how robots.txt is treated), for the warcinfo record.
        compress: make each record a gzip member.
    """

    wants_title = False
    wants_redirects = True

    def __init__(self, about: dict[str, str], *, compress: bool = True) -> None:
        self._about = about
        self._ids = _RecordIds()
        # Level 0 has no fixed cost to speak of, which is most of what a request costs at level 1.
        self._pack = (
            partial(igzip_lib.compress, level=1, flag=igzip_lib.COMP_GZIP) if compress else bytes
        )
        self._pack_small = (
            partial(igzip_lib.compress, level=0, flag=igzip_lib.COMP_GZIP) if compress else bytes
        )

    def header(self, filename: str) -> bytes:
        """Return a warcinfo record."""
        fields = {
            "software": f"Andante/{version('andante')}",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "http-header-user-agent": self._about.get("user_agent"),
            "robots": self._about.get("robots"),
        }
        block = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value).encode()
        head = (
            "WARC/1.1\r\n"
            "WARC-Type: warcinfo\r\n"
            f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\n"
            f"WARC-Date: {_date_time(time.time())}\r\n"
            f"WARC-Filename: {filename}\r\n"
            "Content-Type: application/warc-fields\r\n"
            f"Content-Length: {len(block)}\r\n\r\n"
        )
        return self._pack_small(b"%b%b\r\n\r\n" % (head.encode(), block))

    def encode(self, page: Page) -> bytes:
        """Return the request, response and metadata record of a page."""
        response_id = next(self._ids)
        common = (
            f"WARC-Date: {_date_time(page.fetched_at)}\r\nWARC-Target-URI: {page.final_url}\r\n"
        )
        address = f"WARC-IP-Address: {page.address}\r\n" if page.address else ""
        return b"".join(
            (
                self._request(page, common + address, response_id),
                self._response(page, common + address, response_id),
                self._metadata(page, common, response_id),
            )
        )

    def _request(self, page: Page, common: str, response_id: str) -> bytes:
        head = (
            "WARC/1.1\r\n"
            "WARC-Type: request\r\n"
            f"WARC-Record-ID: {next(self._ids)}\r\n"
            f"{common}"
            f"WARC-Concurrent-To: {response_id}\r\n"
            "Content-Type: application/http;msgtype=request\r\n"
            f"Content-Length: {len(page.request)}\r\n\r\n"
        )
        return self._pack_small(b"%b%b\r\n\r\n" % (head.encode(), page.request))

    def _response(self, page: Page, common: str, response_id: str) -> bytes:
        http = _http_header(page)
        digest = b32encode(hashlib.sha1(page.payload, usedforsecurity=False).digest()).decode()
        truncated = f"WARC-Truncated: {page.truncated}\r\n" if page.truncated else ""
        head = (
            "WARC/1.1\r\n"
            "WARC-Type: response\r\n"
            f"WARC-Record-ID: {response_id}\r\n"
            f"{common}"
            f"WARC-Payload-Digest: sha1:{digest}\r\n"
            f"{truncated}"
            "Content-Type: application/http;msgtype=response\r\n"
            f"Content-Length: {len(http) + len(page.payload)}\r\n\r\n"
        )
        return self._pack(b"".join((head.encode(), http, page.payload, b"\r\n\r\n")))

    def _metadata(self, page: Page, common: str, response_id: str) -> bytes:
        via = f"via: {page.referrer}\r\n" if page.referrer else ""
        links = "\r\noutlink: ".join(page.links)
        outlinks = f"outlink: {links}\r\n" if links else ""
        block = f"{via}depth: {page.depth}\r\nfetchTimeMs: {page.elapsed * 1000:.0f}\r\n{outlinks}".encode(
            "utf-8", "replace"
        )
        head = (
            "WARC/1.1\r\n"
            "WARC-Type: metadata\r\n"
            f"WARC-Record-ID: {next(self._ids)}\r\n"
            f"{common}"
            f"WARC-Refers-To: {response_id}\r\n"
            "Content-Type: application/warc-fields\r\n"
            f"Content-Length: {len(block)}\r\n\r\n"
        )
        return self._pack_small(b"%b%b\r\n\r\n" % (head.encode(), block))


def _http_header(page: Page) -> bytes:
    """Return status line and header fields, with the framing that fits the recorded body."""
    length = b"%d" % len(page.payload)
    lines = [f"HTTP/{page.http_version} {page.status} {page.reason}".encode("latin-1", "replace")]
    is_framed = is_changed = False
    for name, value in page.headers:
        lower = name.lower()
        if lower == b"transfer-encoding" or (lower == b"content-length" and value != length):
            lines.append(b"X-Andante-%b: %b" % (name, value))
            is_changed = True
        else:
            lines.append(b"%b: %b" % (name, value))
            is_framed |= lower == b"content-length"
    if is_changed and not is_framed:
        lines.append(b"Content-Length: " + length)
    lines.append(b"\r\n")
    return b"\r\n".join(lines)


class _RecordIds:
    """Record ids: UUIDs of version 4, at a fourth of the cost of `uuid.uuid4`. For any thread."""

    def __init__(self) -> None:
        self._pool: list[str] = []

    def __next__(self) -> str:
        while True:
            try:
                some = self._pool.pop()
            except IndexError:
                drawn = os.urandom(16 * _POOL).hex()
                self._pool += [drawn[at : at + 32] for at in range(0, len(drawn), 32)]
            else:
                return (
                    f"<urn:uuid:{some[:8]}-{some[8:12]}-4{some[13:16]}-a{some[17:20]}-{some[20:]}>"
                )


def _date_time(seconds: float) -> str:
    """Return a time as RFC 3339, UTC, with the microseconds that WARC 1.1 allows."""
    whole, microseconds = divmod(int(seconds * 1_000_000), 1_000_000)
    return f"{_date(whole)}.{microseconds:06}Z"


@lru_cache(maxsize=1)
def _date(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
