"""Servers that misbehave on purpose: each behaviour has a name, and answers one request in its wrong way.

A server answers ``/robots.txt`` with 404 and every other request by its behaviour, so that a whole crawler meets the fault on a page.
``with hostile.running("silent") as port`` runs one in a thread; ``async with hostile.serving("silent") as port`` in this loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import socket
import ssl
import struct
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import trustme

if TYPE_CHECKING:
    from pathlib import Path

Writer = asyncio.StreamWriter
Behaviour = Callable[[Writer], Awaitable[None]]

BEHAVIOURS: dict[str, Behaviour] = {}

DRIP = 0.02
"""Seconds between the bytes of the dripping behaviours."""

PAGE = b"<!doctype html><title>t</title><p>A page."


def behaviour(function: Behaviour) -> Behaviour:
    BEHAVIOURS[function.__name__.strip("_").replace("_", "-")] = function
    return function


# Well behaved, to compare with


@behaviour
async def fine(w: Writer) -> None:
    w.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"
        % (len(PAGE), PAGE)
    )


@behaviour
async def until_eof(w: Writer) -> None:
    w.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE)
    w.close()


# Connections that break


@behaviour
async def closed_at_once(w: Writer) -> None:
    w.close()


@behaviour
async def reset_at_once(w: Writer) -> None:
    _reset(w)


@behaviour
async def reset_in_header(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-")
    await w.drain()
    _reset(w)


@behaviour
async def reset_in_body(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<p>")
    await w.drain()
    _reset(w)


@behaviour
async def closed_in_header(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-")
    w.close()


@behaviour
async def length_too_large(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<p>short")
    w.close()


@behaviour
async def length_too_small(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<p>and more than was said")


@behaviour
async def closed_in_chunks(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<p>ab\r\n")
    w.close()


# Connections that hang


@behaviour
async def silent(w: Writer) -> None:
    await asyncio.sleep(3600)


@behaviour
async def silent_in_body(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<p>")
    await asyncio.sleep(3600)


@behaviour
async def dripping_header(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nX: ")
    await _forever(w, b"x", pause=DRIP)


@behaviour
async def dripping_body(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    await _forever(w, b"x", pause=DRIP)


# Too much


@behaviour
async def endless_body(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    await _forever(w, b"<p>and so on</p>\n" * 1000)


@behaviour
async def endless_chunks(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    await _forever(w, b"1\r\nx\r\n" * 4000)


@behaviour
async def endless_chunk_extension(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
    await _forever(w, b"x" * 65536)


@behaviour
async def endless_trailers(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n")
    await _forever(w, b"a: b\r\n" * 10000)


@behaviour
async def endless_headers(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\n")
    await _forever(w, b"X-More: and more\r\n" * 1000)


@behaviour
async def endless_header_line(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    await _forever(w, b"x" * 65536)


@behaviour
async def endless_interim(w: Writer) -> None:
    await _forever(w, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100)


@behaviour
async def endless_newlines(w: Writer) -> None:
    await _forever(w, b"\r\n" * 30000)


@behaviour
async def gzip_bomb(w: Writer) -> None:
    """100 MB that travel as 100 kB."""
    bomb = gzip.compress(bytes(10**7), mtime=0) * 10
    w.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb))
    w.write(bomb)


@behaviour
async def gzip_bomb_10_gb(w: Writer) -> None:
    """10 GB that travel as 10 MB, or would: a member again and again."""
    member = gzip.compress(bytes(10**7), mtime=0)
    w.write(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        % (1000 * len(member))
    )
    for _ in range(100):
        w.write(member * 10)
        await w.drain()


# Wrong


@behaviour
async def garbage(w: Writer) -> None:
    w.write(bytes(range(256)) * 4)


@behaviour
async def http_0_9(w: Writer) -> None:
    w.write(PAGE)
    w.close()


@behaviour
async def ssh(w: Writer) -> None:
    w.write(b"SSH-2.0-OpenSSH_9.2p1\r\n")


@behaviour
async def upgrade(w: Writer) -> None:
    w.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x00"
    )


@behaviour
async def broken_chunks(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<p>abZZ\r\n0\r\n\r\n")


@behaviour
async def broken_chunk_size(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfive\r\n<p>ab\r\n0\r\n\r\n")


@behaviour
async def chunk_size_overflow(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n")


@behaviour
async def negative_length(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n<p>ab")


@behaviour
async def two_lengths(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n<p>abc")


@behaviour
async def header_without_colon(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-Type\r\nContent-Length: 5\r\n\r\n<p>ab")


@behaviour
async def status_of_one_digit(w: Writer) -> None:
    w.write(b"HTTP/1.1 2 OK\r\nContent-Length: 5\r\n\r\n<p>ab")


@behaviour
async def wrong_encoding(w: Writer) -> None:
    w.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\nno gzip here")


@behaviour
async def unsolicited(w: Writer) -> None:
    """A second response that nobody asked for, in the same packet."""
    await fine(w)
    w.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")


# Running them


@contextlib.asynccontextmanager
async def serving(
    name: str | Behaviour, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Serve a behaviour on 127.0.0.1; gives the port."""
    act = BEHAVIOURS[name] if isinstance(name, str) else name
    tasks: set[asyncio.Task[None]] = set()

    async def client(reader: asyncio.StreamReader, writer: Writer) -> None:
        tasks.add(task := asyncio.current_task())
        try:
            await _answer(reader, writer, act)
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(client, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _answer(reader: asyncio.StreamReader, writer: Writer, act: Behaviour) -> None:
    with contextlib.suppress(
        ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError
    ):
        while not writer.is_closing():
            request = await reader.readuntil(b"\r\n\r\n")
            if request.startswith(b"GET /robots.txt "):
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            else:
                await act(writer)
            await writer.drain()


@contextlib.contextmanager
def running(name: str | Behaviour, *, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve a behaviour from a thread of its own; gives the port."""
    ready: list[int] = []
    started, stop = threading.Event(), threading.Event()

    async def main() -> None:
        async with serving(name, tls=tls) as port:
            ready.append(port)
            started.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    started.wait(10)
    try:
        yield ready[0]
    finally:
        stop.set()
        thread.join(10)


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port of 127.0.0.1 at which connections are refused, and that nobody else can take meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


class Certificates:
    """A certificate authority, and servers' contexts, good and bad, for ``localhost``."""

    def __init__(self) -> None:
        self.authority = trustme.CA()

    def ca_file(self, folder: Path) -> Path:
        path = folder / "ca.pem"
        self.authority.cert_pem.write_to_path(str(path))
        return path

    @functools.cached_property
    def good(self) -> ssl.SSLContext:
        return self._context(self.authority.issue_cert("localhost", "127.0.0.1"))

    @functools.cached_property
    def expired(self) -> ssl.SSLContext:
        then = datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 2, 1, tzinfo=UTC)
        return self._context(
            self.authority.issue_cert("localhost", not_before=then[0], not_after=then[1])
        )

    @functools.cached_property
    def wrong_host(self) -> ssl.SSLContext:
        return self._context(self.authority.issue_cert("elsewhere.example"))

    @functools.cached_property
    def unknown_issuer(self) -> ssl.SSLContext:
        return self._context(trustme.CA().issue_cert("localhost"))

    @functools.cached_property
    def self_signed(self) -> ssl.SSLContext:
        stranger = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with (
            stranger.cert_pem.tempfile() as certificate,
            stranger.private_key_pem.tempfile() as key,
        ):
            context.load_cert_chain(certificate, key)
        return context

    def _context(self, certificate: trustme.LeafCert) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        return context


def _reset(w: Writer) -> None:
    """Close so that the peer gets RST."""
    w.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )
    w.transport.abort()


async def _forever(w: Writer, piece: bytes, *, pause: float = 0.0) -> None:
    while not w.is_closing():
        w.write(piece)
        await w.drain()
        await asyncio.sleep(pause)
