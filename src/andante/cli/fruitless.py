"""Why a crawl has fetched nothing, in a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from andante.observe import Stats
from andante.printed import printed
from andante.store import Ended

_SHOWN = 3
"""Reasons that are named, the most frequent first."""

_MEANINGS = {
    "robots": "robots.txt does not allow it",
    "noindex": "the page asks not to be kept",
}
"""Of reasons that say nothing more of the URL."""

_AS_FROM_TLS = frozenset({"400", "closed", "reset", "bad-response"})
"""What comes of a request without TLS to a server that wants TLS."""

_NO_TLS = "wrong version number"
"""What OpenSSL says of an answer that is not TLS."""


def why_nothing(stats: Stats, ended: Iterable[Ended], seeds: Sequence[str]) -> str:
    """Return why a crawl without a page with status 2xx has none: its URLs' reasons, each with the detail of the first one.

    Args:
        stats: of the crawl.
        ended: its URLs that ended without a response, and those that were redirected.
        seeds: where it started.
    """
    details: dict[str, str] = {}
    for each in ended:
        if each.state != "redirected":
            details.setdefault(each.reason, each.detail)
    counts = stats.fetched + stats.failed + stats.excluded
    if not counts:
        return "no page was fetched before the crawl ended"
    reasons = [reason for reason, _ in counts.most_common(_SHOWN)]
    text = "; ".join(_shown(reason, details.get(reason, "")) for reason in reasons)
    if len(counts) > _SHOWN:
        text += "; and other reasons"
    seen = set(reasons) | set(details.values())
    if seen & _AS_FROM_TLS and all(seed.startswith("http://") for seed in seeds):
        text += "; if the server speaks TLS, give https://"
    if any(_NO_TLS in detail for detail in details.values()):
        text += "; the server does not speak TLS there: give http://"
    return f"nothing could be fetched: {text}"


def _shown(reason: str, detail: str) -> str:
    name = f"status {reason}" if reason.isdigit() else reason
    detail = detail or _MEANINGS.get(reason, "")
    return f"{name} ({printed(detail)})" if detail else name
