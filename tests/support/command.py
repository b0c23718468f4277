"""The command as a user runs it: what it said, how it ended, what it used, and what it wrote."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

COMMAND = [sys.executable, "-m", "andante"]


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    """Exit status; negative: the signal that killed it."""
    out: str
    err: str
    peak: int
    """Most memory it had, bytes."""
    family: int = 0
    """The same, with the most that any of its children had."""


class Ended(NamedTuple):
    """A URL that ended without a page, as ``andante status --urls`` tells it."""

    state: str
    reason: str
    detail: str


class Running:
    """A command under way; to be waited for."""

    def __init__(self, *arguments: object, cwd: Path, prefix: tuple[str, ...] = ()) -> None:
        self._out, self._err = os.memfd_create("out"), os.memfd_create("err")
        self.process = subprocess.Popen(
            [*prefix, *COMMAND, *map(str, arguments)],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            env=os.environ | {"COLUMNS": "200"},
        )

    def wait(self, timeout: float = 60.0) -> Done:
        """Wait for its end; a command that takes longer is killed."""
        give_up, peak, child = time.monotonic() + timeout, 0, 0
        while self.process.poll() is None:
            if time.monotonic() > give_up:
                self.process.kill()
            peak = max(peak, _peak(self.process.pid))
            child = max([child, *map(_peak, _children(self.process.pid))])
            time.sleep(0.01)
        done = Done(self.process.returncode, _text(self._out), _text(self._err), peak, peak + child)
        os.close(self._out)
        os.close(self._err)
        return done

    @property
    def err(self) -> str:
        """What it has written to standard error so far."""
        return _text(self._err)


def _peak(pid: int) -> int:
    """Return the most memory that a process has had so far. What wait4 tells counts its parent's as well."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # a child that has ended
        return 0
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def _children(pid: int) -> list[int]:
    """Return the children of a process, whichever of its threads has started them."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, thread.read_text().split())
    return found


def _text(file: int) -> str:
    return os.pread(file, 10**8, 0).decode()


def run(*arguments: object, cwd: Path, timeout: float = 60.0, **options: Any) -> Done:
    """Run the command; one that takes longer than ``timeout`` seconds is killed."""
    return Running(*arguments, cwd=cwd, **options).wait(timeout)


async def andante(*arguments: object, cwd: Path, **options: Any) -> Done:
    """Run the command while this loop goes on, as with servers for it."""
    return await asyncio.to_thread(run, *arguments, cwd=cwd, **options)


def status(cwd: Path, job: str = "job") -> dict[str, Any]:
    """Return what a job holds, as ``andante status --json`` tells it."""
    return dict(json.loads(run("status", job, "--json", cwd=cwd).out))


def ended(cwd: Path, job: str = "job") -> dict[str, Ended]:
    """Return the URLs of a job that ended without a page."""
    lines = run("status", job, "--urls", cwd=cwd).out.splitlines()
    rows = (line.split("\t", 3) for line in lines)
    return {url: Ended(state, reason, detail) for state, reason, url, detail in rows}


def pages(cwd: Path, name: str = "pages.jsonl") -> list[dict[str, Any]]:
    """Return the pages of a JSON Lines output."""
    return [json.loads(line) for line in (cwd / name).read_text().splitlines()]


def adds_up(summary: str) -> bool:
    """Tell whether the counts of URLs in a summary make the number known."""
    known, rest = re.findall(r"([\d,]+) URLs known, of which\n(.*?)\n\n", summary, re.DOTALL)[0]
    counts = [int(line.split()[0].replace(",", "")) for line in rest.splitlines()]
    return int(known.replace(",", "")) == sum(counts)
