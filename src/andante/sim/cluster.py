"""A crawl of a simulated web by several nodes: engines and peers as they are, in processes of one virtual loop, over a store that is simulated, too.

What goes wrong is told by `andante.sim.faults`; what is seen of it by `andante.sim.watch`, and what must hold by `andante.sim.checks`.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from andante.cluster.exchange import ClusterError
from andante.cluster.memory import Memory
from andante.cluster.sessions import MemoryMembers, Sessions
from andante.crawl.cluster import Cluster
from andante.crawl.engine import Engine
from andante.crawl.settings import Settings
from andante.crawl.start import engine, limits, open_job
from andante.observe import Event
from andante.sim.clock import Deadlock, Inline, run
from andante.sim.link import Link, LinkedMembers, LinkedStore, Trouble
from andante.sim.process import Process, ProcessLoop
from andante.sim.simulation import EPOCH
from andante.sim.watch import Life, Watch, WatchedNetwork, WatchedStore
from andante.sim.web import Web

if TYPE_CHECKING:
    from andante.sim.faults import Fault

T = TypeVar("T")

DELAY = 0.02
"""Seconds of a round trip to the store, and to the members."""

TTL = 10.0
"""Seconds after which the service of the members ends a session."""

_AGAIN = 3.0
"""Seconds after which a node that could not join is started anew."""


class Node:
    """A node, life after life.

    Args:
        name: of it.
        simulation: that it is in.
    """

    def __init__(self, name: str, simulation: ClusterSimulation) -> None:
        self.name = name
        self.store = Trouble()
        self.members = Trouble()
        self.wall = 0.0
        """Seconds by which its time of day is wrong."""
        self.is_up = False
        self.is_done = False
        """It has nothing to do any more, or will never be started again."""
        self.life: Life | None = None
        self.engine: Engine | None = None
        self.session: MemoryMembers | None = None
        self._simulation = simulation
        self._lives = 0
        self._settings = simulation.settings_of(name)
        self._living: asyncio.Task[None] | None = None

    @property
    def output(self) -> Path:
        """Its pages."""
        return self._settings.output[0]

    def start(self) -> None:
        """Start it, unless it runs."""
        if self.is_up or self.is_done:
            return
        watch, now = self._simulation.watch, asyncio.get_running_loop().time()
        self.is_up = True
        self._lives += 1
        process = Process(
            f"{self.name}.{self._lives}", (self._simulation.seed, self.name, self._lives)
        )
        life = self.life = Life(self.name, self._lives, process, now)
        process.on_disk = lambda began: watch.read(life, self.output, began)
        watch.lives.append(life)
        watch.tell(f"{life.name} starts")
        self._living = asyncio.get_running_loop().create_task(self._live(life))

    async def kill(self) -> None:
        """End it with all that it has not written (SIGKILL)."""
        life = self.life
        if not self.is_up or life is None:
            return
        watch = self._simulation.watch
        watch.tell(f"{life.name} is killed")
        life.was_killed = True
        watch.died(life)
        await life.process.kill()
        if self._living is not None:
            await self._living

    def leave(self) -> None:
        """Ask it to stop, as a user does."""
        if self.is_up and self.engine is not None:
            self.engine.stop("asked")

    async def gone(self) -> None:
        """Wait until it does not run."""
        if self._living is not None:
            await asyncio.wait([self._living])

    async def _live(self, life: Life) -> None:
        watch = self._simulation.watch
        main = life.process.start(self._main(life))
        await asyncio.wait([main])
        life.ended = asyncio.get_running_loop().time()
        self.is_up, self.engine = False, None
        if main.cancelled():
            watch.tell(f"{life.name} is gone")
        elif (error := main.exception()) is None:
            watch.tell(f"{life.name} ends")
        elif isinstance(error, ClusterError):
            watch.tell(f"{life.name} is refused: {error}")
            asyncio.get_running_loop().call_later(_AGAIN, self.start)
        else:
            watch.problem(f"{life.name} fails: {''.join(traceback.format_exception(error))}")
            self.is_done = True
        self._simulation.changed.set()

    async def _main(self, life: Life) -> None:
        """Run one life of the node, within its process."""
        simulation, settings = self._simulation, self._settings
        now, seed = asyncio.get_running_loop().time, (simulation.seed, life.name)
        job = open_job(settings, settings.job, _Disk(life.process))
        simulation.watch.restarted(self.name, self.output)
        try:
            self.engine = engine(
                settings,
                simulation.web.seeds,
                job=job,
                client=WatchedNetwork(simulation.watch, life, limits(settings)),
                cluster=self._cluster(life, seed),
                emit=lambda event: self._note(life, event),
                clock=now,
                wall=lambda: EPOCH + now() + self.wall,
                chance=life.process.chance.random,
            )
            await self.engine.run()
            if self.engine.state.stopping != "asked":
                self.is_done = True
        finally:
            job.close()

    def _cluster(self, life: Life, seed: object) -> Cluster:
        simulation, watch = self._simulation, self._simulation.watch
        members = None
        if simulation.sessions is not None:
            way = Link(
                life.process,
                (self.members, simulation.members_trouble),
                delay=DELAY,
                seed=("members", seed),
            )
            self.session = MemoryMembers(simulation.sessions)
            members = LinkedMembers(self.session, way)
        way = Link(
            life.process,
            (self.store, simulation.store_trouble),
            delay=DELAY,
            seed=("store", seed),
            heed=watch.look,
        )
        store = LinkedStore(
            lambda: WatchedStore(watch, life), way, lambda report: watch.sent(life, report)
        )
        return Cluster(store=store, members=members, node=self.name, busy=lambda: 0.0)

    def _note(self, life: Life, event: Event) -> None:
        if event.event.startswith(("cluster.", "crawl.")):
            self._simulation.watch.tell(f"{life.name} says {event.event} {event.detail}".rstrip())


class _Disk(Inline):
    """The disk of a process: what is written after its end is not."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def submit(self, fn: Callable[..., T], /, *arguments: Any, **keywords: Any) -> Future[T]:
        """Call, if there is who could."""
        return super().submit(fn, *arguments, **keywords) if self._process.is_alive else Future()


