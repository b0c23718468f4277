"""What is seen of a cluster from outside: requests where they arrive, the store's data, and the outputs. Nothing here looks into a node."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import msgspec

from andante.cluster.exchange import POOL, Answer, Joined, Report
from andante.cluster.memory import Memory, MemoryStore
from andante.fetch import Connection, Limits
from andante.sim.network import Network
from andante.sim.process import Process, current
from andante.sim.server import Reply, Server
from andante.sim.transport import SimulatedTransport


@dataclass(eq=False)
class Life:
    """One life of a node, from its start to its end."""

    node: str
    number: int
    """From 1: how often the node was started."""
    process: Process
    began: float
    ended: float = inf
    was_killed: bool = False
    epochs: dict[int, list[float]] = field(default_factory=dict)
    """That it was given, with the times of it: when it was given, and when each report was written that the store has taken."""
    sent: tuple[Report | None, float] = None, 0.0
    """Its last report, and when it was first sent."""

    @property
    def name(self) -> str:
        """Name of the node, and which of its lives it is."""
        return f"{self.node}.{self.number}"


@dataclass(eq=False)
class Request:
    """A request at a server. Times are seconds of the one virtual clock."""

    life: Life
    server: str
    """Its host."""
    target: str
    arrives: float
    ends: float
    """When the server is done with the response, or the connection is closed."""
    is_page: bool
    """A page was sent, and the connection stayed until its end."""

    @property
    def url(self) -> str:
        """The URL asked for."""
        return f"http://{self.server}{self.target}"


@dataclass(eq=False)
class Written:
    """A page in a node's output."""

    life: Life
    time: float
    url: str
    was_owner: bool
    """Its server was the node's when the writing was begun, by the store."""


@dataclass(eq=False)
class Owned:
    """A server has another owner."""

    time: float
    server: str
    owner: int


class Watch:
    """All that is seen.

    Args:
        clock: the virtual time.
        memory: the store's data.
        servers: of the web.
    """

    def __init__(
        self, clock: Callable[[], float], memory: Memory, servers: dict[tuple[str, int], Server]
    ) -> None:
        self._clock = clock
        self.memory = memory
        self.servers = servers
        self.lives: list[Life] = []
        self.requests: list[Request] = []
        self.written: list[Written] = []
        self.owned: list[Owned] = []
        self.buried: dict[int, float] = {}
        """When each epoch ended."""
        self.pooled: dict[str, float] = {}
        """Since when each server in the pool is there."""
        self.lay: dict[str, float] = {}
        """The longest time for which each server was in the pool."""
        self.losses: list[float] = []
        """When the store has lost its data."""
        self.settled: list[float] = []
        """When it had been told all again."""
        self.problems: list[str] = []
        """What was wrong the moment it was seen."""
        self.trace: list[str] = []
        """What happened, in order."""
        self._history: dict[str, list[Owned]] = {}
        self._open: dict[tuple[Life, str], Request] = {}
        self._read: dict[str, int] = {}
        for (host, _), server in servers.items():
            server.on_reply = _Ear(self, host).hear

    def tell(self, text: str) -> None:
        """Add to the trace."""
        self.trace.append(f"{self._clock():.6f} {text}")

    def problem(self, text: str) -> None:
        """Something is wrong."""
        self.problems.append(f"at {self._clock():.3f} s: {text}")
        self.tell(f"PROBLEM {text}")

    # Servers

    def address(self, request: Request) -> str:
        """Return the IP address at which a request was."""
        return self.servers[request.server, 80].address

    def way(self, request: Request) -> float:
        """Return the seconds that a request was on its way."""
        return self.servers[request.server, 80].traits.rtt / 2

    def asked(self, host: str, target: str, at: float, reply: Reply) -> None:
        """A server has been asked."""
        process = current()
        life = next(each for each in reversed(self.lives) if each.process is process)
        is_page = reply.head[9:12] == b"200" and target != "/robots.txt"
        request = Request(life, host, target, at, reply.ends, is_page)
        self.requests.append(request)
        self._open[life, host] = request
        self.tell(f"{life.name} asks {request.url}, done at {reply.ends:.6f}")

    def closed(self, life: Life, host: str) -> None:
        """A node has closed its connection to a server."""
        self._cut(self._open.get((life, host)))

    def died(self, life: Life) -> None:
        """All connections of a node are closed."""
        for (of, _), request in self._open.items():
            if of is life:
                self._cut(request)

    def _cut(self, request: Request | None) -> None:
        now = self._clock()
        if request is not None and request.ends > now:
            request.ends, request.is_page = max(request.arrives, now), False

    # The store

    def look(self) -> None:
        """See what the store has now."""
        now, memory = self._clock(), self.memory
        if len(self.settled) < len(self.losses) and memory.config is not None and memory.settled:
            self.settled += [now] * (len(self.losses) - len(self.settled))
            self.tell("the store is settled")
        for server, log in memory.logs.items():
            history = self._history.setdefault(server, [])
            if (history[-1].owner if history else POOL) != log.owner:
                history.append(Owned(now, server, log.owner))
                self.owned.append(history[-1])
                self.tell(f"{server} is {log.owner or 'nobody'}'s")
        if len(memory.buried) != len(self.buried):
            for epoch in sorted(memory.buried - self.buried.keys()):
                self.buried[epoch] = now
                self.tell(f"epoch {epoch} is over")
        for server in [each for each in self.pooled if each not in memory.pool]:
            self.lay[server] = max(self.lay.get(server, 0.0), now - self.pooled.pop(server))
        for server in memory.pool:
            self.pooled.setdefault(server, now)

    def owner(self, server: str, time: float) -> int:
        """Return whose a server was at a time."""
        history = self._history.get(server, [])
        number = bisect_right(history, time, key=lambda owned: owned.time)
        return history[number - 1].owner if number else POOL

    def joined(self, life: Life, epoch: int) -> None:
        """The store has given a node an epoch."""
        life.epochs[epoch] = [self._clock()]
        self.tell(f"{life.name} joins as epoch {epoch}")

    def sent(self, life: Life, report: Report) -> None:
        """A node sends a report, perhaps again."""
        if life.sent[0] is not report:
            life.sent = report, self._clock()

    def heard(self, life: Life, epoch: int, report: Report) -> None:
        """The store has taken a report."""
        if life.sent[0] is report:
            life.epochs[epoch].append(life.sent[1])

    def lose(self) -> None:
        """The store loses its data."""
        self.losses.append(self._clock())
        self.memory.lose()

    # Outputs

    def read(self, life: Life, path: Path, began: float) -> None:
        """See what a node has written since this was last called for it; it was begun at a time."""
        start = self._read.get(life.node, 0)
        if not path.exists() or path.stat().st_size <= start:
            return
        with path.open("rb") as file:
            file.seek(start)
            text = file.read()
        self._read[life.node] = start + len(text)
        for line in text.splitlines():
            url = _row(line).url
            owner = self.owner(url[: url.index("/", 8)], began)
            self.written.append(Written(life, self._clock(), url, owner in life.epochs))
        self.tell(f"{life.name} has written {len(text.splitlines())} pages")

    def restarted(self, node: str, path: Path) -> None:
        """A node has been started: what it had not committed is gone from its output."""
        size = path.stat().st_size if path.exists() else 0
        self._read[node] = min(self._read.get(node, 0), size)


