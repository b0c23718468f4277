"""An island: a network of its own for one test, where no packet can leave, and any address can be ours.

@on_island
def test_something(tmp_path): ...

runs in a network namespace without routes. There the loopback interface has the addresses below, public ones and others; name servers
are asked at 127.0.0.1; and `Watch` sees every packet.
"""

from __future__ import annotations

import functools
import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from fcntl import ioctl
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Self

PUBLIC = ["5.5.5.5", "6.6.6.6"]
PUBLIC_6 = "2606:4700::5"
PRIVATE = ["10.0.0.1", "169.254.169.254", "192.168.1.1", "100.64.0.1"]
PRIVATE_6 = "fd00::1"

_ROOT = Path(__file__).parents[2]
_MARK = "ANDANTE_TEST_ISLAND"


def on_island(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test on an island: pytest is started there for this one test."""

    @functools.wraps(test)
    def wrapper(*args: object, **kwargs: object) -> None:
        if _MARK in os.environ:
            _settle()
            test(*args, **kwargs)
            return
        file = test.__code__.co_filename
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:cov", "--tb=short"]
        done = subprocess.run(
            [*_unshare(), sys.executable, "-m", "pytest", *options, f"{file}::{test.__name__}"],
            cwd=_ROOT,
            env=os.environ | {_MARK: "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    return wrapper


def _unshare() -> list[str]:
    for command in (["unshare", "-n", "-m"], ["unshare", "-r", "-n", "-m"]):
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    raise AssertionError(
        "this test needs a network namespace: run it as root, or allow user namespaces "
        "(sysctl kernel.unprivileged_userns_clone=1)"
    )


def _settle() -> None:
    """Bring the loopback interface up, give it its addresses, and become the name server."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as four:
        ioctl(four, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: UP, RUNNING
        for number, address in enumerate(PUBLIC + PRIVATE):
            place = struct.pack("HH4s8x", socket.AF_INET, 0, IPv4Address(address).packed)
            ioctl(four, 0x8916, struct.pack("16s16s", b"lo:%d" % number, place))  # SIOCSIFADDR
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as six:
        for address in (PUBLIC_6, PRIVATE_6):
            place = struct.pack("16sIi", IPv6Address(address).packed, 128, 1)  # prefix, interface
            ioctl(six, 0x8916, place)
    folder = Path(f"/tmp/andante-island-{os.getpid()}")
    folder.write_text("nameserver 127.0.0.1\n")
    subprocess.run(["mount", "--bind", folder, "/etc/resolv.conf"], check=True)
    folder.unlink()


class Watch:
    """Sees all packets of the island; `reached` tells where TCP connections were tried."""

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**24)
        self._socket.setblocking(False)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def reached(self) -> set[tuple[str, int]]:
        """Return address and port of each connection that was tried."""
        found = set()
        while True:
            try:
                packet, (_, kind, *_) = self._socket.recvfrom(200)
            except BlockingIOError:
                return found
            if kind == 0x0800 and packet[9] == socket.IPPROTO_TCP:
                at, to = (packet[0] & 15) * 4, str(IPv4Address(packet[16:20]))
            elif kind == 0x86DD and packet[6] == socket.IPPROTO_TCP:
                at, to = 40, str(IPv6Address(packet[24:40]))
            else:
                continue
            if packet[at + 13] & 0x12 == 0x02:  # SYN without ACK
                found.add((to, *struct.unpack_from("!H", packet, at + 2)))


def literal(address: str) -> str:
    """Return an address as it stands in a URL."""
    return f"[{address}]" if re.search(":", address) else address
