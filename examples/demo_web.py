"""A small web to try a crawler on: twelve servers on loopback addresses, each with a character of its own.

    python examples/demo_web.py crawl.toml

writes the settings of a crawl of this web to the file, and serves it until Ctrl-C.
Then, in another terminal: andante crawl --config crawl.toml
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

LORE = """It likes wet feet and the company of streams. | Its leaves come late and go early. | Bees visit it in March. |
Boats, barrels and bowls were made of it. | A jay planted this one and forgot where. | It grows a hand's breadth a year. |
Lightning struck it twice; it took no notice. | Its bark is grey, and rough on the north side. | The seeds fly well in October. |
Charcoal from it burns hot and even. | Under it nothing grows but moss. | It has seen four roads come and three of them go.
""".replace("\n", " ").split("|")


@dataclass
class Server:
    """One server of the web: a tree of numbered pages under `/`."""

    name: str
    character: str
    """Said on its start page."""
    pages: int
    latency: float = 0.03
    """Seconds before each response."""
    robots: str = ""
    keeps_alive: bool = True
    trouble: dict[str, tuple[int, str]] = field(default_factory=dict)
    """What else is linked from the start page: path -> (status, Location or Retry-After)."""
    patience: int = 0
    """After so many requests it answers one with 429."""
    asked: int = 0


SERVERS = [
    Server("alder", "an ordinary one, quick and sound", 40),
    Server(
        "ash",
        "keeps /private/ to itself",
        36,
        robots="User-agent: *\nDisallow: /private/\n",
        trouble={"/private/nest": (200, ""), "/private/roots": (200, "")},
    ),
    Server("aspen", "trembles: now and then it asks for patience (429)", 30, patience=14),
    Server(
        "beech",
        "asks for two seconds between requests",
        8,
        robots="User-agent: *\nCrawl-delay: 2\n",
    ),
    Server(
        "birch",
        "has moved house: old addresses redirect",
        34,
        trouble={f"/old/{n}": (301, f"/{n}") for n in range(1, 7)},
    ),
    Server(
        "cedar", "has lost some pages (404)", 36, trouble={"/lost": (404, ""), "/gone": (410, "")}
    ),
    Server("elm", "old and slow", 16, latency=0.7),
    Server("hazel", "cuts the line on one page", 34, trouble={"/cut": (0, "")}),
    Server("larch", "fails on one page (500)", 34, trouble={"/fails": (500, "")}),
    Server(
        "maple",
        "sends visitors round in circles, or next door",
        34,
        trouble={"/round": (302, "/about"), "/about": (302, "/round"), "/next-door": (302, "oak")},
    ),
    Server("oak", "closes the connection after each page", 38, keeps_alive=False),
    Server("rowan", "wants no robots at all", 5, robots="User-agent: *\nDisallow: /\n"),
]


class Web:
    """The servers at one port of 127.0.0.2, 127.0.0.3 and so on."""

    def __init__(self, port: int) -> None:
        self.port = port

    def url(self, name: str, page: int = 0) -> str:
        """Return the address of a page."""
        return f"http://{name}.localhost:{self.port}/{page or ''}"

    def settings(self) -> str:
        """Return the settings of a polite crawl of all servers, as TOML."""
        places = "".join(
            f'    "{server.name}.localhost:{self.port}:{address(n)}",\n'
            for n, server in enumerate(SERVERS)
        )
        return (
            f'seeds = ["{self.url("alder")}"]\n'
            'scope = "any"\n'
            'rate = "2/s"               # for each server\n'
            "allow_private = true       # the servers are on loopback\n"
            "retries = 1\n"
            'retry_wait = "2s"\n'
            f"resolve = [                # where the names are\n{places}]\n"
        )

    async def visit(
        self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer the requests of one connection."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
                await asyncio.sleep(server.latency)
                status, headers, body = self.respond(server, path)
                if not status:
                    break
                keep = "keep-alive" if server.keeps_alive else "close"
                head = [
                    f"HTTP/1.1 {status} -",
                    f"Content-Length: {len(body)}",
                    f"Connection: {keep}",
                    *headers,
                ]
                writer.write("\r\n".join([*head, "", ""]).encode() + body)
                await writer.drain()
                if not server.keeps_alive:
                    writer.close()
                    return
        reset(writer)

    def respond(self, server: Server, path: str) -> tuple[int, list[str], bytes]:
        """Return status, headers and body; status 0 cuts the line."""
        server.asked += 1
        if path == "/robots.txt":
            return (
                (200, ["Content-Type: text/plain"], server.robots.encode())
                if server.robots
                else (404, [], b"")
            )
        if server.patience and server.asked % server.patience == 0:
            return 429, ["Retry-After: 3"], b""
        if path in server.trouble:
            status, target = server.trouble[path]
            place = target if target.startswith("/") else self.url(target)
            return status, [f"Location: {place}"] if target else [], b""
        number = path.removeprefix("/") or "0"
        if not number.isdigit() or int(number) >= server.pages:
            return 404, [], b""
        return (
            200,
            ["Content-Type: text/html; charset=utf-8"],
            self.page(server, int(number)).encode(),
        )

    def page(self, server: Server, number: int) -> str:
        """Write a page: some lore, and links to two further pages, to its parent and to another server."""
        chance = random.Random(f"{server.name} {number}")
        name = server.name.capitalize()
        title = f"{name}, {server.character}" if number == 0 else f"{name}, leaf {number}"
        links = [
            (f"/{n}", f"leaf {n}") for n in (2 * number + 1, 2 * number + 2) if n < server.pages
        ]
        if number == 0:
            links += [(path, path) for path in server.trouble]
            links += [
                (self.url(other.name), other.name) for other in SERVERS if other is not server
            ]
        else:
            other = chance.choice(SERVERS)
            links += [
                (f"/{(number - 1) // 2 or ''}", "the branch"),
                (self.url(other.name, chance.randrange(other.pages)), f"to the {other.name}"),
            ]
        items = "".join(f'<li><a href="{href}">{text}</a>' for href, text in links)
        return (
            f"<!doctype html><title>{title}</title>\n"
            "<style>body { font: 1.1em/1.6 Georgia, serif; max-width: 36em; margin: 4em auto; color: #2d3b2d }</style>\n"
            f"<h1>{title}</h1>\n<p>{' '.join(s.strip() for s in chance.sample(LORE, 4))}</p>\n"
            f"<ul>{items}</ul>\n"
        )


def address(index: int) -> str:
    """Return the loopback address of a server: one each, as politeness counts addresses too."""
    return f"127.0.0.{index + 2}"


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a crashing server does: with RST."""
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    )
    writer.transport.abort()


async def serve(announce: Callable[[Web], None]) -> None:
    """Serve until cancelled; announce the web once it is up."""
    with socket.create_server((address(0), 0)) as probe:
        web = Web(probe.getsockname()[1])
    async with AsyncExitStack() as stack:
        for index, server in enumerate(SERVERS):

            async def visit(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Server = server
            ) -> None:
                await web.visit(server, reader, writer)

            await stack.enter_async_context(
                await asyncio.start_server(visit, address(index), web.port)
            )
        announce(web)
        await asyncio.Event().wait()


def main(settings: Path) -> None:
    """Serve until Ctrl-C."""

    def announce(web: Web) -> None:
        settings.write_text(web.settings())
        print(
            f"{len(SERVERS)} servers, from {web.url('alder')} on; to crawl them: {settings}",
            flush=True,
        )

    with suppress(KeyboardInterrupt):
        asyncio.run(serve(announce))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
