"""The summary at the end of a crawl, and what ``andante status`` says of a job."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from andante.observe.stats import Stats
from andante.printed import printed
from andante.units import counted, format_duration, format_size


def summary(stats: Stats, *, known: int, queued: int, servers: int, outputs: Iterable[Path]) -> str:
    """Return the lines of a summary; its URL counts add up to those known.

    ``servers`` is how many the crawl has met.
    """
    lines = [
        f"{counted(stats.pages, 'page')}, {format_size(stats.bytes)}, in {format_duration(stats.seconds)}"
        + (f" ({stats.pages / stats.seconds:,.1f} pages/s)" if stats.seconds > 0 else ""),
        f"{counted(stats.requests, 'request')} on {counted(stats.connections, 'connection')}"
        + (f" to {counted(servers, 'server')}" if servers else ""),
        "",
        f"{known:>9,} URLs known, of which",
    ]
    lines += [f"{count:>9,} {label}" for label, count in _states(stats, known, queued)]
    lines += ["", *(f"output: {path} ({_size(path)})" for path in outputs)]
    return "\n".join(map(printed, lines))


def _states(stats: Stats, known: int, queued: int) -> list[tuple[str, int]]:
    rows = [(f"fetched, status {status}", count) for status, count in sorted(stats.fetched.items())]
    rows += [("redirected to another URL", stats.redirected)]
    rows += [(f"failed: {reason}", count) for reason, count in stats.failed.most_common()]
    rows += [(f"excluded: {reason}", count) for reason, count in stats.excluded.most_common()]
    rows += [("queued", queued), ("in hand when it stopped", known - stats.ended - queued)]
    return [(label, count) for label, count in rows if count]


def _size(path: Path) -> str:
    return format_size(path.stat().st_size) if path.exists() else "moved away"
