"""The web of source 5's experiments: 500 servers of one university, 30,000 pages, as far as the source tells.

What it does not tell is set so that connections are what is short, as there: no server is so large and slow that it alone takes longer than
all others together (sizes by rank^-0.3, not rank^-0.8 as the simulator's own), and the crawl begins with the front pages of all servers.
"""

from __future__ import annotations

from collections.abc import Sequence
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

    def due(self) -> None:
        """Nothing changes."""
