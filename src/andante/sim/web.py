"""The simulated web: servers and pages, links and qualities, all from one seed.

How the graph is made is told in `andante.sim.graph`.

Tarpits are servers besides: each of their pages leads to ``tarpit_links`` new ones, without end.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import Literal

import msgspec

from andante.sim.graph import deal, graph
from andante.sim.pagerank import pagerank
from andante.sim.ranges import COUNT, SHARE, Range, check
from andante.sim.server import Server, Traits


class WebTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What the web is like."""

    servers: int = 500
    """Servers, tarpits not included."""
    pages: int = 30_000
    """Pages, those of tarpits not included."""
    links: float = 10.0
    """Mean links on a page, besides those by which each page is reached."""
    navigation: int = 0
    """Links besides that are the same on all pages of a server: to its front page and the next ones."""
    locality: float = 0.75
    """Share of these that stay on the server."""
    fame: float = 1.0
    """Exponent of the weights by which the others choose a server; 0: all are alike."""
    popularity: float = 0.9
    """Exponent of the weights by which links choose pages, below 1: in-degrees follow a power law with exponent 1 + 1 / popularity."""
    server_exponent: float = 0.8
    """Exponent of the weights by which pages are dealt out to servers."""
    size: float = 14_000.0
    """Mean bytes of a page; at least what its links need."""
    size_sigma: float = 1.0
    """Of the logarithm of sizes: they are lognormal."""
    seeds: int = 1
    """Servers whose front pages are the seeds."""
    quality: Literal["pagerank", "zipf"] = "pagerank"
    """What pages are worth: PageRank of the graph, or 1 / rank, ranks at random."""
    tarpits: int = 0
    """Servers whose pages never end."""
    tarpit_links: int = 10
    """Links on each page of a tarpit, to new pages of it."""
    tarpit_doors: int = 10
    """Pages of the web that link to each tarpit."""

    def __post_init__(self) -> None:
        check(self, _RANGES)
        if self.pages < self.servers:
            raise ValueError(
                f"pages: {self.pages} are too few: each of the {self.servers} servers has at least one"
            )
        if self.seeds > self.servers:
            raise ValueError(
                f"seeds: {self.seeds} are too many: each is on a server of its own, of {self.servers}"
            )


_RANGES = {
    "servers": COUNT,
    "pages": COUNT,
    "links": Range(0, 1_000),
    "navigation": Range(0, 1_000),
    "locality": SHARE,
    "fame": Range(0, 10),
    "popularity": Range(0, 1, is_open_above=True),
    "server_exponent": Range(0, 10),
    "size": Range(0, 1e9),
    "size_sigma": Range(0, 5),
    "seeds": COUNT,
    "tarpits": Range(0),
    "tarpit_links": COUNT,
    "tarpit_doors": COUNT,
}


