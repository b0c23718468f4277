"""Safe: no page leads the crawl to addresses that are not public, or to files outside the job."""

import asyncio
import contextlib

import pytest
import uvloop
from fastwarc.warc import ArchiveIterator, WarcRecordType

from support.command import adds_up, andante, ended, pages
from support.island import PRIVATE, PRIVATE_6, PUBLIC, PUBLIC_6, Watch, literal, on_island
from support.nameserver import NXDOMAIN, Nameserver
from support.web import Reply, Web, page, robots

WRITTEN = [
    *("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "100.64.0.1", "0.0.0.0"),
    *("[::1]", "[::]", "[fd00::1]", "[fe80::1]", "[::ffff:10.0.0.1]", "[::ffff:7f00:1]"),
    *("[64:ff9b::a00:1]", "[2002:a00:1::]", "[::10.0.0.1]", "localhost", "a.localhost"),
    *("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "%31%30.0.0.1", "10。0。0。1"),
    *("224.0.0.1", "255.255.255.255", "198.18.0.1"),
]
"""Addresses that are not public, in the ways to write them."""

FLAGS = (
    "--scope",
    "any",
    "--rate",
    "max",
    "--retries",
    "0",
    "--give-up-after",
    "1",
    "--connect-timeout",
    "2s",
)


def crawl(cwd, *arguments):
    return andante("crawl", "--job", "job", "--output", "pages.jsonl", *FLAGS, *arguments, cwd=cwd)


def redirect(url):
    return Reply(302, {"Location": url.encode().decode("latin-1")})


@contextlib.asynccontextmanager
async def listening_everywhere():
    """Answer on all addresses at one port; gives the port."""

    async def answer(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, None, 8000)
    try:
        yield 8000
    finally:
        server.close()


@on_island
def test_no_link_and_no_redirect_leads_to_an_address_that_is_not_public(tmp_path):
    """Not a packet goes there; with --allow-private the same crawl goes there, so the test would see it."""

    async def main():
        async with Web() as web, listening_everywhere() as port:
            targets = [f"http://{host}:{port}/" for host in WRITTEN]
            start = await web.server({}, address=PUBLIC[0])
            other = await web.server({}, address=PUBLIC[1])
            other.answers["/robots.txt"] = Reply(301, {"Location": targets[1] + "robots.txt"})
            moved = {f"/{n}": redirect(url) for n, url in enumerate(targets)}
            start.answers = moved | {
                "/": page(*targets, *moved, other.url, "/good"),
                "/good": page(),
                "/robots.txt": robots(f"Sitemap: {targets[1]}sitemap.xml\n"),
            }
            with Watch() as watch:
                done = await crawl(tmp_path, start.url, "--sitemaps")
                assert done.status == 0, done.err
                assert adds_up(done.out)
                assert watch.reached() == {
                    (server.address, server.port) for server in (start, other)
                }
            lost = ended(tmp_path)
            reasons = {e[:2] for url, e in lost.items() if f":{port}/" in url}
            assert reasons == {("failed", "forbidden-address")}
            assert len([url for url in lost if f":{port}/" in url]) > 15
            assert lost[other.url][:2] == ("excluded", "robots-unreachable")
            assert {page["final_url"] for page in pages(tmp_path)} == {
                start.url,
                start.url + "good",
            }
            with Watch() as watch:
                flags = ("--allow-private", "--job", "other", "--output", "other.jsonl")
                await andante("crawl", start.url, *FLAGS, *flags, cwd=tmp_path)
                reached = {address for address, _ in watch.reached()}
                assert {"127.0.0.1", "::1", *PRIVATE, PRIVATE_6} <= reached

    uvloop.run(main())


@on_island
def test_a_seed_may_be_private_and_other_private_hosts_may_not(tmp_path):
    async def main():
        async with Web() as web:
            start = await web.server({"/1": page()}, address=PRIVATE[0])
            beside = await web.server({"/": page()}, address=PRIVATE[0])
            public = await web.server({"/": page()}, address=PUBLIC[0])
            other = await web.server({"/": page()}, address=PRIVATE[2])
            start.answers["/"] = page("/1", beside.url, public.url, other.url)
            done = await crawl(tmp_path, start.url)
            assert done.status == 0, done.err
            assert {page["final_url"] for page in pages(tmp_path)} == {
                *(start.url, start.url + "1", beside.url, public.url)
            }
            assert ended(tmp_path)[other.url][:2] == ("failed", "forbidden-address")
            assert other.visits == []

    uvloop.run(main())


@on_island
def test_with_public_only_no_seed_is_at_a_private_address(tmp_path):
    """A list of seeds by strangers: by address, by a name, and by one that the user resolves."""

    async def main():
        async with Web() as web, listening_everywhere() as port:
            public = await web.server({"/": page()}, address=PUBLIC[0])
            hosts = [*PRIVATE, f"[{PRIVATE_6}]", "127.0.0.1", "inner.example"]
            seeds = [f"http://{host}:{port}/" for host in hosts]
            flags = ("--public-only", "--resolve", f"inner.example:{port}:{PRIVATE[0]}")
            with Watch() as watch:
                done = await crawl(tmp_path, public.url, *seeds, *flags)
                assert done.status == 0, done.err
                assert watch.reached() == {(public.address, public.port)}
            lost = {url: e[:2] for url, e in ended(tmp_path).items()}
            assert lost == dict.fromkeys(seeds, ("failed", "forbidden-address"))

    uvloop.run(main())


@on_island
def test_no_name_leads_to_an_address_that_is_not_public(tmp_path):
    zone = {
        "start.example": (60, [PUBLIC[0]]),
        "private.example": (0, [PRIVATE[0]]),
        "loopback.example": (0, ["127.0.0.1", "::1"]),
        "mapped.example": (0, ["::ffff:10.0.0.1"]),
        "mixed.example": (0, [PRIVATE[0], PUBLIC[1], "127.0.0.1"]),
        "six.example": (0, [PUBLIC_6, PRIVATE_6]),
        "none.example": NXDOMAIN,
    }

    async def main():
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Nameserver(zone), local_addr=("127.0.0.1", 53)
        )
        async with Web() as web, listening_everywhere() as port:
            urls = {name: f"http://{name}:{port}/" for name in zone}
            start = await web.server({}, address=PUBLIC[0])
            start.answers["/"] = page(*urls.values())
            seed = f"http://start.example:{start.port}/"
            with Watch() as watch:
                done = await crawl(tmp_path, seed)
                assert done.status == 0, done.err
                assert watch.reached() == {
                    (start.address, start.port),
                    *((address, port) for address in (*PUBLIC, PUBLIC_6)),
                }
            lost = {url: e[:2] for url, e in ended(tmp_path).items()}
            forbidden = ("private", "loopback", "mapped")
            assert lost == {
                urls[f"{name}.example"]: ("failed", "forbidden-address") for name in forbidden
            } | {urls["none.example"]: ("failed", "no-such-host")}
        transport.close()

    uvloop.run(main())


@on_island
def test_no_restart_leads_to_an_address_that_is_not_public(tmp_path):
    """A seed's name moves to our network between two starts, and a server moves the crawl to a name that is there."""
    zone = {
        "start.example": (0, [PUBLIC[0]]),
        "inner.start.example": (0, [PRIVATE[0]]),
        "intranet.example": (0, [PRIVATE[0]]),
    }

    async def main():
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Nameserver(zone), local_addr=("127.0.0.1", 53)
        )
        with contextlib.closing(transport):
            await crawl_thrice()

    async def crawl_thrice():
        async with Web() as web, listening_everywhere() as port:
            inner = f"http://inner.start.example:{port}/"
            public = await web.server({}, address=PUBLIC[0])
            start = f"http://start.example:{public.port}/"
            public.answers = {"/": redirect(inner), "/links": page(inner + "linked", "/more")}
            done = await crawl(tmp_path, start, f"http://intranet.example:{port}/")
            assert done.status == 1, "there is no page yet"
            done = await crawl(tmp_path, start + "links")
            assert done.status == 0, done.err
            zone["start.example"] = (0, [PRIVATE[0]])
            with Watch() as watch:
                urls = [f"http://{name}.example:{port}/again" for name in ("start", "intranet")]
                done = await crawl(tmp_path, *urls)
                assert done.status == 0, done.err
                assert watch.reached() == {(PRIVATE[0], port)}, "the intranet was so from the start"
            lost = {url: e[:2] for url, e in ended(tmp_path).items()}
            forbidden = [inner, inner + "linked", urls[0]]
            assert lost.pop(start) == ("redirected", "302")
            assert lost == dict.fromkeys(forbidden, ("failed", "forbidden-address"))

    uvloop.run(main())


