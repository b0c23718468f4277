"""How fast the simulator is: pages a second of real time, without politeness and without a store.

The ratio is to a yardstick run in the same minute: the same pages taken from the simulated servers and scanned for links, without a crawler.

    python benchmarks/simulate.py [--pages 30000] [--servers 500] [--connections 64] [--rounds 3]
"""

from __future__ import annotations

import argparse
import time
from math import inf
from statistics import median

from andante import url as urls
from andante.crawl import Settings
from andante.parse import parse_html
from andante.sim.population import Population
from andante.sim.simulation import Simulation
from andante.sim.web import Web, WebTraits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=30_000)
    parser.add_argument("--servers", type=int, default=500)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()

    began = time.perf_counter()
    traits = WebTraits(servers=arguments.servers, pages=arguments.pages)
    web = Web(traits, Population().draw(arguments.servers, seed=1), seed=1)
    print(f"web made in {time.perf_counter() - began:.1f} s")
    settings = Settings(
        rate=inf, scope="any", ignore_robots=True, connections=arguments.connections
    )
    rates = []
    for _ in range(arguments.rounds):
        bare = scanned(web)
        began = time.process_time()
        record = Simulation(web, settings).run()
        rate = len(record.pages) / (time.process_time() - began)
        rates.append(rate)
        print(
            f"simulated {len(record.pages):,} pages in {record.seconds:.0f} s of virtual time: "
            f"{rate:,.0f} pages/s of processor time, {rate / bare:.2f} x the yardstick ({bare:,.0f} pages/s)"
        )
    print(f"median {median(rates):,.0f} pages/s")


def scanned(web: Web) -> float:
    """Return the pages a second of the yardstick."""
    servers = web.serving()
    began, count = time.process_time(), 0
    for url in web.urls():
        where = urls.parts(url)
        reply = servers[where.host, where.port].serve(where.target, 0.0, last=False)
        parse_html(reply.body, encoding="utf-8")
        count += 1
    return count / (time.process_time() - began)


if __name__ == "__main__":
    main()
