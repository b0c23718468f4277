"""Compare clusters of crawlers that share work by way of Redis: ``make cluster-bench`` (root only).

On a network of this machine's own (see ``tests/bed``): nodes, nginx with 50,000 pages on 250 hosts, and Redis behind a link that delays and
limits; without delay, Redis is behind a plain cable. All start from the same pages with an empty Redis. A run is
measured from the first page for so many seconds, or until it has so many pages, or all. Of Andante the pages are those in nginx's
log; of scrapy-redis those whose links it has handed to Redis, as it fetches ahead of that. Redis itself counts what it is asked.

Crawlers are compared by their speeds, and by the time for as many pages as the slower one has, since what a page costs falls as a crawl goes on. Andante has a
run more at each delay, on hosts that are slow, so that it is they which limit it and not this machine: what a delay costs shows in the middle of that.

Fails where nginx sends any status but 200, the link drops packets or is not what was asked for, or two of Andante's nodes are at one host at once.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from cluster_crawlers import ANDANTE, TICK, TOOLS, Bed, Crawler, Progress, Tool, check_alive

from bed.network import goodput, network, round_trip
from bed.site import Site, serve
from services.process import folder
from services.redis import redis_server
from services.zookeeper import zookeeper

SET_UP = 25.0
"""Seconds that a run takes besides those that are measured, at most where nothing goes wrong."""

ENOUGH = 500
"""Pages for a time to be compared: fewer are had in a burst, from the seeds."""


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

    times: Sequence[float]
    """When each page was done with, Unix time, in order."""
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
    link: tuple[float, float]
    """As measured before: the round trip to Redis, ms, and million bits a second."""

    @property
    def pages(self) -> int:
        return len(self.times)

    @property
    def seconds(self) -> float:
        """From the first page to the last that counts."""
        return self.seconds_for(self.pages)

    @property
    def speed(self) -> float:
        return self.pages / self.seconds

    @property
    def steady(self) -> float:
        """Pages a second of those in the middle: without the first fifth and the last."""
        first, last = self.pages // 5, self.pages * 4 // 5
        return (last - first) / (self.times[last] - self.times[first])

    def seconds_for(self, pages: int) -> float:
        """Return the time for the first pages."""
        return self.times[pages - 1] - self.times[0]


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
        with ExitStack() as stack:
            enter = stack.enter_context
            net = enter(network(self.nodes, hosts=self.site.names, linked=self.milliseconds > 0))
            bed = Bed(
                net,
                enter(serve(self.site, net.web)),
                enter(redis_server(place=net.store)),
                enter(zookeeper(place=net.store)) if self.has_zookeeper else None,
                self.site.seeds(self.seeds),
            )
            link = self._set_link(bed)
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
            stopped = time.time()
            for crawler in crawlers:
                crawler.kill()
            twice = self._check(bed, tool, stopped)
        return Run(times, said, nodes, machine, watched, memory, twice, link)

    def _set_link(self, bed: Bed) -> tuple[float, float]:
        """Delay and limit; return the round trip (ms) and the speed (Mbit/s) that are measured."""
        link, node, store = bed.network.link, bed.network.nodes[0], bed.network.store
        if link is None:
            return 1000 * round_trip(node, store), float("inf")
        link.set(round_trip=self.milliseconds / 1000, rate=self.megabits * 1e6)
        for _ in range(3):  # others may have the processor
            taken = 1000 * round_trip(node, store)
            if abs(taken - self.milliseconds) <= 1.0:
                break
        else:
            sys.exit(f"the link's round trip is {taken:.1f} ms, not {self.milliseconds:g}")
        return taken, goodput(node, store, 1_000_000) / 1e6

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

    def _check(self, bed: Bed, tool: Tool, stopped: float) -> int:
        """Stop where the figures are not to be trusted; return how many pages were fetched again.

        Args:
            bed: of the run.
            tool: that ran.
            stopped: Unix time when it was: requests under way then are cut off, of which nginx says 499.
        """
        log = bed.site.finished_log()
        log = replace(log, visits=[v for v in log.visits if v.status != 499 or v.ended < stopped])
        if set(log.statuses()) != {200}:
            sys.exit(f"{tool.name}: nginx has sent {dict(log.statuses())}")
        if bed.network.link and (dropped := bed.network.link.counters().dropped):
            sys.exit(f"{tool.name}: the link has dropped {dropped} packets")
        if tool.name == ANDANTE and (met := log.at_once()):
            sys.exit(
                f"two nodes at once at {met[0][0].host}, and {len(met) - 1} times more: {met[0]}"
            )
        return log.repeated().total()


HEADER = """\
| round trip ms | crawler | hosts answer | nodes | pages | s | pages/s, and range | in the middle | compared | Redis: round trips, commands a page | bytes a page in + out | on the link | Redis B a page | CPU ms a page | cores: nodes, machine | fetched again | link as measured: ms, Mbit/s |
|--:|---|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|"""


def row(course: Course, tool: Tool, runs: list[Run], compared: str) -> str:
    """Return a line of the table."""

    def middle(of: Callable[[Run], float]) -> float:
        return median(map(of, runs))

    speeds = [run.speed for run in runs]
    cells = [
        f"{course.milliseconds:g}",
        tool.name,
        ", ".join(f"{speed:g}/s" if speed else "all" for speed in course.site.speeds),
        f"{1 if tool.name.endswith('alone') else course.nodes}",
        f"{middle(lambda run: run.pages):,.0f}",
        f"{middle(lambda run: run.seconds):.1f}",
        f"{median(speeds):,.4g} ({min(speeds):,.4g}-{max(speeds):,.4g})",
        f"{middle(lambda run: run.steady):,.4g}",
        compared,
        f"{middle(lambda run: run.said.round_trips / run.pages):.3g}, {middle(lambda run: run.said.commands / run.pages):.3g}",
        f"{middle(lambda run: run.said.into / run.pages):,.0f} + {middle(lambda run: run.said.out / run.pages):,.0f}",
        f"{middle(lambda run: run.said.wire / run.pages):,.0f}",
        f"{middle(lambda run: run.memory / run.pages):,.0f}",
        f"{middle(lambda run: 1000 * run.cpu / run.pages):.2f}",
        f"{middle(lambda run: run.cpu / run.watched):.2f}, {middle(lambda run: run.machine / run.watched):.2f}",
        f"{middle(lambda run: run.twice):,.0f}",
        f"{middle(lambda run: run.link[0]):.2f}, {middle(lambda run: run.link[1]):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def of_first(milliseconds: float, runs: list[Run], first: list[Run]) -> str:
    """Compare the middle of runs with that of the runs at the first delay, which is given."""
    ratio = median(run.steady for run in runs) / median(run.steady for run in first)
    return f"{ratio:.3f} of that at {milliseconds:g} ms"


def of_andante(runs: list[Run], own: list[Run]) -> str:
    """Compare Andante with a crawler: by speed, and by the time for as many pages as the slowest run has, if these are more than the first burst."""
    speed = median(run.speed for run in own) / median(run.speed for run in runs)
    count = min(run.pages for run in (*runs, *own))
    if count < ENOUGH:
        return f"Andante x {speed:.2f}"
    same = median(run.seconds_for(count) for run in runs) / median(
        run.seconds_for(count) for run in own
    )
    return f"Andante x {speed:.2f}; first {count:,} pages x {same:.2f}"


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
    add(
        "--steady",
        type=float,
        default=3,
        metavar="N",
        help="requests a second that hosts answer in a run more of Andante; 0: no such run [%(default)s]",
    )
    add("--seeds", type=int, default=64, help="home pages to start from [%(default)s]")
    add("--without-zookeeper", action="store_true", help="Andante's members meet in Redis")
    add("--json", type=Path, help="write all runs there")
    return parser.parse_args()


def races(given: argparse.Namespace, milliseconds: float) -> list[tuple[Course, Tool]]:
    """Return what is to be run at one delay: Andante first, where it is among them."""
    course = Course(
        Site(hosts=given.hosts, speeds=given.speeds),
        given.nodes,
        milliseconds,
        given.mbit,
        given.seconds,
        given.pages,
        min(given.seeds, given.hosts),
        not given.without_zookeeper,
    )
    found = [(course, tool) for tool in TOOLS if tool.name in given.crawlers]
    if given.steady and found[0][1].name == ANDANTE:
        slow = replace(course, site=replace(course.site, speeds=[given.steady]))
        found.insert(1, (slow, found[0][1]))
    return found


def record(course: Course, tool: Tool, run: Run) -> dict[str, object]:
    """Return what is to be known of a run later."""
    figures = {"pages": run.pages, "seconds": run.seconds, "steady": run.steady}
    rest = {name: value for name, value in vars(run).items() if name != "times"}
    which = {"rtt": course.milliseconds, "crawler": tool.name, "speeds": course.site.speeds}
    return which | figures | rest | {"said": vars(run.said)}


def main() -> None:
    given = arguments()
    records = []
    first: list[list[Run]] = []
    count = len(races(given, 0)) * len(given.rtt) * given.runs
    print(f"at most {count * (given.seconds + SET_UP) / 60:.0f} minutes", file=sys.stderr)
    print(HEADER, flush=True)
    for milliseconds in given.rtt:
        todo = races(given, milliseconds)
        results: list[list[Run]] = [[] for _ in todo]
        for _ in range(given.runs):
            for (course, tool), runs in zip(todo, results, strict=True):
                runs.append(course.run(tool))
                records.append(record(course, tool, runs[-1]))
        first = first or results
        for (course, tool), runs, at_first in zip(todo, results, first, strict=True):
            is_compared = tool.name != ANDANTE and todo[0][1].name == ANDANTE
            compared = (
                of_andante(runs, results[0])
                if is_compared
                else of_first(given.rtt[0], runs, at_first)
            )
            print(row(course, tool, runs, compared), flush=True)
    if given.json:
        given.json.write_text(json.dumps(records, indent=1))
    tools = {tool.name: tool for _, tool in races(given, 0)}
    versions = "; ".join(f"{name} {tool.version()}" for name, tool in tools.items())
    print(f"\n{versions}; medians of {given.runs}.")


if __name__ == "__main__":
    main()
