"""On-line page importance (Abiteboul, Preda and Cobena 2003)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush, heapreplace

from andante.frontier.quality.base import Found
from andante.frontier.quality.graph import Graph

DAMPING = 0.85
"""The part of its cash that a page gives to its links; the rest goes to the virtual page. As in PageRank."""
REREAD_MAX = 4
"""Most pages that are read again from memory when one was fetched: it bounds the time. On average it is 1.5."""


class Opic:
    """Importance by cash: a page hands the cash it holds to the pages it links to.

    A seed starts with a cash of 1. When a page is read, its cash is added to its history; 0.85 of it is split in equal parts over
    its links, and the *virtual page*, to which every page links, has the rest. A page without links gives all to the virtual page. The
    virtual page, which links to every page, pays 0.15 to each page, seeds left out, when it is first read. Cash is neither made nor lost: what the
    pages hold and the balance of the virtual page add up to the number of seeds.

    The source reads the richest page next, as often as it is the richest. So does this, with the difference that a page is
    fetched once, and read again from memory: after each fetch those already fetched that hold as much as the fetched page did.

    The worth of a URL that waits is the cash it holds, all of which came by links: its PageRank (1 in the mean) by the links met so far,
    less the 0.15 that every page has. What no page but one like itself links to is worth next to nothing, however many there are of it.
    """

    wants_text = False
    rescores = True

    def __init__(self) -> None:
        self.virtual = 0.0
        """Balance of the virtual page."""
        self._graph = Graph()
        self._cash = array("d")
        self._history = array("d")
        self._rich: list[tuple[float, int]] = []  # heap of pages read: (-cash when listed, number)
        self._listed = array("d")  # that cash, by number; 0: not listed, other entries are stale
        self._touched: set[int] = set()
        self._seeds: set[int] = set()

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Give each a cash of 1, in the place of what the virtual page pays."""
        known = len(self._graph)
        numbers = [self._number(url, 1.0) for url in urls]
        self.virtual += len(self._graph) - known
        self._seeds.update(range(known, len(self._graph)))
        return self._graph.tell(numbers, self._cash)

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Hand out the cash of a page; return what each of its links holds now."""
        del text
        page = self._number(url)
        links = [self._number(link.url) for link in found]
        if not self._graph.is_read(page) and page not in self._seeds:
            self._cash[page] += 1 - DAMPING
            self.virtual -= 1 - DAMPING
        self._graph.add(page, links)
        cash = self._cash[page]
        self._read(page)
        self._read_again(cash)
        return self._graph.tell(links, self._cash)

    def due(self) -> Iterable[tuple[str, float]]:
        """Return the URLs whose cash has grown by pages read again."""
        touched, self._touched = self._touched, set()
        return self._graph.changed(self._cash, sorted(touched))

    @property
    def cash(self) -> float:
        """What the pages hold in all; with ``virtual`` it is the number of seeds."""
        return sum(self._cash)

    def importance(self, url: str) -> float:
        """Return history and cash of a URL: an estimate from below of its PageRank, 1 in the mean."""
        number = self._number(url)
        return self._history[number] + self._cash[number]

    def _number(self, url: str, paid: float = 0.0) -> int:
        number = self._graph.number(url)
        if number == len(self._cash):
            self._cash.append(paid)
            self._history.append(0.0)
            self._listed.append(0.0)
            self.virtual -= paid
        return number

    def _read(self, page: int) -> None:
        held, listed, is_read = self._cash, self._listed, self._graph.is_read
        cash, held[page] = held[page], 0.0
        self._history[page] += cash
        listed[page] = 0.0
        links = self._graph.links(page)
        share = DAMPING * cash / len(links) if links else 0.0
        self.virtual += cash - share * len(links)
        for link in links:
            held[link] += share
            if not is_read(link):
                self._touched.add(link)
            elif held[link] > 1.5 * listed[link]:
                self._list(link)

    def _read_again(self, cash: float) -> None:
        """Read the richest of the pages in memory, as long as they hold so much."""
        for _ in range(REREAD_MAX):
            page = self._richest()
            if page is None or self._cash[page] < cash:
                return
            self._read(page)

    def _list(self, page: int) -> None:
        """List a page with what it holds; only when it has grown by half, so that few entries are stale."""
        self._listed[page] = self._cash[page]
        heappush(self._rich, (-self._cash[page], page))
        if len(self._rich) > 2 * len(self._graph.read):
            self._rich = [
                (-self._listed[page], page) for page in self._graph.read if self._listed[page]
            ]
            heapify(self._rich)

    def _richest(self) -> int | None:
        rich = self._rich
        while rich:
            listed, page = -rich[0][0], rich[0][1]
            cash = self._cash[page]
            if self._listed[page] != listed:
                heappop(rich)
            elif cash > 1.1 * listed:
                self._listed[page] = cash
                heapreplace(rich, (-cash, page))
            else:
                return page
        return None
