"""robots.txt as servers send it: what it costs a whole crawl, and that it is obeyed to the letter."""

import asyncio
import contextlib
from functools import partial

import pytest
import uvloop

from support.command import andante, ended, status
from support.web import Web, page, robots

MIB = 1024 * 1024

HOSTS = 3_000

WORDPRESS = (
    """# robots.txt of host {host}
User-agent: GPTBot
User-agent: CCBot
Disallow: /

User-agent: *
Crawl-delay: 0
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php
Disallow: /wp-login.php
Disallow: /xmlrpc.php
Disallow: /?s=
Disallow: /search/
Disallow: /*?replytocom=
Disallow: /*/feed/$
Disallow: /*.pdf$
Disallow: /trackback/
Disallow: /cgi-bin/
Disallow: /author/
Disallow: /tag/*/page/
Disallow: /cart-{host}/
Disallow: /checkout-{host}/
Disallow: /my-account-{host}/
Disallow: /archive/{host}/2019/
Disallow: /archive/{host}/2020/
Disallow: /private-{host}/
"""
    + "# Comments that people write, some twenty lines of them.\n" * 20
)


def agents_and_rules(agents: int, rules: int) -> str:
    names = "".join(f"User-agent: bot{number}\n" for number in range(agents))
    lines = "".join(f"Disallow: /p{number}\n" for number in range(rules))
    return f"User-agent: andante\n{names}Disallow: /private\n{lines}"


COSTLY = {
    "12,000 agents, 20,000 rules": agents_and_rules(12_000, 20_000),
    "91 kB": agents_and_rules(2_200, 3_000),
    "15,000 rules with wildcards": "User-agent: *\nDisallow: /private\n"
    + "".join(f"Disallow: /*a{number}*b{number}*c\n" for number in range(15_000)),
}


@pytest.mark.parametrize("kind", COSTLY)
def test_a_costly_robots_txt_is_obeyed_and_costs_little(tmp_path, kind):
    """It took 4.2 GB, 670 MiB, and 0.1 s for each URL."""

    async def main():
        async with Web() as web:
            leaves = {f"/{number}": page() for number in range(30)}
            costly = await web.server({"/": page("/private", *leaves), **leaves})
            costly.answers["/robots.txt"] = robots(COSTLY[kind])
            done = await andante(
                *("crawl", costly.url, "--job", "job", "--rate", "max"), cwd=tmp_path
            )
            assert done.status == 0, done.err
            assert len(costly.paths) == 31
            assert ended(tmp_path) == {costly.url + "private": ("excluded", "robots", "")}
            assert done.peak < 150 * MIB

    uvloop.run(main())


@pytest.mark.parametrize(
    "body",
    [
        "User-agent: and\nAllow: /\n\nUser-agent: *\nDisallow: /\n",
        "User-agent: andante\nNoindex: /x\nUser-agent: other\nDisallow: /\n",
        "User-agent: andante\nCrawl-delay: 0.1\nUser-agent: other\nDisallow: /\n",
        "User-agent: andante/0.1\nDisallow: /\n",
        "User-agent: andante foo\nDisallow: /\n",
    ],
)
def test_what_the_rfc_forbids_is_not_asked_for(tmp_path, body):
    async def main():
        async with Web() as web:
            server = await web.server({"/": page(), "/robots.txt": robots(body)})
            await andante("crawl", server.url, "--job", "job", cwd=tmp_path)
            assert [visit.path for visit in server.visits] == ["/robots.txt"]
            assert ended(tmp_path)[server.url][:2] == ("excluded", "robots")

    uvloop.run(main())


@pytest.mark.slow
def test_ordinary_robots_txt_of_3000_hosts_take_little_memory(tmp_path):
    """At most 1.5 kB a host above what a crawl takes whose servers have none."""

    async def main():
        bodies = {True: WORDPRESS, False: ""}
        peaks = {}
        for has_robots, text in bodies.items():
            async with many_hosts(text) as start:
                job = f"job-{has_robots}"
                done = await andante(
                    *("crawl", start, "--job", job, "--rate", "max", "--scope", "any"),
                    *("--allow-private", "--connections", "64"),
                    cwd=tmp_path,
                )
                assert done.status == 0, done.err
                assert status(tmp_path, job)["pages"] == 3 * HOSTS + 1
                peaks[has_robots] = done.peak
        each = (peaks[True] - peaks[False]) / HOSTS
        print(f"{each:.0f} bytes a host: {peaks}")
        assert each < 1_500

    uvloop.run(main())


@contextlib.asynccontextmanager
async def many_hosts(text: str):
    """Serve `HOSTS` hosts, each with three pages and perhaps a robots.txt of its own; give the page that links to all."""
    server = await asyncio.start_server(partial(_converse, text), "0.0.0.0", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.close()


async def _converse(text, reader, writer):
    host, port = writer.get_extra_info("sockname")
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            request = await reader.readuntil(b"\r\n\r\n")
            path = request.split(b" ", 2)[1].decode()
            status, body = _answer(path, host, port, text)
            head = f"HTTP/1.1 {status} -\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
    writer.close()


def _answer(path, host, port, text):
    is_start = host == "127.0.0.1"
    if path == "/robots.txt":
        body = text.format(host=host).encode() if not is_start else b""
        return (200, body) if body else (404, b"")
    links = ["/1", "/2"] if path == "/" else []
    if is_start:
        links = [f"http://127.1.{n // 250}.{n % 250 + 1}:{port}/" for n in range(HOSTS)]
    return 200, "".join(f'<a href="{link}">x</a>' for link in links).encode()
