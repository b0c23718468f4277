"""Long seeded walks over servers that share addresses: who may be visited is, and nobody else, whatever has happened before."""

from math import inf
from random import Random

import pytest

from andante.frontier import Frontier, Measured
from andante.frontier.policy import BreadthFirst, Capability, PerformanceFirst, QualityFirst

SCORES = (0.0, 0.1, 1.0, 2.0)


class Visit:
    def __init__(self, server):
        self.server, self.tasks = server, []


class Walk:
    """Links, visits, responses, moves, errands, holds and limits, by chance."""

    def __init__(self, seed, policy):
        self.chance = chance = Random(seed)
        self.policy = policy
        self.per_server = chance.choice([1, 3])
        self.patience = chance.choice([inf, 2.0])
        self.frontier = Frontier(
            lambda _: [],
            policy=policy,
            patience=self.patience,
            set_point=chance.choice([inf, 60, 600]),
            delay=chance.choice([0.0, 0.3]),
            per_server=self.per_server,
            per_address=chance.random() < 0.8,
            rescores=policy.by_score,
        )
        self.servers = [f"http://{n}.example" for n in range(chance.choice([2, 4, 12]))]
        self.now = 0.0
        self.known, self.ended, self.visits = set(), set(), []

    # What happens

    def offer(self):
        chance = self.chance
        found = [f"{chance.choice(self.servers)}/{chance.randrange(50)}" for _ in range(3)]
        self.frontier.offer(found, depth=0, scores=[chance.choice(SCORES) for _ in found])
        self.known |= set(found)

    def rescore(self):
        if self.known:
            self.frontier.rescore(
                self.chance.choice(sorted(self.known)), self.chance.choice(SCORES)
            )

    def open(self):
        allowed = {server: self.policy.rank(server) for server in self.all() if self.is_due(server)}
        server = self.frontier.open_visit(self.now)
        if server is None:
            assert not allowed
            return
        assert server in allowed
        if self.is_exact():
            assert allowed[server] == max(allowed.values())
        self.visits.append(Visit(server))

    def fetch(self):
        visit = self.chance.choice(self.visits)
        server = visit.server
        if server.next_time <= self.now and not server.is_crowded:
            task = self.frontier.take(server, self.now)
            if task is not None:
                assert task.server is server
                assert task.url not in self.ended
                for pace in (server.origin_pace, server.address.pace):
                    pace.on_sent(self.now)
                visit.tasks.append(task)

    def respond(self):
        visit = self.chance.choice(self.visits)
        for task in visit.tasks:
            if self.chance.random() < 0.7:
                self.frontier.finish(task)
                self.ended.add(task.url)
            else:
                due = self.chance.choice([0.0, self.now + 3])
                self.frontier.retry(task, due, attempts=1)
        visit.tasks = []

    def close(self, visit=None):
        visit = visit or self.chance.choice(self.visits)
        for task in visit.tasks:
            self.frontier.retry(task, 0.0, attempts=0)
        if self.chance.random() < 0.7:
            time = self.chance.choice([None, 0.05, 0.5])
            self.frontier.learn(visit.server, Measured(connection_time=time, served=3))
        self.visits.remove(visit)
        self.frontier.close_visit(visit.server)

    def bind(self):
        visit = self.chance.choice(self.visits)
        if not self.frontier.bind(visit.server, f"10.0.0.{self.chance.randrange(4)}", self.now):
            self.close(visit)

    def widen(self):
        self.frontier.widen(self.chance.choice(self.visits).server)

    def limit(self):
        if self.per_server > 1:
            server = self.chance.choice(self.visits).server
            self.frontier.set_limit(server, self.chance.randrange(1, 4))
            for visit in list(self.visits):
                if visit.server.is_crowded:
                    self.close(visit)

    def send(self):
        server = self.chance.choice(self.visits).server
        other = self.frontier.server(self.chance.choice(self.servers))
        if other is not server and not self.frontier.is_absent(server):
            self.frontier.send(server, other)

    def do_errand(self):
        sender = self.frontier.take_errand(self.chance.choice(self.visits).server)
        if sender is not None:
            self.frontier.back(sender)

    def cool(self):
        if self.frontier.servers:
            self.frontier.cool(self.chance.choice(self.all()))

    def hold(self):
        server = self.chance.choice(self.visits).server
        self.chance.choice([server.origin_pace, server.address.pace]).hold(self.now + 2)

    def change_rates(self):
        """Some servers, or all, may be paused."""
        rate = self.chance.choice([60, inf, 0])
        rates = dict.fromkeys(self.servers, rate) | {self.chance.choice(self.servers): 600}
        self.frontier.change_rates(rates.__getitem__, self.now)

    def wait(self):
        self.now += self.chance.choice([0.01, 0.1, 1.0, 3.0])

    # What must hold

    def all(self):
        return list(self.frontier.servers.values())

    def is_exact(self):
        """Its order is by rank alone: no patience, and no address that has a place of its own."""
        return (
            self.patience == inf
            and isinstance(self.policy, BreadthFirst | QualityFirst)
            and all(server.warm is None or server.address.shared is None for server in self.all())
        )

    def is_due(self, server):
        """Tell whether it may be visited now."""
        address = server.warm and server.address
        is_shared = address is not None and address.shared is not None
        if server.visits >= server.limit or server.next_time > self.now:
            return False
        if is_shared and address.visits >= address.limit:
            return False
        if self.frontier.has_errand(server):
            return True
        fresh = server.queued - len(server.retries or ())
        again = bool(server.retries) and server.retries[0][0] <= self.now
        return not self.frontier.is_absent(server) and (fresh > 0 or again)

    def check(self):
        frontier = self.frontier
        in_hand = sum(len(visit.tasks) for visit in self.visits)
        waiting = len(self.known) - len(self.ended) - in_hand
        assert frontier.queued == sum(server.queued for server in self.all()) == waiting
        assert frontier.visits == len(self.visits)
        at = {}
        for server in self.all():
            if server.warm is not None:
                at[server.address] = at.get(server.address, 0) + server.visits
        assert all(address.visits == visits for address, visits in at.items())
        if any(map(self.is_due, self.all())):
            assert frontier.wakeup() <= self.now
        assert all(server.owed < inf for server in self.all()), "a pause is no debt"

    def run(self, steps):
        anywhere = [self.offer, self.rescore, *[self.open] * 4, self.cool, self.wait]
        in_visits = [*[self.fetch] * 5, *[self.respond] * 3, *[self.close] * 3, self.bind]
        in_visits += [self.widen, self.limit, self.send, self.do_errand, self.hold]
        for step in range(steps):
            moves = anywhere + in_visits if self.visits else anywhere
            self.chance.choice(moves)()
            if step % 50 == 0:
                self.change_rates()
            self.check()
        self.drain()

    def drain(self):
        self.frontier.change_rates(lambda _: 600, self.now)
        for _ in range(2_000):
            while self.visits:
                self.do_errand()
                self.fetch()
                self.respond()
                self.close()
            self.check()
            if not self.frontier.queued:
                break
            self.now += 1.0
            self.open()
        assert self.ended == self.known


