"""Scrapy following links: ``python scrapy_spider.py URL PAGES``."""

import sys
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

START, PAGES = sys.argv[1], int(sys.argv[2])


class Spider(CrawlSpider):
    name = "bench"
    start_urls = [START]
    allowed_domains = [urlsplit(START).hostname]
    rules = [Rule(LinkExtractor(), follow=True)]


process = CrawlerProcess(
    {
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 8,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "CLOSESPIDER_PAGECOUNT": PAGES,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }
)
process.crawl(Spider)
process.start()
