"""Scrapy following links with others by way of Redis: ``python scrapy_redis_spider.py REDIS_URL FILE``.

It starts from the list ``bench:start_urls`` in Redis, and writes to the file when each page was done with, and its URL.
"""

import sys
import time
from pathlib import Path

from scrapy.crawler import CrawlerProcess
from scrapy_redis.spiders import RedisSpider

REDIS_URL, FILE = sys.argv[1:]
CONCURRENCY = 16
done = Path(FILE).open("w", buffering=1)  # noqa: SIM115 (as long as the process)


class Spider(RedisSpider):
    name = "bench"
    redis_key = "bench:start_urls"

    def parse(self, response):
        yield from response.follow_all(css="a")
        done.write(f"{time.time():.3f}\t{response.url}\n")


process = CrawlerProcess(
    {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "SCHEDULER_PERSIST": True,
        "REDIS_URL": REDIS_URL,
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": CONCURRENCY,
        "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }
)
process.crawl(Spider)
process.start()
