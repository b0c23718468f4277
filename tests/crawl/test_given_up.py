"""A server that is given up, or that forbids all, with many URLs: they end some at a time, and each once."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
import uvloop

import andante
from andante.crawl import ends
from andante.store.journal import Journal
from support.web import Reply, Web, robots

COUNT = 50_000
BUFFER = 1_000_000
OPTIONS = {
    "rate": 6000.0,
    "allow_private": True,
    "give_up_after": 1,
    "retries": 0,
    "commit_interval": 60.0,
    "max_buffer": BUFFER,
}


class Watched:
    """A crawl of many URLs of one server, and what was seen of it."""

    def __init__(self, tmp_path, server, stop_at):
        self.ends = Counter()
        self.most_unwritten = self.most_in_a_turn = 0
        self._stop_at = stop_at
        self._in_this_turn = 0
        self.crawl = andante.Crawl(
            [f"{server.url}{number}" for number in range(COUNT)],
            job=tmp_path / "job",
            output=[tmp_path / "pages.jsonl"],
            on_event=self._on_event,
            **OPTIONS,
        )

    def _on_event(self, event):
        if event.event != "url.excluded":
            return
        self.ends[event.url] += 1
        self._in_this_turn += 1
        self.most_unwritten = max(self.most_unwritten, self.crawl._state.job.pending)
        if len(self.ends) == self._stop_at:
            self.crawl.interrupt()

    async def run(self):
        turns = asyncio.create_task(self._watch_turns())
        await self.crawl.run()
        turns.cancel()
        return self

    async def _watch_turns(self):
        while True:
            self.most_in_a_turn = max(self.most_in_a_turn, self._in_this_turn)
            self._in_this_turn = 0
            await asyncio.sleep(0)


async def crawl(tmp_path, name, stops=(None,)):
    """Crawl a server that forbids all, that fails, or whose robots.txt is at another one that fails; start again after each stop."""
    async with Web() as web:
        failing = await web.server({"/robots.txt": Reply(503)})
        answer = {
            "forbids": robots("User-agent: *\nDisallow: /\n"),
            "fails": Reply(503),
            "elsewhere": Reply(301, {"Location": failing.url + "robots.txt"}),
        }[name]
        server = await web.server({"/robots.txt": answer})
        seen = [await Watched(tmp_path, server, stop_at).run() for stop_at in stops]
        assert server.paths == []
        return seen


REASONS = {
    "forbids": "robots",
    "fails": "robots-unreachable",
    "elsewhere": "robots-unreachable",
}


@pytest.mark.parametrize("name", REASONS)
def test_all_end_once_and_some_at_a_time(tmp_path, name):
    (seen,) = uvloop.run(crawl(tmp_path, name))
    assert len(seen.ends) == COUNT
    assert set(seen.ends.values()) == {1}, "an event for each"
    assert seen.crawl.stats.excluded == {REASONS[name]: COUNT}
    assert seen.most_in_a_turn <= ends.ENDED_AT_ONCE
    assert seen.most_unwritten < BUFFER + 300 * ends.ENDED_AT_ONCE, "they are written meanwhile"
    assert sorted(written(tmp_path)) == sorted(seen.ends)


@pytest.mark.parametrize("name", REASONS)
def test_what_a_stop_has_left_ends_at_the_next_start(tmp_path, name):
    stopped, seen = uvloop.run(crawl(tmp_path, name, stops=(5_000, None)))
    assert 5_000 <= len(stopped.ends) <= 5_000 + 2 * ends.ENDED_AT_ONCE
    assert seen.crawl.stats.excluded == {REASONS[name]: COUNT}
    assert sorted(written(tmp_path)) == sorted([*stopped.ends, *seen.ends])
    assert len(stopped.ends | seen.ends) == COUNT


def written(tmp_path):
    """Return the URLs that the job says have ended."""
    return [each.url for each in Journal(tmp_path / "job" / "journal.sqlite").ended()]
