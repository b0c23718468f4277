"""Many large bodies at once: the memory that they take is bounded, and none is lost."""

import asyncio
import resource

import pytest
import uvloop
from fastwarc.warc import ArchiveIterator, WarcRecordType

import andante
from support.command import Running, adds_up
from support.slow import slow_hosts


def digests(folder):
    """Return the payload digest of each response, by host."""
    found = {}
    for path in folder.glob("pages*.warc.gz"):  # a new one begins when one has a gigabyte
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                host = record.headers["WARC-Target-URI"].split("/")[2].partition(":")[0]
                assert host not in found, f"{host} twice"
                assert record.verify_payload_digest(), host
                found[host] = record.headers["WARC-Payload-Digest"]
    return found


def crawl(cwd, number, size, seconds, *flags):
    """Crawl slow hosts; return the most memory it took."""

    async def main():
        async with slow_hosts(number, size=size, seconds=seconds) as hosts:
            arguments = ("--job", "job", "--output", "pages.warc.gz", "--rate", "max", *flags)
            seeds = [host.url for host in hosts]
            running = Running("crawl", *seeds, *arguments, cwd=cwd)
            done = await asyncio.to_thread(running.wait, 500)
            assert done.status == 0, done.err
            assert adds_up(done.out), done.out
            assert digests(cwd) == {f"127.0.1.{host.number}": host.digest for host in hosts}
            assert [host.sent for host in hosts] == [1] * number
            return done.peak

    return uvloop.run(main())


def test_bodies_beyond_the_memory_for_them_are_whole(tmp_path):
    crawl(tmp_path, 12, 10**6, 0.5, "--body-memory", "1MB", "--max-buffer", "1MB")
    assert not [path for path in (tmp_path / "job").iterdir() if path.suffix == ".tmp"]


def test_records_of_large_bodies_wait_for_room_and_ask_for_a_commit(tmp_path):
    """They came one after another in the time between two commits, and all waited in memory."""
    pending = []

    async def main():
        async with slow_hosts(12, size=10**6, seconds=0.2) as hosts:
            crawl = andante.Crawl(
                [host.url for host in hosts],
                on_event=lambda _: pending.append(crawl._state.job.pending),
                output=tmp_path / "pages.warc",
                rate="max",
                max_buffer="2MB",
                commit_interval="1h",
            )
            await crawl.run()
            assert crawl.stats.pages == 12

    uvloop.run(main())
    assert 2 * 10**6 < max(pending) < 3.1 * 10**6


def test_whoever_is_delivered_a_page_has_bytes():
    async def main():
        async with slow_hosts(1, size=10**6, seconds=0.1) as [host]:
            async with andante.Crawl([host.url], rate="max", body_memory=0) as crawl:
                [page] = [page async for page in crawl]
            assert type(page.payload) is type(page.body) is bytes
            assert len(page.payload) == len(page.body) == 10**6

    uvloop.run(main())


@pytest.mark.slow
def test_250_bodies_of_10_mb_at_once_take_less_than_500_mb(tmp_path):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    assert crawl(tmp_path, 250, 10**7, 20.0) < 500 * 10**6