@on_island
def test_an_island_has_no_way_out():
    with pytest.raises(OSError, match="unreachable"):
        asyncio.run(asyncio.open_connection("9.9.9.9", 80))
    assert literal(PUBLIC_6) == "[2606:4700::5]"


def test_no_link_and_no_redirect_leads_out_of_the_scope(tmp_path):
    async def main():
        async with Web() as web:
            start = await web.server({})
            other = await web.server({"/": page()})
            start.answers = {"/": page("/to", other.url), "/to": redirect(other.url)}
            done = await crawl(tmp_path, start.url, "--scope", "host", "--allow-private")
            assert done.status == 0, done.err
            assert start.paths == ["/", "/to"]
            assert other.visits == []
            assert ended(tmp_path) == {
                start.url + "to": ("excluded", "redirect-out-of-scope", other.url)
            }

    uvloop.run(main())


def test_no_page_writes_outside_the_job(tmp_path):
    """Names that would climb out of a mirror, and texts that would break out of a record."""
    paths = [
        *("/../../../../escape", "/..%2f..%2fescape", "/%2e%2e/%2e%2e/escape", "/%00", "/a%0d%0ab"),
        *("/c:\\windows\\escape", "//escape", "/" + "d/" * 500, "/" + "e" * 1900, "/.bashrc", "/~"),
    ]
    text = 'a\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n"}\n{"url": "forged"}\n'
    body = f"<title>{text}</title>".encode()
    disposition = {"Content-Disposition": 'attachment; filename="../../escape"'}

    class Anything(dict):
        def get(self, path, default):
            return super().get(path) or Reply(
                200, {"Content-Type": "text/html"} | disposition, body
            )

    (tmp_path / "work").mkdir()
    around = {path: path.stat().st_mtime_ns for path in tmp_path.parent.iterdir()}

    async def main():
        async with Web() as web:
            server = await web.server({})
            links = "".join(f'<a href="{path}">' for path in paths)
            start = Reply(200, {"Content-Type": "text/html"}, links.encode())
            server.answers = Anything({"/": start, "/robots.txt": Reply(404)})
            flags = ("--job", "job", "--output", "pages.jsonl", "--output", "pages.warc.gz")
            flags += ("--rate", "max")
            return await andante("crawl", server.url, *flags, cwd=tmp_path / "work"), server

    done, server = uvloop.run(main())
    assert done.status == 0, done.err
    assert len(server.paths) > 8
    assert {path: path.stat().st_mtime_ns for path in tmp_path.parent.iterdir()} == around
    assert [path.name for path in tmp_path.iterdir()] == ["work"]
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == [
        *("job", "pages.jsonl", "pages.warc.gz")
    ]
    assert {path.name for path in (tmp_path / "work/job").iterdir()} <= {
        *("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "lock")
    }
    assert len(pages(tmp_path / "work")) == len(server.paths)
    with (tmp_path / "work/pages.warc.gz").open("rb") as stream:
        records = list(ArchiveIterator(stream, record_types=WarcRecordType.response))
    assert len(records) == len(server.paths)
