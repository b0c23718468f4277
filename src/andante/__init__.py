"""Andante: a web crawler that is fast, polite and sure."""

from andante.crawl import Crawl, Settings, SettingsError, crawl
from andante.observe import Event, Stats
from andante.page import Page
from andante.store import JobError

__all__ = ["Crawl", "Event", "JobError", "Page", "Settings", "SettingsError", "Stats", "crawl"]
