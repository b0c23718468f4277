"""The recipe for WARC files reads what servers send today: any content coding, in chunks or not."""

import asyncio
import contextlib
import gzip
import subprocess
import sys
import zlib

import brotli
import uvloop
import zstandard

from support.command import andante
from support.demo import ROOT
from test_docs import blocks

BODY = b"<p>the same text, many times</p>\n" * 3_000
CODINGS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def response(name):
    coding, _, chunks = name.partition("-")
    body = CODINGS[coding](BODY)
    lines = ["HTTP/1.1 200 OK", "Content-Type: text/html"]
    if coding != "plain":
        lines.append(f"Content-Encoding: {coding}")
    if chunks:
        lines.append("Transfer-Encoding: chunked")
        parts = [body[at : at + 100] for at in range(0, len(body), 100)]
        body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [*parts, b""])
    else:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextlib.asynccontextmanager
async def serving():
    """Answer each path that is named after a coding; gives the port."""

    async def answer(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while request := await reader.readuntil(b"\r\n\r\n"):
                name = request.split()[1].decode().lstrip("/")
                missing = b"HTTP/1.1 404 -\r\nContent-Length: 0\r\n\r\n"
                writer.write(missing if name == "robots.txt" else response(name))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def test_the_recipe_reads_all_codings(tmp_path):
    names = [name + chunks for name in CODINGS for chunks in ("", "-chunked")]

    async def crawl():
        async with serving() as port:
            urls = [f"http://127.0.0.1:{port}/{name}" for name in names]
            done = await andante(
                "crawl", *urls, "--job", "docs.example.org", "--rate", "max", cwd=tmp_path
            )
            assert done.status == 0, done.err
            return urls

    urls = uvloop.run(crawl())
    page = ROOT / "docs" / "how-to" / "warc.md"
    [recipe] = [block.text for block in blocks(page) if block.kind == "python"]
    printed = subprocess.run(
        [sys.executable, "-c", recipe], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert printed.returncode == 0, printed.stderr
    assert sorted(printed.stdout.splitlines()) == sorted(f"{url} 200 {len(BODY)}" for url in urls)
