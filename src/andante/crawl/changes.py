"""Settings that decide what is found, and what it means that a job goes on with others.

A link that is out of scope, or too deep, is dropped when it is found. So these settings cannot be changed for pages that were fetched
before: to keep all dropped links for that would cost every crawl more than its queue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from andante import url as urls
from andante.crawl.settings import Settings

_SHOWN = 3
"""Hosts or seeds that a line names."""

DECISIVE = (
    "scope",
    "include",
    "exclude",
    "max_depth",
    "max_url_length",
    "max_links",
    "sitemaps",
    "skip_nofollow",
)


def decisive(settings: Settings) -> dict[str, Any]:
    """Return the settings that decide what is found, as plain values for the job."""
    values = {name: getattr(settings, name) for name in DECISIVE}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }


def told(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the line that tells a user what has changed, and what follows; empty if nothing has."""
    changes = [
        f"{name} from {_shown(before[name])} to {_shown(value)}"
        for name, value in now.items()
        if name in before and before[name] != value
    ]
    if not changes:
        return ""
    return (
        f"changed since the last start: {', '.join(changes)}. This holds for pages fetched from now on: "
        "links of earlier pages that were left out stay left out, and URLs that were queued stay queued. "
        "To have all pages by these settings, start a new job directory"
    )


def told_of_seeds(before: Iterable[str], now: Iterable[str]) -> str:
    """Return the line that tells a user that a job goes on with seeds of other hosts; empty if it does not."""
    known = list(dict.fromkeys(map(urls.authority, before)))
    new = [host for host in dict.fromkeys(map(urls.authority, now)) if host not in known]
    if not known or not new:
        return ""
    return f"this job is of {_few(known)}; from now on it crawls {_few(new)} too. To keep them apart, give another --job directory"


def told_of_excluded(seeds: Iterable[str], exclude: Iterable[str]) -> str:
    """Return the line that tells a user which seeds ``exclude`` hits; empty if none."""
    patterns = [re.compile(pattern) for pattern in exclude]
    hit = [seed for seed in seeds if any(pattern.search(seed) for pattern in patterns)]
    if not hit:
        return ""
    return f"exclude hits {_few(hit)}: a seed is fetched all the same; what is left out are links"


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else shown


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(repr, value)) or "none"
    return "none" if value is None else str(value)
