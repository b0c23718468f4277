"""Find links that lead nowhere, and stop when there are enough: python examples/broken_links.py URL..."""

from __future__ import annotations

import asyncio
import sys

import andante
from andante import Event

ENOUGH = 20


async def main(seeds: list[str]) -> None:
    """Crawl until so many broken links were found, or all pages were read."""
    broken: dict[str, str] = {}  # URL -> why
    linked_from: dict[str, str] = {}  # URL -> the first page that links to it

    def told(event: Event) -> None:
        """What never became a page is known from events only."""
        if event.event == "fetch.failed":
            broken[event.url] = event.reason

    async with andante.Crawl(seeds, on_event=told) as crawl:
        async for page in crawl:
            if page.status >= 400:
                broken[page.url] = str(page.status)
            for link in page.links:
                linked_from.setdefault(link, page.final_url)
            if len(broken) >= ENOUGH:
                crawl.interrupt()

    for url, why in sorted(broken.items()):
        print(f"{why:>5} {url} on {linked_from.get(url, 'the command line')}")
    print(f"{crawl.stats.pages} pages read" + (", and more to read" if crawl.queued else ""))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
