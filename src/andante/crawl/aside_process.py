"""The process in which responses are read that take too long for the loop; `andante.crawl.aside` starts it.

It reads one after another from its standard input, a socket, and answers on it. It ends when that is closed.
"""

from __future__ import annotations

import resource
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from andante.crawl.reader import Reader, Reading, Rules, SitemapReading
from andante.fetch.outcome import Failure
from andante.page import Header, Page

SECONDS_MAX = 10
"""Seconds of the processor for a response."""
MEMORY_MAX = 64 * 2**20
"""Bytes for a response, besides the process without one, and the body with and without its content codings."""
_TOO_LARGE = f"not read within {MEMORY_MAX >> 20} MiB besides its body"
_GROWTH_MAX = 16 * 2**20
"""Bytes that the process may keep of one response for the next; with more it ends, and the next one gets a new process."""

HEAD = struct.Struct("<QQ")
"""Before each message: its length, and that of the body after it."""


class Question(msgspec.Struct, array_like=True):
    """What is to be read; the payload follows."""

    url: str
    headers: list[Header]
    sitemap: bool = False
    title: bool = False
    text: bool = False
    body: bool = False
    """The body is wanted, too."""


class Answer(msgspec.Struct, array_like=True):
    """What was read; the body follows, if there is one."""

    reading: Reading | None = None
    sitemap: SitemapReading | None = None
    has_body: bool = False
    problem: str = ""
    """Why nothing could be read; empty: it could."""
    is_last: bool = False
    """The process ends after it."""


def main() -> None:
    """Answer until there are no questions any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    reader = Reader(msgspec.json.decode(sys.argv[1], type=Rules))
    with socket.socket(fileno=0) as link, suppress(ConnectionError):
        _serve(reader, link, base=_memory())


def _serve(reader: Reader, link: socket.socket, *, base: int) -> None:
    is_last = False
    while not is_last and (head := _received(link, HEAD.size)):
        asked, length = HEAD.unpack(head)
        question = msgspec.msgpack.decode(_received(link, asked), type=Question)
        answer, body = _answer(reader, question, bytes(_received(link, length)), base)
        _limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)
        is_last = answer.is_last = _memory() > base + len(body) + _GROWTH_MAX
        answered = msgspec.msgpack.encode(answer)
        link.sendall(HEAD.pack(len(answered), len(body)) + answered)
        link.sendall(body)
        del answer, answered, body  # the next one needs their memory


def _answer(reader: Reader, question: Question, payload: bytes, base: int) -> tuple[Answer, bytes]:
    _limit(resource.RLIMIT_CPU, int(time.process_time()) + 1 + SECONDS_MAX)
    page = Page(
        url=question.url,
        final_url=question.url,
        status=200,
        reason="",
        headers=question.headers,
        request=b"",
        payload=payload,
        body=payload,
        fetched_at=0.0,
        elapsed=0.0,
    )
    try:
        _limit(resource.RLIMIT_AS, base + len(payload) + 2 * reader.decoded_max + MEMORY_MAX)
        body = reader.sitemap_body(page) if question.sitemap else reader.decoded(page)
        assert body is not None
        if question.sitemap:
            size = 0 if isinstance(body, Failure) else len(body)
            _limit(resource.RLIMIT_AS, base + len(payload) + size + MEMORY_MAX)
            return Answer(sitemap=reader.listed(page, body)), b""
        if isinstance(body, Failure):
            return Answer(Reading(problem=str(body.outcome), detail=body.detail)), b""
        page.body = body
        _limit(resource.RLIMIT_AS, base + len(payload) + len(body) + MEMORY_MAX)
        reading = reader.understood(page, title=question.title, text=question.text)
        has_body = question.body and body is not payload
        return Answer(reading, has_body=has_body), body if has_body else b""
    except MemoryError:
        return Answer(problem=_TOO_LARGE), b""
    except (
        Exception
    ) as error:  # such as Lexbor's where it gets no memory; it concerns this response alone
        return Answer(problem=f"{_TOO_LARGE} ({type(error).__name__}: {error})"[:200]), b""


def _received(link: socket.socket, length: int) -> bytearray:
    """Return so many bytes; none at the end of the link."""
    data = bytearray(length)
    room = memoryview(data)
    while room:
        count = link.recv_into(room)
        if not count:
            return bytearray()
        room = room[count:]
    return data


def _limit(kind: int, most: int) -> None:
    with suppress(ValueError, OSError):  # lower by the limit of the user
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _memory() -> int:
    """Return the bytes of the address space; 0 where that is not told."""
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        return int(pages) * resource.getpagesize()
    return 0


if __name__ == "__main__":
    main()
