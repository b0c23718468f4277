"""The Python interface, against a web that records."""

import asyncio
import threading
import time

import pytest
import uvloop

import andante
from support import hostile
from support.web import Web, page


def web_of(number):
    paths = [f"/{n}" for n in range(number)]
    return {"/": page(*paths)} | {path: page() for path in paths}


def with_web(test):
    """Run a function in a thread while a web of 31 pages is served; it gets the start page's URL and the server."""

    async def main():
        async with Web() as web:
            server = await web.server(web_of(30))
            await asyncio.to_thread(test, server.url, server)

    uvloop.run(main())


def test_pages_come_as_they_are_fetched():
    def test(url, server):
        pages = list(andante.crawl(url, rate="max", max_pages=10))
        assert len(pages) == 10 == len({page.final_url for page in pages})
        first = pages[0]
        assert (first.final_url, first.status, first.depth, first.content_type) == (
            url,
            200,
            0,
            "text/html",
        )
        assert first.links == [f"{url}{n}" for n in range(30)]
        assert pages[1].referrer == url

    with_web(test)


def test_to_stop_listening_ends_the_crawl():
    def test(url, server):
        crawling = andante.crawl(url, rate="600/min")
        assert next(crawling).final_url == url
        crawling.close()
        asked = len(server.paths)
        assert asked < 20
        assert not [thread for thread in threading.enumerate() if thread.name == "andante"]

    with_web(test)


def test_counts_are_there_after_the_loop():
    def test(url, server):
        crawl = andante.Crawl([url], rate="max", max_pages=10)
        assert len(list(crawl)) == 10 == crawl.stats.pages
        assert (crawl.known, crawl.queued, crawl.servers) == (31, 21, 1)

    with_web(test)


def test_why_nothing_came_is_in_the_counts():
    with hostile.closed_port() as port:
        crawl = andante.Crawl([f"http://127.0.0.1:{port}/"], retries=0, give_up_after=1)
        assert list(crawl) == []
        assert crawl.stats.failed == {"refused": 1}
        assert crawl.known == crawl.stats.ended == 1


def test_async_iteration_and_counts():
    def test(url, server):
        async def main():
            events = []
            async with andante.Crawl([url], rate="max", on_event=events.append) as crawl:
                found = [page.final_url async for page in crawl]
            assert len(found) == 31 == crawl.stats.pages == crawl.known
            assert crawl.queued == 0
            assert not crawl.interrupted
            assert [event.event for event in events].count("fetch.completed") == 31

        asyncio.run(main())

    with_web(test)


def test_to_leave_early_is_no_error():
    def test(url, server):
        async def main():
            async with andante.Crawl([url], rate="max") as crawl:
                async for _ in crawl:
                    break

        asyncio.run(main())

    with_web(test)


def test_to_leave_while_pages_wait_is_no_error():
    """The crawl is ahead of a slow listener, as far as it may be, when that one leaves."""

    async def main():
        async with Web() as web:
            server = await web.server(web_of(300))
            async with asyncio.timeout(20), andante.Crawl([server.url], rate="max") as crawl:
                async for _ in crawl:
                    while crawl.stats.pages < 100:
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(0.05)
                    break
            assert crawl.stats.pages < 150

    uvloop.run(main())


def test_to_stop_listening_while_pages_wait_ends_the_crawl():
    async def main():
        async with Web() as web:
            server = await web.server(web_of(400))

            def listen():
                crawling = andante.crawl(server.url, rate="max")
                next(crawling)
                while len(server.paths) < 200:
                    time.sleep(0.01)
                time.sleep(0.05)
                crawling.close()

            await asyncio.wait_for(asyncio.to_thread(listen), 20)
            assert not [thread for thread in threading.enumerate() if thread.name == "andante"]

    uvloop.run(main())


def test_a_job_goes_on(tmp_path):
    def test(url, server):
        options = {"rate": "max", "job": tmp_path / "job", "output": tmp_path / "pages.jsonl"}
        first = [page.final_url for page in andante.crawl(url, max_pages=12, **options)]
        rest = [page.final_url for page in andante.crawl(url, **options)]
        assert len(first) == 12
        assert len(rest) == 19
        assert len({*first, *rest}) == 31
        assert (tmp_path / "pages.jsonl").read_text().count("\n") == 31

    with_web(test)


def test_settings_that_come_too_late_are_warned_of(tmp_path):
    def test(url, server):
        options = {"rate": "max", "job": tmp_path / "job"}
        assert len(list(andante.crawl(url, max_depth=0, **options))) == 1
        with pytest.warns(UserWarning, match="max_depth from 0 to 1"):
            assert list(andante.crawl(url, max_depth=1, **options)) == []

    with_web(test)


def test_nothing_is_left_without_a_job(tmp_path, monkeypatch):
    def test(url, server):
        monkeypatch.chdir(tmp_path)
        assert len(list(andante.crawl(url, rate="max", max_pages=3))) == 3
        assert list(tmp_path.iterdir()) == []

    with_web(test)


@pytest.mark.parametrize(
    ("seeds", "options", "message"),
    [
        (["example.com"], {}, "did you mean https://example.com"),
        ([["http://a.example/"]], {}, "give URLs as texts, one by one"),
        (["http://a.example/"], {"rat": "1/s"}, "unknown setting 'rat'; did you mean 'rate'"),
        (["http://a.example/"], {"rate": "fast"}, "rate: 'fast' is not a rate"),
        (["http://a.example/"], {"output": "pages.pdf"}, "does not end in one of"),
    ],
)
def test_what_is_wrong_is_said_at_once(seeds, options, message):
    with pytest.raises(andante.SettingsError, match=message.replace("(", r"\(")):
        andante.crawl(*seeds, **options)


def test_without_seeds_there_is_nothing_to_do():
    with pytest.raises(andante.SettingsError, match="no seeds"):
        list(andante.crawl())


def test_settings_take_values_as_written():
    assert andante.Settings(rate="20/min", max_body="1MiB", delay="500ms") == andante.Settings(
        rate=20.0, max_body=2**20, delay=0.5
    )


def test_a_job_in_use_is_refused(tmp_path):
    def test(url, server):
        crawling = andante.crawl(url, rate="600/min", job=tmp_path / "job")
        next(crawling)
        with pytest.raises(andante.JobError, match="is in use by another process"):
            list(andante.crawl(url, rate="max", job=tmp_path / "job"))
        crawling.close()

    with_web(test)
