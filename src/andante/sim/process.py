"""Simulated processes in one virtual loop: each can be stopped, and killed, and knows nothing of it.

Rules:

1. What a process does is all that is called in its context: its tasks, what they call later, and what others give to it (`Process.call_later`).
2. While a process is *stopped* (SIGSTOP) nothing of it runs. What has become due is done when it goes on, all at once and in order.
3. A process that is *killed* does nothing any more that could be seen outside: its tasks are cancelled so that Python can let go of them, and
   whoever stands for its disk and its network lets nothing through meanwhile (`Process.is_alive`).
4. The disk of a process takes time; what is written is there at the beginning or at the end of it, by chance.
"""

from __future__ import annotations

import asyncio
from asyncio import Handle
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import Context, ContextVar, copy_context
from random import Random
from typing import Any, TypeVar

from andante.sim.clock import Timer, VirtualLoop

T = TypeVar("T")

DISK = 0.02
"""Longest time that the disk takes, seconds."""


class Process:
    """One life of a program.

    Args:
        name: for people.
        seed: of its chances.
    """

    def __init__(self, name: str, seed: object) -> None:
        self.name = name
        self.chance = Random(repr(seed))
        self.disk = DISK
        self.on_disk: Callable[[float], None] = lambda _began: None
        """Is told when something was written, and when that was begun."""
        self.is_alive = True
        self._is_gone = False
        self._stops = 0
        self._due: list[Handle] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._context = copy_context()
        self._context.run(_current.set, self)

    def __repr__(self) -> str:
        return f"<Process {self.name}>"

    def start(self, main: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run its main coroutine."""
        return asyncio.get_running_loop().create_task(main, context=self._context)

    def call_later(self, delay: float, callback: Callable[..., object], *arguments: object) -> None:
        """Give it something that arrives after a time."""
        asyncio.get_running_loop().call_later(delay, callback, *arguments, context=self._context)

    def stop(self) -> None:
        """Let nothing of it run, until `resume` was called as often."""
        self._stops += 1

    def resume(self) -> None:
        """Let it go on."""
        self._stops -= 1
        if not self._stops:
            due, self._due = self._due, []
            for handle in due:
                asyncio.get_running_loop().call_soon(_run, handle, context=_outside)

    async def kill(self) -> None:
        """End it, whatever it does."""
        self.is_alive = False
        self._stops = 0
        self._due.clear()
        while tasks := [task for task in self._tasks if not task.done()]:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        self._is_gone = True

    def began(self, task: asyncio.Task[Any]) -> None:
        """Note one of its tasks."""
        if len(self._tasks) > 1_000:
            self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks.append(task)

    def holds_back(self, handle: Handle) -> bool:
        """Tell whether something is not to run now; it is kept where it will later."""
        if self._stops and self.is_alive:
            self._due.append(handle)
            return True
        return self._is_gone


_current: ContextVar[Process | None] = ContextVar("process", default=None)
_outside = copy_context()


def current() -> Process | None:
    """Return the process that runs; None: what runs is the world."""
    return _current.get()


def _run(handle: Handle) -> None:
    if not handle.cancelled():
        handle._run()  # noqa: SLF001  # as the loop does


class _Handle(Handle):
    """A callback of a process."""

    __slots__ = ()
    _context: Context  # the base class's

    def _run(self) -> None:
        process = self._context.get(_current)
        if process is None or not process.holds_back(self):
            super()._run()


class _Timer(Timer):
    """The same, with a time."""

    __slots__ = ()
    _context: Context

    def _run(self) -> None:
        process = self._context.get(_current)
        if process is None or not process.holds_back(self):
            super()._run()


class ProcessLoop(VirtualLoop):
    """A virtual loop in which there are processes."""

    def __init__(self) -> None:
        super().__init__()
        self._timer = _Timer

    def create_task(  # type: ignore[override]  # typeshed has more kinds of coroutines
        self, coro: Coroutine[Any, Any, T], **options: Any
    ) -> asyncio.Task[T]:
        """Make a task of the process that asks."""
        task = super().create_task(coro, **options)
        context = options.get("context")
        process = _current.get() if context is None else context.get(_current)
        if process is not None:
            process.began(task)
        return task

    def _call_soon(
        self, callback: Callable[..., object], args: Any, context: Context | None
    ) -> Handle:
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]  # the base class's queue
        return handle

    def run_in_executor(  # type: ignore[override]  # as the base class's
        self, executor: Executor | None, func: Callable[..., T], *arguments: Any
    ) -> asyncio.Future[T]:
        """Call ``func`` now or in a while; its result is there in a while."""
        process = _current.get()
        if process is None:
            return super().run_in_executor(executor, func, *arguments)
        future: asyncio.Future[T] = self.create_future()
        if not process.is_alive:
            return future  # until it is cancelled
        began = self.time()
        delay, is_done = process.disk * process.chance.random(), process.chance.random() < 0.5
        done = super().run_in_executor(executor, func, *arguments) if is_done else None
        if done is not None:
            process.on_disk(began)

        def end() -> None:
            result = done or super(ProcessLoop, self).run_in_executor(executor, func, *arguments)
            if done is None:
                process.on_disk(began)
            if not future.done():
                if (error := result.exception()) is not None:
                    future.set_exception(error)
                else:
                    future.set_result(result.result())

        self.call_later(delay, end)
        return future
