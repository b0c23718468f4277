"""Andante's nodes on a `Network`, as users start them, and what they have written: for tests and benchmarks that make things fail."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from andante.cluster.exchange import ClusterError, Links
from andante.cluster.outbox import decode
from andante.cluster.redis import inspect
from andante.frontier.seen import WIDTH
from andante.store.job import JOURNAL
from andante.store.journal import Journal
from bed.network import Network, network
from bed.site import Site, SiteServer, serve
from services.process import HERE, Place, Service, folder, wait_until
from services.redis import RedisServer, redis_server
from services.zookeeper import ZooKeeper, zookeeper

BLOCK = 1_000
"""Links in a block: so many pages may be fetched again for a node that has died, besides what it had in flight."""

CRAWL = "crew"
"""Name of the crawl of a `Crew`."""

CONNECTIONS = 64
"""Of a node of a `Crew`, unless others are given."""

HEARTBEAT = 0.5
"""Seconds."""

_END = 120.0


class Written(msgspec.Struct):
    """A page of an output."""

    final_url: str
    fetched_at: str


_decode = msgspec.json.Decoder(Written).decode
_event = msgspec.json.Decoder(dict[str, Any]).decode


class Crawler(Service):
    """A node's process; started again it goes on with the same job."""

    def __init__(self, folder: Path, command: Sequence[str | Path], place: Place = HERE) -> None:
        folder.mkdir()
        super().__init__(folder, command, place)
        self.name = folder.name

    def is_ready(self) -> bool:
        return True

    @property
    def status(self) -> int | None:
        """Exit status; negative: what killed it; None: it runs."""
        assert self._process is not None
        return self._process.poll()

    def interrupt(self) -> None:
        """Do what Ctrl-C does."""
        os.kill(self.pid, signal.SIGINT)

    def wait(self, within: float = _END) -> int:
        """Wait for its end; return its exit status.

        Raises:
            AssertionError: it takes longer.
        """
        assert self._process is not None
        try:
            return self._process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self} goes on: {self.events()[-1]}") from None

    def events(self, *names: str) -> list[dict[str, Any]]:
        """Return what it has said so far of some kinds, or all."""
        said = [_event(line) for line in self.printed.splitlines() if line.startswith("{")]
        return [event for event in said if not names or event["event"] in names]

    def written(self) -> list[Written]:
        """Return the pages of its output, whatever has become of them."""
        path = self.folder / "pages.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [_decode(line) for line in lines if line.endswith(b"\n")]

    @property
    def size(self) -> int:
        """Bytes of its output."""
        path = self.folder / "pages.jsonl"
        return path.stat().st_size if path.exists() else 0

    @property
    def memory(self) -> int:
        """Bytes that it has had at most."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024

    @property
    def unheard(self) -> int:
        """Links that its job keeps as the store has not heard of them."""
        with closing(Journal(self.folder / "job" / JOURNAL, read_only=True)) as journal:
            parts = [decode(part) for _, part in journal.outbox()]
        return sum(len(p.fingerprints) // WIDTH for p in parts if isinstance(p, Links))

    def halt(self, seconds: float) -> None:
        """Let it do nothing for a while."""
        with suppress(ProcessLookupError):  # it has ended
            os.kill(self.pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(self.pid, signal.SIGCONT)


class Crew:
    """Nodes of one crawl, and all around them.

    Args:
        network: where they are; as many nodes as it has.
        site: what they crawl.
        redis: by which they share it.
        zookeeper: judges who is alive; None: Redis does.
        own: folder for their files.
        flags: of all of them.
        connections: of each of them.
    """

    def __init__(
        self,
        network: Network,
        site: SiteServer,
        redis: RedisServer,
        zookeeper: ZooKeeper | None,
        own: Path,
        flags: Sequence[object],
        connections: Sequence[int],
    ) -> None:
        self.network = network
        self.site = site
        self.redis = redis
        self.zookeeper = zookeeper
        self.nodes = [
            Crawler(
                own / f"n{number}",
                self._command(f"n{number}", ["--connections", limit, *flags]),
                place,
            )
            for number, (place, limit) in enumerate(zip(network.nodes, connections, strict=True))
        ]

    def _command(self, name: str, flags: Sequence[object]) -> list[str]:
        command = [sys.executable, "-m", "andante", "crawl", *self.site.site.seeds(10)]
        command += ["--cluster", self.redis.url, "--crawl-name", CRAWL, "--node", name]
        command += ["--job", "job", "--json-log"]
        command += ["--output", "pages.jsonl", "--scope", "any", "--allow-private"]
        command += ["--heartbeat", f"{HEARTBEAT}s"]
        if self.zookeeper:
            command += ["--zookeeper", self.zookeeper.hosts]
        return [*command, *map(str, flags)]

    def start(self, *numbers: int) -> None:
        """Start some of the nodes, or all."""
        for number in numbers or range(len(self.nodes)):
            self.nodes[number].start()

    def client(self, node: Crawler) -> str:
        """Return the address by which servers know a node."""
        return str(node.place.address)

    def pages(self) -> int:
        """Count the requests at the site so far, roughly."""
        log = self.site.access_log
        return log.read_bytes().count(b"\n") if log.exists() else 0

    def waiting(self) -> Counter[str]:
        """Return how many URLs wait for each node, by name, as Redis has it."""
        found = asyncio.run(inspect(f"unix://{self.redis.folder}/socket", CRAWL))
        return Counter(
            {node.name: found.waiting.get(epoch, 0) for epoch, node in found.nodes.items()}
        )

    def wait_for_pages(self, count: int) -> None:
        """Wait until so many pages have been asked for."""
        try:
            wait_until(lambda: self.pages() >= count, 60.0, f"{count} pages")
        except AssertionError as error:
            raise AssertionError(f"{error}{self.pages()} only.\n{self.situation()}") from None

    def situation(self) -> str:
        """Say what each node has said last, and what Redis has, for who asks why a crawl stands still."""
        said = [f"{node}: ... {node.printed[-1_000:]}" for node in self.nodes]
        try:
            found = str(asyncio.run(inspect(f"unix://{self.redis.folder}/socket", CRAWL)))
        except ClusterError as error:
            found = str(error)
        return "\n".join([*said, found])

    def finish(self, *ended: Crawler, within: float = _END) -> None:
        """Wait until the crawl is over: all nodes have ended with status 0 but those that have been ended."""
        give_up = time.monotonic() + within
        for node in self.nodes:
            if node not in ended:
                status = node.wait(max(give_up - time.monotonic(), 1.0))
                assert status == 0, f"{node} has ended with {status}:\n{node.printed[-3_000:]}"

    def outputs(self) -> list[Counter[str]]:
        """Return how often each page is in the output of each node."""
        return [Counter(page.final_url for page in node.written()) for node in self.nodes]

    def missing(self) -> set[str]:
        """Return the pages that are in nobody's output."""
        return set(self.site.site.urls()).difference(*self.outputs())

    def check_nothing_is_lost(self, failures: int = 0) -> int:
        """Check that all pages are there, in no output twice, and few of them fetched again; return how many.

        Args:
            failures: how often a node was killed, or taken for dead.
        """
        missing = self.missing()
        assert not missing, f"{len(missing)} pages are lost: {sorted(missing)[:5]}"
        for node, pages in zip(self.nodes, self.outputs(), strict=True):
            twice = [url for url, times in pages.items() if times > 1]
            assert not twice, f"{len(twice)} pages are in the output of {node} twice: {twice[:5]}"
        log = self.site.finished_log()
        assert set(log.statuses()) <= {200}, log.statuses()
        again = log.repeated().total()
        most = failures * (BLOCK + CONNECTIONS)
        assert again <= most, f"{again} pages were fetched again: {sorted(log.repeated())[:5]}"
        return again

    def check_manners(self, of: str = "host", pause: float = 0.0) -> None:
        """Check that no two nodes were at one host, or address, at once, and that pauses were kept."""
        log = self.site.finished_log()
        met = log.at_once(of=of)
        assert not met, f"{len(met)} meetings: {met[0]}"
        least = log.least_gap(of=of)
        assert least >= pause, f"{least} s from one request to the next at one {of}"

    def of_host(self, node: Crawler) -> Counter[str]:
        """Count the pages of hosts in the output of a node."""
        return Counter(urlsplit(page.final_url).netloc for page in node.written())

    def close(self) -> None:
        """Kill all."""
        for node in self.nodes:
            node.kill()


@contextmanager
def crew(
    site: Site,
    *flags: object,
    nodes: int = 3,
    connections: Sequence[int] = (),
    lease: str = "3s",
    has_zookeeper: bool = False,
    linked: bool = False,
    **options: Any,
) -> Iterator[Crew]:
    """Set up a network with a site, a Redis and perhaps a ZooKeeper, for nodes that do not run yet.

    Args:
        site: to crawl.
        flags: of all nodes.
        nodes: how many.
        connections: of each node, where that is not `CONNECTIONS`.
        lease: of the nodes.
        has_zookeeper: who judges.
        linked: there is a link to the store that can be cut.
        options: of `redis_server`.
    """
    with ExitStack() as stack:
        enter = stack.enter_context
        net = enter(network(nodes, hosts=site.names, linked=linked))
        made = Crew(
            net,
            enter(serve(site, net.web)),
            enter(redis_server(place=net.store, **options)),
            enter(zookeeper(place=net.store)) if has_zookeeper else None,
            enter(folder()),
            ["--lease", lease, *flags],
            connections or [CONNECTIONS] * nodes,
        )
        stack.callback(made.close)
        yield made
