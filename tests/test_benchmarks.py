"""The benchmarks are run small, so that they do not rot; no times are asserted."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from andante.plan import METHODS

ROOT = Path(__file__).parent.parent


def run(name, *arguments, timeout=120):
    """Run a benchmark; return the lines that it has printed."""
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / name, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'tests'}:{os.environ.get('PYTHONPATH', '')}"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_scale():
    """A hundredth of the size. Memory is, with room for another allocator, what it is at full size."""
    rows = [[cell.strip() for cell in line.split("|")] for line in run("scale.py", "--quick")[2:]]
    assert [row[1] for row in rows] == ["known", "queued", "spread", "idle", "rank", "choose"]
    assert [row[2] for row in rows] == [
        "100,000",
        "10,000",
        "100,000",
        "10,000",
        "10,000",
        "10,000",
    ]
    assert all(float(row[5]) < 200 for row in rows)


def test_soak():
    """So small that memory is what a crawl has at first; what it comes to, the slow test says."""
    *_, result = run("soak.py", "--urls", 80_000, "--hosts", 20)
    assert result.startswith("80,001 known, 70,001 queued: ")


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [1, 200])
def test_soak_memory(hosts):
    """It was 150 to 200 bytes for each known URL while the queues of servers being visited stayed in memory. It is 12 to 16 in a long crawl, and in a short one besides what fills up at first."""
    *_, result = run("soak.py", "--urls", 800_000, "--hosts", hosts, timeout=1_200)
    known, slope = re.match(r"([\d,]+) known, [\d,]+ queued: ([\d.-]+) B", result).groups()
    assert known == "800,001"
    assert float(slope) < 60


def test_outputs():
    lines = run("outputs.py", "--pages", 2, "--rounds", 1)
    names = [line.split()[:2] for line in lines if line.startswith(("andante", "fastwarc"))]
    assert len(names) == 3 * 5, lines
    assert ["andante", ".warc.gz"] in names


def test_parse():
    sites = [line.split()[0] for line in run("parse.py", 2)[1:]]
    assert sites == ["python3.11-doc", "openjdk-17-doc", "postgresql-doc-15"]


@pytest.mark.slow
@pytest.mark.skipif(not {0, 1} <= os.sched_getaffinity(0), reason="needs the cores 0 and 1")
def test_crawl(tmp_path):
    """One site without peers: that all its pages are found, and nothing else is asked for, the benchmark checks itself."""
    only = ("--sites", "postgresql", "--peers", "--runs", 1, "--folder", tmp_path)
    (row,) = [line.split("|") for line in run("crawl.py", *only) if line.startswith("| postgresql")]
    assert row[2].strip() == "Andante"
    assert int(row[3].replace(",", "")) > 1_000


@pytest.mark.slow
def test_limit():
    """Real time, and a busy machine: only that the crawl gets on, and that it does so without a queue ten times as long as the work."""
    rows = [line.split("|") for line in run("limit.py", "--workers", 4, "--seconds", 6)[2:]]
    assert [row[1].strip() for row in rows] == ["4"]
    assert float(rows[0][2]) > 0.3
    assert float(rows[0][3]) < 10


def test_simulate():
    lines = run("simulate.py", "--pages", 300, "--servers", 10, "--rounds", 1)
    assert lines[1].startswith("simulated 300 pages in ")
    assert lines[-1].startswith("median ")


def test_redis_memory():
    only = ("--urls", 20_000, "--queued", 2_000, "--per-server", 200)
    for seen in ("exact", "bloom"):
        known, waiting = run("redis_memory.py", *only, "--seen", seen)
        assert float(known.split()[-3]) > 7
        assert float(waiting.split()[-3]) > 10


@pytest.mark.slow
def test_cluster():
    """Andante alone on fast hosts and on slow ones, cut off with requests under way; what peers need is installed by make cluster-bench."""
    only = ("--crawlers", "Andante", "--rtt", 10, "--hosts", 20, "--pages", 1_000, "--steady", 30)
    rows = [line.split("|") for line in run("cluster.py", *only) if line.startswith("| 10 |")]
    assert [row[2].strip() for row in rows] == ["Andante", "Andante"]
    assert [row[3].strip() for row in rows] == ["all", "30/s"]
    assert [int(row[5].replace(",", "")) for row in rows] == [1_000, 1_000]
    assert all(float(row[-2].split(",")[0]) == pytest.approx(10, abs=1) for row in rows)


@pytest.mark.slow
def test_plan():
    """Three small problems of each shape: the optimum is proven, and the gap to it is as asked."""
    small = ("--tasks", 12, "--types", 2, 3, 5, "--seeds", 1, "--seconds", 9, "--large", 300)
    lines = run("plan.py", *small)
    assert sum(line.startswith("| 12 ") for line in lines) == 12
    assert "12 problems, the optimum proven for 12" in lines
    (gaps,) = [line for line in lines if line.startswith("to the optimum, 12 problems: ")]
    mean, greatest = map(float, re.findall(r"([\d.]+) %", gaps))
    assert mean <= 2
    assert greatest <= 8
    assert [line.split(":")[0] for line in lines[-6:]] == list(METHODS)


@pytest.mark.slow
def test_cluster_failures():
    """Once, small; others are in tests/e2e."""
    (line,) = run("cluster_failures.py", "--small", "--times", 1, "--only", "one killed")
    assert line.startswith("one killed, 1: killed after "), line
