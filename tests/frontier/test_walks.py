"""Long seeded walks over one server whose URLs change their scores: each URL is fetched once, whatever is in memory, on disk or gone."""

from random import Random

import pytest

from andante.frontier import Block, Frontier, queue
from andante.frontier import block as block_module
from andante.frontier.block import decode_links, encode_links
from andante.frontier.policy import BreadthFirst, QualityFirst

SCORES = (0.1, 0.5, 1.0)


class Walk:
    """Offers, scores, fetches, retries, commits and deaths, by chance."""

    def __init__(self, seed, policy, resident_max):
        self.chance = Random(seed)
        self.policy, self.resident_max = policy, resident_max
        self.links, self.rows, self.fingerprints = {}, {}, b""
        self.known, self.ended, self.in_hand = set(), set(), []
        self.committed = (set(), set())
        self.frontier = self.new()

    def new(self):
        return Frontier(
            lambda block, start, stop: decode_links(self.links[block.number], start, stop),
            policy=self.policy,
            rescores=self.policy.by_score,
            resident_max=self.resident_max,
        )

    def offer(self):
        first = self.chance.randrange(300)
        found = [f"http://a.example/{first + n}" for n in range(self.chance.randrange(1, 12))]
        scores = [self.chance.choice(SCORES)] * len(found)
        added = self.frontier.offer(found, depth=0, scores=scores)
        assert added == len(set(found) - self.known)
        self.known |= set(found)

    def rescore(self):
        if self.known:
            url = self.chance.choice(sorted(self.known))
            self.frontier.rescore(url, self.chance.choice(SCORES))

    def fetch(self):
        if server := self.frontier.open_visit(0.0):
            for _ in range(self.chance.randrange(1, 8)):
                if task := self.frontier.take(server, 0.0):
                    assert task.url not in self.ended
                    self.in_hand.append(task)
            self.respond()
            self.frontier.close_visit(server)

    def respond(self):
        """End most of what is in hand; queue the rest again, or leave it."""
        for task in list(self.in_hand):
            kind = self.chance.random()
            if kind < 0.9:
                self.in_hand.remove(task)
            if kind < 0.7:
                self.frontier.finish(task)
                self.ended.add(task.url)
            elif kind < 0.9:
                self.frontier.retry(task, 0.0, attempts=1)

    def commit(self):
        changes = self.frontier.changes()
        for server, block, links, grades, _ in changes.grown:
            self.links[block.number] = self.links.get(block.number, b"") + encode_links(links)
            self.rows[block.number] = (server.key, grades, block.size, block.done)
        for block in changes.progressed:
            self.rows[block.number] = (*self.rows[block.number][:3], block.done)
        for block in changes.finished:
            del self.rows[block.number], self.links[block.number]
        self.fingerprints += changes.fingerprints
        self.frontier.committed(changes)
        self.committed = set(self.known), set(self.ended)

    def die(self):
        if self.chance.random() < 0.1:
            self.frontier = self.new()
            rows = [
                (key, Block.from_disk(number, grades=grades, size=size, done=done))
                for number, (key, grades, size, done) in sorted(self.rows.items())
            ]
            at = range(0, len(self.fingerprints), 8)
            self.frontier.restore(rows, [self.fingerprints[each : each + 8] for each in at])
            self.known, self.ended = map(set, self.committed)
            self.in_hand = []

    def run(self, steps):
        moves = [self.offer, self.rescore, self.fetch, self.fetch, self.commit, self.die]
        for _ in range(steps):
            self.chance.choice(moves)()
            waiting = len(self.known) - len(self.ended) - len(self.in_hand)
            assert self.frontier.queued == waiting
        while self.frontier.queued or self.in_hand:
            self.fetch()
            self.respond()
        self.commit()
        assert self.ended == self.known
        assert (self.frontier.resident, self.rows) == (0, {})


@pytest.mark.parametrize("policy", [BreadthFirst(), QualityFirst()], ids=["found", "score"])
@pytest.mark.parametrize("resident_max", [0, 10**6], ids=["on disk", "in memory"])
def test_nothing_is_lost_or_fetched_twice(policy, resident_max, monkeypatch):
    monkeypatch.setattr(block_module, "BLOCK_SIZE", 4)
    monkeypatch.setattr(queue, "MIXED", 2)
    for seed in range(250):
        Walk(seed, policy, resident_max).run(150)
