"""Events: what the crawl did, one JSON line each with ``--json-log``."""

from __future__ import annotations

import time
from typing import IO, Any

import msgspec


class Event(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing that happened; fields that do not apply are left out."""

    event: str
    """``crawl.started``, ``crawl.warned``, ``crawl.finished``, ``fetch.completed``, ``fetch.failed``, ``fetch.retried``, ``url.excluded``,
    ``server.held`` or ``server.given-up``."""
    time: float = 0.0
    """Seconds since 1970-01-01 UTC."""
    url: str = ""
    server: str = ""
    status: int = 0
    reason: str = ""
    detail: str = ""
    elapsed_ms: float = 0.0
    bytes: int = 0
    depth: int = 0
    attempt: int = 0
    seconds: float = 0.0
    counts: dict[str, Any] = {}


class EventLog:
    """Writes events as JSON lines to a stream."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._encode = msgspec.json.Encoder().encode

    def __call__(self, event: Event) -> None:
        """Write an event, with the time."""
        event.time = round(time.time(), 3)
        self._stream.write(self._encode(event) + b"\n")
        self._stream.flush()
