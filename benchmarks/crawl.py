"""Crawl three real sites with Andante and its peers, and compare: ``make bench``.

nginx has core 0 and the crawler core 1. Runs alternate between the tools; the table shows medians. Speed is counted the
same way for all, from the server's access log: pages are distinct URLs answered with status 200 and text/html, and their
time is that from the first request to the last. Andante obeys robots.txt, keeps a durable job and writes WARC.gz; wget2
mirrors to files; Scrapy and Crawlee follow links and store nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from urllib.parse import unquote

import trustme

from support.nginx import Nginx, Request, nginx
from support.sites import NAMES, ROOTS

HERE = Path(__file__).parent
PEERS = HERE / ".cache" / "venv" / "bin" / "python"
SERVER_CORE, CLIENT_CORE = "0", "1"


@dataclass(frozen=True)
class Job:
    """What a crawler is told: where to start, a folder for its files, whom to trust, and the most pages to fetch."""

    url: str
    folder: Path
    ca_file: Path
    pages: int


@dataclass(frozen=True)
class Tool:
    name: str
    version: Callable[[], str]
    command: Callable[[Job], list[str | Path]]
    pages: int = 0
    """It stops after about so many; 0: it crawls the whole site."""
    most_runs: int = 1000
    does_tls: bool = True
    success: tuple[int, ...] = (0,)
    """Its exit statuses after a good run."""


@dataclass(frozen=True)
class Target:
    """A site over one protocol."""

    name: str
    site: int
    tls: bool = False


@dataclass(frozen=True)
class Run:
    """One crawl, as the server and the kernel saw it. Times in seconds, memory in bytes."""

    pages: int
    speed: float
    """Pages per second."""
    cpu: float
    """Seconds per 1,000 pages, user and system."""
    memory: float
    wall: float
    first: float
    """From the start of the process to the first request."""


def andante(job: Job) -> list[str | Path]:
    executable = Path(sys.executable).with_name("andante")
    flags = ["--rate", "max", "--per-server", "8", "--connections", "8", "--quiet"]
    return [
        executable,
        "crawl",
        job.url,
        "--job",
        job.folder / "job",
        "--ca-file",
        job.ca_file,
        *flags,
    ]


def wget2(job: Job) -> list[str | Path]:
    flags = ["-q", "-r", "-l", "inf", "--max-threads=8", f"--ca-certificate={job.ca_file}"]
    return ["wget2", *flags, "-P", job.folder, job.url]


def scrapy(job: Job) -> list[str | Path]:
    return [PEERS, HERE / "peers" / "scrapy_spider.py", job.url, str(job.pages)]


def crawlee(job: Job) -> list[str | Path]:
    return [PEERS, HERE / "peers" / "crawlee_crawler.py", job.url, str(job.pages)]


def first_line(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.partition(
        "\n"
    )[0]


def installed(python: str | Path, package: str) -> str:
    return first_line(
        python, "-c", f"from importlib.metadata import version; print(version({package!r}))"
    )


TOOLS = [
    Tool("Andante", lambda: installed(sys.executable, "andante"), andante),
    # 8: a link led to a page that is missing.
    Tool("wget2", lambda: first_line("wget2", "--version").split()[2], wget2, success=(0, 8)),
    Tool(
        "Scrapy", lambda: installed(PEERS, "scrapy"), scrapy, pages=600, most_runs=3, does_tls=False
    ),
    Tool(
        "Crawlee",
        lambda: installed(PEERS, "crawlee"),
        crawlee,
        pages=300,
        most_runs=3,
        does_tls=False,
    ),
]
TARGETS = [Target(name, number) for number, name in enumerate(NAMES)]
TARGETS.append(Target("openjdk over TLS", NAMES.index("openjdk"), tls=True))


@dataclass(frozen=True)
class Course:
    """The server that all run against."""

    server: Nginx
    ca_file: Path
    folder: Path
    """Where each run has a folder for its files."""

    def run(self, tool: Tool, target: Target) -> Run:
        """Let a tool crawl a site once."""
        self.server.forget()
        folder = Path(mkdtemp(dir=self.folder))
        os.sync()
        job = Job(self.server.url(target.site, tls=target.tls), folder, self.ca_file, tool.pages)
        cost = measured(tool.command(job), folder, tool.success)
        requests = self.server.requests()
        check_statuses(requests, ROOTS[target.site])
        pages = len({request.uri for request in requests if is_page(request)})
        times = [request.time for request in requests]
        return Run(
            pages=pages,
            speed=pages / (max(times) - min(times)),
            cpu=1000 * cost["cpu"] / pages,
            memory=cost["memory"],
            wall=cost["wall"],
            first=min(times) - cost["started"],
        )

    def compare(self, tools: list[Tool], target: Target, runs: int) -> dict[Tool, list[Run]]:
        """Run the tools in turn, after one run that warms the disk cache."""
        able = [tool for tool in tools if tool.does_tls or not target.tls]
        results: dict[Tool, list[Run]] = {tool: [] for tool in able}
        self.run(able[0], target)
        for number in range(runs):
            for tool in able:
                if number < tool.most_runs:
                    results[tool].append(self.run(tool, target))
                    print(
                        f"{target.name}: {tool.name} {results[tool][-1].speed:,.0f} pages/s",
                        file=sys.stderr,
                    )
        check_complete(results)
        return results


@contextmanager
def course(folder: Path) -> Iterator[Course]:
    """Start nginx with the three sites."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name, TemporaryDirectory(dir=folder) as runs:
        # ext4 makes new files several times slower near ones deleted in the last minutes: wget2 would pay for the runs before
        # it. So nothing is deleted until the end, and each run's folder is laid in a block group of its own.
        subprocess.run(["chattr", "+T", runs], check=False, stderr=subprocess.DEVNULL)
        own = Path(name)
        authority = trustme.CA()
        leaf = authority.issue_cert("localhost")
        ca_file, certificate, key = own / "ca.pem", own / "certificate.pem", own / "key.pem"
        authority.cert_pem.write_to_path(str(ca_file))
        leaf.cert_chain_pems[0].write_to_path(str(certificate))
        leaf.private_key_pem.write_to_path(str(key))
        with nginx(
            own, ROOTS, certificate=(certificate, key), command=["taskset", "-c", SERVER_CORE]
        ) as server:
            yield Course(server, ca_file, Path(runs))


