"""The web of source 5's experiments: 500 servers of one university, 30,000 pages, as far as the source tells.

What it does not tell is set so that connections are what is short, as there: no server is so large and slow that it alone takes longer than
all others together (sizes by rank^-0.3, not rank^-0.8 as the simulator's own), and the crawl begins with the front pages of all servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from andante.frontier.quality import Found
from andante.sim.population import Population
from andante.sim.web import Web, WebTraits

Kind = Literal["pagerank", "zipf"]
"""What pages are worth: see `WebTraits.quality`."""

SERVER_EXPONENT = 0.3
"""Of the sizes of servers."""


class Size(msgspec.Struct, frozen=True):
    """How large an experiment is."""

    servers: int = 500
    pages: int = 30_000
    connections: int = 64


def campus(
    size: Size,
    *,
    seed: int,
    quality: Kind = "pagerank",
    population: Population | None = None,
) -> Web:
    """Return the web of a seed; its pages, links and servers are the same whatever the quality."""
    traits = WebTraits(
        servers=size.servers,
        pages=size.pages,
        seeds=size.servers,
        server_exponent=SERVER_EXPONENT,
        quality=quality,
    )
    servers = (population or Population()).draw(size.servers, seed=seed, alive=size.servers)
    return Web(traits, servers, seed=seed)


class Known:
    """A quality that knows what each page of a simulated web is worth."""

    wants_text = False
    rescores = False

    def __init__(self, web: Web) -> None:
        self._quality = web.quality

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Return the worth of each."""
        return [self._quality(url) for url in urls]

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Return the worth of each link."""
        del url, text
        return [self._quality(link.url) for link in found]

    def due(self) -> Iterable[tuple[str, float]] | None:
        """Nothing changes."""
        return None


class Foreseen(Known):
    """A quality that knows besides how many new URLs each page would show: more than any crawl can.

    A URL is worth what its page is, and for each link there to a URL not found yet what these are worth in the mean. That is the best estimate
    where quality says nothing about links, as with Zipf at random. The crawl still has to find its URLs.
    """

    rescores = True

    def __init__(self, web: Web) -> None:
        super().__init__(web)
        self._new = {url: len(web.links(url)) for url in web.urls()}
        self._referrers: dict[str, list[str]] = {url: [] for url in self._new}
        for url in self._new:
            for link in web.links(url):
                self._referrers[link].append(url)
        self._unfound = set(self._new)
        self._left = 1.0  # what the URLs not found are worth together
        self._changed: dict[str, None] = {}

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Return the worth of each."""
        return self._find(urls)

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Return the worth of each link."""
        del url, text
        return self._find([link.url for link in found])

    def due(self) -> Iterable[tuple[str, float]]:
        """Return the URLs that would show less now than before."""
        changed, self._changed = self._changed, {}
        return [(url, self._worth(url)) for url in changed]

    def _find(self, urls: Sequence[str]) -> list[float]:
        for url in urls:
            if url in self._unfound:
                self._unfound.remove(url)
                self._left -= self._quality(url)
                for referrer in self._referrers[url]:
                    self._new[referrer] -= 1
                    if referrer not in self._unfound:
                        self._changed[referrer] = None
        return [self._worth(url) for url in urls]

    def _worth(self, url: str) -> float:
        each = max(self._left, 0.0) / max(len(self._unfound), 1)
        return self._quality(url) + self._new[url] * each
