"""The crawl: visits, the loop that joins the rooms, and the Python interface."""

from andante.crawl.api import Crawl, crawl
from andante.crawl.settings import Settings, SettingsError, load

__all__ = ["Crawl", "Settings", "SettingsError", "crawl", "load"]
