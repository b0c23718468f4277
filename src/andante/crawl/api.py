"""The Python interface: `Crawl` for asyncio, `crawl` for everyone else."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import tempfile
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import uvloop

from andante import url as urls
from andante.crawl.aside import Aside
from andante.crawl.changes import decisive, told, told_of_excluded, told_of_seeds
from andante.crawl.engine import Engine
from andante.crawl.loop_monitor import LoopMonitor
from andante.crawl.reader import Rules
from andante.crawl.settings import Settings, SettingsError, from_strings
from andante.crawl.start import Choice, choose, engine, limits, open_job
from andante.crawl.state import State
from andante.fetch import BodyMemory, Client
from andante.observe import Event, Stats
from andante.observe.progress import Progress
from andante.page import Page
from andante.store import Job

_PAGES_AHEAD = 100
"""Pages that wait for the consumer before the crawl slows down to it."""


class Crawl:
    """A crawl, to run once: as a whole, or to iterate over its pages, in asyncio or without.

    ::

        async with andante.Crawl(["https://example.org/"], rate="40/min", max_pages=50) as crawl:
            async for page in crawl:
                print(page.status, page.final_url, page.title)

        crawl = andante.Crawl(["https://example.org/"], rate="40/min", max_pages=50)
        for page in crawl:
            print(page.status, page.final_url, page.title)
        print(crawl.stats.pages, crawl.stats.failed)

    Args:
        seeds: URLs to start from. None are needed for a job that goes on.
        settings: as an object, or
        options: by name, with units as on the command line. Without ``job`` the crawl keeps its state in a temporary
            directory; without ``output`` it writes no pages.
        on_event: called with each event.

    Raises:
        SettingsError: a seed or setting is wrong.
        JobError: the job cannot be opened.
        ClusterError: the crawl cannot be joined.
    """

    def __init__(
        self,
        seeds: Sequence[str] = (),
        *,
        settings: Settings | None = None,
        on_event: Callable[[Event], None] | None = None,
        **options: Any,
    ) -> None:
        if isinstance(seeds, str):
            seeds = [seeds]
        self.settings = replace(settings or Settings(), **from_strings(options))
        self._seeds = [_seed(seed, self.settings) for seed in seeds]
        self._on_event = on_event
        self._state: State | None = None
        self._engine: Engine | None = None
        self.loop_monitor = LoopMonitor()
        """Sees whether the event loop of the crawl stands still."""
        self._interrupted = False
        self._pages: asyncio.Queue[Page | None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._outputs: list[Path] = []

    # What is known of it

    @property
    def stats(self) -> Stats:
        """Counts, while it runs and after."""
        return self._state.stats if self._state else Stats()

    @property
    def seeds(self) -> list[str]:
        """Where it starts, in canonical form: those of this start, and once it runs those of the starts before, and where they have moved."""
        return list(self._state.seeds if self._state else self._seeds)

    @property
    def known(self) -> int:
        """URLs met."""
        return self._state.frontier.known if self._state else 0

    @property
    def queued(self) -> int:
        """URLs that wait."""
        return self._state.frontier.queued if self._state else 0

    @property
    def servers(self) -> int:
        """Servers met."""
        return len(self._state.frontier.servers) if self._state else 0

    @property
    def outputs(self) -> list[Path]:
        """Files written."""
        return self._outputs

    @property
    def interrupted(self) -> bool:
        """It was asked to stop before it was done."""
        return self._interrupted

    def interrupt(self) -> None:
        """Stop cleanly; the job can go on later."""
        self._interrupted = True
        if self._engine is not None:
            self._engine.stop("interrupted")

    # Running it

    async def run(self, progress: Progress | None = None) -> None:
        """Crawl to the end.

        Raises:
            OSError: the disk is full or failing; what was committed stands.
        """
        async with contextlib.AsyncExitStack() as stack:
            directory = self.settings.job or _temporary(stack)
            client = _client(self.settings, directory)
            choice = choose(
                self.settings, wall=time.time(), problem=self._warn, clock=time.perf_counter
            )
            job = open_job(self.settings, directory)
            stack.callback(job.close)
            seeds = list(dict.fromkeys([*job.seeds, *self._seeds]))
            shared: dict[str, Any] = {}
            if self.settings.cluster:
                from andante.crawl.join import clock, join  # noqa: PLC0415  # a crawl alone needs nothing of the cluster

                hosts = [*job.seed_hosts, *map(urls.host, self._seeds)]
                shared = {"cluster": await join(self.settings, seeds, hosts, stack), "clock": clock}
            try:
                await self._run(job, client, choice, progress, shared)
            finally:
                await client.close()
                self._outputs = job.paths

    async def _run(
        self,
        job: Job,
        client: Client,
        choice: Choice,
        progress: Progress | None,
        shared: dict[str, Any],
    ) -> None:
        settings = self.settings
        for line in (
            told(job.settings, decisive(settings)),
            told_of_seeds(job.seeds, self._seeds),
            told_of_excluded(self._seeds, settings.exclude),
        ):
            if line:
                self._warn(line)
        for seed in self._seeds:  # not those that a server has moved to
            job.seed_hosts.setdefault(urls.host(seed), None)
        client.trust(job.seed_hosts)
        deliver = self._pages.put if self._pages is not None else None
        aside = Aside(Rules.of(settings), body=deliver is not None)
        self._engine = running = engine(
            settings,
            self._seeds,
            job=job,
            client=client,
            policy=choice.policy,
            quality=choice.quality,
            deliver=deliver,
            emit=self._on_event,
            warn=self._warn,
            monitor=self.loop_monitor,
            aside=aside,
            **shared,
        )
        self._state = running.state
        if self._interrupted:
            running.stop("interrupted")
        showing = asyncio.create_task(_show(running, progress)) if progress else None
        try:
            with self.loop_monitor.watch(self._on_event):
                await running.run()
        finally:
            aside.close()
            if showing is not None:
                showing.cancel()

    def _warn(self, text: str) -> None:
        """Tell the user what no setting can mend; the crawl goes on."""
        warnings.warn(text, stacklevel=1)
        if self._on_event is not None:
            self._on_event(Event(event="crawl.warned", detail=text))

    # Iterating over it

    def __iter__(self) -> Iterator[Page]:
        """Crawl in a thread of its own."""
        return _drain(self)

    async def __aenter__(self) -> Self:
        self._pages = asyncio.Queue(_PAGES_AHEAD)
        self._running = asyncio.create_task(self._produce(self._pages))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._running is not None
        if not self._running.done():
            self._running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._running

    async def __aiter__(self) -> AsyncIterator[Page]:
        if self._pages is None or self._running is None:
            raise RuntimeError("iterate inside 'async with'")
        while page := await self._pages.get():
            yield page
        await self._running

    async def _produce(self, pages: asyncio.Queue[Page | None]) -> None:
        try:
            await self.run()
        except Exception:
            # Whoever listens gets the pages first and then the error. When this is cancelled nobody listens.
            await pages.put(None)
            raise
        await pages.put(None)


def crawl(*seeds: str, **options: Any) -> Iterator[Page]:
    """Crawl and yield pages as they come; the crawl runs in a thread of its own.

    ::

        for page in andante.crawl("https://example.org/", max_pages=50):
            print(page.status, page.final_url, page.title)

    The arguments and errors are those of `Crawl`. What cannot be fetched is no error: to see what failed, and why, iterate over a
    `Crawl` and look at its ``stats``, or listen with ``on_event``.
    """
    return iter(Crawl(seeds, **options))


def _drain(running: Crawl) -> Iterator[Page]:
    pages: queue.Queue[Page | BaseException | None] = queue.Queue(_PAGES_AHEAD)
    stopped = threading.Event()

    async def produce() -> None:
        loop = asyncio.get_running_loop()
        async with running:
            async for page in running:
                await loop.run_in_executor(None, pages.put, page)
                if stopped.is_set():
                    break

    def work() -> None:
        try:
            uvloop.run(produce())
            pages.put(None)
        except BaseException as error:  # it is raised again where the pages are wanted
            pages.put(error)

    thread = threading.Thread(target=work, name="andante", daemon=True)
    thread.start()
    try:
        while (item := pages.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        while thread.is_alive():
            with contextlib.suppress(queue.Empty):
                pages.get(timeout=0.05)
        thread.join()


def _temporary(stack: contextlib.AsyncExitStack) -> Path:
    """Return a directory for a job that nobody wants to keep."""
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="andante-"))) / "job"


def _client(settings: Settings, directory: Path) -> Client:
    try:
        return Client(
            limits(settings),
            allow_private=settings.allow_private,
            public_only=settings.public_only,
            resolve=settings.resolve,
            ca_file=settings.ca_file,
            memory=BodyMemory(settings.body_memory, directory),
        )
    except (ValueError, OSError) as error:
        raise SettingsError(f"cannot connect with these settings: {error}") from None


async def _show(engine: Engine, progress: Progress) -> None:
    while True:
        await asyncio.sleep(progress.interval)
        progress.update(engine.snapshot())


def _seed(raw: object, settings: Settings) -> str:
    if not isinstance(raw, str):
        raise SettingsError(f"{raw!r} is not a URL: give URLs as texts, one by one")
    seed = urls.canonical(raw, length_max=settings.max_url_length)
    if seed is None:
        hint = f"; did you mean https://{raw}?" if "://" not in raw else ""
        raise SettingsError(
            f"{raw!r} is not a URL that can be crawled (http or https, without credentials){hint}"
        )
    return seed
