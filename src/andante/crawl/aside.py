"""What takes too long for the loop is read aside: in a process of its own, one response at a time.

Rules:

1. The process is started when it is first needed. It costs a crawl of ordinary pages nothing.
2. It has a limit of time and of memory for each response (see `andante.crawl.aside_process`). A response that passes one, or on which the
   process dies, ends as ``too-costly``, and the next one gets a new process.
3. It ends with its link to us, however we end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from typing import NamedTuple

import msgspec

from andante.crawl.aside_process import HEAD, SECONDS_MAX, Answer, Question
from andante.crawl.reader import Reading, Rules, SitemapReading
from andante.page import Page

WAIT_MAX = 60.0
"""Seconds that an answer is waited for; the process has fewer of the processor's, but others may want that, too."""

_KILLED = frozenset({-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP})
"""Ends of the process that others have brought about: the response is read again, once."""
_ATTEMPTS = 2


class _Link(NamedTuple):
    process: subprocess.Popen[bytes]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class TooCostly(NamedTuple):
    """A response cannot be read within the limits."""

    detail: str
    """Which."""


class Aside:
    """Reads responses in a process of its own.

    Args:
        rules: how.
        body: whether the bodies are wanted, without their content codings.
    """

    def __init__(self, rules: Rules, *, body: bool) -> None:
        self.turn = asyncio.Lock()
        """Is held from reading a response to its end: of one at a time a decoded body is in memory. In order."""
        self._rules = rules
        self._wants_body = body
        self._link: _Link | None = None

    async def read(self, page: Page, *, title: bool, text: bool) -> Reading | TooCostly:
        """Do what `Reader.read` does; the body is there if it is wanted."""
        answer = await self._ask(
            page,
            Question(
                url=page.final_url,
                headers=page.headers,
                title=title,
                text=text,
                body=self._wants_body,
            ),
        )
        if isinstance(answer, TooCostly):
            return answer
        reading = answer.reading
        assert reading is not None
        page.encoding, page.title, page.links = reading.encoding, reading.title, reading.links
        return reading

    async def sitemap(self, page: Page) -> SitemapReading | TooCostly:
        """Do what `Reader.sitemap` does."""
        answer = await self._ask(
            page, Question(url=page.final_url, headers=page.headers, sitemap=True)
        )
        if isinstance(answer, TooCostly):
            return answer
        assert answer.sitemap is not None
        return answer.sitemap

    def close(self) -> None:
        """End the process."""
        if self._link is not None:
            self._end(self._link)

    async def _ask(self, page: Page, question: Question) -> Answer | TooCostly:
        status = 0
        for _ in range(_ATTEMPTS):
            link = self._link or await self._start()
            try:
                async with asyncio.timeout(WAIT_MAX):
                    answer, body = await _exchange(link, question, page.payload)
            except TimeoutError:
                self._end(link)
                return TooCostly(f"not read within {WAIT_MAX:.0f} seconds")
            except (OSError, asyncio.IncompleteReadError):
                status = self._end(link)
                if status not in _KILLED:
                    break
                continue
            except BaseException:
                self._end(link)
                raise
            if answer.is_last:
                self._end(link)
            if answer.problem:
                return TooCostly(answer.problem)
            if answer.has_body:
                page.body = body
            return answer
        return TooCostly(_reason(status))

    async def _start(self) -> _Link:
        ours, its = socket.socketpair()
        try:
            process = subprocess.Popen(  # noqa: ASYNC220, S603  # a few milliseconds, once
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "andante.crawl.aside_process",
                    msgspec.json.encode(self._rules).decode(),
                ],
                stdin=its.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                process_group=0,  # Ctrl-C is for us
            )
        except BaseException:
            ours.close()
            raise
        finally:
            its.close()
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        self._link = _Link(process, reader, writer)
        return self._link

    def _end(self, link: _Link) -> int:
        """End the process, if it has not ended; return its exit status."""
        self._link = None
        link.writer.transport.abort()
        link.process.kill()
        return link.process.wait()


async def _exchange(link: _Link, question: Question, payload: bytes) -> tuple[Answer, bytes]:
    asked = msgspec.msgpack.encode(question)
    link.writer.write(HEAD.pack(len(asked), len(payload)) + asked)
    link.writer.write(payload)
    await link.writer.drain()
    answered, length = HEAD.unpack(await link.reader.readexactly(HEAD.size))
    answer = msgspec.msgpack.decode(await link.reader.readexactly(answered), type=Answer)
    return answer, await link.reader.readexactly(length)


def _reason(status: int) -> str:
    if status == -signal.SIGXCPU:
        return f"more than {SECONDS_MAX} seconds of the processor"
    return f"the process that read it ended with {status}"