class Web:
    """A simulated web; `andante.sim.network.Network` connects to it.

    Args:
        traits: what it is like.
        servers: what each server is like, in the order of their numbers, tarpits last.
        seed: the same seed, the same web.
    """

    def __init__(self, traits: WebTraits, servers: Sequence[Traits], *, seed: int) -> None:
        self.traits = traits
        self._seed = seed
        self._server_traits = servers
        random = Random(f"web {seed}")
        counts = deal(traits.pages, traits.servers, exponent=traits.server_exponent, random=random)
        self._first = list(accumulate(counts, initial=0))
        self._links: Sequence[Sequence[int]] = graph(
            self._first,
            seeds=traits.seeds,
            mean=traits.links,
            locality=traits.locality,
            fame=traits.fame,
            popularity=traits.popularity,
            random=random,
        )
        if traits.navigation:
            self._links = self._with_navigation(traits.navigation)
        mu = -(traits.size_sigma**2) / 2
        self._sizes = array(
            "d",
            (
                traits.size * random.lognormvariate(mu, traits.size_sigma)
                for _ in range(traits.pages)
            ),
        )
        self._doors: dict[int, list[str]] = {}
        for tarpit in range(traits.servers, traits.servers + traits.tarpits):
            for door in random.sample(range(traits.pages), min(traits.tarpit_doors, traits.pages)):
                self._doors.setdefault(door, []).append(f"http://s{tarpit}.test/")
        self._qualities: Sequence[float] | None = None

    def __repr__(self) -> str:
        return (
            f"<Web: {self.traits.pages} pages on {self.traits.servers} servers, seed {self._seed}>"
        )

    def _with_navigation(self, count: int) -> list[Sequence[int]]:
        linked: list[Sequence[int]] = []
        for first, after in pairwise(self._first):
            common = range(first, min(first + count, after))
            linked += (
                [*common, *(to for to in self._links[page] if to not in common)]
                for page in range(first, after)
            )
        return linked

    # For experiments

    @property
    def seeds(self) -> list[str]:
        """URLs from which all pages are reached."""
        return [self.url(self._first[server]) for server in range(self.traits.seeds)]

    def urls(self) -> Iterator[str]:
        """Return the URLs of all pages, tarpits left out."""
        return map(self.url, range(self.traits.pages))

    def links(self, url: str) -> list[str]:
        """Return the URLs that a page links to; none where there is no such page."""
        server, target = _split(url)
        if server >= self.traits.servers:
            return [f"http://s{server}.test{path}" for path in self._tarpit(target)]
        page = self._page(server, target)
        if page is None:
            return []
        return [*map(self.url, self._links[page]), *self._doors.get(page, ())]

    def quality(self, url: str) -> float:
        """Return what a page is worth: shares of 1 over all pages, 0 for a page of a tarpit and for what is no page."""
        server, target = _split(url)
        page = self._page(server, target) if server < self.traits.servers else None
        return 0.0 if page is None else self.qualities[page]

    @property
    def qualities(self) -> Sequence[float]:
        """What each page is worth, in the order of `urls`."""
        if self._qualities is None:
            self._qualities = self._worth()
        return self._qualities

    def server_of(self, page: int) -> int:
        """Return the number of the server that has the page of a number."""
        return bisect_right(self._first, page) - 1

    def server_traits(self, url: str) -> Traits:
        """Return what the server of a URL is like."""
        return self._server_traits[_split(url)[0]]

    # For the network

    def serving(self) -> dict[tuple[str, int], Server]:
        """Return new servers, by host and port, for one run."""
        return {
            (f"s{number}.test", 80): self.server(number)
            for number in range(len(self._server_traits))
        }

    def server(self, number: int) -> Server:
        """Return a server as it is when a crawl begins."""
        return Server(
            self._server_traits[number],
            self._bodies(number),
            address=f"2001:db8::{number // 65536:x}:{number % 65536:x}",
            seed=(self._seed, number),
        )

    def _bodies(self, server: int) -> Callable[[str], bytes | None]:
        """Return what gives the HTML of a server's pages."""
        if server >= self.traits.servers:
            return lambda target: _html(self._tarpit(target), self.traits.size)
        first, after = self._first[server], self._first[server + 1]

        def body(target: str) -> bytes | None:
            page = self._page(server, target)
            if page is None:
                return None
            # Relative, as most links of the web are.
            folder = "p/" if page == first else ""
            hrefs = [
                f"{folder}{to - first}.html"
                if first < to < after
                else ("/" if to == first else self.url(to))
                for to in self._links[page]
            ]
            return _html([*hrefs, *self._doors.get(page, ())], self._sizes[page])

        return body

    def _page(self, server: int, target: str) -> int | None:
        """Return the number of the page at a target of a server."""
        first, after = self._first[server], self._first[server + 1]
        if target == "/":
            return first
        number = target.removeprefix("/p/").removesuffix(".html")
        if not number.isdecimal():
            return None
        page = first + int(number)
        return page if page < after and target == _target(page - first) else None

    def url(self, page: int) -> str:
        """Return the URL of the page of a number: the place in `urls`."""
        server = self.server_of(page)
        return f"http://s{server}.test{_target(page - self._first[server])}"

    def _tarpit(self, target: str) -> list[str]:
        """Return the links of a page of a tarpit: page n leads to pages k n + 1 to k n + k."""
        number = target.removeprefix("/p/").removesuffix(".html")
        first = self.traits.tarpit_links * (int(number) if number.isdecimal() else 0) + 1
        return [_target(number) for number in range(first, first + self.traits.tarpit_links)]

    def _worth(self) -> Sequence[float]:
        if self.traits.quality == "pagerank":
            return pagerank(self._links)
        ranks = list(range(1, self.traits.pages + 1))
        Random(f"quality {self._seed}").shuffle(ranks)
        total = sum(1 / rank for rank in ranks)
        return [1 / rank / total for rank in ranks]


_URL = re.compile(r"http://s(\d+)\.test(/.*)")


def _split(url: str) -> tuple[int, str]:
    """Return the number of a URL's server, and its path.

    Raises:
        ValueError: the URL is not of the simulated web.
    """
    match = _URL.fullmatch(url)
    if match is None:
        raise ValueError(f"{url} is not of the simulated web")
    return int(match[1]), match[2]


def _target(number: int) -> str:
    """Return the path of the page of a number on its server."""
    return f"/p/{number}.html" if number else "/"


def _html(hrefs: Sequence[str], size: float) -> bytes:
    anchors = "".join([f'<a href="{href}">{href}</a>\n' for href in hrefs])
    html = f"<!doctype html><title>A page</title>\n{anchors}".encode()
    return html.ljust(int(size))