class ClusterSimulation:
    """A crawl of a simulated web by several nodes, to run once.

    Args:
        web: what is crawled.
        settings: of each node.
        nodes: how many.
        directory: for their jobs.
        seed: of the chances that the crawl takes.
        members: a service says who is alive, besides the store.
        addresses: IP addresses that the servers share; None: each has its own.
        faults: what goes wrong.
        bound: seconds of virtual time within which it must end.
    """

    def __init__(
        self,
        web: Web,
        settings: Settings,
        nodes: int,
        *,
        directory: Path,
        seed: int = 1,
        members: bool = False,
        addresses: int | None = None,
        faults: Sequence[Fault] = (),
        bound: float = inf,
    ) -> None:
        self.web = web
        self.seed = seed
        self.directory = directory
        self.faults = faults
        self.store_trouble = Trouble()
        self.members_trouble = Trouble()
        self.sessions: Sessions | None = None
        self.nodes: list[Node] = []
        self.watch: Watch
        self.changed: asyncio.Event
        self._settings = settings
        self._names = [chr(ord("a") + number) for number in range(nodes)]
        self._has_members = members
        self._addresses = addresses
        self._bound = bound

    def settings_of(self, name: str) -> Settings:
        """Return the settings of a node."""
        job = self.directory / name
        return replace(self._settings, job=job, output=(job / "pages.jsonl",))

    def run(self) -> Watch:
        """Run it; return what was seen."""
        try:
            run(self._run(), ProcessLoop)
        except Deadlock as error:
            self.watch.problem(str(error))
        return self.watch

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        servers = self.web.serving()
        for number, server in enumerate(servers.values()):
            server.address = servers[
                f"s{number % (self._addresses or len(servers))}.test", 80
            ].address
        self.watch = Watch(loop.time, Memory(loop.time), servers)
        self.changed = asyncio.Event()
        if self._has_members:
            self.sessions = Sessions(loop.time, TTL)
        self.nodes = [Node(name, self) for name in self._names]
        faults = [loop.create_task(fault.happen(self)) for fault in self.faults]
        late = {fault.node for fault in self.faults if fault.kind == "late"}
        for number, node in enumerate(self.nodes):
            if number not in late:
                loop.call_later(number * 0.1, node.start)
        try:
            async with asyncio.timeout(self._bound):
                while not all(node.is_done for node in self.nodes):
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            self.watch.problem(f"it has not ended in {self._bound:.0f} s")
        for fault, task in zip(self.faults, faults, strict=True):
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and (error := task.exception()) is not None:
                raise RuntimeError(f"fault {fault}") from error
        for node in self.nodes:
            await node.kill()
