"""What a crawl gets from a server that meters requests and refuses what is too much, by rule of back-off.

The server of the comparison lets 3.5 requests a second through, counted over 10 s, and refuses everything for 30 s when there are
more. The user has set no rate; the crawl lasts 10 minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

from andante.flow.backoff import Backoff, verdict
from andante.flow.ceiling import Ceiling, Learnt
from andante.flow.pace import Pace
from andante.sim.experiments.backoff_plant import (
    Changing,
    Client,
    Closed,
    Crawled,
    FixedWindow,
    Flaky,
    Meter,
    SlidingWindow,
    TokenBucket,
    crawl,
)
from andante.sim.experiments.result import Figure, Result, Series, Table

SECONDS = 600.0
"""Length of a crawl."""

_ANSWERED, _REFUSED = verdict("ok", 200).server, verdict("ok", 429).server


class Andante:
    """What Andante does: back-off, the learnt ceiling, and the user's set-point, if there is one."""

    def __init__(
        self, set_point: float = inf, *, learns: bool = True, learnt: Learnt | None = None
    ) -> None:
        self.pace = Pace(set_point=set_point)
        self.backoff = Backoff()
        self.ceiling = Ceiling(learnt) if learns else None

    @property
    def next_time(self) -> float:
        """See `Client`."""
        return self.pace.next_time

    @property
    def limit(self) -> float:
        """See `Client`."""
        return self.backoff.limit

    def on_sent(self, now: float) -> None:
        """See `Client`."""
        self.pace.on_sent(now)
        if self.ceiling is not None:
            self.ceiling.on_sent(now)
            self.pace.hold(self.ceiling.next_time)

    def on_answer(
        self, sent_at: float, *, now: float, is_refused: bool, retry_after: float, jitter: float
    ) -> None:
        """See `Client`."""
        self.pace.on_finished(now)
        wait = retry_after
        if self.ceiling is not None and is_refused:
            wait = max(wait, self.ceiling.on_refused(sent_at, now=now))
        elif self.ceiling is not None:
            self.ceiling.on_success(sent_at, now=now)
            self.pace.hold(self.ceiling.next_time)
        sign = _REFUSED if is_refused else _ANSWERED
        until = self.backoff.on_outcome(
            sign, sent_at=sent_at, now=now, jitter=jitter, at_least=wait
        )
        self.pace.hold(until)


class AdditiveIncrease:
    """AIMD on the rate: +0.1 requests/s each second, half at a refusal; back-off besides."""

    def __init__(self, rate: float = 1.0) -> None:
        self.backoff = Backoff()
        self._rate = rate
        self._last = -inf
        self._cut_at = 0.0
        self._raised_at = 0.0

    @property
    def next_time(self) -> float:
        """See `Client`."""
        return max(self._last + 1 / self._rate, self.backoff.until)

    @property
    def limit(self) -> float:
        """See `Client`."""
        return self.backoff.limit

    def on_sent(self, now: float) -> None:
        """See `Client`."""
        self._last = now

    def on_answer(
        self, sent_at: float, *, now: float, is_refused: bool, retry_after: float, jitter: float
    ) -> None:
        """See `Client`."""
        if not is_refused:
            self._rate += 0.1 * (now - self._raised_at)
        elif sent_at >= self._cut_at:
            self._rate, self._cut_at = max(self._rate / 2, 0.1), now
        self._raised_at = now
        sign = _REFUSED if is_refused else _ANSWERED
        self.backoff.on_outcome(sign, sent_at=sent_at, now=now, jitter=jitter, at_least=retry_after)


class AutoThrottle:
    """Scrapy's AutoThrottle: delay between requests moves to the mean of itself and the latency, and does not fall at an error.

    Start 5 s, at most 60 s, target concurrency 1, at most 8 requests at once. Refused requests go again like any other.
    """

    limit = 8.0

    def __init__(self) -> None:
        self._delay = 5.0
        self.next_time = 0.0
        self._last = 0.0

    def on_sent(self, now: float) -> None:
        """See `Client`."""
        self._last = now
        self.next_time = now + self._delay

    def on_answer(
        self, sent_at: float, *, now: float, is_refused: bool, retry_after: float, jitter: float
    ) -> None:
        """See `Client`."""
        del retry_after, jitter
        latency = now - sent_at
        delay = min(max(latency, (self._delay + latency) / 2), 60.0)
        if not is_refused or delay > self._delay:
            self._delay = delay
        self.next_time = self._last + self._delay


class FetchTime:
    """Heritrix: one request at a time, then a pause of 5 times what it took, from 3 to 30 s."""

    limit = 1.0

    def __init__(self, least: float = 3.0) -> None:
        self._least = least
        self.next_time = 0.0

    def on_sent(self, now: float) -> None:
        """See `Client`."""

    def on_answer(
        self, sent_at: float, *, now: float, is_refused: bool, retry_after: float, jitter: float
    ) -> None:
        """See `Client`."""
        del is_refused, retry_after, jitter
        self.next_time = now + min(max(5 * (now - sent_at), self._least), 30.0)


CONTENDERS: dict[str, Callable[[], Client]] = {
    "Andante": Andante,
    "Andante, with what it learnt before": lambda: Andante(
        learnt=Learnt(rate=3.43, is_known=True, burst=35, ban=30.0, peak=350.0)
    ),
    "back-off only": lambda: Andante(learns=False),
    "AIMD on the rate": AdditiveIncrease,
    "AutoThrottle (Scrapy)": AutoThrottle,
    "5 x fetch time, 3 to 30 s (Heritrix)": FetchTime,
    "5 x fetch time": lambda: FetchTime(0.0),
    "fixed: 204/min, just below what is allowed": lambda: Andante(204.0, learns=False),
    "fixed: 420/min, twice what is allowed": lambda: Andante(420.0, learns=False),
}
"""The rules that are compared, by name."""

