import asyncio

from andante.crawl.loop_monitor import LoopMonitor
from andante.sim.clock import run


def watched(main):
    """Run something under a monitor; a loop stands still when ``still`` is called. Return the events."""
    events = []

    async def act():
        loop = asyncio.get_running_loop()

        def still(seconds):
            loop._selector.now += seconds

        monitor = LoopMonitor(loop.time)
        assert monitor.stalled == 0
        with monitor.watch(events.append):
            await main(monitor, still)
        await asyncio.sleep(60)
        assert monitor.stalled == 0

    run(act())
    return events


def test_a_loop_that_turns_is_well():
    async def main(monitor, still):
        for _ in range(100):
            still(0.9)
            await asyncio.sleep(0.1)
            assert monitor.stalled == 0

    assert watched(main) == []


def test_a_loop_that_has_stood_still_is_told_with_what_it_had_read():
    async def main(monitor, still):
        await asyncio.sleep(10)
        monitor.reads("http://a.example/0", 2_000)
        monitor.reads("http://a.example/1", 3_000)
        still(5)
        assert monitor.stalled == 4.75
        assert monitor.suspect == ("http://a.example/1", 3_000)
        monitor.reads("http://a.example/2", 4_000)  # in the same turn of the loop
        monitor.reads("http://a.example/3", 4_000)
        await asyncio.sleep(10)
        still(2)
        await asyncio.sleep(10)

    first, second = watched(main)
    assert (first.event, first.url, first.bytes, first.seconds) == (
        "loop.stalled",
        "http://a.example/1",
        3_000,
        4.8,
    )
    assert (second.url, second.seconds) == ("http://a.example/3", 1.8)
