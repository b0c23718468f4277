"""The job: what it remembers from one start to the next."""

import asyncio
from contextlib import closing

import pytest

from andante.flow import Pace, Trouble
from andante.frontier import Frontier
from andante.sim.clock import Inline
from andante.store import Job

SERVER = "http://a.example"


@pytest.fixture
def start(tmp_path):
    """Open the job; each call is another start."""

    def start():
        return closing(Job(tmp_path / "job", [], warc_size=10**9, about={}))

    return start


def restored(job, *, wall):
    """Return the frontier of a job that goes on, at time 0."""
    frontier = Frontier(job.load)
    job.restore(frontier, Pace(), now=0.0, wall=wall)
    return frontier


def test_what_a_server_asks_for_is_written_without_a_commit(start):
    with start() as job:
        job.crawl_delay(SERVER, 7.0)
        job.hold(SERVER, 1_060.0)
    with start() as job:
        server = restored(job, wall=1_000.0).server(SERVER)
        assert (server.origin_pace.delay, server.next_time) == (7.0, 60.0)


@pytest.mark.parametrize(("starts", "next_time"), [(1, 0.0), (2, 30.0)])
def test_a_crawl_that_goes_on_waits_a_full_turn_of_the_total_rate(start, starts, next_time):
    for _ in range(starts):
        total = Pace(set_point=2.0)
        with start() as job:
            job.restore(Frontier(job.load), total, now=0.0, wall=1_000.0)
    assert total.next_time == next_time


def test_the_trouble_that_a_server_is_in_is_remembered(start):
    trouble = Trouble(8, 2, has_answered=True)
    with start() as job:
        told = []
        job.on_change = told.append
        assert job.trouble(SERVER) == (None, 0.0)
        job.suffer(SERVER, None)
        assert not told
        job.suffer(SERVER, trouble)
        job.suffer(SERVER, trouble)
        assert told == [SERVER]
        job.hold(SERVER, 1_060.0)
    with start() as job:
        assert job.trouble(SERVER) == (trouble, 1_060.0)
        job.suffer(SERVER, None)
        asyncio.run(job.commit(Frontier(job.load)))
    with start() as job:
        assert job.trouble(SERVER) == (None, 1_060.0)


def test_of_two_holds_the_longer_one_holds(start):
    with start() as job:
        job.hold(SERVER, 1_060.0)
        job.hold(SERVER, 1_010.0)
    with start() as job:
        assert restored(job, wall=1_000.0).server(SERVER).next_time == 60.0


def test_what_a_server_asks_for_and_could_not_be_written_is_said_by_the_commit(start):
    with start() as job:
        job._journal._writer.execute("PRAGMA query_only = ON")
        job.hold(SERVER, 1_060.0)
        with pytest.raises(OSError, match="cannot write"):
            asyncio.run(job.commit(Frontier(job.load)))


def test_a_job_may_be_kept_in_memory(tmp_path, monkeypatch):
    """Nothing is on disk; what was committed is there while it is open."""
    monkeypatch.chdir(tmp_path)
    with closing(Job(None, [], warc_size=10**9, about={}, executor=Inline())) as job:
        frontier = Frontier(job.load, resident_max=0)
        for host in "ab":
            frontier.offer([f"http://{host}.example/{n}" for n in range(3)], depth=0)
        first, second = frontier.open_visit(0.0), frontier.open_visit(0.0)
        asyncio.run(job.commit(frontier, stats={"requests": 1}))
        taken = [frontier.take(server, 0.0).url for server in (first, second)]
        assert taken == ["http://a.example/0", "http://b.example/0"]
        job.hold("http://a.example", 5.0)
        assert job.is_new
        assert job.rates is None
    assert not list(tmp_path.iterdir())


def test_blocks_of_a_job_in_memory_can_be_read_again():
    with closing(Job(None, [], warc_size=10**9, about={})) as job:
        frontier = Frontier(job.load, resident_max=0)
        frontier.offer([f"{SERVER}/{n}" for n in range(1_500)], depth=0)
        asyncio.run(job.commit(frontier))
        server = frontier.open_visit(0.0)
        assert frontier.resident == 0
        urls = [frontier.take(server, 0.0).url for _ in range(1_500)]
        assert urls[-1] == f"{SERVER}/1499"


def test_what_a_commit_under_way_writes_counts_as_committed(start):
    """Who discards what was not committed keeps what is on its way to the disk."""

    async def main(job):
        commit = asyncio.create_task(job.commit(Frontier(job.load), stats={"bytes": 7}))
        await asyncio.sleep(0)
        assert not commit.done()
        assert job.stats == {"bytes": 7}
        await commit

    with start() as job:
        asyncio.run(main(job))
        assert job.stats == {"bytes": 7}