def measured(command: list[str | Path], folder: Path, success: tuple[int, ...]) -> dict[str, float]:
    """Run a command on its core; return when it started and what it cost."""
    report = folder / "measured.json"
    launcher = [
        sys.executable,
        "-I",
        "-S",
        HERE / "measured.py",
        report,
        "taskset",
        "-c",
        CLIENT_CORE,
    ]
    done = subprocess.run(
        [*launcher, *command],
        cwd=folder,
        env=os.environ | {"HOME": str(folder)},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    cost: dict[str, float] = json.loads(report.read_text())
    if cost["exit"] not in success:
        sys.exit(f"{done.stderr}\nexit status {cost['exit']}: {' '.join(map(str, command))}")
    return cost


def is_page(request: Request) -> bool:
    return request.status == 200 and request.content_type.startswith("text/html")


def check_statuses(requests: list[Request], root: Path) -> None:
    """Stop where the server answered anything but a file that is there, a directory, or the lack of a file."""
    for request in requests:
        path = root / unquote(request.uri.partition("?")[0]).lstrip("/")
        if not path.exists():
            expected = 404
        elif path.is_dir() and not request.uri.endswith("/"):
            expected = 301
        else:
            expected = 200
        if request.status != expected:
            sys.exit(f"status {request.status} for {request.uri}, where {expected} is right")


def check_complete(results: dict[Tool, list[Run]]) -> None:
    """Stop where runs of a tool over the whole site differ, or Andante found less than another one."""
    counts = {
        tool.name: {run.pages for run in runs} for tool, runs in results.items() if not tool.pages
    }
    if any(len(count) > 1 or max(count) > max(counts["Andante"]) for count in counts.values()):
        sys.exit(f"not all of the pages were found: {counts}")


HEADER = """
| site | tool | pages | pages/s, and range | Andante's speed | CPU s per 1,000 pages | Andante's CPU | peak MB | wall s | first request after s |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"""


def row(target: Target, tool: Tool, runs: list[Run], own: list[Run]) -> str:
    """Return a line of the table."""

    def median(name: str, runs: list[Run] = runs) -> float:
        return statistics.median(getattr(run, name) for run in runs)

    def ratio(name: str) -> str:
        return "" if runs is own else f"x {median(name, own) / median(name):.2f}"

    speeds = [run.speed for run in runs]
    cells = [
        target.name,
        tool.name,
        f"{median('pages'):,.0f}{' *' if tool.pages else ''}",
        f"{median('speed'):,.0f} ({min(speeds):,.0f}-{max(speeds):,.0f})",
        ratio("speed"),
        f"{median('cpu'):.2f}",
        ratio("cpu"),
        f"{median('memory') / 1e6:,.0f}",
        f"{median('wall'):.1f}",
        f"{median('first'):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    sites, peers = [target.name for target in TARGETS], [tool.name for tool in TOOLS[1:]]
    parser.add_argument(
        "--sites", nargs="+", default=sites, choices=sites, metavar="SITE", help=", ".join(sites)
    )
    parser.add_argument(
        "--peers", nargs="*", default=peers, choices=peers, metavar="PEER", help=", ".join(peers)
    )
    parser.add_argument("--runs", type=int, default=5, help="of each tool on each site [5]")
    parser.add_argument("--quick", action="store_true", help="one run, against wget2 only")
    parser.add_argument(
        "--folder",
        type=Path,
        default=HERE / ".cache" / "runs",
        help="where the crawlers write; /dev/shm leaves the disk out of the figures",
    )
    return parser.parse_args()


def main() -> None:
    given = arguments()
    peers, runs = (["wget2"], 1) if given.quick else (given.peers, given.runs)
    tools = [tool for tool in TOOLS if tool.name in ["Andante", *peers]]
    lines = [HEADER]
    with course(given.folder) as server:
        for target in TARGETS:
            if target.name in given.sites:
                results = server.compare(tools, target, runs)
                lines += [row(target, tool, results[tool], results[tools[0]]) for tool in results]
    print(*lines, sep="\n")
    versions = ", ".join(f"{tool.name} {tool.version()}" for tool in tools)
    print(
        f"\n{versions}; medians of {runs}. * A limit, as the whole site takes long; at most three runs."
    )


if __name__ == "__main__":
    main()
