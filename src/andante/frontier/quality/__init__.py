"""What a URL is worth before it is fetched: ``docs/explanation/quality.md``."""

from andante.frontier.quality.base import Found, Quality
from andante.frontier.quality.depth import Depth
from andante.frontier.quality.function import Function
from andante.frontier.quality.given import Given
from andante.frontier.quality.keywords import Keywords
from andante.frontier.quality.load import NAMES, load
from andante.frontier.quality.opic import Opic
from andante.frontier.quality.pagerank import PageRank
from andante.frontier.quality.sitemap import SitemapQuality

__all__ = [
    "NAMES",
    "Depth",
    "Found",
    "Function",
    "Given",
    "Keywords",
    "Opic",
    "PageRank",
    "Quality",
    "SitemapQuality",
    "load",
]
