"""Events: what the crawl did, one JSON line each with ``--json-log``."""

from __future__ import annotations

import time
from math import inf
from typing import IO, Any

import msgspec

from andante.flow import Sample

EVENTS = {
    "crawl.started": "the crawl begins, or goes on; `counts`",
    "crawl.warned": "something about this start that a user should know; `detail`",
    "crawl.finished": "the crawl has ended; `counts`, and `reason` where a limit or a user ended it",
    "fetch.completed": "a response came and was kept, or named another URL (`detail`); `url`, `status`, `bytes`, `elapsed_ms`, `depth`",
    "fetch.failed": "a URL has failed; `url`, `reason`, `detail`",
    "fetch.retried": "a URL will be tried again; `url`, `reason`, `attempt`",
    "url.excluded": "a URL was not asked for, or its page not kept; `url`, `reason`",
    "server.held": "back-off: a server is left alone for `seconds`; `server`, `reason`",
    "server.set-aside": "the same, for long: it keeps failing",
    "server.given-up": "a server has failed for so long that all its URLs end; `server`, `reason`, `detail`",
    "server.speed": "how a server has fared, every 10 s while it is asked, or held with URLs waiting; `server`, `reason` if below its set-point, `speed`: the other columns of `andante status --speed`",
    "cluster.trouble": "the cluster's store does not answer, or refuses; the crawl goes on with what is here; `detail`",
    "cluster.mended": "that is over",
    "cluster.buried": "this node has found another one dead, whose servers go to the others; `detail`",
    "cluster.fenced": "the others took this node for dead: what it had not committed is discarded, and it joins again; `detail`",
    "cluster.refused": "the cluster's store has something that no node of this crawl can have written, or that is out of this node's scope: it is dropped; once of each kind; `detail`",
    "cluster.lost": "the cluster's store has lost its data, and is told again what this node holds; `detail`",
    "loop.stalled": "the event loop has stood still for `seconds`: nothing was sent, read or written meanwhile; `url` and `bytes` of the response that it had taken up last",
    "loop.stalling": "the same while it lasts, on the command line only; `seconds` so far",
    "rates.changed": "`andante rate` has changed set-points; `speed`: what was given",
    "rates.refused": "the file of `andante rate` cannot be read; `detail`",
}
"""All events, and which fields they have besides ``event`` and ``time``."""


class Event(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing that happened; fields that do not apply are left out."""

    event: str
    """One of `EVENTS`."""
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
    speed: dict[str, Any] = {}

    @classmethod
    def of(cls, sample: Sample) -> Event:
        """Make the event of a sample."""
        speed = {
            name: value if value < inf else None
            for name, value in msgspec.structs.asdict(sample).items()
            if name not in ("time", "server", "reason")
        }
        return cls(event="server.speed", server=sample.server, speed=speed, reason=sample.reason)


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
