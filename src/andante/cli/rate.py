"""``andante rate``: show and change the set-points of a job, running or not."""

from __future__ import annotations

import argparse
import sys
from ipaddress import IPv6Address
from math import isinf
from pathlib import Path

from andante import url as urls
from andante.crawl import SettingsError
from andante.store import Rates, RatesFile, has_met, is_running
from andante.store.rates import PAUSE, set_point


def add_to(parser: argparse.ArgumentParser) -> None:
    """Give the parser of the command its description and arguments."""
    parser.description = "Change the set-points of a job. A crawl that runs takes them within a second; they hold for later starts too, over its flags."
    parser.add_argument("directory", type=Path, metavar="DIR", help="the job's directory")
    parser.add_argument(
        "rate",
        metavar="RATE",
        nargs="?",
        help="requests to each server: 40/min, 2/s; max for no limit; pause for none at all until another is given; reset for what the flags say. Without it: show what holds",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--server", metavar="HOST", help="for this server only: a host, host:port or origin"
    )
    which.add_argument("--total", action="store_true", help="for the whole crawl, not each server")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit status."""
    running = is_running(arguments.directory)
    file = RatesFile(arguments.directory)
    server = None if arguments.server is None else _server(arguments.server)
    is_new = server is not None and not has_met(arguments.directory, server)
    if arguments.rate is None:
        rates = file.read()
    else:
        written = _rate(arguments.rate)
        with file.change() as rates:
            _change(rates, written, server, total=arguments.total)
    for line in _lines(rates):
        print(line)
    if arguments.rate is not None and is_new:
        print(f"andante: the job knows no server {server}: it holds if one is met", file=sys.stderr)
    elif arguments.rate is not None:
        print("taken up within a second" if running else "taken up by the next start")
    return 0


def _rate(written: str) -> str:
    """Return a rate as `Rates` has it; empty for ``reset``."""
    if written.strip().lower() == "reset":
        return ""
    try:
        rate = set_point(written)
    except ValueError as error:
        raise SettingsError(f"{error}, pause or reset") from None
    if not rate:
        return PAUSE
    return "max" if isinf(rate) else written


def _change(rates: Rates, written: str, server: str | None, *, total: bool) -> None:
    if server is None:
        setattr(rates, "total_rate" if total else "rate", written)
    elif written:
        rates.servers[server] = written
    else:
        rates.servers.pop(server, None)


def _server(written: str) -> str:
    """Return a server as `Rates` names it."""
    address = written.rstrip("/")
    url = urls.canonical(address if "://" in address else f"http://{address}")
    if _is_bare_ipv6(address):
        raise SettingsError(
            f"{written!r} is not a server: write IPv6 addresses in brackets, [{address}]"
        )
    if url is None or not url.endswith("/") or url.count("/") > 3:
        raise SettingsError(f"{written!r} is not a server: write a host, host:port or origin")
    if "://" in address:
        return urls.origin(url)
    where = urls.parts(url)
    host = f"[{where.host}]" if ":" in where.host else where.host
    has_port = address.endswith(f":{where.port}")
    return f"{host}:{where.port}" if has_port else host


def _is_bare_ipv6(address: str) -> bool:
    try:
        IPv6Address(address)
    except ValueError:
        return False
    return True


def _lines(rates: Rates) -> list[str]:
    named = [("each server", rates.rate or "as the flags say")]
    named += [("the whole crawl", rates.total_rate or "as the flags say")]
    named += sorted(rates.servers.items())
    width = max(len(name) for name, _ in named)
    return [f"{name:<{width}}  {rate}" for name, rate in named]
