"""``andante status``: what a job holds."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import msgspec

from andante.flow import Sample
from andante.observe import Stats
from andante.observe.report import summary
from andante.store import Inspection, inspect, series


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "status",
        help="what a job holds",
        description="What a job holds, as of its last commit. It may be running.",
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="the job's directory")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--urls",
        action="store_true",
        help="list the URLs that ended without a page: state, reason, URL, detail",
    )
    parser.add_argument(
        "--speed",
        action="store_true",
        help="how each server has fared, as CSV: a row every 10 s; rates in requests a minute, times in seconds",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    if arguments.speed:
        samples = series(arguments.directory)
        writer = csv.writer(sys.stdout)
        writer.writerow(Sample.__struct_fields__)
        writer.writerows(map(msgspec.structs.astuple, samples))
        return 0
    job = inspect(arguments.directory)
    if arguments.urls:
        for ended in job.ended:
            # The detail may come from a server: nothing in it may steer a terminal.
            detail = "".join(each if each.isprintable() else "\ufffd" for each in ended.detail)
            print(f"{ended.state}\t{ended.reason}\t{ended.url}\t{detail}")
    elif arguments.json:
        print(msgspec.json.format(msgspec.json.encode(_as_json(job)), indent=2).decode())
    else:
        print(
            f"{arguments.directory}: {'running' if job.is_running else 'finished' if not job.queued else 'stopped'}"
        )
        stats = Stats.from_dict(job.stats)
        print(
            summary(
                stats, known=job.known, queued=job.queued, servers=job.servers, outputs=job.outputs
            )
        )
        for server, queued in job.largest:
            print(f"{queued:>9,} queued at {server}")
    return 0


def _as_json(job: Inspection) -> dict[str, object]:
    stats = Stats.from_dict(job.stats)
    return {
        "running": job.is_running,
        "known": job.known,
        "queued": job.queued,
        "pages": stats.pages,
        **stats.to_dict(),
        "servers": job.servers,
        "servers_waiting": job.servers_waiting,
        "outputs": [str(path) for path in job.outputs],
    }
