"""What is read aside ends as if it had been read at once; and where it cannot, its URL is queued again."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest
import uvloop

import andante
from andante.crawl import api, ends
from andante.crawl.aside import Aside, TooCostly
from andante.parse.html import QUICK_BYTES
from support.web import Reply, Web, page

LARGE = b"<title>t</title><a href=/1></a><a href=/2></a>" + b"<p>x" * (QUICK_BYTES // 4)
HTML = {"Content-Type": "text/html"}
OPTIONS = {"rate": "max", "allow_private": True, "ignore_robots": True}


class Gate(Aside):
    """Reads when it is let; tells what the crawl is like meanwhile."""

    opened: asyncio.Event
    asked: list[str]
    crawl: andante.Crawl
    in_hand: list[int]

    async def read(self, page, **wanted):
        self.asked.append(page.url)
        self.in_hand.append(self.crawl._state.in_hand)
        await self.opened.wait()
        return await super().read(page, **wanted)


@pytest.fixture
def gate(monkeypatch):
    monkeypatch.setattr(api, "Aside", Gate)
    monkeypatch.setattr(Gate, "asked", [], raising=False)
    monkeypatch.setattr(Gate, "in_hand", [], raising=False)
    return Gate


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


async def until(condition):
    while not condition():
        await asyncio.sleep(0.001)


def crawl(tmp_path, url, **options):
    settings = OPTIONS | {"job": tmp_path / "job", "output": [tmp_path / "pages.jsonl"]} | options
    return andante.Crawl([url], **settings)


def test_a_large_page_ends_like_any_other(tmp_path):
    async def main():
        async with Web() as web:
            server = await web.server(
                {"/": Reply(200, HTML, LARGE), "/1": page("/"), "/2": page("/")}
            )
            running = crawl(tmp_path, server.url)
            await running.run()
            return running, server

    running, server = uvloop.run(main())
    assert running.stats.pages == 3
    first = lines(tmp_path / "pages.jsonl")[0]
    assert (first["title"], first["bytes"]) == ("t", len(LARGE))
    assert first["links"] == [server.url + "1", server.url + "2"]


@pytest.mark.parametrize("payload", [bytes(ends.RECORD_MAX), bytes(ends.RECORD_MAX + 1)])
@pytest.mark.parametrize("status", [200, 302])
def test_the_record_of_a_large_payload(tmp_path, payload, status):
    import fastwarc  # noqa: PLC0415

    async def main():
        async with Web() as web:
            server = await web.server(
                {"/": Reply(status, {"Location": "/1"}, payload), "/1": page()}
            )
            await crawl(tmp_path, server.url, output=[tmp_path / "pages.warc.gz"]).run()

    uvloop.run(main())
    with (tmp_path / "pages.warc.gz").open("rb") as file:
        bodies = [
            record.reader.read()
            for record in fastwarc.ArchiveIterator(file)
            if record.headers["WARC-Type"] == "response"
        ]
    assert payload in bodies
    assert len(bodies) == (2 if status == 302 else 1)


def test_who_listens_gets_the_body(tmp_path):
    async def main():
        async with Web() as web:
            packed = HTML | {"Content-Encoding": "gzip"}
            server = await web.server({"/": Reply(200, packed, gzip.compress(LARGE))})
            async with crawl(tmp_path, server.url, max_pages=1) as running:
                return [page async for page in running]

    (got,) = uvloop.run(main())
    assert (got.body, got.title, len(got.links)) == (LARGE, "t", 2)


def test_what_is_being_read_counts_for_the_number_of_pages(tmp_path, gate):
    async def main():
        async with Web() as web:
            gate.opened = asyncio.Event()
            answers = {"/": page("/1", "/2", "/3", "/4", "/5")} | {
                f"/{n}": Reply(200, HTML, LARGE) for n in range(1, 6)
            }
            server = await web.server(answers)
            running = gate.crawl = crawl(tmp_path, server.url, max_pages=3, per_server=5)
            task = asyncio.create_task(running.run())
            await until(lambda: gate.asked)
            await asyncio.sleep(0.2)
            asked = len(server.paths)
            gate.opened.set()
            await task
            return running, server, asked

    running, server, asked = uvloop.run(main())
    assert running.stats.pages == 3
    assert asked == len(server.paths) == 3
    assert running._state.in_hand == 0


def test_who_stops_meanwhile_goes_on_with_it_later(tmp_path, gate):
    async def main():
        async with Web() as web:
            gate.opened = asyncio.Event()
            server = await web.server({"/": Reply(200, HTML, LARGE), "/1": page(), "/2": page()})
            running = gate.crawl = crawl(tmp_path, server.url)
            task = asyncio.create_task(running.run())
            await until(lambda: gate.asked)
            running.interrupt()
            await task
            assert running.stats.pages == running._state.in_hand == 0
            assert running.queued == 1
            gate.opened.set()
            running = gate.crawl = crawl(tmp_path, server.url)
            await running.run()
            return running

    assert uvloop.run(main()).stats.pages == 3
    assert len(lines(tmp_path / "pages.jsonl")) == 3


def test_what_has_become_others_meanwhile_is_theirs(tmp_path, gate):
    async def main():
        async with Web() as web:
            gate.opened = asyncio.Event()
            server = await web.server({"/": Reply(200, HTML, LARGE), "/1": page(), "/2": page()})
            running = gate.crawl = crawl(tmp_path, server.url)
            task = asyncio.create_task(running.run())
            await until(lambda: gate.asked)
            running._state.life += 1
            gate.opened.set()
            await task
            return running, server

    running, server = uvloop.run(main())
    assert server.paths.count("/") == 2
    assert running.stats.pages == len(lines(tmp_path / "pages.jsonl")) == 3


def test_what_is_too_costly_ends_so_and_is_not_asked_for_again(tmp_path, monkeypatch):
    class Costly(Aside):
        async def read(self, page, **wanted):
            return TooCostly("it takes all")

    monkeypatch.setattr(api, "Aside", Costly)

    async def main():
        async with Web() as web:
            server = await web.server({"/": page("/1"), "/1": Reply(200, HTML, LARGE)})
            for _ in range(2):
                running = crawl(tmp_path, server.url)
                await running.run()
            return running, server

    running, server = uvloop.run(main())
    assert running.stats.failed == {"too-costly": 1}
    assert server.paths == ["/", "/1"]


def test_many_links_of_many_pages_are_remembered_within_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(ends, "_OFFERED_SIZE_MAX", 10_000)

    async def main():
        async with Web() as web:
            links = [f"/{n}{'x' * 100}" for n in range(60)]
            server = await web.server({"/": page(*links)} | {link: page(*links) for link in links})
            running = crawl(tmp_path, server.url)
            await running.run()
            return running

    running = uvloop.run(main())
    assert running.stats.pages == 61
    offered = running._engine._visitor._ends._offered
    assert sum(map(len, offered)) <= 10_000
