"""What URLs and servers cost in memory and time: ``python benchmarks/scale.py``; ``--quick`` for the smoke run.

- *known*: URLs that the seen test holds.
- *queued*: URLs on a hundredth as many servers, in a stored frontier, a tenth of which are taken.
- *spread*: URLs on a tenth as many servers, with scores, likewise; none are taken.
- *idle*: servers with a URL each that waits, which is on disk.
- *rank*: a server whose queue has changed is ranked anew, and the best server is chosen and stands in the queue again: capability.
- *choose*: the same with all that belongs to it: the link that comes, and the URL that is taken.

Each row is measured in a process of its own. Microseconds and bytes are for one URL, server or choice; bytes are what the process has grown by at its
peak. The last column is the time as a ratio to the same at a hundredth of the size (rank, choose: a thousandth).
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count as count_from
from pathlib import Path
from random import Random
from typing import TypeVar

from andante.frontier import Frontier, Link, Seen, Server
from andante.frontier.block import Read, decode_links, encode_done, encode_links
from andante.frontier.policy import Capability
from andante.store.journal import Batch, Journal
from andante.url import fingerprint

_COMMIT = 20_000
"""URLs between commits."""

_CHOICES = 100_000

Item = TypeVar("Item")


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
    servers = max(1, count // 100)
    started = time.perf_counter()
    with closing(Journal(Path(directory) / "journal.sqlite")) as journal:
        frontier = Frontier(reader(journal))
        fill(frontier, journal, count, servers)
        taken = 0
        while taken < count // 10 and (server := frontier.open_visit(0.0)):
            while task := frontier.take(server, 0.0):
                frontier.finish(task)
                taken += 1
            frontier.close_visit(server)
            if not taken % 1000:
                commit(frontier, journal)
    return (time.perf_counter() - started) / count


def spread(count: int, directory: str) -> float:
    """Queue URLs with scores on count / 10 servers in a stored frontier; return the seconds for one URL."""
    started = time.perf_counter()
    with closing(Journal(Path(directory) / "journal.sqlite")) as journal:
        frontier = Frontier(reader(journal), policy=Capability())
        fill(frontier, journal, count, max(1, count // 10))
    return (time.perf_counter() - started) / count


def idle(count: int, directory: str) -> float:
    """Queue a URL on each of so many servers in a stored frontier; return the seconds for one."""
    started = time.perf_counter()
    with closing(Journal(Path(directory) / "journal.sqlite")) as journal:
        frontier = Frontier(reader(journal), resident_max=0)
        fill(frontier, journal, count, count)
    return (time.perf_counter() - started) / count


def choose(count: int) -> float:
    """Rank servers anew as links come, and choose the best, among so many; return the processor's seconds for one link and choice."""
    frontier, links = ready(count)
    numbers = count_from(count + 1)
    gc.collect()  # else the loop pays for what was made before
    started = time.process_time()
    for server, link, grade in links:
        server.append(link, grade, lambda: next(numbers))
        frontier.changed(server)
        chosen = frontier.open_visit(0.0)
        frontier.take(chosen, 0.0)
        frontier.close_visit(chosen)
    return (time.process_time() - started) / _CHOICES


def rank(count: int) -> float:
    """Do the same by the hundred, and return the processor's seconds for ranking one server anew and choosing one."""
    frontier, links = ready(count)
    numbers = count_from(count + 1)
    gc.collect()
    seconds = 0.0
    for batch in batched(links, 100):
        for server, link, grade in batch:
            server.append(link, grade, lambda: next(numbers))
        visited = []
        started = time.process_time()
        for server, _, _ in batch:
            frontier.changed(server)
            chosen = frontier.open_visit(0.0)
            frontier.close_visit(chosen)
            visited.append(chosen)
        seconds += time.process_time() - started
        for server in visited:
            frontier.take(server, 0.0)
            frontier.changed(server)
    return seconds / _CHOICES