@pytest.mark.parametrize("policy", [BreadthFirst, PerformanceFirst, QualityFirst, Capability])
def test_who_may_be_visited_is_and_nobody_else(policy):
    for seed in range(60):
        Walk(seed, policy()).run(300)


@pytest.mark.parametrize("addresses", [1, 3, 6])
def test_nobody_waits_longer_than_the_patience(addresses):
    """Also of those that share an address with others that wait."""
    frontier = Frontier(lambda _: [], policy=QualityFirst(), patience=5.0)
    frontier.offer([f"http://rich.example/{n}" for n in range(300)], depth=0, scores=[1.0] * 300)
    poor = [f"http://{n}.example" for n in range(6)]
    for key in poor:
        frontier.offer([f"{key}/{n}" for n in range(3)], depth=0, scores=[0.0] * 3)
    visited, now = dict.fromkeys(poor, 0.0), 0.0
    while frontier.queued > 100:
        server = frontier.open_visit(now)
        if server.key in visited:
            assert now - visited[server.key] < 6.0, "there is one visit in 0.1 s, and six servers"
            visited[server.key] = now
            frontier.bind(server, f"10.0.0.{poor.index(server.key) % addresses}", now)
        frontier.finish(frontier.take(server, now))
        now += 0.1
        frontier.close_visit(server)
    assert not any(frontier.server(key).queued for key in poor)
