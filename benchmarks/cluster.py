"""Compare clusters of crawlers that share work by way of Redis: ``make cluster-bench`` (root only).

On a network of this machine's own (see ``tests/bed``): nodes, nginx with 50,000 pages on 250 hosts, and Redis behind a link that delays and
limits; without delay, Redis is behind a plain cable. All start from the same pages with an empty Redis. A run is
measured from the first page for so many seconds, or until it has so many pages, or all. Of Andante the pages are those in nginx's
log; of scrapy-redis those whose links it has handed to Redis, as it fetches ahead of that. Redis itself counts what it is asked.

Fails where nginx sends any status but 200, the link drops packets, or two of Andante's nodes are at one host at once.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

from bed.network import Network, Node, network
from bed.site import Site, SiteServer, serve
from services.process import Service, folder
from services.redis import RedisServer, redis_server
from services.zookeeper import ZooKeeper, zookeeper

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


@dataclass(frozen=True)
class Words:
    """What was said to Redis, and by it; over the link, by all."""

    round_trips: int
    """Replies that it wrote: those of a pipeline or a script together are one."""
    commands: int
    into: int
    """Bytes."""
    out: int
    wire: int
    """Bytes of IP packets both ways on the link, with ZooKeeper's."""

    def __sub__(self, other: Words) -> Words:
        return Words(
            *(
                mine - its
                for mine, its in zip(vars(self).values(), vars(other).values(), strict=True)
            )
        )


def words(bed: Bed) -> Words:
    """Return what has been said so far; that is a question itself."""
    info = bed.redis.control.info("everything")
    calls = (stats["calls"] for name, stats in info.items() if str(name).startswith("cmdstat_"))
    wire = bed.network.link.counters().bytes if bed.network.link else 0
    into, out = info["total_net_input_bytes"], info["total_net_output_bytes"]
    return Words(info["total_writes_processed"], sum(calls), into, out, wire)


@dataclass(frozen=True)
class Run:
    """What came of a crawl."""

    pages: int
    seconds: float
    """From the first page to the last that counts."""
    said: Words
    cpu: float
    """Seconds of processors from the first page on, of all nodes."""
    machine: float
    """Of everything on this machine."""
    watched: float
    """Seconds that both are of."""
    memory: int
    """Of Redis, bytes more than before."""
    twice: int
    """Pages fetched again."""

    @property
    def speed(self) -> float:
        return self.pages / self.seconds


def busy() -> float:
    """Return the seconds that processors of this machine have worked."""
    user, nice, system, _, _, *others = Path("/proc/stat").read_text().split(None, 9)[1:9]
    return sum(map(int, (user, nice, system, *others))) / TICK


@dataclass(frozen=True)
class Course:
    """The conditions of a run."""

    site: Site
    nodes: int
    milliseconds: float
    """Round trip to Redis."""
    megabits: float
    """Bits a second each way, in millions."""
    seconds: float
    pages: int
    seeds: int
    has_zookeeper: bool

    def run(self, tool: Tool) -> Run:
        """Crawl once, with everything new."""
        linked = self.milliseconds > 0
        with ExitStack() as stack:
            enter = stack.enter_context
            net = enter(network(self.nodes, hosts=self.site.names, linked=linked))
            bed = Bed(
                net,
                enter(serve(self.site, net.web)),
                enter(redis_server(place=net.store)),
                enter(zookeeper(place=net.store)) if self.has_zookeeper else None,
                self.site.seeds(self.seeds),
            )
            if net.link:
                net.link.set(round_trip=self.milliseconds / 1000, rate=self.megabits * 1e6)
            memory = bed.redis.control.info("memory")["used_memory"]
            before = words(bed)
            question = words(bed) - before
            crawlers, progress = tool.start(bed, enter(folder()))
            for crawler in crawlers:
                stack.callback(crawler.kill)
            self._await_first_page(crawlers, progress)
            began = time.monotonic()
            nodes, machine = sum(crawler.cpu for crawler in crawlers), busy()
            times = self._watch(crawlers, progress)
            said = words(bed) - before - question - question
            memory = bed.redis.control.info("memory")["used_memory"] - memory
            nodes = sum(crawler.cpu for crawler in crawlers) - nodes
            machine = busy() - machine
            watched = time.monotonic() - began
            for crawler in crawlers:
                crawler.kill()
            twice = self._check(bed, tool)
        return Run(len(times), times[-1] - times[0], said, nodes, machine, watched, memory, twice)

    def _await_first_page(self, crawlers: list[Crawler], progress: Progress) -> None:
        give_up = time.monotonic() + 60.0
        while not progress.count():
            check_alive(crawlers)
            if time.monotonic() > give_up:
                sys.exit("no page within a minute")
            time.sleep(0.05)

    def _watch(self, crawlers: list[Crawler], progress: Progress) -> list[float]:
        """Wait for the end; return the times of the pages that count."""
        end = progress.times()[0] + self.seconds
        while time.time() < end and not all(crawler.has_ended for crawler in crawlers):
            time.sleep(0.25)
            check_alive(crawlers)
            if self.pages and progress.count() >= self.pages:
                break
        time.sleep(0.3)  # for the log to be written
        return [at for at in progress.times() if at <= end][: self.pages or None]

    def _check(self, bed: Bed, tool: Tool) -> int:
        """Stop where the figures are not to be trusted; return how many pages were fetched again."""
        log = bed.site.finished_log()
        if set(log.statuses()) != {200}:
            sys.exit(f"{tool.name}: nginx has sent {dict(log.statuses())}")
        if bed.network.link and (dropped := bed.network.link.counters().dropped):
            sys.exit(f"{tool.name}: the link has dropped {dropped} packets")
        if tool.name == ANDANTE and (met := log.at_once()):
            sys.exit(
                f"two nodes at once at {met[0][0].host}, and {len(met) - 1} times more: {met[0]}"
            )
        return log.repeated().total()


