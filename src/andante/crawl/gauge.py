"""The gauge: how fast a server, or the whole crawl, is asked, and what holds it back."""

from __future__ import annotations

from math import inf

from andante.flow import Sample, Shortfall

TOTAL = "*"
"""Stands for a server in the samples of the whole crawl."""

_PERIOD = 60.0


class Gauge:
    """Counts between samples; with a set-point it also finds why it is not held.

    Args:
        set_point: what the user wants, requests a minute; infinity: nothing; 0: a pause.
    """

    __slots__ = (
        "_last",
        "_latency",
        "_most",
        "_requests",
        "_responses",
        "_sampled_at",
        "_shortfall",
        "_since",
        "set_point",
        "under_way",
    )

    def __init__(self, set_point: float, now: float) -> None:
        self.under_way = 0
        """Requests that have not ended."""
        self._sampled_at = now
        self._most = 0
        self._begin(set_point, now)
        self._clear()

    @property
    def is_idle(self) -> bool:
        """Nothing was sent since the last sample."""
        return not self._requests

    @property
    def wants_reasons(self) -> bool:
        """There is a set-point, so it matters what holds requests back."""
        return self._shortfall is not None

    def want(self, set_point: float, now: float) -> None:
        """Take a set-point; with another one rate and reasons begin anew."""
        if set_point != self.set_point:
            self._begin(set_point, now)

    def sent(self, now: float, due: float) -> None:
        """A request is sent; the next one is due at ``due`` by the set-point alone."""
        self._requests += 1
        self.under_way += 1
        self._most = max(self._most, self.under_way)
        self._last = now
        if self._shortfall is not None:
            self._shortfall.on_sent(now, due)

    def finished(self) -> None:
        """A request has ended, whatever came of it."""
        self.under_way -= 1

    def responded(self, latency: float) -> None:
        """A response came, ``latency`` seconds after its request."""
        self._responses += 1
        self._latency += latency

    def held(self, reason: str, now: float) -> None:
        """From now on ``reason``, one of `flow.REASONS`, holds the next request back."""
        if self._shortfall is not None:
            self._shortfall.on_held(reason, now)

    def sample(
        self,
        server: str,
        now: float,
        wall: float,
        *,
        ceiling: float,
        delay: float,
        limit: int,
        is_held: bool = False,
    ) -> Sample:
        """Return how it has fared since the last sample, and begin another; ``is_held``: back-off allows nothing now."""
        sample = Sample(
            time=round(wall, 3),
            server=server,
            rate=round(self._rate(now), 1),
            set_point=self.set_point,
            ceiling=ceiling,
            delay=delay,
            limit=limit,
            in_flight=self._most,
            latency=round(self._latency / self._responses, 6) if self._responses else 0.0,
            reason=self._reason(ceiling, now, is_held=is_held),
            requests=self._requests,
        )
        self._sampled_at = now
        self._clear()
        return sample

    def _begin(self, set_point: float, now: float) -> None:
        self.set_point = set_point
        self._shortfall = Shortfall(now) if set_point < inf else None
        self._since = now
        self._last = -inf

    def _rate(self, now: float) -> float:
        if self._shortfall is None:
            return self._requests * 60 / max(now - self._sampled_at, 1.0)
        # The last request stands for its whole interval: else n + 1 requests in n intervals would look too fast.
        interval = 60 / self.set_point if self.set_point else 0.0
        seconds = max(now, self._last + interval) - self._since
        return self._shortfall.sent(now) * 60 / min(max(seconds, 1.0), _PERIOD)

    def _reason(self, ceiling: float, now: float, *, is_held: bool) -> str:
        if self._shortfall is None:
            return "back-off" if is_held else ""
        reason = self._shortfall.reason(min(self.set_point, ceiling), now)
        return "back-off" if not reason and ceiling < self.set_point else reason

    def _clear(self) -> None:
        self._requests = self._responses = 0
        self._most = self.under_way
        self._latency = 0.0
