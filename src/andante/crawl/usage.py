"""What the crawl costs its machine."""

from __future__ import annotations

import resource
import sys
from typing import NamedTuple


class Usage(NamedTuple):
    """What a process has used so far."""

    processor: float
    """Seconds of processor time."""
    memory: int
    """Most memory that it had, bytes."""


def usage() -> Usage:
    """Return what this process has used."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else 1024
    return Usage(own.ru_utime + own.ru_stime, own.ru_maxrss * unit)
