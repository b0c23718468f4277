"""A crawl by several nodes, as far as balancing sees it: beats, queues of URLs by server, a pool, and old news."""

from collections import deque

from andante.cluster.balance import Load, Throughput, Vessels, choose


class Node:
    """Works through its servers in turn, as fast as it and they allow."""

    def __init__(self, epoch, speed, rule):
        self.epoch = epoch
        self.speed = speed
        self.rule = rule
        self.servers = {}
        self.usable_from = {}
        self.meter = Throughput()
        self.turn = deque()
        self.credit = 0.0
        self.finished_at = 0

    @property
    def waiting(self):
        return sum(self.servers.values())

    @property
    def load(self):
        meter = self.meter
        return Load(
            waiting=self.waiting,
            throughput=meter.rate,
            power=meter.power,
            known=meter.known,
            servers=len(self.servers),
            largest=max(self.servers.values(), default=0),
        )

    def own(self, key, waiting, usable_from):
        self.servers[key] = waiting
        self.usable_from[key] = usable_from
        self.turn.append(key)

    def give(self, key):
        self.turn.remove(key)
        return self.servers.pop(key)


class Cluster:
    """Nodes, and the store between them.

    Args:
        rng: decides how old news are and how fast a node is at the moment.
        pauses: seconds from request to request, by server; 0.001 where nothing is said.
        delays: beats by which what a node hears of others may be late.
        noise: part of its speed by which a node differs from beat to beat.
        fresh: gives the links found on a page, a list of servers.
    """

    def __init__(self, rng, *, pauses=None, delays=(1, 2, 3), noise=0.2, fresh=None, rule=Vessels):
        self.rng = rng
        self.pauses = pauses or {}
        self.delays = delays
        self.noise = noise
        self.fresh = fresh or (lambda server: ())
        self.rule = rule
        self.nodes = {}
        self.pool = {}
        self.now = 0
        self.news = deque(maxlen=max(delays) + 1)
        self.moves = []
        """(beat, server, "give" or "take")"""
        self.fetched = 0
        self.last = 0

    # Who is there

    def join(self, speed, servers=None):
        self.last += 1
        node = self.nodes[self.last] = Node(self.last, speed, self.rule())
        for key, waiting in (servers or {}).items():
            node.own(key, waiting, self.now)
        return node

    def leave(self, epoch):
        self.pool |= self.nodes.pop(epoch).servers

    @property
    def waiting(self):
        return sum(node.waiting for node in self.nodes.values()) + sum(self.pool.values())

    def beats(self, count):
        for _ in range(count):
            self.beat()

    def drain(self, most=100_000):
        """Beat until nothing waits; return how many beats that took."""
        start = self.now
        while self.waiting and self.now < start + most:
            self.beat()
        return self.now - start

    # What happens in a beat

    def beat(self):
        self.now += 1
        loads = {epoch: node.load for epoch, node in self.nodes.items()}
        self.news.append((loads, self.waiting, len(self.pool)))
        for node in list(self.nodes.values()):
            self._work(node)
            loads, waiting, pool = self.news[-min(self.rng.choice(self.delays), len(self.news))]
            living = {epoch: load for epoch, load in loads.items() if epoch in self.nodes}
            living[node.epoch] = node.load
            self._move(node, node.rule.decide(node.epoch, living, waiting=waiting, pool=pool))

    def _work(self, node):
        power = node.speed * self.rng.uniform(1 - self.noise, 1 + self.noise)
        node.credit += power
        budget = int(node.credit)
        node.credit -= budget
        pages = 0
        hungry = False
        for _ in range(len(node.turn)):
            key = node.turn[0]
            pause = self.pauses.get(key, 0.001)
            allowed = int((self.now + 1) / pause) - int(self.now / pause)
            if node.usable_from[key] > self.now:
                allowed = 0
            wanted = min(allowed, node.servers[key])
            done = min(wanted, budget - pages)
            pages += done
            node.servers[key] -= done
            self._find(node, key, done)
            if done < wanted:
                hungry = True
                break
            node.turn.popleft()
            if node.servers[key]:
                node.turn.append(key)
            else:
                del node.servers[key]
        if pages:
            node.finished_at = self.now
        self.fetched += pages
        node.meter.add(1.0, pages, use=1.0 if hungry else pages / max(power, 1e-9))

    def _find(self, node, key, pages):
        for _ in range(pages):
            for found in self.fresh(key):
                self._add(node, found)

    def _add(self, finder, server):
        for node in self.nodes.values():
            if server in node.servers:
                node.servers[server] += 1
                return
        if server in self.pool:
            self.pool[server] += 1
        else:
            finder.own(server, 1, self.now)

    def _move(self, node, move):
        assert not (move.give and move.take)
        if move.give:
            listed = [(key, node.servers[key], False) for key in node.turn]
            before = node.waiting
            for key in choose(listed, move.give):
                self.pool[key] = node.give(key)
                self.moves.append((self.now, key, "give"))
            assert before - node.waiting <= move.give
        urls = move.take
        while urls > 0 and self.pool:
            key = next(iter(self.pool))
            urls -= self.pool[key]
            node.own(key, self.pool.pop(key), self.now + self.rng.choice(self.delays))
            self.moves.append((self.now, key, "take"))
