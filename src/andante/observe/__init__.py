"""What is going on: counts, events, progress and the summary."""

from andante.observe.events import Event, EventLog
from andante.observe.stats import Stats

__all__ = ["Event", "EventLog", "Stats"]
