"""Stores of a cluster for tests: the one in memory, and those on a real Redis, behind one handle."""

import asyncio
import hashlib
from itertools import count

from andante.cluster.exchange import Links, Report
from andante.cluster.memory import Memory, MemoryStore
from andante.cluster.redis import RedisStore

_crawls = count(1)


def fingerprints(*names):
    """Return fingerprints, packed."""
    return b"".join(hashlib.blake2b(str(name).encode(), digest_size=8).digest() for name in names)


def links(server, *names, takes=True):
    """Return links that a node has found; their entry is their names."""
    return Links(server, fingerprints(*names), " ".join(map(str, names)).encode(), takes)


class Member:
    """A node that has joined, and numbers its reports."""

    def __init__(self, store):
        self.store = store
        self.number = 0
        self.joined = self.epoch = None

    async def join(self, name="a", token="", config=b"config", again=False):
        self.joined = await self.store.join(name, token=token or name, config=config, again=again)
        self.epoch, self.number = self.joined.epoch, 0
        return self

    async def report(self, *parts, beat=b""):
        """Send a report; return the answer."""
        self.number += 1
        self.last = Report(self.number, parts, beat)
        return await self.store.exchange(self.last)

    async def say(self, *parts):
        """Return what the parts of a report are answered; the answer of the only one."""
        answers = (await self.report(*parts)).parts
        return answers[0] if len(answers) == 1 else answers

    async def again(self):
        """Send the last report again."""
        return await self.store.exchange(self.last)


class Backend:
    """A crawl's store of some kind.

    Args:
        make: returns a store, as one node sees it.
        lose: makes all data go.
    """

    def __init__(self, make, lose, *, is_ordered=True):
        self._make = make
        self._members = []
        self.lose = lose
        self.is_ordered = is_ordered
        """The pool has one order."""

    def run(self, main):
        """Run an async function of this, and close all stores."""

        async def run():
            try:
                return await main(self)
            finally:
                for member in self._members:
                    await member.store.close()
                self._members.clear()

        return asyncio.run(run())

    def member(self):
        """Return a node that has not joined."""
        self._members.append(Member(self._make()))
        return self._members[-1]

    async def join(self, *names, **options):
        """Return nodes that have joined."""
        joined = [await self.member().join(name, **options) for name in names]
        return joined[0] if len(joined) == 1 else joined


def in_memory(memory=None):
    """Return a store in memory; its clock stands still unless it is given."""
    memory = memory or Memory(lambda: 0.0)
    return Backend(lambda: MemoryStore(memory), memory.lose)


def on_redis(servers, url, **options):
    """Return a store on a Redis, in a crawl of its own."""
    crawl = f"crawl-{next(_crawls)}"

    def lose():
        for server in servers:
            server.control.flushall()

    return Backend(lambda: RedisStore(url, crawl, **options), lose, is_ordered=len(servers) == 1)
