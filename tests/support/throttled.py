"""A throttle with a real frontier, for tests that move the clock themselves."""

from math import inf
from types import SimpleNamespace

from andante.crawl.settings import Settings
from andante.crawl.throttle import Throttle
from andante.fetch import Failure, Outcome, Response
from andante.flow import Pace
from andante.frontier import Frontier
from andante.observe import Stats

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT
A, B = "http://a.example", "http://b.example"


class Job:
    """What a throttle asks of a job."""

    def __init__(self):
        self.held = {}
        self.kept = {}
        self.suffering = {}

    def hold(self, server, until):
        self.held[server] = until

    def learn(self, server, learnt):
        self.kept[server] = learnt

    def learnt(self, server):
        return self.kept.get(server)

    def suffer(self, server, trouble):
        self.suffering[server] = trouble

    def trouble(self, server):
        return self.suffering.get(server), self.held.get(server, 0.0)


class Crawl:
    """A throttle with a real frontier; the clock moves when told to. Both servers are at one address."""

    def __init__(self, job=None, **settings):
        self.time = 0.0
        self.events = []
        self.job = job or Job()
        given = Settings(**{"rate": inf, "per_server": 4, **settings})
        self.frontier = Frontier(
            lambda _: [],
            set_point=given.rate,
            delay=given.delay,
            per_server=1 if given.per_server == "auto" else given.per_server,
            per_address=given.per_ip,
        )
        self.frontier.offer([f"{key}/{n}" for key in (A, B) for n in range(99)], depth=0)
        self.let_go = []
        self.state = SimpleNamespace(
            settings=given,
            job=self.job,
            frontier=self.frontier,
            total=Pace(set_point=given.total_rate),
            stats=Stats(),
            emit=self.events.append,
            now=lambda: self.time,
            wall=lambda: NOW + self.time,
            chance=lambda: 0.0,
            wake=lambda: None,
            robots=SimpleNamespace(forget=self.let_go.append),
        )
        self.throttle = Throttle(self.state)
        self.a, self.b = map(self.frontier.server, (A, B))
        for server in (self.a, self.b):
            self.frontier.bind(server, "127.0.0.2", 0.0)

    def answer(self, server, status=200, *, sent_at=None, headers=(), took=0.1, lag=0.0):
        """Ask a server, or take what came of a request sent at ``sent_at``."""
        if sent_at is None:
            sent_at = self.throttle.sent(server)
            self.time += took
            self.throttle.finished(server)
        response = Response(status, "", "1.1", list(headers), b"", sent_at, took, took, 0, lag=lag)
        return self.throttle.fetched(server, response, sent_at)

    def read_robots(self, server, result, *, unreachable=""):
        sent_at = self.throttle.sent(server)
        self.time += 0.1
        self.throttle.finished(server)
        self.throttle.read_robots(server, result, sent_at, unreachable=unreachable)

    def meter(self, server, allowed):
        """Be refused after so many requests, and answered again 10 s later: the server meters."""
        for _ in range(allowed):
            self.answer(server)
            self.time += 0.1
        self.answer(server, 429, headers=[(b"Retry-After", b"10")])
        self.time = server.next_time
        self.answer(server)
        return server.origin_pace.set_point


def fail(crawl, server, times, outcome=Outcome.CONNECT_TIMEOUT):
    """Let a server fail so often, each time when it may be asked again."""
    for _ in range(times):
        crawl.time = max(crawl.time, server.next_time)
        crawl.throttle.fetched(server, Failure(outcome), crawl.time)
