"""Print the title of each page: python examples/titles.py URL..."""

from __future__ import annotations

import sys

import andante


def main(seeds: list[str]) -> None:
    """Crawl ten pages, at most forty a minute."""
    for page in andante.crawl(*seeds, rate="40/min", max_pages=10):
        print(page.status, page.final_url, page.title or "(no title)")


if __name__ == "__main__":
    main(sys.argv[1:])
