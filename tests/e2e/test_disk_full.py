"""The disk is full: the crawl stops with a clear line, and goes on after space is made."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter

import pytest
import uvloop

from support.command import run
from support.slow import slow_hosts

# RLIMIT_FSIZE stands for a disk that is full: it needs no rights, and no file can grow beyond it.
LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
from andante.cli import main
sys.exit(main(sys.argv[1:]))
"""


def command(url, output):
    return [
        "crawl",
        url,
        "--job",
        "job",
        "--rate",
        "max",
        "--output",
        output,
        "--commit-interval",
        "50ms",
        "--quiet",
    ]


def limited(limit, arguments, cwd):
    return subprocess.run(
        [sys.executable, "-c", LIMITED.format(limit=limit), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )


@pytest.mark.parametrize(
    ("output", "limit"),
    [
        ("pages.jsonl", 300_000),  # the output is what does not fit
        ("pages.jsonl", 130_000),  # the journal is
    ],
)
def test_it_stops_clearly_and_goes_on_later(sites, andante, tmp_path, output, limit):
    arguments = command(sites.url(), output)
    for _ in range(2):
        done = limited(limit, arguments, tmp_path)
        assert done.returncode == 1, done.stderr
        first, second = done.stderr.splitlines()
        assert first.startswith("andante: ")
        assert any(text in first for text in ("File too large", "disk I/O error", "full")), first
        assert (
            second
            == "andante: what was committed is safe; the same command again goes on (job: job)"
        )
    andante(*arguments)
    with (tmp_path / output).open() as lines:
        pages = Counter(json.loads(line)["final_url"] for line in lines)
    assert len(pages) > 1_100
    assert set(pages.values()) == {1}


def test_a_disk_that_cannot_take_a_large_body_stops_the_crawl_and_loses_no_page(tmp_path):
    async def main():
        async with slow_hosts(1, size=2**20, seconds=0.1) as [host]:
            arguments = [*command(host.url, "pages.jsonl"), "--body-memory", "100kB"]
            done = await asyncio.to_thread(limited, 500_000, arguments, tmp_path)
            assert done.returncode == 1, done.stderr
            first, second = done.stderr.splitlines()
            assert "File too large" in first
            assert second.startswith("andante: what was committed is safe")
            assert (await asyncio.to_thread(run, *arguments, cwd=tmp_path)).status == 0

    uvloop.run(main())
    [line] = (tmp_path / "pages.jsonl").read_text().splitlines()
    assert (json.loads(line)["bytes"], json.loads(line)["truncated"]) == (2**20, "")
