"""Policies: which server is visited next, and in which order its URLs are fetched (source 5: Cao et al. 2003)."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from math import isnan
from pkgutil import resolve_name
from typing import Protocol

from andante.frontier.server import Server

SLOW = 1e-4
"""Seconds a rank, in the mean of the first ones, above which the user is told."""

_CALLS = 1_000
"""Calls that are measured; the user is told sooner if they have taken as long already."""

_CALLS_MIN = 10

TURN = 5
"""Pages that a visit takes under the policies that choose by what they have learnt. See `Policy.turn`."""


class Policy(Protocol):
    """Ranks the servers that may be visited, and says whether URLs are ordered by their scores.

    A policy is asked again when a server becomes ready, and whenever its queue has changed.
    """

    by_score: bool
    """The best URL of a server is fetched first; else the one found first."""

    turn: int | None
    """Most pages that a visit takes before the servers are compared again; None: as many as its connection serves, as in source 5.

    A visit is not broken off, so a long one holds its place whatever is found meanwhile: a slow server of sixty pages may have it for
    a minute. After a short turn the connection is kept open, and costs nothing when the server is next again."""

    def rank(self, server: Server) -> float:
        """Return the rank of a server that is ready; the highest is visited next, and among equals the one that was ready first."""
        ...


class BreadthFirst:
    """Servers in the order in which they became ready, URLs in the order found."""

    by_score = False
    turn: int | None = None

    def rank(self, server: Server) -> float:
        """R = - the time since when the server has been ready."""
        return -server.ready_at


class PerformanceFirst:
    """The most pages for the time of a connection."""

    by_score = False
    turn: int | None = TURN

    def rank(self, server: Server) -> float:
        """R = P / T, pages a second, of the `Server.visit` that is next."""
        pages, seconds = server.visit()
        return pages / seconds


class QualityFirst:
    """The best page there is."""

    by_score = True
    turn: int | None = TURN

    def rank(self, server: Server) -> float:
        """R = the score of the server's best URL."""
        return server.best


class Capability:
    """The most quality for the time of a connection."""

    by_score = True
    turn: int | None = TURN

    def rank(self, server: Server) -> float:
        """C = (the sum of the scores of the P best URLs) / T."""
        pages, seconds = server.visit()
        return server.worth(pages) / seconds


POLICIES: dict[str, Callable[[], Policy]] = {
    "breadth-first": BreadthFirst,
    "performance": PerformanceFirst,
    "quality": QualityFirst,
    "capability": Capability,
}


class Checked:
    """A user's policy: what is wrong with it is told once for each kind of fault, and the crawl goes on.

    Args:
        policy: the user's.
        name: what messages call it.
        problem: is called with a message of one line.
        clock: seconds, to measure it; None: it is not measured.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        name: str,
        problem: Callable[[str], None],
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.by_score = bool(policy.by_score)
        self.turn = getattr(policy, "turn", None)
        self._policy = policy
        self._name = name
        self._problem = problem
        self._clock = clock
        self._kinds: set[str] = set()
        self._calls = 0
        self._seconds = 0.0

    def rank(self, server: Server) -> float:
        """Return the policy's rank; 0 where it has none to give."""
        if self._clock is None:
            return self._rank(server)
        began = self._clock()
        rank = self._rank(server)
        self._seconds += self._clock() - began
        self._calls += 1
        if self._calls >= _CALLS_MIN and self._seconds > SLOW * _CALLS:
            mean = 1e3 * self._seconds / self._calls
            self._tell("slow", f"is slow: {mean:.1f} ms a server, in which nothing else is done")
            self._clock = None
        elif self._calls == _CALLS:
            self._clock = None
        return rank

    def _rank(self, server: Server) -> float:
        try:
            rank = float(self._policy.rank(server))
        except Exception as error:  # whatever a user's class may raise
            reason = " ".join(str(error).split())[:200]
            self._tell(
                type(error).__name__,
                f"raised {type(error).__name__} on {server.key}: {reason}; its rank counts 0",
            )
            return 0.0
        if isnan(rank):
            self._tell("no number", f"gave {server.key} a rank that is no number; it counts 0")
            return 0.0
        return rank

    def _tell(self, kind: str, message: str) -> None:
        if kind not in self._kinds:
            self._kinds.add(kind)
            self._problem(f"policy {self._name} {message}")


def load(
    name: str, *, problem: Callable[[str], None], clock: Callable[[], float] | None = None
) -> Policy:
    """Return the policy that a user asks for: one of `POLICIES`, or a class by ``module:class``, which is called without arguments.

    Raises:
        ValueError: there is none, in one line.
    """
    if name in POLICIES:
        return POLICIES[name]()
    if ":" not in name:
        near = difflib.get_close_matches(name, POLICIES, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"unknown policy {name!r}{hint} (there are {', '.join(POLICIES)} and MODULE:CLASS)"
        )
    try:
        policy = resolve_name(name)()
        fault = _fault(policy)
    except Exception as error:  # a user's module may raise anything
        reason = " ".join(str(error).split())
        raise ValueError(f"policy {name!r} cannot be made: {reason}") from error
    if fault:
        raise ValueError(f"policy {name!r} {fault}")
    return Checked(policy, name=name, problem=problem, clock=clock)


def _fault(policy: object) -> str:
    """Say what a policy must not be like; empty: nothing is wrong."""
    missing = [part for part in ("rank", "by_score") if not hasattr(policy, part)]
    if missing:
        return f"has no {' and no '.join(missing)}"
    turn = getattr(policy, "turn", None)
    if turn is not None and not (isinstance(turn, int) and turn >= 1):
        return f"has the turn {turn!r}: it must be a whole number of at least 1, or None"
    return ""
