"""Redirects that were met, so that a loop of them is known as one."""

from __future__ import annotations

from andante.url import fingerprint

REDIRECTS_MAX = 10_000
"""Redirects that are remembered; the oldest is forgotten for a new one."""


class Redirects:
    """Which URL redirects to which.

    Each hop of a redirect is a URL of its own, and one that was met before is not queued again. So a loop whose URLs are all linked
    to is met hop by hop, in any order, and only what is remembered here tells that none of them leads to a page.

    Args:
        hops_max: most remembered redirects that are looked along.
        size_max: redirects remembered.
    """

    def __init__(self, *, hops_max: int, size_max: int = REDIRECTS_MAX) -> None:
        self._targets: dict[bytes, bytes] = {}
        self._hops_max = hops_max
        self._size_max = size_max

    def add(self, url: str, target: str) -> None:
        """Remember a redirect."""
        if len(self._targets) >= self._size_max:
            del self._targets[next(iter(self._targets))]
        self._targets[fingerprint(url)] = fingerprint(target)

    def closes_loop(self, url: str, target: str) -> bool:
        """Tell whether a redirect would lead back to its own URL, directly or over those remembered."""
        start = fingerprint(url)
        hop: bytes | None = fingerprint(target)
        for _ in range(self._hops_max):
            if hop is None or hop == start:
                break
            hop = self._targets.get(hop)
        return hop == start
