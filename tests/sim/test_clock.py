import asyncio
import threading

import pytest

from andante.sim.clock import Deadlock, Inline, VirtualLoop, run


def test_time_begins_at_0_and_moves_only_by_waiting():
    async def main():
        now = asyncio.get_running_loop().time
        times = [now()]
        for _ in range(1000):
            await asyncio.sleep(0)
        times.append(now())
        await asyncio.sleep(86_400)
        times.append(now())
        await asyncio.sleep(0.25)
        return [*times, now()]

    assert run(main()) == [0.0, 0.0, 86_400.0, 86_400.25]


def test_timers_run_in_the_order_of_their_times_and_then_of_their_making():
    async def main():
        loop, order = asyncio.get_running_loop(), []
        for name, at in (("c", 2.0), ("a", 1.0), ("d", 2.0), ("b", 1.0)):
            loop.call_at(at, lambda name=name: order.append((name, loop.time())))
        loop.call_at(1.5, order.append, "cancelled").cancel()
        loop.call_soon(order.append, "soon")
        await asyncio.sleep(3)
        return order

    assert run(main()) == ["soon", ("a", 1.0), ("b", 1.0), ("c", 2.0), ("d", 2.0)]


def test_many_timers_of_one_time_keep_their_order_when_some_are_cancelled():
    async def main():
        loop, order = asyncio.get_running_loop(), []
        timers = [loop.call_at(1.0, order.append, number) for number in range(1_000)]
        for timer in timers[::2] + timers[1::4]:
            timer.cancel()
        await asyncio.sleep(1.0)
        return order

    assert run(main()) == [number for number in range(1_000) if number % 4 == 3]


def test_a_timer_is_not_early():
    """Whatever the rounding: the wait has passed when it runs."""

    async def main():
        loop = asyncio.get_running_loop()
        await asyncio.sleep(1234.567)
        for wait in (0.1, 1 / 3, 1e-3, 2.0**-30, 7e5):
            before = loop.time()
            await asyncio.sleep(wait)
            assert loop.time() - before == pytest.approx(wait, abs=1e-9)

    run(main())


def test_tasks_wait_for_each_other_without_a_clock():
    async def main():
        loop, queue = asyncio.get_running_loop(), asyncio.Queue(2)

        async def produce():
            for number in range(5):
                await asyncio.sleep(1)
                await queue.put(number)

        async with asyncio.TaskGroup() as group:
            group.create_task(produce())
            return [(await queue.get(), loop.time()) for _ in range(5)]

    assert run(main()) == [(number, number + 1.0) for number in range(5)]


def test_time_outs_are_virtual():
    async def main():
        loop = asyncio.get_running_loop()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()
        first = loop.time()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 30)
        return first, loop.time()

    assert run(main()) == (3600.0, 3630.0)


def test_a_deadlock_is_an_error_and_leaves_nothing_behind():
    cleaned = []

    async def main():
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    with pytest.raises(Deadlock, match="nothing is ready, and no timer is set"):
        run(main())
    assert cleaned == [True]


def test_work_for_other_threads_is_done_at_once_in_this_one():
    async def main():
        loop = asyncio.get_running_loop()
        thread = await loop.run_in_executor(None, threading.get_ident)
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(Inline(), lambda: 1 / 0)
        return thread, loop.time()

    assert run(main()) == (threading.get_ident(), 0.0)


def test_the_inline_executor_has_done_what_it_was_given():
    executor = Inline()
    assert executor.submit(sum, [1, 2]).result(timeout=0) == 3
    assert isinstance(executor.submit(int, "x").exception(timeout=0), ValueError)
    executor.shutdown()


def test_errors_and_interrupts_come_through():
    async def main():
        await asyncio.sleep(1)
        raise KeyError("x")

    with pytest.raises(KeyError):
        run(main())
    loop = VirtualLoop()
    loop.call_later(5, loop.stop)
    loop.run_forever()
    assert loop.time() == 5.0
    loop.close()
