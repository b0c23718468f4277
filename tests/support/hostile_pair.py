"""A good host and a hostile one in one crawl: whatever the hostile one sends, the good one must see no pause.

pair = await crawl_pair(tmp_path, {"/": html(b"...")})
assert pair.longest_pause < 1
assert pair.outcomes["/"] == "fetched"
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support import command
from support.web import Answer, Reply, Web, page

RATE = 20
"""Requests that the good host gets in a second."""
SETTINGS = (
    *("--job", "job", "--output", "pages.jsonl", "--output", "pages.warc.gz"),
    *("--rate", f"{RATE}/s", "--allow-private", "--no-per-ip"),
)


@dataclass(frozen=True)
class Pair:
    """How a crawl of a pair has ended."""

    done: command.Done
    longest_pause: float
    """Seconds that the good host has waited for a request at most, beyond those of its rate."""
    good: int
    """Pages of the good host that were fetched."""
    outcomes: Mapping[str, str]
    """How each URL of the hostile host has ended: ``fetched``, or the reason why it was not, by its path."""
    longest_line: int
    """Bytes of the longest line of the JSON Lines."""


async def crawl_pair(
    cwd: Path, answers: Mapping[str, Answer], *arguments: object, good: int = 200
) -> Pair:
    """Crawl a good host, and beside it a hostile one with these answers.

    Args:
        cwd: where the job is made, or goes on.
        answers: of the hostile host; its start page is asked for first.
        arguments: of the command, besides `SETTINGS`.
        good: pages of the good host. The hostile one's time is that which these take.
    """
    paths = [f"/{number}" for number in range(good - 1)]
    async with Web() as web:
        server = await web.server({"/": page(*paths)} | {path: page() for path in paths})
        hostile = await web.server(answers)
        done = await command.andante(
            "crawl", server.url, hostile.url, *SETTINGS, *arguments, cwd=cwd, timeout=300
        )
    outcomes = {}
    for url, ended in command.ended(cwd).items():
        outcomes[url] = ended.reason
    fetched = [each["final_url"] for each in command.pages(cwd)]
    lines = (cwd / "pages.jsonl").read_bytes().splitlines()
    return Pair(
        done=done,
        longest_pause=max(server.pauses, default=0.0) - 1 / RATE,
        good=sum(url.startswith(server.url) for url in fetched),
        outcomes={
            url.removeprefix(hostile.url.rstrip("/")): reason
            for url, reason in (outcomes | dict.fromkeys(fetched, "fetched")).items()
            if url.startswith(hostile.url)
        },
        longest_line=max(map(len, lines), default=0),
    )


def html(body: bytes, *, packed: bool = False, kind: str = "text/html") -> Reply:
    """Return a page; with ``packed``, as gzip."""
    headers = {"Content-Type": kind} | ({"Content-Encoding": "gzip"} if packed else {})
    return Reply(200, headers, gzip.compress(body, 1) if packed else body)