_DRAWN = (
    "Andante",
    "back-off only",
    "AIMD on the rate",
    "fixed: 204/min, just below what is allowed",
)

METERS: dict[str, tuple[float, Callable[[Random], Meter]]] = {
    "35 in 10 s, then 30 s": (3.5, lambda _: SlidingWindow(35, 10, 30)),
    "the same, renewed by each request": (3.5, lambda _: SlidingWindow(35, 10, 30, is_renewed=True)),
    "35 in 10 s by its clock, then 30 s": (3.5, lambda chance: FixedWindow(35, 10, 30, phase=10 * chance.random())),
    "35 in 10 s, the excess": (3.5, lambda _: SlidingWindow(35, 10)),
    "17 in 5 s, then 30 s": (3.4, lambda _: SlidingWindow(17, 5, 30)),
    "70 in 20 s, then 30 s": (3.5, lambda _: SlidingWindow(70, 20, 30)),
    "10 in 1 s, then 30 s": (10.0, lambda _: SlidingWindow(10, 1, 30)),
    "10 in 1 s, the excess": (10.0, lambda _: SlidingWindow(10, 1)),
    "1 in 1 s, the excess": (1.0, lambda _: SlidingWindow(1, 1)),
    "60 in 60 s, the excess": (1.0, lambda _: SlidingWindow(60, 60)),
    "60 in 60 s by its clock, the excess": (1.0, lambda chance: FixedWindow(60, 60, phase=60 * chance.random())),
    "3.5 a second, 5 at once, the excess": (3.5, lambda _: TokenBucket(3.5, 5)),
    "3.5 a second, 35 at once, the excess": (3.5, lambda _: TokenBucket(3.5, 35)),
    "3.5 a second, 35 at once, then 30 s": (3.5, lambda _: TokenBucket(3.5, 35, 30)),
    "35 in 10 s, later 70, then 30 s": (5.25, lambda _: Changing(SlidingWindow(35, 10, 30), 300, SlidingWindow(70, 10, 30))),
    "70 in 10 s, later 35, then 30 s": (5.25, lambda _: Changing(SlidingWindow(70, 10, 30), 300, SlidingWindow(35, 10, 30))),
}  # fmt: skip
"""Servers by what they allow, and for how long they refuse then; with the requests a second that they let through at most."""

OTHERS: dict[str, Callable[[Random], Meter]] = {
    "refuses 1 % by chance": lambda chance: Flaky(0.01, chance),
    "refuses all for 60 s, then nothing": lambda _: Closed(60.0),
}
"""Servers that refuse and do not meter."""


def run(*, seed: int = 1) -> Result:
    """Run all; about 1 s."""
    contenders, figure = _compare(seed)
    return Result(
        title="A server that meters requests and refuses what is too much",
        tables=(contenders, _meters(seed), _others(seed)),
        figures=(figure,),
        notes=(
            "Of what is allowed: requests served in 10 minutes, as a share of the rate that the server lets through times 10 minutes.",
            "No rule is told the server's. Andante needs one ban to learn how many requests are let through at once, and one more to learn in which time.",
            "Who knows the rate should set it: a fixed one just below what is allowed does better.",
            "AutoThrottle and 5 x fetch time pay no heed to refusals; latency alone decides how often they are refused.",
        ),
    )


def _compare(seed: int) -> tuple[Table, Figure]:
    rows: list[tuple[str | float, ...]] = []
    lines = []
    for name, client in CONTENDERS.items():
        for connections in (1, 16):
            meter = SlidingWindow(35, 10, 30)
            crawled = crawl(client(), meter, Random(seed), seconds=SECONDS, connections=connections)
            rows.append((name, connections, *_figures(crawled, 3.5)))
            if connections == 16 and name in _DRAWN:
                times, rates = crawled.rates(SECONDS, 10.0)
                lines.append(Series(name, tuple(times), tuple(rates)))
    columns = ("rule", "connections", "requests", "refused, %", "of what is allowed, %")
    title = "16 connections to a server that lets 3.5 requests a second through"
    figure = Figure("backoff", title, "time, s", "requests served, 1/s", tuple(lines))
    return Table("rules", columns, tuple(rows)), figure


def _meters(seed: int) -> Table:
    rows: list[tuple[str | float, ...]] = []
    for name, (rate, meter) in METERS.items():
        for tells in (False, True):
            chance = Random(seed)
            crawled = crawl(Andante(), meter(chance), chance, seconds=SECONDS, tells=tells)
            rows.append((name, "yes" if tells else "no", *_figures(crawled, rate)))
    columns = ("server refuses", "Retry-After", "requests", "refused, %", "of what is allowed, %")
    return Table("meters", columns, tuple(rows))


def _others(seed: int) -> Table:
    rows: list[tuple[str | float, ...]] = []
    for name, meter in OTHERS.items():
        for rule in ("Andante", "back-off only"):
            chance = Random(seed)
            crawled = crawl(CONTENDERS[rule](), meter(chance), chance, seconds=SECONDS)
            _, rates = crawled.rates(SECONDS, 60.0)
            rows.append((name, rule, len(crawled.served), len(crawled.refused), rates[-1]))
    columns = ("server", "rule", "served", "refused", "requests/s in the last minute")
    return Table("others", columns, tuple(rows))


def _figures(crawled: Crawled, rate: float) -> tuple[float, float, float]:
    requests = len(crawled.served) + len(crawled.refused)
    return (
        requests,
        round(100 * crawled.refused_share, 1),
        round(100 * len(crawled.served) / (rate * SECONDS), 1),
    )
