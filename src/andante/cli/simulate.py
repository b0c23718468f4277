"""``andante simulate``: how long will my crawl take?"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import msgspec

from andante import url as urls
from andante.crawl import SettingsError
from andante.sim.checks import RULES
from andante.sim.scenario import load
from andante.sim.simulation import Record
from andante.sim.trial import NODES_MAX, Trial, Tried, attempt, draw_trial
from andante.units import counted, format_duration, format_size

_SHARES = (50, 80, 95)
"""Percent of the pages for which it is told when they were there."""

_SLOWEST = 5
"""Servers that are named: those that were done last."""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Give the parser of the command its description and arguments."""
    parser.description = "Run a crawl of a simulated web in virtual time, and tell how long it takes. The crawler is the real one; the servers and the clock are not."
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="TOML file that says what is crawled, and how",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="the same seed, the same result [default: the file's, or 1]",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--cluster",
        action="store_true",
        help="instead of a file: try a cluster in which things go wrong by the seed, and check what it does",
    )
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="M", help="with --cluster: try so many seeds"
    )
    parser.add_argument(
        "--nodes",
        type=int,
        metavar="K",
        help="with --cluster: of so many nodes [default: 2 to 4, by the seed]",
    )
    parser.add_argument(
        "--traces",
        type=Path,
        metavar="DIR",
        help="with --cluster: where all is written that happened when a rule was broken [default: the directory for temporary files]",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    if arguments.cluster:
        return _try_cluster(arguments)
    if arguments.file is None:
        raise SettingsError("give a FILE that says what is crawled, or --cluster")
    if arguments.nodes is not None or arguments.seeds != 1 or arguments.traces is not None:
        raise SettingsError("--nodes, --seeds and --traces are of use with --cluster only")
    sys.path.append(str(Path.cwd()))  # for a policy or a quality of the user's own
    scenario = load(arguments.file, seed=arguments.seed)
    what = f"{counted(scenario.web.pages, 'page')} on {counted(scenario.web.servers, 'server')}"
    print(f"Simulating {what}, seed {scenario.seed} ...", file=sys.stderr)
    began = time.perf_counter()
    try:
        record = scenario.simulation().run()
    except KeyboardInterrupt:
        print("andante: interrupted", file=sys.stderr)
        return 130
    print(f"That took {format_duration(time.perf_counter() - began)}.", file=sys.stderr)
    for problem in record.problems:
        print(f"andante: {problem}", file=sys.stderr)
    found = summary(record) | {"seed": scenario.seed, "web_pages": scenario.web.pages}
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print("\n".join(_lines(found)))
    return 0


def _try_cluster(arguments: argparse.Namespace) -> int:
    """Try clusters; return 1 if something that must hold did not."""
    first, count, nodes = arguments.seed, arguments.seeds, arguments.nodes
    traces = arguments.traces
    first = 1 if first is None else first
    for wrong, what in (
        (arguments.file is not None, "FILE: --cluster makes its own webs: leave it out"),
        (arguments.json, "--json: it is of no use with --cluster"),
        (count < 1, f"--seeds: {count} is not 1 or more"),
        (
            nodes is not None and not 1 <= nodes <= NODES_MAX,
            f"--nodes: {nodes} is not 1 to {NODES_MAX}",
        ),
        (traces is not None and not traces.is_dir(), f"--traces: {traces} is not a directory"),
    ):
        if wrong:
            raise SettingsError(what)
    failed = []
    try:
        for seed in range(first, first + count):
            trial = draw_trial(seed, nodes)
            tried = attempt(trial)
            print("\n".join(_told(trial, tried)))
            if tried.verdict.problems:
                failed.append(seed)
                file = _write(tried.trace, seed, traces)
                again = f"andante simulate --cluster --seed {seed}" + (
                    f" --nodes {nodes}" if nodes else ""
                )
                print(f"  all that happened is in {file}; to have it again: {again}")
    except KeyboardInterrupt:
        print("andante: interrupted", file=sys.stderr)
        return 130
    if count > 1:
        print(f"{counted(count, 'seed')}, {len(failed) or 'none'} failed")
    return 1 if failed else 0


def _write(trace: bytes, seed: int, directory: Path | None) -> Path:
    """Write what has happened into a new file; return which."""
    with NamedTemporaryFile(
        dir=directory, prefix=f"andante-cluster-{seed}-", suffix=".trace", delete=False
    ) as file:
        file.write(trace)
    return Path(file.name)


def _told(trial: Trial, tried: Tried) -> list[str]:
    """Return what is said of a trial."""
    found = tried.verdict
    lines = [f"seed {trial.seed}: {trial}", *(f"  {fault}" for fault in trial.faults)]
    lines.append(
        f"  {counted(found.pages, 'page')} in {format_duration(found.seconds)}, {counted(found.requests, 'request')}; "
        f"fetched again {found.again}; servers handed over {found.moved} times"
    )
    if found.problems:
        return [*lines, *(f"  WRONG: {problem}" for problem in found.problems)]
    return [*lines, f"  right: {', '.join(RULES)}"]


def summary(record: Record) -> dict[str, Any]:
    """Return what a simulated crawl came to, as plain values: times in seconds, sizes in bytes."""
    times = [page.time for page in record.pages]
    last: dict[str, tuple[float, int]] = {}
    for page in record.pages:
        server = urls.origin(page.url)
        last[server] = page.time, last.get(server, (0.0, 0))[1] + 1
    slowest = sorted(last.items(), key=lambda item: item[1], reverse=True)[:_SLOWEST]
    stats = record.stats
    return {
        "seconds": record.seconds,
        "pages": len(times),
        "pages_per_minute": len(times) / record.seconds * 60 if record.seconds else 0.0,
        "after": {f"{share}%": _when(times, share) for share in _SHARES},
        "requests": stats.requests,
        "connections": stats.connections,
        "bytes": stats.bytes,
        "failed": dict(stats.failed),
        "excluded": dict(stats.excluded),
        "other": {s: n for s, n in stats.fetched.items() if not s.startswith("2")},
        "left": record.queued,
        "processor_seconds": record.processor,
        "slowest": [
            {"server": server, "pages": pages, "seconds": seconds}
            for server, (seconds, pages) in slowest
        ],
    }


def _when(times: list[float], percent: int) -> float | None:
    """Return when a share of the pages was there."""
    return times[-(-len(times) * percent // 100) - 1] if times else None


def _lines(found: dict[str, Any]) -> list[str]:
    seconds = format_duration
    rows = [
        ("virtual time", seconds(found["seconds"])),
        (
            "pages",
            f"{found['pages']:,} of {found['web_pages']:,}, {found['pages_per_minute']:,.0f}/min",
        ),
        ("requests", f"{found['requests']:,} on {counted(found['connections'], 'connection')}"),
        ("bytes", format_size(found["bytes"])),
    ]
    for name, title in (("failed", "failed"), ("excluded", "excluded"), ("other", "other status")):
        if found[name]:
            counts = sorted(found[name].items())
            rows.append((title, ", ".join(f"{reason} {count:,}" for reason, count in counts)))
    if found["left"]:
        rows.append(("left in the queue", f"{found['left']:,}"))
    if found["processor_seconds"]:
        rows.append(("processor at work", seconds(found["processor_seconds"])))
    rows += [
        (f"{share} of the pages", f"after {seconds(when)}")
        for share, when in found["after"].items()
        if when is not None
    ]
    rows += [
        (
            "done last" if not number else "",
            f"{each['server']}: {counted(each['pages'], 'page')}, after {seconds(each['seconds'])}",
        )
        for number, each in enumerate(found["slowest"])
    ]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]
