"""Sitemaps: XML (sitemaps.org), plain text, RSS and Atom.

XML is read by expat as a stream. Any document type declaration ends the reading: sitemaps need none, and without
one there are no entities to expand.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import accumulate, islice
from typing import Literal
from xml.parsers import expat

import msgspec

MAX_BYTES = 50 * 1024 * 1024
"""Size limit of one sitemap (sitemaps.org), after decompression."""
MAX_ENTRIES = 50_000
"""Limit of URLs in one sitemap (sitemaps.org); what is beyond is not read."""

MAX_ELEMENTS = 2_000_000
"""Limit of XML elements and attributes in one sitemap; what is beyond is not read."""
MAX_TOKEN = 64 * 1024
"""Limit of a tag or comment, bytes; at a longer one the reading ends. Expat reads one that has not ended again with each piece."""
MAX_LOC = 8192
"""Limit of a URL as written, characters; a longer one is left out."""
MAX_LOCS = 16 * 2**20
"""Limit of the characters of all URLs of a sitemap; what is beyond is not read."""
QUICK_BYTES = 64 * 1024
"""Bytes of a sitemap that may be read where others wait for it: at most a tenth of a second, whatever is in it."""

_MAX_DEPTH = 32
_MAX_VALUE = 40  # characters of a date or number
_PIECE = 1 << 16
_BEFORE = re.compile(rb"[\xef\xbb\xbf\t\n\r ]*+").match
_BEFORE_UTF_16 = re.compile(rb"\xff\xfe(?:[\t\n\r ]\0)*+|\xfe\xff(?:\0[\t\n\r ])*+").match
_LINE = re.compile(rb"(?:\A|(?<=[\r\n]))[\t ]*+(https?://[^\r\n]*+)")
_KINDS: dict[str, Literal["urlset", "index", "feed"]] = {
    "urlset": "urlset",
    "sitemapindex": "index",
    "rss": "feed",
    "RDF": "feed",
    "feed": "feed",
}
_ENTRY = {"urlset": "url", "index": "sitemap"}
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})


class Sitemap(msgspec.Struct, kw_only=True):
    """What one sitemap file lists."""

    kind: Literal["urlset", "index", "feed", "text", "none"] = "none"
    """``urlset``, ``feed`` and ``text`` list pages, ``index`` lists sitemaps; ``none`` is no sitemap."""
    locs: list[str] = msgspec.field(default_factory=list)
    """The URLs as written, in order, at most ``MAX_ENTRIES``; not resolved, not checked."""
    lastmods: list[float | None] = msgspec.field(default_factory=list)
    """For each of ``locs`` the last change stated, seconds since 1970."""
    priorities: list[float | None] = msgspec.field(default_factory=list)
    """For each of ``locs`` the priority stated, 0 to 1."""
    problem: str = ""
    """Why the file was not read to its end, or ``""``. What came before counts."""


def parse_sitemap(body: bytes) -> Sitemap:
    """Read a sitemap, without its gzip; never raises."""
    if len(body) > MAX_BYTES:
        return Sitemap(problem=f"larger than {MAX_BYTES} bytes")
    if wide := _BEFORE_UTF_16(body):
        return _Reader().read(body, wide.end(), mark=body[:2])
    before = _BEFORE(body)
    start = before.end() if before else 0
    return _Reader().read(body, start) if body[start : start + 1] == b"<" else _text(body, start)


def _text(body: bytes, start: int) -> Sitemap:
    """Read a plain text sitemap: one URL a line, UTF-8."""
    lines = islice(_LINE.finditer(memoryview(body)[start:]), MAX_ENTRIES + 1)
    locs = [line[1].decode("utf-8", "replace").strip() for line in lines if len(line[1]) <= MAX_LOC]
    if not locs:
        return Sitemap(problem="neither XML nor a list of URLs")
    problem = _beyond(len(locs))
    locs = locs[:MAX_ENTRIES]
    for count, end in enumerate(accumulate(map(len, locs))):
        if end > MAX_LOCS:
            problem, locs = _TOO_LONG, locs[:count]
            break
    unstated: list[float | None] = [None] * len(locs)
    return Sitemap(
        kind="text", locs=locs, lastmods=unstated, priorities=unstated.copy(), problem=problem
    )


_TOO_LONG = f"more than {MAX_LOCS} characters of URLs"


def _beyond(entries: int) -> str:
    return f"more than {MAX_ENTRIES} entries" if entries > MAX_ENTRIES else ""


class _Entry(msgspec.Struct):
    """What an entry states."""

    first: int = 0
    """Where its URLs begin."""
    lastmod: float | None = None
    priority: float | None = None


class _StopError(Exception):
    """Ends the reading from inside a callback."""


class _Reader:
    """Follows an XML sitemap element by element; nothing but the path and the text of one URL is held."""

    def __init__(self) -> None:
        self._sitemap = Sitemap()
        self._path: list[str] = []
        self._text: list[str] | None = None
        self._room = 0
        self._entry = _Entry()
        self._entries = 0
        self._locs = 0
        self._elements = 0

    def read(self, body: bytes, start: int, *, mark: bytes = b"") -> Sitemap:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(mark, False)  # noqa: FBT003
            for at in range(start, len(body), _PIECE):
                parser.Parse(body[at : at + _PIECE], False)  # noqa: FBT003
                _check_token(len(mark) + at + _PIECE - start - parser.CurrentByteIndex)
            parser.Parse(b"", True)  # noqa: FBT003
        except _StopError as stop:
            self._sitemap.problem = str(stop)
        except (expat.ExpatError, LookupError, ValueError) as error:
            self._sitemap.problem = f"not well-formed XML: {error}"
        return self._sitemap

    def _doctype(self, *_: object) -> None:
        raise _StopError("has a document type declaration")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        self._elements += 1 + len(attributes)
        if self._elements > MAX_ELEMENTS:
            raise _StopError(f"more than {MAX_ELEMENTS} elements and attributes")
        if local in _ENTRIES:
            self._entries += 1
            if self._entries > MAX_ENTRIES:
                raise _StopError(_beyond(self._entries))
        if not self._path:
            if local not in _KINDS:
                raise _StopError(f"root element is {local[:40]}, not that of a sitemap")
            self._sitemap.kind = _KINDS[local]
        self._path.append(local)
        if len(self._path) > _MAX_DEPTH:
            raise _StopError(f"elements nested more than {_MAX_DEPTH} deep")
        if len(self._path) == 2:
            self._entry = _Entry(first=len(self._sitemap.locs))
        if self._is_loc(local) or self._is_statement(local):
            self._text = []
            self._room = MAX_LOC
            if "href" in attributes and attributes.get("rel", "alternate") == "alternate":  # Atom
                self._characters(attributes["href"])

    def _is_loc(self, local: str) -> bool:
        parent = self._path[-2] if len(self._path) > 1 else ""
        if self._sitemap.kind == "feed":
            return local == "link" and parent in {"item", "entry"}
        return local == "loc" and parent == _ENTRY.get(self._sitemap.kind)

    def _is_statement(self, local: str) -> bool:
        return (
            local in {"lastmod", "priority"}
            and len(self._path) == 3
            and self._path[1] == _ENTRY.get(self._sitemap.kind)
        )

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._room -= len(text)
            if self._room >= 0:
                self._text.append(text)

    def _end(self, _name: str) -> None:
        local = self._path.pop()
        if len(self._path) == 1:
            self._state()
        if self._text is None:
            return
        text = "".join(self._text).strip() if self._room >= 0 else ""
        self._text = None
        if local == "lastmod":
            self._entry.lastmod = timestamp(text)
        elif local == "priority":
            self._entry.priority = _priority(text)
        elif text:
            self._take(text)

    def _take(self, loc: str) -> None:
        sitemap = self._sitemap
        if len(sitemap.locs) == MAX_ENTRIES:
            raise _StopError(_beyond(MAX_ENTRIES + 1))
        self._locs += len(loc)
        if self._locs > MAX_LOCS:
            raise _StopError(_TOO_LONG)
        sitemap.locs.append(loc)
        sitemap.lastmods.append(None)
        sitemap.priorities.append(None)

    def _state(self) -> None:
        """An entry has ended: what it states holds for the URLs in it, wherever in it they stand."""
        for index in range(self._entry.first, len(self._sitemap.locs)):
            self._sitemap.lastmods[index] = self._entry.lastmod
            self._sitemap.priorities[index] = self._entry.priority


def _check_token(unread: int) -> None:
    if unread > MAX_TOKEN:
        raise _StopError(f"a tag or comment longer than {MAX_TOKEN} bytes")


def timestamp(text: str) -> float | None:
    """Return seconds since 1970 from a W3C date and time (``2024``, ``2024-05``, ``2024-05-31T08:00+02:00``), or None.

    What is left out is the earliest, and the time zone UTC.
    """
    if len(text) > _MAX_VALUE:
        return None
    padded = text + "-01-01"[len(text) - 4 :] if len(text) in {4, 7} else text
    try:
        moment = datetime.fromisoformat(padded)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _priority(text: str) -> float | None:
    try:
        value = float(text) if len(text) <= _MAX_VALUE else -1.0
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
