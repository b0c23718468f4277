"""The job: what it remembers from one start to the next."""

import asyncio
from contextlib import closing

import pytest

from andante.flow import Pace
from andante.frontier import Frontier
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
