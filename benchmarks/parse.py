"""How long it takes to find the links of a page, beside Lexbor alone; on the real sites of Debian's documentation packages.

Run: ``python benchmarks/parse.py [PAGES]``. Prints microseconds per page, ratios, and the share of pages on each way.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from andante.parse.html import parse_html

SITES = {
    "python3.11-doc": Path("/usr/share/doc/python3.11/html"),
    "openjdk-17-doc": Path("/usr/share/doc/openjdk-17-jre-headless/api"),
    "postgresql-doc-15": Path("/usr/share/doc/postgresql-doc-15/html"),
}
ROUNDS = 5


def andante(page: bytes) -> list[bytes | str]:
    return parse_html(page, encoding="utf-8").hrefs


def lexbor(page: bytes) -> list[str | None]:
    return [node.attributes.get("href") for node in LexborHTMLParser(page).css("a[href]")]


def microseconds(function: Callable[[bytes], object], pages: list[bytes]) -> float:
    start = time.perf_counter()
    for page in pages:
        function(page)
    return (time.perf_counter() - start) / len(pages) * 1e6


def main(limit: int) -> None:
    print(f"{'site':<18} {'bytes':>8} {'andante':>9} {'lexbor':>9} {'ratio':>6}  ways")
    for site, root in SITES.items():
        names = sorted(root.rglob("*.html"))
        if not names:
            print(f"{site:<18} not installed")
            continue
        pages = [name.read_bytes() for name in names[:: max(1, len(names) // limit)]]
        ways = Counter(parse_html(page, encoding="utf-8").way for page in pages)
        rounds = [
            (microseconds(andante, pages), microseconds(lexbor, pages)) for _ in range(ROUNDS)
        ]
        ours, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
        shares = ", ".join(f"{way} {count / len(pages):.1%}" for way, count in ways.most_common())
        size = statistics.fmean(map(len, pages))
        print(
            f"{site:<18} {size:8.0f} {ours:7.1f}us {theirs:7.1f}us {theirs / ours:6.2f}  {shares}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
