"""What a crawl costs that never ends: ``python benchmarks/soak.py``; ``--urls 200_000`` for a short one, ``--hosts 1`` for one large site.

An endless web on hosts of 127.0.0.0/8: each page has eight links that nothing else has, and lies on a host chosen by its number. It is crawled at full speed until so
many URLs are known, by a crawler that is a process of its own: its memory (resident) and its CPU time are what the kernel says each half second. Bytes a known URL are the slope of a
straight line through the last four fifths of the samples, and the constant is where that line begins.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from asyncio.subprocess import Process
from pathlib import Path
from typing import NamedTuple

import uvloop

LINKS = 8
"""New ones on each page."""

_FILLER = b"<p>" + b"Quietly flows the endless web, page by page. " * 24 + b"</p>"

_INTERVAL = 0.1
"""Seconds between samples."""

_TICKS = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """The crawler at one moment."""

    known: int
    """URLs that it has met."""
    pages: int
    """That it was sent."""
    memory: int
    """Resident bytes."""
    cpu: float
    """Seconds, user and system."""
    seconds: float


class Web:
    """Pages without end. Page n links to the pages 8n + 1 to 8n + 8.

    Args:
        hosts: how many; they are the addresses from 127.1.0.1 on.
    """

    def __init__(self, hosts: int) -> None:
        self.pages = 0
        """Pages served."""
        self._names = [f"127.1.{number >> 8}.{number & 255}" for number in range(1, hosts + 1)]
        self._origins: list[str] = []

    async def start(self) -> None:
        """Listen, all hosts at one port."""
        loop, port = asyncio.get_running_loop(), 0
        for name in self._names:
            server = await loop.create_server(lambda: _Connection(self), name, port)
            port = server.sockets[0].getsockname()[1]
        self._origins = [f"http://{name}:{port}" for name in self._names]

    def url(self, number: int) -> str:
        """Return the URL of a page."""
        origin = self._origins[(number * 2_654_435_761 >> 9) % len(self._origins)]
        return f"{origin}/section-{number % 89}/page-{number}.html"

    def respond(self, request: bytes) -> bytes:
        """Answer a request."""
        target = request.split(b" ", 2)[1]
        if target == b"/robots.txt":
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        self.pages += 1
        first = LINKS * int(target[target.rindex(b"-") + 1 : -5]) + 1
        links = "".join(
            f'<li><a href="{self.url(number)}">{number}</a></li>'
            for number in range(first, first + LINKS)
        )
        body = b"<!doctype html><title>Endless</title><ul>%b</ul>%b" % (links.encode(), _FILLER)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
        return head % len(body) + body


class _Connection(asyncio.Protocol):
    """Answers each request by itself; what a crawler sends comes whole."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        assert data.endswith(b"\r\n\r\n"), data
        self._transport.write(self._web.respond(data))


async def crawl(
    web: Web, folder: str, *, pages: int, executable: Path, flags: list[str]
) -> tuple[list[Sample], dict[str, int]]:
    """Crawl so many pages; return samples of the crawler, and its own counts at the end."""
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        executable,
        *("crawl", web.url(0), "--job", f"{folder}/job", "--rate", "max", "--scope", "any"),
        *("--allow-private", "--max-pages", str(pages), "--json-log", *flags),
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    last = asyncio.create_task(_last_line(process.stderr))
    samples = []
    while not last.done():
        if sample := _sample(process, web, time.perf_counter() - started):
            samples.append(sample)
        await asyncio.wait([last], timeout=_INTERVAL)
    assert await process.wait() == 0, last.result()
    return samples, json.loads(last.result())["counts"]


async def _last_line(stream: asyncio.StreamReader) -> bytes:
    """Read events to the end; return that which has the counts."""
    last = b""
    async for line in stream:
        if b'"crawl.finished"' in line or not line.startswith(b"{"):
            last = line
    return last


def _sample(process: Process, web: Web, seconds: float) -> Sample | None:
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return None
    memory = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    cpu = (int(fields[11]) + int(fields[12])) / _TICKS
    return Sample(web.pages * LINKS, web.pages, memory, cpu, seconds) if memory else None


def report(samples: list[Sample], counts: dict[str, int]) -> None:
    """Print the samples, some of them, and what comes of them."""
    print("| URLs known | memory MB | pages/s | CPU ms a page |\n|---:|---:|---:|---:|")
    last = samples[-1]
    steady = [sample for sample in samples if sample.known >= last.known / 5]
    before, step = steady[0], max(1, len(steady) // 10)
    for sample in steady[step::step]:
        pages, seconds = sample.pages - before.pages, sample.seconds - before.seconds
        cpu = 1e3 * (sample.cpu - before.cpu) / max(pages, 1)
        print(
            f"| {sample.known:,} | {sample.memory / 1e6:.0f} | {pages / seconds:,.0f} | {cpu:.3f} |"
        )
        before = sample
    slope, constant = statistics.linear_regression(
        [sample.known for sample in steady], [sample.memory for sample in steady]
    )
    first = steady[0]
    pages = last.pages - first.pages
    print(
        f"{counts['known']:,} known, {counts['queued']:,} queued: {slope:.1f} B a known URL beside {constant / 1e6:.0f} MB, "
        f"{pages / (last.seconds - first.seconds):,.0f} pages/s, {1e3 * (last.cpu - first.cpu) / pages:.3f} ms of CPU a page, "
        f"peak {max(sample.memory for sample in samples) / 1e6:.0f} MB"
    )


async def main() -> None:
    """Crawl and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=5_000_000, help="known at the end")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument(
        "--andante", type=Path, default=Path(sys.executable).with_name("andante"), help="to measure"
    )
    parser.add_argument("flags", nargs="*", help="further ones of andante crawl, after --")
    arguments = parser.parse_args()
    web = Web(arguments.hosts)
    await web.start()
    with tempfile.TemporaryDirectory() as folder:
        report(
            *await crawl(
                web,
                folder,
                pages=arguments.urls // LINKS,
                executable=arguments.andante,
                flags=arguments.flags,
            )
        )


if __name__ == "__main__":
    uvloop.run(main())
