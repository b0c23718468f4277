"""Reading in a process of its own: what it reads is what the loop would read, and whatever happens to it has an end."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import subprocess
from pathlib import Path

import pytest
import uvloop

from andante.crawl import aside, aside_process
from andante.crawl.aside import Aside, TooCostly
from andante.crawl.reader import LINKS_SIZE_MAX, QUICK_ENCODED, Reader, Rules
from andante.page import Page
from andante.parse.html import QUICK_BYTES, QUICK_VALUES

RULES = Rules(
    agent="andante",
    ignore_robots=False,
    skip_nofollow=False,
    max_decoded=50 * 2**20,
    max_links=10_000,
    max_url_length=2_000,
)
MIB = 2**20


def page(body, *headers, kind="text/html"):
    return Page(
        url="http://h/d/",
        final_url="http://h/d/",
        status=200,
        reason="",
        headers=[(b"Content-Type", kind.encode()), *headers],
        request=b"",
        payload=body,
        body=body,
        fetched_at=0.0,
        elapsed=0.0,
    )


GZIP = (b"Content-Encoding", b"gzip")
LARGE = b"<title>t &amp; u</title><a href=1>one</a><a href=/2>two</a>" + b"<p>x" * QUICK_BYTES
PAGES = {
    "large": page(LARGE),
    "large when decoded": page(gzip.compress(LARGE), GZIP),
    "an encoding": page("<meta charset=cp1251><a href=?Ж>".encode("cp1251") + LARGE),
    "directives": page(
        b"<meta name=robots content=noindex>" + LARGE, (b"X-Robots-Tag", b"nofollow")
    ),
    "too large": page(gzip.compress(bytes(RULES.max_decoded + 1)), GZIP),
    "damaged": page(b"\x1f\x8b" + bytes(QUICK_BYTES), GZIP),
    "two codings": page(
        gzip.compress(gzip.compress(b"<a href=1>")), (b"Content-Encoding", b"gzip, gzip")
    ),
    "coded, and with little in it": page(
        gzip.compress(b"<a href=1>")
        + gzip.compress(b"")[:10]
        + b"\0\0\0\xff\xff" * (QUICK_ENCODED // 5),
        GZIP,
    ),
    "not HTML": page(gzip.compress(bytes(2 * QUICK_BYTES)), GZIP, kind="image/png"),
    "many tags": page(b"<xmp></xmp>" + b"<p>" * 6_000 + b"<a href=1>"),
}


def ask(*questions, rules=RULES, body=False):
    """Ask a process one question after another."""

    async def main():
        process = Aside(rules, body=body)
        try:
            return [await question(process) for question in questions], process
        finally:
            process.close()

    return uvloop.run(main())


@pytest.mark.parametrize("name", PAGES)
def test_what_takes_long_is_read_aside_as_it_would_be_here(name):
    asked = PAGES[name]
    here, there = (Page(**{n: getattr(asked, n) for n in asked.__struct_fields__}) for _ in "12")
    reader = Reader(RULES)
    assert reader.read(asked, title=True, text=True, quick=True) is None
    expected = reader.read(here, title=True, text=True)
    ((reading,), _) = ask(lambda process: process.read(there, title=True, text=True), body=True)
    assert reading == expected
    assert (there.links, there.title, there.encoding) == (here.links, here.title, here.encoding)
    assert there.body == here.body


def test_a_body_that_nobody_wants_stays_there():
    asked = page(gzip.compress(LARGE), GZIP)
    ask(lambda process: process.read(asked, title=False, text=False))
    assert asked.body is asked.payload


def test_a_payload_may_be_in_a_file():
    asked = page(memoryview(LARGE))
    assert Reader(RULES).read(asked, title=True, quick=True) is None
    ((reading,), _) = ask(lambda process: process.read(asked, title=True, text=False))
    assert reading.title == "t & u"
    small = page(memoryview(b"<a href=1>"))
    assert Reader(RULES).read(small, title=True, quick=True).links == ["http://h/d/1"]


@pytest.mark.parametrize("form", ["plain", "gzip", "index"])
def test_a_sitemap_is_read_aside_as_it_would_be_here(form):
    entry = (
        b"<url><loc>http://h/%d</loc><lastmod>2024-05-31</lastmod><priority>0.5</priority></url>"
    )
    body = b"<urlset>" + b"".join(entry % n for n in range(3_000)) + b"</urlset>"
    if form == "index":
        body = body.replace(b"urlset", b"sitemapindex").replace(b"url>", b"sitemap>")
    asked = page(gzip.compress(body) if form == "gzip" else body)
    reader = Reader(RULES)
    assert reader.sitemap(asked, quick=True) is None
    ((sitemap,), _) = ask(lambda process: process.sitemap(asked))
    assert len(sitemap.found) == 3_000
    assert sitemap == reader.sitemap(asked)


def test_one_process_reads_one_after_another():
    async def identity(process):
        assert (await process.read(page(LARGE), title=True, text=False)).title == "t & u"
        return process._link.process.pid

    (pids, process) = ask(identity, identity, identity)
    assert len(set(pids)) == 1
    assert process._link is None
    assert not Path(f"/proc/{pids[0]}").exists()


def test_a_page_that_takes_too_much_memory_is_too_costly():
    """It fits a tree by its bound of 500,000 elements, which take 350 MB."""
    page_of_copies = (
        b"<p>" + b"".join(b"<font a=%d>" % n for n in range(600)) + b"<p>x" * 800 + b"<a href=1>"
    )
    ((hostile, after), _) = ask(
        lambda process: process.read(page(b"<xmp></xmp>" + page_of_copies), title=True, text=False),
        lambda process: process.read(page(LARGE), title=True, text=False),
    )
    assert isinstance(hostile, TooCostly)
    assert after.links == ["http://h/d/1", "http://h/2"]


def test_a_page_that_takes_too_long_is_too_costly(monkeypatch):
    monkeypatch.setattr(aside, "WAIT_MAX", 0.0)
    ((reading,), process) = ask(lambda process: process.read(page(LARGE), title=True, text=False))
    assert reading == TooCostly("not read within 0 seconds")
    assert process._link is None


@pytest.mark.parametrize("times", [1, 2])
def test_a_process_that_others_killed_is_replaced_once(times):
    async def main():
        process = Aside(RULES, body=False)
        start, started = process._start, []

        async def start_and_kill():
            link = await start()
            started.append(link)
            if len(started) <= times:
                os.kill(link.process.pid, signal.SIGKILL)
            return link

        process._start = start_and_kill
        try:
            return await process.read(page(LARGE), title=True, text=False)
        finally:
            process.close()

    reading = uvloop.run(main())
    if times == 1:
        assert reading.title == "t & u"
    else:
        assert reading == TooCostly("the process that read it ended with -9")


def test_a_page_that_takes_the_processor_too_long_is_too_costly(monkeypatch):
    popen = subprocess.Popen

    def with_a_second(command, **options):
        quick = "from andante.crawl import aside_process as it; it.SECONDS_MAX = 0; it.main()"
        return popen([command[0], "-P", "-c", quick, command[-1]], **options)

    monkeypatch.setattr(aside.subprocess, "Popen", with_a_second)
    units = (b"<a href='?%d" % n + b"&#x4e00;" * 300 + b"'></a>" for n in range(7_000))
    costly = page(b"".join(units), kind="text/html; charset=windows-1252")
    first, after = ask(
        lambda process: process.read(costly, title=True, text=False),
        lambda process: process.read(page(LARGE), title=True, text=False),
    )[0]
    assert first == TooCostly(f"more than {aside_process.SECONDS_MAX} seconds of the processor")
    assert after.title == "t & u"


def test_who_is_cancelled_leaves_no_process():
    async def main():
        process = Aside(RULES, body=False)
        reading = asyncio.create_task(process.read(page(LARGE * 10), title=True, text=False))
        while process._link is None:
            await asyncio.sleep(0)
        pid = process._link.process.pid
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert process._link is None
        assert not Path(f"/proc/{pid}").exists()

    uvloop.run(main())


def test_it_ends_when_its_link_does():
    async def main():
        process = Aside(RULES, body=False)
        await process.read(page(LARGE), title=True, text=False)
        link = process._link
        link.writer.close()
        assert await asyncio.to_thread(link.process.wait, 30) == 0

    uvloop.run(main())


def test_ctrl_c_is_not_for_it():
    async def main():
        process = Aside(RULES, body=False)
        try:
            await process.read(page(LARGE), title=True, text=False)
            child = process._link.process
            assert os.getpgid(child.pid) != os.getpgrp()
            child.send_signal(signal.SIGINT)
            reading = await process.read(page(LARGE), title=True, text=False)
            assert process._link.process is child
            return reading
        finally:
            process.close()

    assert uvloop.run(main()).title == "t & u"


def test_it_can_be_used_in_any_thread_and_loop():
    async def main():
        return await asyncio.to_thread(
            lambda: asyncio.run(_read_and_close(Aside(RULES, body=False)))
        )

    assert asyncio.run(main()).title == "t & u"


async def _read_and_close(process):
    try:
        return await process.read(page(LARGE), title=True, text=False)
    finally:
        process.close()


def test_links_are_limited_by_their_length():
    base = "http://h/" + "x" * 1_900 + "/"
    body = f"<base href={base}>" + "".join(f"<a href=a{n}></a>" for n in range(5_000))
    asked = page(body.encode())
    links = Reader(RULES).read(asked, title=False, quick=True).links
    assert 2_000 < len(links) < 5_000
    assert LINKS_SIZE_MAX - 2_000 < sum(map(len, links)) <= LINKS_SIZE_MAX


def test_what_is_read_where_others_wait_is_small():
    small = [
        page(b"<a href=1>" + b"x" * (QUICK_BYTES - 10)),
        page(gzip.compress(bytes(QUICK_BYTES)), GZIP),
        page(bytes(20 * MIB), kind="image/png"),
    ]
    for each in small:
        assert Reader(RULES).read(each, title=True, quick=True) is not None
    rules = Rules("andante", False, False, 1_000, 10, 2_000)
    reading = Reader(rules).read(page(gzip.compress(bytes(2_000)), GZIP), title=False, quick=True)
    assert reading.problem == "decoded-too-large"


VALUES = {
    "hosts of other letters": b"<a href='//" + "一丁七".encode() * 50 + b"%d/'></a>",
    "references": b"<a href='%d" + b"&amp;" * 100 + b"'></a>",
    "letters that the encoding lacks": b"<a href='?%d" + b"&#x4e00;" * 100 + b"'></a>",
    "bytes of another encoding": b"<a href='?%d" + b"\xe9" * 1_000 + b"'></a>",
    "links of references": b"<link rel=next href='%d" + b"&amp;" * 1_000 + b"'>",
    "directives": b"<meta name=robots content='%d" + b"x," * 1_000 + b"'>",
    "refreshes": b"<meta http-equiv=refresh content='0;%d" + b"&b " * 1_000 + b"'>",
}


@pytest.mark.parametrize("name", VALUES)
def test_values_that_take_long_are_read_aside(name):
    unit = VALUES[name]

    def read(size, *, quick=True):
        units = (unit.replace(b"%d", b"%d" % n) for n in range(size // len(unit)))
        asked = page(b"".join(units), kind="text/html; charset=windows-1252")
        return Reader(RULES).read(asked, title=False, quick=quick)

    assert read(5 * QUICK_VALUES) is None  # more than a tree is made of
    assert read(5 * QUICK_VALUES, quick=False) is not None
    assert read(QUICK_VALUES // 2) is not None


def test_plain_links_are_read_where_others_wait():
    links = b"".join(b"<a href=/%d%b></a>" % (n, b"x" * 200) for n in range(9_000))
    assert len(links) > 4 * QUICK_VALUES
    assert len(Reader(RULES).read(page(links), title=False, quick=True).links) == 9_000
