"""The link graph of the simulated web.

Pages are numbered server by server; number 0 of a server is its front page.

1. *Sizes.* Each server has one page; the others go to servers by the weights rank^-exponent, ranks at random: sizes follow a power law.
2. *Reachability.* Every page but a front page has a link from an earlier page of its server; the front page of every server but the
   seeds has one from a page of an earlier server. These links are a forest whose roots are the seeds, so every page is reached from them.
3. *Out-degree.* A page has further links, a Pareto number of them (density exponent 2.7, Kumar et al. 2000), at most twenty times the mean.
   Those that meet the page itself, or the same page again, count once or not at all.
4. *In-degree.* Each of these leads to the page's own server with the probability ``locality``, else to a server chosen by the weights rank^-fame, ranks
   at random and apart from those of size: so pages of one server are of similar rank, as on the web. The page there is chosen by the weights (k + 1)^-popularity, k its number on the server: the static model of Goh, Kahng and Kim (2001), in which in-degrees
   follow a power law with exponent 1 + 1 / popularity. So are the earlier pages of rule 2.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from random import Random

_OUT_EXPONENT = 1.7
"""Of the Pareto distribution of out-degrees: one less than that of its density."""

_OUT_MAX = 20
"""Most links of a page, as a multiple of the mean."""


def deal(pages: int, servers: int, *, exponent: float, random: Random) -> list[int]:
    """Return the number of pages of each server: at least one, ``pages`` in all."""
    weights = _weights(servers, exponent, random)
    counts = [1] * servers
    for server in random.choices(range(servers), weights, k=pages - servers):
        counts[server] += 1
    return counts


def graph(
    first: Sequence[int],
    *,
    seeds: int,
    mean: float,
    locality: float,
    fame: float,
    popularity: float,
    random: Random,
) -> list[array[int]]:
    """Return the pages that each page links to, in random order.

    Args:
        first: the first page of each server, and the number of all pages.
        seeds: servers whose front pages are reached without a link: the first ones.
        mean: links of a page, besides those of rule 2.
        locality: share of them that stay on the server.
        fame: exponent of the weights by which links choose other servers.
        popularity: exponent of those by which they choose pages; at least 0, below 1.
        random: the source of all chance.
    """
    choose = _chooser(popularity, random.random)
    sizes = [after - start for start, after in pairwise(first)]
    links: list[set[int]] = [set() for _ in range(first[-1])]
    for server, size in enumerate(sizes):
        start = first[server]
        if server >= seeds:
            host = random.randrange(server)
            links[first[host] + choose(sizes[host])].add(start)
        for number in range(1, size):
            links[start + choose(number)].add(start + number)
    famous = list(accumulate(_weights(len(sizes), fame, random)))
    least = mean * (_OUT_EXPONENT - 1) / _OUT_EXPONENT
    for server, size in enumerate(sizes):
        for page in range(first[server], first[server] + size):
            wanted = least * random.paretovariate(_OUT_EXPONENT)
            for _ in range(round(min(wanted, _OUT_MAX * mean))):
                there = server
                if random.random() >= locality:
                    there = bisect_right(famous, random.random() * famous[-1])
                links[page].add(first[there] + choose(sizes[there]))
            links[page].discard(page)
    return [_shuffled(targets, random) for targets in links]


def _weights(servers: int, exponent: float, random: Random) -> list[float]:
    weights = [rank**-exponent for rank in range(1, servers + 1)]
    random.shuffle(weights)
    return weights


def _chooser(popularity: float, chance: Callable[[], float]) -> Callable[[int], int]:
    """Return what chooses a number below another by the weights (k + 1)^-popularity, summed as an integral."""
    power = 1 - popularity

    def choose(count: int) -> int:
        x = (1 + chance() * ((count + 1) ** power - 1)) ** (1 / power)
        return min(int(x), count) - 1

    return choose


def _shuffled(targets: set[int], random: Random) -> array[int]:
    ordered = sorted(targets)
    random.shuffle(ordered)
    return array(
        "L", ordered
    )  # a quarter of a list's memory, and nothing that the garbage collector has to look at
