"""``andante status``: what a job holds, or how a cluster does."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import msgspec

from andante.crawl import SettingsError
from andante.flow import Sample
from andante.observe import Stats
from andante.observe.report import summary
from andante.printed import printed
from andante.store import Inspection, inspect, series


def add_to(parser: argparse.ArgumentParser) -> None:
    """Give the parser of the command its description and arguments."""
    parser.description = "What a job holds, as of its last commit; it may be running. Or, with --cluster, the nodes of a crawl, who owns its servers, and what is wrong."
    parser.add_argument(
        "directory", type=Path, nargs="?", metavar="DIR", help="the job's directory"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--cluster",
        metavar="URL",
        help="instead of a job: the crawl that is shared by this Redis, or the names of all where there are several",
    )
    parser.add_argument("--crawl-name", metavar="NAME", help="with --cluster: which crawl")
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
    if arguments.cluster is not None:
        if arguments.directory is not None or arguments.speed or arguments.urls:
            raise SettingsError("--cluster goes with --crawl-name and --json only")
        from andante.cli.status_cluster import of_cluster  # noqa: PLC0415  # a job can be looked at without

        return of_cluster(arguments.cluster, arguments.crawl_name, as_json=arguments.json)
    if arguments.directory is None:
        raise SettingsError("give the DIR of a job, or --cluster URL")
    if arguments.crawl_name is not None:
        raise SettingsError("--crawl-name is of use with --cluster only")
    if arguments.speed:
        samples = series(arguments.directory)
        writer = csv.writer(sys.stdout)
        writer.writerow(Sample.__struct_fields__)
        writer.writerows(map(msgspec.structs.astuple, samples))
        return 0
    job = inspect(arguments.directory)
    if arguments.urls:
        for ended in job.ended:
            print(*map(printed, (ended.state, ended.reason, ended.url, ended.detail)), sep="\t")
    elif arguments.json:
        print(msgspec.json.format(msgspec.json.encode(_as_json(job)), indent=2).decode())
    else:
        print(
            f"{arguments.directory}: {'running' if job.is_running else 'finished' if not job.queued else 'stopped'}"
        )
        stats = Stats.from_dict(job.stats)
        print(
            summary(
                stats,
                known=_known(job, stats),
                queued=job.queued,
                servers=job.servers,
                outputs=job.outputs,
            )
        )
        for server, queued in job.largest:
            print(printed(f"{queued:>9,} queued at {server}"))
    return 0


def _known(job: Inspection, stats: Stats) -> int:
    """Return how many URLs were met; a node of a cluster keeps only those in mind that have ended with it."""
    return max(job.known, stats.ended + job.queued)


def _as_json(job: Inspection) -> dict[str, object]:
    stats = Stats.from_dict(job.stats)
    return {
        "running": job.is_running,
        "known": _known(job, stats),
        "queued": job.queued,
        "pages": stats.pages,
        **stats.to_dict(),
        "servers": job.servers,
        "servers_waiting": job.servers_waiting,
        "outputs": [str(path) for path in job.outputs],
    }
