"""Settings that decide what is found, and what it means that a job goes on with others.

A link that is out of scope, or too deep, is dropped when it is found. So these settings cannot be changed for pages that were fetched
before: to keep all dropped links for that would cost every crawl more than its queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from andante.crawl.settings import Settings

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


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(repr, value)) or "none"
    return "none" if value is None else str(value)