class _Url(msgspec.Struct):
    url: str


_row = msgspec.json.Decoder(_Url).decode


def pages(paths: Iterable[Path]) -> list[str]:
    """Return the URLs of the pages in outputs."""
    return [
        _row(line).url for path in paths if path.exists() for line in path.read_bytes().splitlines()
    ]


class WatchedStore(MemoryStore):
    """The store as one epoch sees it, watched."""

    def __init__(self, watch: Watch, life: Life) -> None:
        super().__init__(watch.memory)
        self._watch = watch
        self._life = life

    async def join(self, name: str, *, token: str, config: bytes, again: bool = False) -> Joined:
        """Join the crawl."""
        joined = await super().join(name, token=token, config=config, again=again)
        self._watch.joined(self._life, joined.epoch)
        return joined

    async def exchange(self, report: Report) -> Answer:
        """Answer a report."""
        answer = await super().exchange(report)
        self._watch.heard(self._life, self._epoch, report)
        return answer


class _Ear:
    """Hears what a server is asked."""

    def __init__(self, watch: Watch, host: str) -> None:
        self._watch = watch
        self._host = host

    def hear(self, target: str, at: float, reply: Reply) -> None:
        self._watch.asked(self._host, target, at, reply)


class WatchedNetwork(Network):
    """The network as one life of a node sees it."""

    def __init__(self, watch: Watch, life: Life, limits: Limits) -> None:
        super().__init__(lambda host, port: watch.servers.get((host, port)), limits)
        self._watch = watch
        self._life = life

    def _transport(
        self, loop: asyncio.AbstractEventLoop, connection: Connection, server: Server, key: str
    ) -> SimulatedTransport:
        transport = _Transport(loop, connection, server, note=lambda _time, _target: None)
        transport.life, transport.watch = self._life, self._watch
        transport.host = key.partition(":")[0]
        return transport


class _Transport(SimulatedTransport):
    """A connection that ends with its process, and says so."""

    life: Life
    watch: Watch
    host: str

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send requests, if there is who could."""
        if self.life.process.is_alive:
            super().write(data)

    def _lose(self, exc: Exception | None) -> None:
        if not self._closed:
            self.watch.closed(self.life, self.host)
        super()._lose(exc)
