"""The plant of source 1: a crawl of one server over several connections, and how well a speed was held in it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import ceil, exp, inf
from random import Random
from typing import NamedTuple, Protocol

WINDOW = 60.0
"""Seconds over which pages are counted."""

_FAILED = 3.0
"""A page that fails keeps its connection so many times as long: time-outs are slow."""


class Pacer(Protocol):
    """A rule of pacing: what is compared."""

    next_time: float
    """No request goes before."""
    pause: float
    """Seconds that each connection waits after a page."""

    def on_sent(self, now: float) -> None:
        """A request is sent."""

    def on_finished(self, now: float, took: float, *, ok: bool) -> None:
        """A response has ended, or has failed."""

    def change(self, set_point: float, now: float) -> None:
        """Another set-point holds from now on."""


class Phase(NamedTuple):
    """A time in which nothing changes."""

    seconds: float
    set_point: float = 40.0
    """Pages a minute."""
    response: float = 0.5
    """Mean response time, seconds."""
    connections: int = 4
    reachable: bool = True
    """The set-point can be held in it."""


class Plant(NamedTuple):
    """A server and the machine that crawls it."""

    phases: tuple[Phase, ...]
    spread: float = 0.5
    """Response times lie evenly within this share of their mean to both sides."""
    sigma: float = 0.0
    """Or, where not 0, they are lognormal with this deviation."""
    failures: float = 0.05
    """Share of pages that fail."""
    lateness: float = 0.002
    """Timers fire late by up to so many seconds."""
    stalls: float = 0.0
    """Half-second stalls of the machine, a minute."""

    @property
    def seconds(self) -> float:
        """All phases together."""
        return sum(phase.seconds for phase in self.phases)

    def draw(self, mean: float, chance: Random) -> float:
        """Return a response time."""
        if self.sigma:
            return mean * exp(chance.gauss(-self.sigma * self.sigma / 2, self.sigma))
        return mean * (1 + self.spread * (2 * chance.random() - 1))


def crawl(pacer: Pacer, plant: Plant, chance: Random) -> list[float]:
    """Crawl as fast as the pacer, the connections and the machine allow; return when each request was sent, seconds."""
    sent: list[float] = []
    idle: list[float] = []  # when each connection that is not at work may be used again
    busy: list[
        tuple[float, float, bool]
    ] = []  # when each response ends, how long it took, whether it came
    now = start = 0.0
    stalls = _stalls(plant, chance)
    for phase in plant.phases:
        if start:
            pacer.change(phase.set_point, start)
        now = max(now, start)
        start += phase.seconds
        _resize(idle, phase.connections - len(busy) - len(idle), now)
        while True:
            may_go = max(now, pacer.next_time, idle[0] if idle else inf)
            if busy and busy[0][0] <= may_go:
                if busy[0][0] >= start:
                    break
                ended, took, ok = heappop(busy)
                now = max(now, ended)
                pacer.on_finished(now, took, ok=ok)
                if len(busy) + len(idle) < phase.connections:
                    heappush(idle, now + pacer.pause)
                continue
            goes = may_go + plant.lateness * chance.random() if may_go > now else now
            while goes >= stalls[-1]:
                goes = max(goes, stalls.pop() + 0.5)
            if goes >= start:
                break
            now = goes
            heappop(idle)
            pacer.on_sent(now)
            sent.append(now)
            ok = chance.random() >= plant.failures
            took = plant.draw(phase.response, chance) * (1 if ok else _FAILED)
            heappush(busy, (now + took, took, ok))
    return sent


def _stalls(plant: Plant, chance: Random) -> list[float]:
    """Return when the machine stalls, the next time last; they are the same for all that is crawled with the seed."""
    stalls = [inf]
    at = 0.0
    while plant.stalls and at < plant.seconds:
        at += 0.5 + chance.expovariate(plant.stalls / 60)
        stalls.append(at)
    return sorted(stalls, reverse=True)


def _resize(idle: list[float], more: int, now: float) -> None:
    """Open so many connections more, or close idle ones; those at work close when their response has ended."""
    for _ in range(more):
        heappush(idle, now)
    for _ in range(min(-more, len(idle))):
        idle.pop()


class Held(NamedTuple):
    """How a set-point was held."""

    share: float
    """Of the time, in which the window of 60 s that begins then has the set-point within the tolerance, or one page."""
    over: float
    """Pages by which the fullest window is above the set-point; negative: none is."""
    under: float
    """Pages by which the emptiest one is below."""


def held(
    sent: Sequence[float], start: float, end: float, set_point: float, *, tolerance: float = 0.025
) -> Held:
    """Judge all windows that lie in start to end, seconds."""
    good = 0.0
    least, most = inf, 0.0
    for count, seconds in windows(sent, start, end):
        least, most = min(least, count), max(most, count)
        if is_held(count, set_point, tolerance):
            good += seconds
    return Held(good / (end - WINDOW - start), most - set_point, set_point - least)


def is_held(count: float, set_point: float, tolerance: float = 0.025) -> bool:
    """Tell whether a window with so many pages is that near to the set-point, or within one page."""
    return abs(count - set_point) <= max(1.0, tolerance * set_point)


def windows(sent: Sequence[float], start: float, end: float) -> Iterator[tuple[int, float]]:
    """Slide a half-open window from start to end over the requests; yield what it holds, and for how many seconds."""
    first, last = bisect_left(sent, start), bisect_left(sent, start + WINDOW)
    at = start
    while at < end - WINDOW:
        leaves = sent[first] if first < len(sent) else inf
        enters = sent[last] - WINDOW if last < len(sent) else inf
        until = min(leaves, enters, end - WINDOW)
        if until > at:
            yield last - first, until - at
        at = max(at, until)
        if leaves <= until:
            first += 1
        if enters <= until:
            last += 1


def settled(sent: Sequence[float], start: float, end: float, set_point: float) -> int | None:
    """Return after how many periods of 60 s every window holds the set-point, for five at least up to ``end``; None: never."""
    bad = start
    at = start
    for count, seconds in windows(sent, start, end):
        at += seconds
        if not is_held(count, set_point):
            bad = at
    periods = ceil((bad - start) / WINDOW)
    return periods if start + (periods + 5) * WINDOW <= end else None