def check_alive(crawlers: list[Crawler]) -> None:
    """Stop where one has failed."""
    for crawler in crawlers:
        if crawler.has_ended:
            ended = os.waitid(os.P_PID, crawler.pid, os.WEXITED | os.WNOWAIT)
            if ended is not None and ended.si_status:
                sys.exit(f"{crawler.printed}\nexit status {ended.si_status}")


HEADER = """
| round trip ms | crawler | nodes | pages | s | pages/s, and range | Andante's speed | Redis: round trips, commands a page | bytes a page in + out | on the link | Redis B a page | CPU ms a page | cores: nodes, machine | fetched again |
|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""


def row(course: Course, tool: Tool, runs: list[Run], own: list[Run]) -> str:
    """Return a line of the table."""

    def middle(of: Callable[[Run], float]) -> float:
        return median(map(of, runs))

    speeds = [run.speed for run in runs]
    compared = own and runs is not own
    cells = [
        f"{course.milliseconds:g}",
        tool.name,
        f"{1 if tool.name.endswith('alone') else course.nodes}",
        f"{middle(lambda run: run.pages):,.0f}",
        f"{middle(lambda run: run.seconds):.1f}",
        f"{median(speeds):,.4g} ({min(speeds):,.4g}-{max(speeds):,.4g})",
        f"x {median(run.speed for run in own) / median(speeds):.2f}" if compared else "",
        f"{middle(lambda run: run.said.round_trips / run.pages):.3g}, {middle(lambda run: run.said.commands / run.pages):.3g}",
        f"{middle(lambda run: run.said.into / run.pages):,.0f} + {middle(lambda run: run.said.out / run.pages):,.0f}",
        f"{middle(lambda run: run.said.wire / run.pages):,.0f}",
        f"{middle(lambda run: run.memory / run.pages):,.0f}",
        f"{middle(lambda run: 1000 * run.cpu / run.pages):.2f}",
        f"{middle(lambda run: run.cpu / run.watched):.2f}, {middle(lambda run: run.machine / run.watched):.2f}",
        f"{middle(lambda run: run.twice):,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add, names = parser.add_argument, [tool.name for tool in TOOLS]
    add(
        "--crawlers",
        nargs="+",
        default=names[:2],
        choices=names,
        metavar="CRAWLER",
        help=", ".join(names),
    )
    add(
        "--rtt",
        nargs="+",
        type=float,
        default=[0, 10, 30, 50, 90],
        metavar="MS",
        help="round trips to Redis [%(default)s]",
    )
    add("--mbit", type=float, default=10, help="of the link, where there is a delay [%(default)s]")
    add("--nodes", type=int, default=3, help="[%(default)s]")
    add("--seconds", type=float, default=120, help="of a run, from its first page [%(default)s]")
    add("--pages", type=int, default=0, help="end a run with so many")
    add("--runs", type=int, default=1, help="of each crawler at each delay [%(default)s]")
    add("--hosts", type=int, default=250, help="of 200 pages each [%(default)s]")
    add(
        "--speeds",
        nargs="+",
        type=float,
        default=[0],
        metavar="N",
        help="requests a second that hosts answer, in turn; 0: all [0]",
    )
    add("--seeds", type=int, default=64, help="home pages to start from [%(default)s]")
    add("--without-zookeeper", action="store_true", help="Andante's members meet in Redis")
    add("--json", type=Path, help="write all runs there")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    tools = [tool for tool in TOOLS if tool.name in given.crawlers]
    site = Site(hosts=given.hosts, speeds=given.speeds)
    lines, records = [HEADER], []
    for milliseconds in given.rtt:
        course = Course(
            site,
            given.nodes,
            milliseconds,
            given.mbit,
            given.seconds,
            given.pages,
            min(given.seeds, given.hosts),
            not given.without_zookeeper,
        )
        results: dict[str, list[Run]] = {tool.name: [] for tool in tools}
        for _ in range(given.runs):
            for tool in tools:
                run = course.run(tool)
                results[tool.name].append(run)
                print(f"{milliseconds:g} ms: {tool.name} {run.speed:,.4g} pages/s", file=sys.stderr)
                records.append(
                    {"rtt": milliseconds, "crawler": tool.name, **vars(run), "said": vars(run.said)}
                )
        own = results.get(ANDANTE, [])
        lines += [row(course, tool, results[tool.name], own) for tool in tools]
    print(*lines, sep="\n")
    if given.json:
        given.json.write_text(json.dumps(records, indent=1))
    print(
        "\n"
        + "; ".join(f"{tool.name} {tool.version()}" for tool in tools)
        + f"; medians of {given.runs}."
    )


if __name__ == "__main__":
    main()
