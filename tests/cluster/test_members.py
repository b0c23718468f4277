"""What every service of members does: the one in memory, on the virtual clock, and ZooKeeper."""

import asyncio
from collections import defaultdict
from contextlib import suppress
from functools import partial
from itertools import count

import pytest
import uvloop
from kazoo.client import KazooClient

from andante.cluster.exchange import UnreachableError
from andante.cluster.sessions import MemoryMembers, Sessions
from andante.cluster.zookeeper import ZooKeeper
from andante.sim import clock
from services.zookeeper import zookeeper


class InMemory:
    """Services in memory."""

    run = staticmethod(clock.run)

    def __init__(self):
        self.crawls = defaultdict(partial(Sessions, lambda: asyncio.get_running_loop().time()))

    async def join(self, crawl="crawl", ttl=10.0):
        sessions = self.crawls[crawl]
        sessions.ttl = ttl
        return MemoryMembers(sessions)

    async def end_session(self, members):
        for sessions in self.crawls.values():
            sessions.end(members.session)


class AtZooKeeper:
    """Clients of a ZooKeeper."""

    run = staticmethod(uvloop.run)

    def __init__(self, address):
        self.address = address

    async def join(self, crawl="crawl", ttl=10.0):
        return await ZooKeeper.connect(self.address, crawl, session=ttl)

    async def end_session(self, members):
        """Let another one take the session over, and end it."""
        twin = KazooClient(members._address.hosts, client_id=members._client.client_id)
        await asyncio.to_thread(twin.start)
        await asyncio.to_thread(twin.stop)
        await asyncio.to_thread(twin.close)


@pytest.fixture(scope="module")
def server():
    with zookeeper() as server:
        yield server


roots = count()


@pytest.fixture(params=["memory", "zookeeper"])
def world(request):
    if request.param == "memory":
        return InMemory()
    return AtZooKeeper(f"{request.getfixturevalue('server').hosts}/test-{next(roots)}")


async def until(condition, within=20.0):
    """Wait until a coroutine function returns something true; what is unreachable is asked again."""
    async with asyncio.timeout(within):
        while True:
            with suppress(UnreachableError):
                if await condition():
                    return
            await asyncio.sleep(0.02)


async def confirmed(members):
    await members.confirm()
    return True


async def nobody(members):
    return await members.present() == frozenset()


def test_who_enters_is_present_for_all_until_it_leaves(world):
    async def main():
        one, two = await world.join(), await world.join()
        assert await one.present() == await two.present() == frozenset()
        await one.enter(1, "one")
        assert await one.present() == await two.present() == {1}
        await two.enter(20, "two")
        await one.confirm()
        await two.confirm()
        assert await one.present() == await two.present() == {1, 20}
        await one.leave()
        await one.leave()
        assert await one.present() == await two.present() == {20}
        await two.close()
        assert await one.present() == frozenset()
        await one.close()

    world.run(main())


def test_who_enters_anew_is_not_present_as_before(world):
    async def main():
        one = await world.join()
        for epoch in (1, 2, 3):
            await one.enter(epoch, "one")
            assert await one.present() == {epoch}
        await one.leave()
        assert await one.present() == frozenset()
        await one.close()

    world.run(main())


def test_it_says_how_long_it_waits(world):
    async def main():
        members = await world.join(ttl=7.0)
        assert members.ttl == 7.0
        await members.close()

    world.run(main())


def test_two_crawls_do_not_mix(world):
    async def main():
        one, two = await world.join("a/b ü"), await world.join("a")
        await one.enter(1, "one")
        await two.enter(2, "two")
        assert (await one.present(), await two.present()) == ({1}, {2})
        await one.close()
        await two.close()

    world.run(main())


def test_who_has_not_entered_or_has_left_confirms_nothing(world):
    async def main():
        members = await world.join()
        await members.confirm()
        assert await members.present() == frozenset()
        await members.enter(1, "one")
        await members.leave()
        await members.confirm()
        assert await members.present() == frozenset()
        await members.close()

    world.run(main())


def test_another_epoch_takes_the_place_of_the_first(world):
    async def main():
        members = await world.join()
        await members.enter(1, "one")
        await members.enter(1, "one")
        assert await members.present() == {1}
        await members.enter(2, "one")
        assert await members.present() == {2}
        await members.close()

    world.run(main())


