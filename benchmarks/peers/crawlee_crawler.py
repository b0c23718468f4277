"""Crawlee following links: ``python crawlee_crawler.py URL PAGES``."""

import asyncio
import logging
import sys

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient


async def main(start: str, pages: int) -> None:
    logging.basicConfig(level=logging.CRITICAL)
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        respect_robots_txt_file=True,
        max_requests_per_crawl=pages,
        concurrency_settings=ConcurrencySettings(
            min_concurrency=8, desired_concurrency=8, max_concurrency=8
        ),
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def follow(context: ParselCrawlingContext) -> None:
        await context.enqueue_links(strategy="same-hostname")

    await crawler.run([start])


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
