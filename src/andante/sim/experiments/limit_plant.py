"""The plant of the limit experiment: a server with c workers, and a client that keeps as many requests in flight as a limit allows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from math import log
from random import Random

import msgspec

from andante.flow.limit import Limit

Service = Callable[[Random], float]
"""Draws the seconds of work of a request."""

_UNLOADED_SAMPLES = 20_000


def lognormal(mean: float, sigma: float = 0.5) -> Service:
    """Return lognormal service times."""
    mu = log(mean) - sigma * sigma / 2
    return lambda random: random.lognormvariate(mu, sigma)


def pareto(mean: float, alpha: float) -> Service:
    """Return service times with a power-law tail."""
    least = mean * (alpha - 1) / alpha
    return lambda random: least * random.paretovariate(alpha)


def two_classes(mean: float, *, share: float, ratio: float = 10.0) -> Service:
    """Return service times of pages of which ``share`` cost ``ratio`` times as much as the others."""
    cheap = mean / (1 - share + share * ratio)
    light, heavy = lognormal(cheap), lognormal(cheap * ratio)
    return lambda random: heavy(random) if random.random() < share else light(random)


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which the server stays as it is."""

    seconds: float = 100.0
    workers: int = 16
    mean: float = 0.05
    """Mean seconds of work."""
    service: Service | None = None
    """Seconds of work; without it lognormal with sigma 0.5."""
    network: float = 0.03
    """Seconds of every round trip that are not the server's."""
    others: float = 0.0
    """Share of the capacity that other clients take."""

    def draw(self, random: Random) -> float:
        """Draw the work of a request."""
        return self.service(random) if self.service else lognormal(self.mean)(random)

    def unloaded_p95(self) -> float:
        """Return the p95 latency without a queue, by simulation with a seed of its own."""
        random = Random(7)
        times = sorted(self.draw(random) for _ in range(_UNLOADED_SAMPLES))
        return times[int(0.95 * _UNLOADED_SAMPLES)] + self.network


class Judged(msgspec.Struct, frozen=True):
    """How a phase went."""

    share: float
    """Work done for the client in its last half, as a share of what it could have had."""
    p95: float
    """p95 latency in its last half, as a multiple of the unloaded p95."""
    above: float
    """Seconds in which the p95 was above three times the unloaded one."""


class Run(msgspec.Struct):
    """All that happened in a run."""

    responses: list[tuple[float, float]] = []
    """Time and latency of each."""
    limits: list[tuple[float, int]] = []
    """The limit, each time it changed."""
    work: list[tuple[float, float, bool]] = []
    """Begin and length of each piece of work, and whether it was for the client."""


class Plant:
    """Runs phases one after another in closed loop.

    Args:
        limit: what is tried.
        phases: in their order.
        seed: of all chance.
    """

    def __init__(self, limit: Limit, phases: list[Phase], seed: int) -> None:
        self._limit = limit
        self._phases = phases
        self._random = Random(seed)
        self._events: list[tuple[float, int, Callable[[float, float], None], float]] = []
        self._sequence = 0
        self._queue: deque[float] = deque()
        self._busy = self._in_flight = 0
        self._phase = phases[0]
        self._run = Run()

    def run(self) -> Run:
        """Simulate; return what happened."""
        end = 0.0
        for phase in self._phases:
            self._after(end, 0.0, partial(self._begin, phase))
            end += phase.seconds
        while self._events and self._events[0][0] < end:
            now, _, happens, sent_at = heappop(self._events)
            happens(now, sent_at)
        return self._run

    def _after(self, at: float, sent_at: float, happens: Callable[[float, float], None]) -> None:
        self._sequence += 1
        heappush(self._events, (at, self._sequence, happens, sent_at))

    def _begin(self, phase: Phase, now: float, _: float) -> None:
        had_others = self._phase.others > 0 and now > 0
        self._phase = phase
        if phase.others and not had_others:
            self._other_arrives(now, -1.0)
        self._work_on(now)
        self._send(now)

    def _send(self, now: float) -> None:
        limit = self._limit.limit
        if not self._run.limits or self._run.limits[-1][1] != limit:
            self._run.limits.append((now, limit))
        while self._in_flight < limit:
            self._in_flight += 1
            self._after(now + self._phase.network / 2, now, self._arrives)

    def _arrives(self, now: float, sent_at: float) -> None:
        self._queue.append(sent_at)
        self._work_on(now)

    def _other_arrives(self, now: float, _: float) -> None:
        self._arrives(now, -1.0)
        if self._phase.others:
            rate = self._phase.others * self._phase.workers / self._phase.mean
            self._after(now + self._random.expovariate(rate), -1.0, self._other_arrives)

    def _work_on(self, now: float) -> None:
        while self._queue and self._busy < self._phase.workers:
            sent_at = self._queue.popleft()
            seconds = self._phase.draw(self._random)
            self._busy += 1
            self._run.work.append((now, seconds, sent_at >= 0))
            self._after(now + seconds, sent_at, self._is_done)

    def _is_done(self, now: float, sent_at: float) -> None:
        self._busy -= 1
        if sent_at >= 0:
            self._after(now + self._phase.network / 2, sent_at, self._responds)
        self._work_on(now)

    def _responds(self, now: float, sent_at: float) -> None:
        self._run.responses.append((now, now - sent_at))
        self._limit.on_response(now - sent_at, now=now, in_flight=self._in_flight)
        self._in_flight -= 1
        self._send(now)


def judge(run: Run, phases: list[Phase]) -> list[Judged]:
    """Return how each phase of a run went."""
    found, start = [], 0.0
    for phase in phases:
        middle, end = start + phase.seconds / 2, start + phase.seconds
        late = sorted(rtt for at, rtt in run.responses if middle <= at < end)
        unloaded = phase.unloaded_p95()
        p95 = late[int(0.95 * len(late))] / unloaded if late else 0.0
        above = _seconds_above(run, start, end, 3 * unloaded, max(1.0, 20 * phase.mean))
        found.append(Judged(_share(run, phase, middle, end), p95, above))
        start = end
    return found


def _share(run: Run, phase: Phase, start: float, end: float) -> float:
    ours = theirs = 0.0
    for began, seconds, is_ours in run.work:
        inside = min(end, began + seconds) - max(start, began)
        if inside > 0 and is_ours:
            ours += inside
        elif inside > 0:
            theirs += inside
    return ours / (phase.workers * (end - start) - theirs)


def _seconds_above(run: Run, start: float, end: float, bound: float, width: float) -> float:
    boxes: dict[int, list[float]] = {}
    for at, rtt in run.responses:
        if start <= at < end:
            boxes.setdefault(int((at - start) / width), []).append(rtt)
    return sum(width for box in boxes.values() if sorted(box)[int(0.95 * len(box))] > bound)