def test_with_its_session_the_entry_goes_and_the_next_confirmation_brings_it_back(world):
    async def main():
        members, observer = await world.join(), await world.join()
        await members.enter(1, "one")
        await world.end_session(members)
        assert await observer.present() == frozenset()
        await until(lambda: confirmed(members))
        assert await observer.present() == {1}
        await members.close()
        await observer.close()

    world.run(main())


def test_who_has_left_does_not_come_back_with_another_session(world):
    async def main():
        members = await world.join()
        await members.enter(1, "one")
        await world.end_session(members)
        with suppress(UnreachableError):
            await members.leave()
        await until(lambda: confirmed(members))
        await until(lambda: nobody(members))
        await members.close()

    world.run(main())


def test_to_enter_is_tried_again_by_confirming(world):
    async def main():
        members = await world.join()
        for epoch in (1, 2):
            await world.end_session(members)
            with suppress(UnreachableError):
                await members.enter(epoch, "one")
            await until(lambda: confirmed(members))
            assert await members.present() == {epoch}
        await members.close()

    world.run(main())


def test_who_asks_nothing_for_long_is_gone_until_it_confirms(world):
    async def main():
        silent, speaking = await world.join(ttl=2.0), await world.join(ttl=2.0)
        await silent.enter(1, "one")
        await speaking.enter(2, "two")

        async def is_alone():
            await speaking.confirm()
            return await speaking.present() == {2}

        await until(is_alone)
        await until(lambda: confirmed(silent))
        assert await speaking.present() == {1, 2}
        await silent.close()
        await speaking.close()

    world.run(main())


def test_who_leaves_while_it_confirms_has_left(world):
    async def main():
        members = await world.join()
        await members.enter(1, "one")
        await world.end_session(members)
        await until(lambda: nobody(members))
        await asyncio.gather(members.confirm(), members.leave())
        assert await members.present() == frozenset()
        await members.close()

    world.run(main())


def test_closing_twice_does_no_harm(world):
    async def main():
        members = await world.join()
        await members.close()
        await members.close()

    world.run(main())


# What only a virtual clock and a fake network show at once


def test_in_memory_who_says_nothing_for_the_time_is_gone():
    async def main():
        now = asyncio.get_running_loop().time
        sessions = Sessions(now, ttl=10.0)
        silent, speaking = MemoryMembers(sessions), MemoryMembers(sessions)
        await silent.enter(1, "one")
        await speaking.enter(2, "two")
        for _ in range(2):
            await asyncio.sleep(5.0)
            await speaking.confirm()
            assert await speaking.present() == {1, 2}
        await asyncio.sleep(0.1)
        assert await speaking.present() == {2}
        with pytest.raises(UnreachableError):
            await silent.confirm()
        await silent.confirm()
        assert await speaking.present() == {1, 2}
        assert sessions.entries == {1: (3, "one"), 2: (2, "two")}

    clock.run(main())


def test_in_memory_an_absence_of_the_service_ends_no_session():
    async def main():
        sessions = Sessions(asyncio.get_running_loop().time, ttl=10.0)
        members = MemoryMembers(sessions)
        await members.enter(1, "one")
        await asyncio.sleep(60.0)
        sessions.restart()
        await members.confirm()
        assert await members.present() == {1}

    clock.run(main())


def test_in_memory_what_is_lost_on_the_way_there_is_not_done_and_on_the_way_back_is():
    async def main():
        cut = set()

        async def leg(name):
            if name in cut:
                await asyncio.sleep(5.0)
                raise UnreachableError

        sessions = Sessions(asyncio.get_running_loop().time, ttl=100.0)
        members = MemoryMembers(sessions, partial(leg, "there"), partial(leg, "back"))
        cut.add("there")
        with pytest.raises(UnreachableError):
            await members.enter(1, "one")
        assert sessions.present() == frozenset()
        cut.clear()
        await members.confirm()
        assert sessions.present() == {1}
        cut.add("back")
        with pytest.raises(UnreachableError):
            await members.leave()
        assert sessions.present() == frozenset()
        with pytest.raises(UnreachableError):
            await members.present()
        await members.close()
        cut.add("there")
        await members.close()

    clock.run(main())