def ready(count: int) -> tuple[Frontier, list[tuple[Server, Link, int]]]:
    """Return a frontier of so many servers, all ready, with a URL each; and links to come, each with its server and grade."""
    chance = Random(1)
    frontier = Frontier(lambda *_: [], policy=Capability(), resident_max=10**9)
    for start in range(0, count, 1000):
        found = [f"http://host{number}.example/" for number in range(start, start + 1000)]
        frontier.offer(found, depth=1, scores=[chance.random() for _ in found])
    servers = list(frontier.servers.values())
    links = [
        (chance.choice(servers), Link(f"/{number}", 1), chance.randrange(119, 129))
        for number in range(_CHOICES)
    ]
    frontier.close_visit(frontier.open_visit(0.0))  # now all are ready
    return frontier, links


def reader(journal: Journal) -> Read:
    """Return what reads links as a job does."""
    return lambda block, *which: decode_links(journal.links(block.number), *which)


def batched(items: list[Item], size: int) -> Iterator[list[Item]]:
    """Return the items by so many."""
    return (items[start : start + size] for start in range(0, len(items), size))


def fill(frontier: Frontier, journal: Journal, count: int, servers: int) -> None:
    """Offer URLs, a hundred at a time as from a page, on so many servers in no order; commit regularly."""
    for start in range(0, count, 100):
        numbers = range(start, min(start + 100, count))
        frontier.offer(
            (f"http://host{n * 7919 % servers}.example/a/page-{n}.html" for n in numbers),
            depth=1,
            referrer=f"http://host{start % servers}.example/a/",
            scores=[0.8 ** (n % 13) for n in numbers],
        )
        if not start % _COMMIT:
            commit(frontier, journal)
    commit(frontier, journal)


def commit(frontier: Frontier, journal: Journal) -> None:
    """Store the changes of a frontier as a job does."""
    changes = frontier.changes()
    rows = [
        (
            (
                block.number,
                server.key,
                grades,
                block.size,
                encode_done(block.done),
                encode_links(links),
            ),
            is_new,
        )
        for server, block, links, grades, is_new in changes.grown
    ]
    journal.commit(
        Batch(
            blocks=[row for row, is_new in rows if is_new],
            grown=[row for row, is_new in rows if not is_new],
            done=[(encode_done(block.done), block.number) for block in changes.progressed],
            finished=[(block.number,) for block in changes.finished],
            fingerprints=changes.fingerprints,
        )
    )
    frontier.committed(changes)


def measure(kind: str, count: int) -> tuple[float, float]:
    """Run one measurement in a process of its own; return microseconds and peak bytes for one."""
    command = [sys.executable, __file__, "--one", kind, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    microseconds, size = map(float, done.stdout.split())
    return microseconds, size


def one(kind: str, count: int) -> None:
    """Measure in this process, and print."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    in_memory = {"known": known, "rank": rank, "choose": choose}
    if kind in in_memory:
        seconds = in_memory[kind](count)
    else:
        with tempfile.TemporaryDirectory() as directory:
            seconds = {"queued": queued, "spread": spread, "idle": idle}[kind](count, directory)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(seconds * 1e6, grown * 1024 / count)


ROWS = {
    "known": (10_000_000, 100),
    "queued": (1_000_000, 100),
    "spread": (10_000_000, 100),
    "idle": (1_000_000, 100),
    "rank": (1_000_000, 1_000),
    "choose": (1_000_000, 1_000),
}
"""How many, and the divisor of the smaller size that it is compared with."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the size")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument(
        "--one", nargs=2, metavar=("KIND", "COUNT"), help="one measurement, in this process"
    )
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one[0], int(arguments.one[1]))
        return
    scale = 100 if arguments.quick else 1
    print(
        "| what | count | us each | B each | peak MB | time against less |\n|---|---:|---:|---:|---:|---:|"
    )
    for kind in arguments.rows:
        count, divisor = ROWS[kind]
        count //= scale
        small, _ = measure(kind, max(count // divisor, 100))
        large, size = measure(kind, count)
        print(
            f"| {kind} | {count:,} | {large:.2f} | {size:.0f} | {size * count / 1e6:.0f} | {large / small:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
