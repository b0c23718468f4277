"""On-line page importance (Abiteboul, Preda and Cobena 2003)."""

from __future__ import annotations

from collections.abc import Sequence

from andante.frontier.quality.base import Found
from andante.url import fingerprint


class Opic:
    """Importance by cash: a page hands the cash it holds to the pages it links to.

    Every seed starts with a cash of 1. When a page is read, its cash is added to its history and then split in equal parts over its
    links and the *virtual page*, which stands for all that the links lead away from the crawl; each URL counts once, and the page itself not.
    A page without links gives all to the virtual page. Cash is neither made nor lost: held, or with the virtual page, it is
    always as much as there were seeds.

    The worth of a URL that waits is the cash it holds. What the virtual page has would go to the waiting pages in proportion to what they hold: that changes no
    ratio, so it is not done. A page that is read no more keeps what still comes in, until it is read again.
    """

    wants_text = False
    rescores = True

    def __init__(self) -> None:
        self.virtual = 0.0
        """Cash of the virtual page."""
        self._cash: dict[bytes, float] = {}
        self._history: dict[bytes, float] = {}
        self._spent = 0.0

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Give each a cash of 1."""
        return [self._earn(fingerprint(url), 1.0) for url in urls]

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Hand out the cash of a page; return what each of its links holds now."""
        del text
        page = fingerprint(url)
        cash = self._cash.get(page, 0.0)
        self._cash[page] = 0.0
        self._history[page] = self._history.get(page, 0.0) + cash
        self._spent += cash
        links = [fingerprint(link.url) for link in found]
        receivers = dict.fromkeys(links)
        receivers.pop(page, None)
        share = cash / (len(receivers) + 1)
        self.virtual += cash - share * len(receivers)
        for link in receivers:
            self._earn(link, share)
        return [self._cash[link] for link in links]

    def due(self) -> None:
        """Nothing changes but by `page`."""

    @property
    def cash(self) -> float:
        """All cash held by pages; with ``virtual`` it is the number of seeds."""
        return sum(self._cash.values())

    def importance(self, url: str) -> float:
        """Return the share of a page in all cash that was ever held: history and cash, over that of all."""
        page = fingerprint(url)
        held = self._history.get(page, 0.0) + self._cash.get(page, 0.0)
        total = self._spent + self.cash
        return held / total if total else 0.0

    def _earn(self, page: bytes, amount: float) -> float:
        self._cash[page] = cash = self._cash.get(page, 0.0) + amount
        return cash
