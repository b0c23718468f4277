"""What URLs cost in memory and time: many known, many queued. ``python benchmarks/scale.py``; ``--quick`` for the smoke run.

Each row is measured in a process of its own. The last column is the cost per URL as a ratio to the same at a hundredth of the size.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from andante.frontier import Frontier, Seen
from andante.frontier.block import decode_links, encode_done, encode_links
from andante.store.journal import Batch, Journal
from andante.url import fingerprint

_COMMIT = 20_000
"""URLs between commits."""


def known(count: int) -> float:
    """Put URLs to the seen test; return the seconds that the last tenth (at most 100,000) took, scaled to one URL."""
    seen = Seen()
    last = min(count // 10, 100_000)
    for number in range(count - last):
        seen.add(fingerprint(f"http://host{number % 1000}.example/page/{number}"))
    started = time.perf_counter()
    for number in range(count - last, count):
        seen.add(fingerprint(f"http://host{number % 1000}.example/page/{number}"))
    return (time.perf_counter() - started) / last


def queued(count: int, directory: str) -> float:
    """Queue URLs on count / 100 servers in a stored frontier, then take a tenth; return the seconds for one URL."""
    journal = Journal(Path(directory) / "journal.sqlite")
    frontier = Frontier(lambda block: decode_links(journal.links(block.number)))
    servers = max(1, count // 100)
    started = time.perf_counter()
    for start in range(0, count, 100):
        frontier.offer(
            (
                f"http://host{n * 7919 % servers}.example/a/page-{n}.html"
                for n in range(start, start + 100)
            ),
            depth=1,
            referrer=f"http://host{start % servers}.example/a/",
        )
        if not start % _COMMIT:
            commit(frontier, journal)
    commit(frontier, journal)
    taken = 0
    while taken < count // 10 and (server := frontier.open_visit(0.0)):
        while task := frontier.take(server, 0.0):
            frontier.finish(task)
            taken += 1
        frontier.close_visit(server)
        if not taken % 1000:
            commit(frontier, journal)
    seconds = time.perf_counter() - started
    journal.close()
    return seconds / count


def commit(frontier: Frontier, journal: Journal) -> None:
    """Store the changes of a frontier as a job does."""
    changes = frontier.changes()
    journal.commit(
        Batch(
            blocks=[
                (
                    block.number,
                    server.key,
                    block.grade,
                    block.size,
                    encode_done(block.done),
                    encode_links(links),
                )
                for server, block, links, is_new in changes.grown
                if is_new
            ],
            grown=[
                (block.size, encode_done(block.done), encode_links(links), block.number)
                for _, block, links, is_new in changes.grown
                if not is_new
            ],
            done=[(encode_done(block.done), block.number) for block in changes.progressed],
            finished=[(block.number,) for block in changes.finished],
            fingerprints=changes.fingerprints,
        )
    )
    frontier.committed(changes)


def measure(kind: str, count: int) -> tuple[float, float]:
    """Run one measurement in a process of its own; return microseconds for one URL and peak megabytes."""
    command = [sys.executable, __file__, "--one", kind, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    microseconds, megabytes = map(float, done.stdout.split())
    return microseconds, megabytes


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the size")
    parser.add_argument(
        "--one", nargs=2, metavar=("KIND", "COUNT"), help="one measurement, in this process"
    )
    arguments = parser.parse_args()
    if arguments.one:
        kind, count = arguments.one[0], int(arguments.one[1])
        with tempfile.TemporaryDirectory() as directory:
            seconds = known(count) if kind == "known" else queued(count, directory)
        print(seconds * 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    scale = 100 if arguments.quick else 1
    print("| what | URLs | us a URL | peak MB | against 1/100 |\n|---|---:|---:|---:|---:|")
    for kind, count in (("known", 10_000_000), ("queued", 1_000_000)):
        small, _ = measure(kind, count // scale // 100)
        large, megabytes = measure(kind, count // scale)
        print(
            f"| {kind} | {count // scale:,} | {large:.2f} | {megabytes:.0f} | {large / small:.2f} |"
        )


if __name__ == "__main__":
    main()
