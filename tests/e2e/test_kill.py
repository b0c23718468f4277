"""Never lost, never twice: SIGKILL at any moment, the same command again, and each page is in the outputs exactly once."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from pyarrow import parquet
from warcio.checker import Checker

SEEDS = range(20, 20 + int(os.environ.get("KILL_SEEDS", "1")))
"""Make soak tries many."""


def command(url, *flags):
    return [
        *(sys.executable, "-m", "andante", "crawl", url, "--job", "job", "--quiet"),
        *("--output", "pages.warc.gz", "--output", "pages.jsonl", "--output", "pages.parquet"),
        *("--rate", "120/s", "--per-server", "4", "--commit-interval", "40ms"),
        *flags,
    ]


def in_warc(folder):
    """Return how often each page is in the WARC files, which must be valid."""
    pages = Counter()
    for path in sorted(folder.glob("pages*.warc.gz")):
        assert_valid(path)
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                pages[record.headers["WARC-Target-URI"]] += 1
    return pages


def assert_valid(path):
    class Options:
        inputs = [str(path)]
        verbose = False

    assert Checker(Options()).process_all() == 0


def in_jsonl(folder):
    with (folder / "pages.jsonl").open() as lines:
        return Counter(json.loads(line)["final_url"] for line in lines)


def in_parquet(folder):
    return Counter(parquet.read_table(folder / "pages.parquet")["final_url"].to_pylist())


@pytest.fixture(scope="module")
def undisturbed(sites, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    subprocess.run(command(sites.url(), "--rate", "max"), cwd=folder, check=True)
    pages = set(in_warc(folder))
    assert len(pages) > 1_100
    return pages


@pytest.mark.parametrize(
    ("kills", "seed"),
    [(5, 20), *(pytest.param(20, seed, marks=pytest.mark.slow) for seed in SEEDS)],
)
def test_killed_at_random_moments(sites, undisturbed, tmp_path, kills, seed):
    chance = random.Random(seed)
    progress = []
    for _ in range(kills):
        process = subprocess.Popen(command(sites.url()), cwd=tmp_path)
        if chance.random() < 0.8:  # the others may die before they have begun
            wait_for_growth(tmp_path / "pages.jsonl", process)
        time.sleep(chance.uniform(0.0, 0.3))
        process.kill()
        assert process.wait() == -signal.SIGKILL, "it had finished: the test kills too late"
        progress.append(committed(tmp_path))
    assert progress == sorted(progress)
    assert len(set(progress)) > kills // 2, "most starts get somewhere"
    subprocess.run(command(sites.url()), cwd=tmp_path, check=True)
    for pages in (in_warc(tmp_path), in_jsonl(tmp_path), in_parquet(tmp_path)):
        assert set(pages) == undisturbed
        assert set(pages.values()) == {1}


def wait_for_growth(path, process):
    """Wait until a file is larger than it is now."""
    before = path.stat().st_size if path.exists() else 0
    while process.poll() is None and (not path.exists() or path.stat().st_size <= before):
        time.sleep(0.002)


def committed(folder):
    done = subprocess.run(
        [sys.executable, "-m", "andante", "status", "job", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout)["pages"] if done.returncode == 0 else 0


# A commit appends to the outputs, syncs them, and then commits the transaction. Die at each point of that.
POINTS = {
    "before the outputs are appended": "output.Output.append = die",
    "between two outputs": "count = iter(range(99)); append = output.Output.append\n"
    "output.Output.append = lambda self, records: die() if next(count) % 3 == 1 and self.position[1] else append(self, records)",
    "in the middle of a record": "import os; writev = os.writev\n"
    "os.writev = lambda file, buffers: (writev(file, [b''.join(buffers)[:-7]]), die()) if sum(map(len, buffers)) > 5000 else writev(file, buffers)",
    "before the outputs are synced": "output.Output.sync = die",
    "before the transaction": "commit = journal.Journal.commit\n"
    "journal.Journal.commit = lambda self, batch: die() if batch.fingerprints or batch.done else commit(self, batch)",
    "within the transaction": "from types import SimpleNamespace as S; encode = journal.msgspec.msgpack.encode\n"
    "dying = {'encode': lambda value: die() if type(value) is list else encode(value)}\n"
    "journal.msgspec = S(**vars(journal.msgspec) | {'msgpack': S(**vars(journal.msgspec.msgpack) | dying)})",
    "when it is committed": "commit = journal.Journal.commit\n"
    "journal.Journal.commit = lambda self, batch: (commit(self, batch), (batch.fingerprints or batch.done or batch.finished) and die())",
}

DYING = """
import os, signal, sys
from andante.store import journal, output
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
{point}
from andante.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("point", POINTS)
def test_killed_in_the_middle_of_a_commit(sites, undisturbed, tmp_path, point):
    arguments = command(sites.url(), "--rate", "max")[3:]
    script = DYING.format(point=POINTS[point])
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], cwd=tmp_path, check=False, timeout=60
        )
        assert done.returncode == -signal.SIGKILL
    subprocess.run(command(sites.url(), "--rate", "max"), cwd=tmp_path, check=True)
    for pages in (in_warc(tmp_path), in_jsonl(tmp_path), in_parquet(tmp_path)):
        assert set(pages) == undisturbed
        assert set(pages.values()) == {1}


def test_a_torn_last_block(sites, undisturbed, tmp_path):
    """The machine dies: SQLite's log and the outputs end anywhere past the last sync, here within the last commit."""
    for cut in (1, 1_000, 30_000):
        process = subprocess.Popen(command(sites.url()), cwd=tmp_path)
        wait_for_growth(tmp_path / "pages.jsonl", process)
        time.sleep(0.2)
        process.kill()
        process.wait()
        log = tmp_path / "job" / "journal.sqlite-wal"
        if log.exists() and log.stat().st_size > cut:
            log.write_bytes(log.read_bytes()[:-cut])
        with (tmp_path / "pages.jsonl").open("ab") as output:
            output.write(b'{"url": "torn')
    subprocess.run(command(sites.url(), "--rate", "max"), cwd=tmp_path, check=True)
    for pages in (in_warc(tmp_path), in_jsonl(tmp_path), in_parquet(tmp_path)):
        assert set(pages) == undisturbed
        assert set(pages.values()) == {1}
