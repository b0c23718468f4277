"""How a server has fared over a few seconds: a row of the time series that a job keeps."""

from __future__ import annotations

import msgspec


class Sample(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """One server, some seconds long. Rates are requests a minute, times seconds; infinity stands for none."""

    time: float
    """When it ended, seconds since 1970."""
    server: str
    """Scheme, host and port; ``*``: the whole crawl, if it has a set-point."""
    rate: float
    """Requests in the last minute, scaled up while there has been less than one; without a set-point, since the last sample."""
    set_point: float
    """What the user wants."""
    ceiling: float
    """What the server was learnt to allow."""
    delay: float
    """Least pause after a response: ``delay``, or its Crawl-delay."""
    limit: int
    """Most connections."""
    in_flight: int
    """Most requests under way at once."""
    latency: float
    """Mean time to the first byte of its responses; 0: there was none."""
    reason: str
    """What cost most where the rate is below the set-point, one of `flow.REASONS`; empty: it is held. Without a set-point ``back-off``, while that holds it."""
    requests: int = 0
    """Requests since the last sample."""
