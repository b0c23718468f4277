"""What travels with a server besides its URLs, from one node of a cluster to another."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from andante.crawl.state import State
from andante.flow import Learnt, Trouble
from andante.frontier import Server
from andante.frontier.estimate import Estimate

HOLD_MAX = 7 * 86_400.0
"""Seconds for which a server is left alone at most because another node said so: more than any back-off or Retry-After that is kept to."""

_REASON = re.compile(r"([a-z0-9-]{1,40}( [^\n]{0,200})?)?").fullmatch


class Luggage(msgspec.Struct, array_like=True):
    """What the next owner of a server must know. Clocks differ, so times are seconds from when this was kept; the store counts how long ago that is."""

    hold: float = 0.0
    """For which it is to be left alone."""
    crawl_delay: float = 0.0
    """Seconds."""
    learnt: Learnt | None = None
    """What it lets through."""
    estimate: Estimate | None = None
    """What visits to it take."""
    given_up: str = ""
    """Why it was given up."""
    trouble: Trouble | None = None
    """Its failures of late."""
    address: str = ""
    """The IP address at which it was found; empty: none."""
    robots: bytes | None = None
    """Its robots.txt, packed; None: it is to be read."""
    robots_left: float = 0.0
    """For which that holds still."""


def pack(state: State, server: Server, *, address: str, goes: bool) -> bytes:
    """Pack what is known of a server.

    Its robots.txt is the most of that, and only saves a request: it is left out unless the server goes, with URLs that need it at once.
    """
    now, job = state.now(), state.job
    luggage = Luggage(
        hold=max(server.owed - now, 0.0),
        crawl_delay=0.0 if server.warm is None else server.origin_pace.delay,
        learnt=job.learnt(server.key),
        estimate=server.estimate,
        given_up=server.given_up,
        trouble=job.trouble(server.key)[0],
        address=address,
    )
    if goes and server.queued and (robots := state.robots.packed(server)) is not None:
        luggage.robots, luggage.robots_left = robots
    return msgspec.msgpack.encode(luggage)


def unpack(state: State, server: Server, data: bytes, aged: float) -> str:
    """Take up what has come with a server; empty where nothing was kept. Return the IP address at which it was found; empty: none.

    Args:
        state: of the crawl.
        server: that is the node's now, and has not been asked for anything.
        data: packed.
        aged: seconds since that was kept.
    """
    luggage = _read(data)
    now, job, pace = state.now(), state.job, server.origin_pace
    hold = min(luggage.hold, HOLD_MAX) - aged
    crawl_delay = min(luggage.crawl_delay, state.settings.max_crawl_delay)
    pace.delay = max(pace.delay, crawl_delay)
    pace.hold(now + max(pace.pause, hold))
    server.estimate = luggage.estimate
    server.given_up = luggage.given_up
    if luggage.learnt is not None:
        job.learn(server.key, luggage.learnt)
    if crawl_delay:
        job.crawl_delay(server.key, crawl_delay)
    if luggage.trouble is not None:
        job.suffer(server.key, luggage.trouble)
        job.hold(server.key, state.wall() + hold)
    if luggage.robots is not None:
        state.robots.unpacked(server, luggage.robots, luggage.robots_left - aged)
    return luggage.address


def _read(data: bytes) -> Luggage:
    """Return what was packed; nothing is known where no node can have packed it so."""
    try:
        luggage = msgspec.msgpack.decode(data, type=Luggage) if data else Luggage()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Luggage()
    values = [luggage, luggage.learnt, luggage.estimate, luggage.trouble]
    is_sound = all(_is_sound(value) for value in values) and _REASON(luggage.given_up)
    return luggage if is_sound else Luggage()


def _is_sound(value: Any) -> bool:
    """Tell whether no number of a value is below 0, or none at all."""
    numbers = [] if value is None else msgspec.structs.astuple(value)
    return all(each >= 0 for each in numbers if isinstance(each, int | float))
