"""The crawler against a server with so many workers, ``--per-server auto``: ``python benchmarks/limit.py``.

A real server (asyncio, on loopback) works on as many requests at once as it has workers; their number changes from phase to phase. For the last half of
each phase the table has the throughput as a share of what the workers can do, and the p95 latency at the server as a multiple of what it would be without a queue.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from math import exp
from pathlib import Path

SIGMA = 0.5
"""Of the lognormal service times."""

NETWORK = 0.03
"""Seconds of each response that are not work."""

P95 = 1.6449  # of the standard normal distribution


class Server:
    """Serves an endless tree of pages."""

    def __init__(self, mean: float, workers: int) -> None:
        self.mean = mean
        self.workers = workers
        self.served: list[tuple[float, float]] = []
        """When each page was served, and the seconds that it took."""
        self._random = random.Random(1)
        self._busy = 0
        self._waiting: list[asyncio.Future[None]] = []

    def change(self, workers: int) -> None:
        """From now on there are so many workers; those above it end what they do."""
        self.workers = workers
        self._free()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                began = time.monotonic()
                path = head.split(b" ", 2)[1].decode()
                found = path != "/robots.txt"
                body = await self._page(path) if found else b""
                if found:
                    now = time.monotonic()
                    self.served.append((now, now - began))
                status = b"200 OK" if found else b"404 Not Found"
                writer.write(
                    b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"
                    % (status, len(body), body)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _page(self, path: str) -> bytes:
        await asyncio.sleep(NETWORK / 2)
        await self._work()
        await asyncio.sleep(NETWORK / 2)
        number = int(path.strip("/") or 0)
        return "".join(f'<a href="/{number * 10 + n}">x</a>' for n in range(1, 11)).encode()

    async def _work(self) -> None:
        if self._busy >= self.workers:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        else:
            self._busy += 1
        await asyncio.sleep(self.mean * exp(self._random.gauss(-(SIGMA**2) / 2, SIGMA)))
        self._busy -= 1
        self._free()

    def _free(self) -> None:
        while self._waiting and self._busy < self.workers:
            self._busy += 1
            self._waiting.pop(0).set_result(None)


async def run(phases: list[int], seconds: float, mean: float) -> None:
    """Crawl the server through all phases, and print a row for each."""
    server = Server(mean, phases[0])
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    with tempfile.TemporaryDirectory() as directory:
        crawl = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "andante", "crawl", f"http://127.0.0.1:{port}/"),
            *("--job", str(Path(directory) / "job"), "--rate", "max", "--per-server", "auto"),
            *("--max-time", f"{seconds * len(phases) + 1}s", "--quiet"),
        )
        while not server.served and crawl.returncode is None:
            await asyncio.sleep(0.01)
        unloaded = mean * exp(-(SIGMA**2) / 2 + P95 * SIGMA) + NETWORK
        print("| workers | share of capacity | p95 : unloaded p95 | pages |\n|---:|---:|---:|---:|")
        for workers in phases:
            server.change(workers)
            await asyncio.sleep(seconds / 2)
            before = len(server.served)
            await asyncio.sleep(seconds / 2)
            times = sorted(taken for _, taken in server.served[before:])
            share = len(times) / (seconds / 2) / (workers / mean)
            p95 = times[len(times) * 95 // 100] / unloaded if times else 0.0
            print(f"| {workers} | {share:.3f} | {p95:.2f} | {len(times):,} |", flush=True)
        await crawl.wait()
    listening.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[16, 4, 16])
    parser.add_argument("--seconds", type=float, default=100.0, help="of each phase")
    parser.add_argument("--mean", type=float, default=0.05, help="seconds of work on a page")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.workers, arguments.seconds, arguments.mean))


if __name__ == "__main__":
    main()
