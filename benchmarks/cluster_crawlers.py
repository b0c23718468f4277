"""The crawlers that ``benchmarks/cluster.py`` compares: how they are started, and what they have done."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bed.network import Network, Node
from bed.site import SiteServer
from services.process import Service
from services.redis import RedisServer
from services.zookeeper import ZooKeeper

HERE = Path(__file__).parent
PEERS = HERE / ".cache" / "venv" / "bin" / "python"
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Bed:
    """What a crawler runs in."""

    network: Network
    site: SiteServer
    redis: RedisServer
    zookeeper: ZooKeeper | None
    seeds: Sequence[str]


@dataclass(frozen=True)
class Progress:
    """The pages that a crawl is done with."""

    files: Sequence[Path]
    """With a line for each."""
    read: Callable[[], Iterable[tuple[float, str]]]
    """Returns Unix times and URLs."""

    def count(self) -> int:
        """Count them, and those fetched again; quickly, so that nobody is disturbed."""
        return sum(file.read_bytes().count(b"\n") for file in self.files if file.exists())

    def times(self) -> list[float]:
        """Return when each page was done with for the first time, by time."""
        first: dict[str, float] = {}
        for at, url in self.read():
            first[url] = min(at, first.get(url, at))
        return sorted(first.values())


class Crawler(Service):
    """A crawler's process on a node."""

    def is_ready(self) -> bool:
        return True

    @property
    def has_ended(self) -> bool:
        """Whether it has; it is left to `Service` to reap it."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    @property
    def cpu(self) -> float:
        """Seconds of processors that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICK


@dataclass(frozen=True)
class Tool:
    """A crawler to compare: `start` starts it on all nodes, with a folder for its files."""

    name: str
    start: Callable[[Bed, Path], tuple[list[Crawler], Progress]]
    version: Callable[[], str]


def start_andante(bed: Bed, own: Path, *, cluster: bool = True) -> tuple[list[Crawler], Progress]:
    executable = Path(sys.executable).with_name("andante")
    crawlers = []
    for number, node in enumerate(bed.network.nodes if cluster else bed.network.nodes[:1]):
        command = [executable, "crawl", *bed.seeds, "--job", own / f"job{number}", "--quiet"]
        command += ["--rate", "max", "--scope", "any", "--allow-private"]
        if cluster:
            command += ["--cluster", bed.redis.url, "--node", f"node{number}"]
        if cluster and bed.zookeeper:
            command += ["--zookeeper", bed.zookeeper.hosts]
        crawlers.append(started(node, own / f"node{number}", command))
    return crawlers, Progress(
        [bed.site.access_log], lambda: ((v.ended, v.url) for v in bed.site.log().visits)
    )


def start_scrapy_redis(bed: Bed, own: Path) -> tuple[list[Crawler], Progress]:
    bed.redis.control.rpush("bench:start_urls", *bed.seeds)
    done = [own / f"node{number}.tsv" for number in range(len(bed.network.nodes))]
    script = HERE / "peers" / "scrapy_redis_spider.py"
    crawlers = [
        started(node, file.with_suffix(""), [PEERS, script, bed.redis.url, file])
        for node, file in zip(bed.network.nodes, done, strict=True)
    ]
    return crawlers, Progress(done, lambda: (page for file in done for page in read(file)))


def read(file: Path) -> list[tuple[float, str]]:
    """Return times and URLs from a file of scrapy-redis's."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [(float(at), url) for at, url in (line.split("\t") for line in lines)]


def started(node: Node, own: Path, command: list[str | Path]) -> Crawler:
    own.mkdir()
    return Crawler(own, command, node).start()


def installed(package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run(
        [PEERS, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


ANDANTE = "Andante"
TOOLS = [
    Tool(ANDANTE, start_andante, lambda: version("andante")),
    Tool(
        "scrapy-redis",
        start_scrapy_redis,
        lambda: f"{installed('scrapy-redis')} on Scrapy {installed('scrapy')}",
    ),
    Tool(
        "Andante alone",
        lambda bed, own: start_andante(bed, own, cluster=False),
        lambda: "one process without a cluster",
    ),
]


def check_alive(crawlers: list[Crawler]) -> None:
    """Stop where one has failed."""
    for crawler in crawlers:
        if crawler.has_ended:
            ended = os.waitid(os.P_PID, crawler.pid, os.WEXITED | os.WNOWAIT)
            if ended is not None and ended.si_status:
                sys.exit(f"{crawler.printed}\nexit status {ended.si_status}")
