"""How a run is put together from what is asked for and what the job holds."""

import asyncio

from andante.crawl import Settings
from andante.crawl.start import engine
from andante.store.job import Job


class Seed(str):
    """A URL that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other):
        Seed.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


class KeptJob(Job):
    """A job that has seeds already."""

    seeds = ()


def test_the_seeds_of_the_job_are_found_among_those_given_in_one_pass():
    count = 2_000
    job = KeptJob(None, [], warc_size=0, about={})
    job.seeds = [f"http://a.test/{number}" for number in range(count)]
    given = [Seed(f"http://a.test/{number}") for number in reversed(range(count))]

    async def main():
        return engine(Settings(), given, job=job, client=None)

    running = asyncio.run(main())
    job.close()
    assert running.state.seeds == job.seeds
    assert Seed.compared < 20 * count
