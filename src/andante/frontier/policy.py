"""Policies: which server is visited next, and in which order its URLs are fetched (source 5: Cao et al. 2003)."""

from __future__ import annotations

from typing import Protocol

from andante.frontier.server import Server


class Policy(Protocol):
    """Ranks the servers that may be visited, and says whether URLs are ordered by their scores.

    A policy is asked again when a server becomes ready, and whenever its queue has changed.
    """

    by_score: bool
    """The best URL of a server is fetched first; else the one found first."""

    def rank(self, server: Server) -> float:
        """Return the rank of a server that is ready; the highest is visited next, and among equals the one that was ready first."""
        ...


class BreadthFirst:
    """Servers in the order in which they became ready, URLs in the order found."""

    by_score = False

    def rank(self, server: Server) -> float:
        """R = - the time since when the server has been ready."""
        return -server.ready_at


class PerformanceFirst:
    """The most pages for the time of a connection."""

    by_score = False

    def rank(self, server: Server) -> float:
        """R = P / T, pages a second: `Server.pages` by `Server.seconds`."""
        return server.pages / server.seconds


class QualityFirst:
    """The best page there is."""

    by_score = True

    def rank(self, server: Server) -> float:
        """R = the score of the server's best URL."""
        return server.best


class Capability:
    """The most quality for the time of a connection."""

    by_score = True

    def rank(self, server: Server) -> float:
        """C = (the sum of the scores of the P best URLs) / T."""
        return server.worth(server.pages) / server.seconds


POLICIES: dict[str, type[Policy]] = {
    "breadth-first": BreadthFirst,
    "performance": PerformanceFirst,
    "quality": QualityFirst,
    "capability": Capability,
}
