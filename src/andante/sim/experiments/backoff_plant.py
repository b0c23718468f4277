"""The plants of the back-off experiment: servers that refuse, and a crawl of one over several connections."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from math import ceil, exp, inf
from random import Random
from typing import NamedTuple, Protocol


class Meter(Protocol):
    """A server: it says of each request whether it is refused."""

    def ask(self, now: float) -> float | None:
        """A request arrives; return None if it is served, else the seconds after which one would be."""


class Banning:
    """A meter that refuses everything for a time once it has refused: what the others have in common.

    Args:
        ban: seconds; 0: it refuses only what is too much.
        is_renewed: a request that comes while it refuses begins the time anew.
    """

    def __init__(self, ban: float, *, is_renewed: bool = False) -> None:
        self._ban = ban
        self._is_renewed = is_renewed
        self._until = -inf

    def ask(self, now: float) -> float | None:
        """See `Meter`."""
        if now < self._until:
            if self._is_renewed:
                self._until = now + self._ban
            return self._until - now
        wait = self._admit(now)
        if wait is None:
            return None
        self._until = now + self._ban
        return self._ban or wait

    def _admit(self, now: float) -> float | None:
        raise NotImplementedError


class SlidingWindow(Banning):
    """At most ``limit`` requests in any ``window`` seconds."""

    def __init__(
        self, limit: int, window: float, ban: float = 0.0, *, is_renewed: bool = False
    ) -> None:
        super().__init__(ban, is_renewed=is_renewed)
        self._window = window
        self._served: deque[float] = deque(maxlen=limit)

    def _admit(self, now: float) -> float | None:
        served = self._served
        if len(served) == served.maxlen and served[0] > now - self._window:
            return served[0] + self._window - now
        served.append(now)
        return None


class FixedWindow(Banning):
    """At most ``limit`` requests from each full ``window`` of the server's clock to the next."""

    def __init__(self, limit: int, window: float, ban: float = 0.0, *, phase: float = 0.0) -> None:
        super().__init__(ban)
        self._limit, self._window, self._phase = limit, window, phase
        self._current = self._count = 0

    def _admit(self, now: float) -> float | None:
        current, elapsed = divmod(now + self._phase, self._window)
        if current != self._current:
            self._current, self._count = int(current), 0
        if self._count >= self._limit:
            return self._window - elapsed
        self._count += 1
        return None


class TokenBucket(Banning):
    """``rate`` requests a second, and up to ``burst`` at once after a pause."""

    def __init__(self, rate: float, burst: int, ban: float = 0.0) -> None:
        super().__init__(ban)
        self._rate, self._burst = rate, burst
        self._tokens, self._at = float(burst), 0.0

    def _admit(self, now: float) -> float | None:
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1:
            return (1 - self._tokens) / self._rate
        self._tokens -= 1
        return None


class Changing:
    """One server up to a time, another from then on."""

    def __init__(self, before: Meter, at: float, after: Meter) -> None:
        self._before, self._at, self._after = before, at, after

    def ask(self, now: float) -> float | None:
        """See `Meter`."""
        return (self._before if now < self._at else self._after).ask(now)


class Flaky:
    """No meter: a share of the requests is refused by chance."""

    def __init__(self, share: float, chance: Random) -> None:
        self._share, self._chance = share, chance

    def ask(self, now: float) -> float | None:  # it does not depend on the time
        """See `Meter`."""
        return 1.0 if self._chance.random() < self._share else None


class Closed:
    """All are refused for so long."""

    def __init__(self, until: float) -> None:
        self._until = until

    def ask(self, now: float) -> float | None:
        """See `Meter`."""
        return self._until - now if now < self._until else None


class Client(Protocol):
    """A rule of back-off: what is compared."""

    @property
    def next_time(self) -> float:
        """No request goes before."""

    @property
    def limit(self) -> float:
        """Most requests in flight."""

    def on_sent(self, now: float) -> None:
        """A request is sent."""

    def on_answer(
        self, sent_at: float, *, now: float, is_refused: bool, retry_after: float, jitter: float
    ) -> None:
        """It is answered; ``retry_after`` in whole seconds, 0 where the server does not say."""


class Crawled(NamedTuple):
    """When requests were answered, seconds."""

    served: list[float]
    refused: list[float]

    @property
    def refused_share(self) -> float:
        """Share of the requests that were refused."""
        return len(self.refused) / max(1, len(self.served) + len(self.refused))

    def rates(self, seconds: float, step: float) -> tuple[Sequence[float], Sequence[float]]:
        """Return times and the requests served a second in each step up to then."""
        counts = [0] * int(seconds / step)
        for at in self.served:
            if at < step * len(counts):
                counts[int(at / step)] += 1
        return [step * (i + 1) for i in range(len(counts))], [count / step for count in counts]


class _Answer(NamedTuple):
    at: float
    number: int
    sent_at: float
    wait: float | None


class _Arrival(NamedTuple):
    at: float
    number: int
    sent_at: float
    trip: float


def crawl(
    client: Client,
    meter: Meter,
    chance: Random,
    *,
    seconds: float = 600.0,
    connections: int = 4,
    latency: float = 0.08,
    tells: bool = False,
) -> Crawled:
    """Crawl as fast as the client and the connections allow.

    Args:
        client: says when.
        meter: the server.
        chance: for latencies and jitter.
        seconds: nothing is sent after.
        connections: most requests in flight.
        latency: median seconds from request to answer; they are lognormal (sigma 0.3), and half of each passes before the server counts it.
        tells: refusals have a Retry-After.
    """
    result = Crawled([], [])
    events: list[_Answer | _Arrival] = []
    now, number, in_flight = 0.0, 0, 0
    while True:
        goes = max(now, client.next_time)
        if in_flight < min(connections, client.limit) and (not events or goes <= events[0].at):
            if goes >= seconds:
                return result
            now, number, in_flight = goes, number + 1, in_flight + 1
            client.on_sent(now)
            trip = latency * exp(chance.gauss(0.0, 0.3)) / 2
            heappush(events, _Arrival(now + trip, number, now, trip))
            continue
        event = heappop(events)
        now = event.at
        if isinstance(event, _Arrival):
            answer = _Answer(now + event.trip, event.number, event.sent_at, meter.ask(now))
            heappush(events, answer)
            continue
        in_flight -= 1
        is_refused = event.wait is not None
        (result.refused if is_refused else result.served).append(now)
        client.on_answer(
            event.sent_at,
            now=now,
            is_refused=is_refused,
            retry_after=ceil(event.wait or 0.0) if tells else 0.0,
            jitter=chance.random(),
        )
        if now >= seconds and not in_flight:
            return result
