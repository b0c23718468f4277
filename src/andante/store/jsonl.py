"""JSON Lines: one object a page, without its body."""

from __future__ import annotations

import time
from functools import lru_cache

import msgspec
from isal import igzip_lib

from andante.page import Page

_GZIP_LEVEL = 1


class Row(msgspec.Struct):
    """What JSON Lines and Parquet say of a page."""

    url: str
    """The URL that was asked first, before redirects."""
    final_url: str
    status: int
    content_type: str
    """Media type without parameters, lower case."""
    fetched_at: str
    """When the request was sent: RFC 3339, UTC, milliseconds."""
    depth: int
    """Links followed from a seed."""
    referrer: str
    """The page on which the URL was first found; empty for a seed."""
    title: str
    links: list[str]
    """In document order, each once, in scope or not."""
    elapsed_ms: float
    """From sending the request to the last byte of the response."""
    bytes: int
    """Length of the body as transferred."""
    encoding: str
    """Character encoding, by its Python codec name."""
    truncated: str
    """Why the body is not complete: ``length``, ``time``, or empty if it is."""


class JsonlSink:
    """Encodes pages as lines of JSON; with ``compress``, each line is a gzip member."""

    wants_title = True
    wants_redirects = False

    def __init__(self, *, compress: bool = False) -> None:
        self._compress = compress
        self._encoder = msgspec.json.Encoder()

    def header(self, filename: str) -> bytes:
        """Return nothing."""
        return b""

    def encode(self, page: Page) -> bytes:
        """Return the line of a page."""
        row = _row(page)
        try:
            line = self._encoder.encode(row)
        except UnicodeEncodeError:
            line = self._encoder.encode(_without_surrogates(row))
        line += b"\n"
        return (
            igzip_lib.compress(line, _GZIP_LEVEL, igzip_lib.COMP_GZIP) if self._compress else line
        )


def _row(page: Page) -> Row:
    return Row(
        page.url,
        page.final_url,
        page.status,
        page.content_type,
        _rfc3339(page.fetched_at),
        page.depth,
        page.referrer,
        page.title,
        page.links,
        round(page.elapsed * 1000, 1),
        len(page.payload),
        page.encoding,
        page.truncated,
    )


def _without_surrogates(row: Row) -> Row:
    """Replace what no UTF-8 can carry by question marks."""

    def clean(text: str) -> str:
        return text.encode("utf-8", "replace").decode("utf-8")

    fields = msgspec.structs.asdict(row)
    texts = {name: clean(value) for name, value in fields.items() if isinstance(value, str)}
    return msgspec.structs.replace(row, **texts, links=[clean(link) for link in row.links])


def _rfc3339(seconds: float) -> str:
    whole, milliseconds = divmod(int(seconds * 1000), 1000)
    return f"{_date(whole)}.{milliseconds:03}Z"


@lru_cache(maxsize=1)
def _date(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
