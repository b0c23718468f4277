"""A name server of a few lines, on 127.0.0.1: answers A and AAAA from a table, and counts what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from ipaddress import ip_address

NXDOMAIN, SERVFAIL = 3, 2
_TYPES = {1: 4, 28: 6}

Zone = Mapping[str, "tuple[int, list[str]] | int | None"]
"""Name to (time to live, addresses), to a response code, or to None for silence; any other name does not exist."""


class Nameserver(asyncio.DatagramProtocol):
    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.asked: Counter[str] = Counter()
        """Queries for A records, by name."""
        self.address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        host, port = transport.get_extra_info("sockname")
        self.address = f"{host}:{port}"

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, end = _name(data)
        (kind,) = struct.unpack_from("!H", data, end)
        if kind == 1:
            self.asked[name] += 1
        entry = self.zone.get(name, NXDOMAIN)
        if entry is None:
            return
        code = entry if isinstance(entry, int) else 0
        ttl, addresses = (0, []) if isinstance(entry, int) else entry
        records = [
            ip_address(a).packed for a in addresses if ip_address(a).version == _TYPES.get(kind)
        ]
        answer = (
            data[:2]
            + struct.pack("!HHHHH", 0x8180 | code, 1, len(records), 0, 0)
            + data[12 : end + 4]
        )
        for packed in records:
            answer += struct.pack("!HHHIH", 0xC00C, kind, 1, ttl, len(packed)) + packed
        self._transport.sendto(answer, addr)


def _name(data: bytes) -> tuple[str, int]:
    labels, at = [], 12
    while size := data[at]:
        labels.append(data[at + 1 : at + 1 + size].decode())
        at += 1 + size
    return ".".join(labels).lower(), at + 1


@contextlib.asynccontextmanager
async def nameserver(zone: Zone) -> AsyncIterator[Nameserver]:
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Nameserver(zone), local_addr=("127.0.0.1", 0), family=socket.AF_INET
    )
    try:
        yield server
    finally:
        transport.close()
