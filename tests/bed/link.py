"""A link between two networks that delays, limits, and can be cut: a pair of TUN devices, and this process between them.

    python -I -S link.py PID PID

makes a device ``wan`` in the network namespace of each process (root only). Each line of standard input is a command, answered
with a line of JSON, the counters of both ways:

    set DELAY RATE     seconds for each packet, and bytes a second each way, 0: no limit; what waits is handed over at once
    cut [ADDRESS]      lose every packet, or those from and to an IPv4 address
    heal               lose none on purpose any more
    count              nothing but the answer

It ends with its standard input, and the devices with it. For kernels without ``netem``.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import json
import os
import select
import socket
import struct
import sys
import time
from collections import deque

NAME, MTU = "wan", 1500
QUEUE = 256_000
"""Bytes that wait for the line, each way; packets beyond are dropped, as a router does."""
LATENESS = 0.000_15
"""Seconds by which a process is woken late, or more; so packets may go as much too early."""

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_CLONE_NEWNET = 0x40000000


class Way:
    """The packets that go one way: read from a device, held for as long as it takes, and written to the other one."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.packets = self.bytes = self.dropped = self.cut = 0
        self._sink = sink
        self._held: deque[tuple[float, bytes]] = deque()
        self._free_at = 0.0  # when the line has sent all that it took

    def take(self, now: float, delay: float, rate: float, cut: set[bytes] | None) -> None:
        """Take what has come; `cut` has the addresses that are lost, or is None for all."""
        with contextlib.suppress(BlockingIOError):
            while True:
                packet = os.read(self.source, MTU)
                if packet[0] >> 4 != 4:  # IPv6 looks for its router
                    continue
                if cut is None or packet[12:16] in cut or packet[16:20] in cut:
                    self.cut += 1
                    continue
                free_at = max(self._free_at, now)
                if rate:
                    if (free_at - now) * rate + len(packet) > QUEUE:
                        self.dropped += 1
                        continue
                    free_at += len(packet) / rate
                self._free_at = free_at
                self._held.append((free_at + delay, packet))

    def give(self, now: float) -> float:
        """Hand over what is due; return the seconds until more is."""
        soon = now + LATENESS
        while self._held and self._held[0][0] <= soon:
            packet = self._held.popleft()[1]
            os.write(self._sink, packet)
            self.packets += 1
            self.bytes += len(packet)
        return self._held[0][0] - soon if self._held else 1.0

    def flush(self) -> None:
        """Let all be due that waits."""
        self._held = deque((0.0, packet) for _, packet in self._held)
        self._free_at = 0.0

    def counters(self) -> dict[str, int]:
        return {
            "packets": self.packets,
            "bytes": self.bytes,
            "dropped": self.dropped,
            "cut": self.cut,
        }


class Link:
    """Both ways, and what the commands say of them."""

    def __init__(self, *devices: int) -> None:
        left, right = devices
        self.ways = [Way(left, right), Way(right, left)]
        self.delay = self.rate = 0.0
        self.cut: set[bytes] | None = set()

    def run(self) -> None:
        """Carry packets until standard input ends."""
        watched = [way.source for way in self.ways] + [sys.stdin.fileno()]
        wait = 1.0
        while True:
            # Not epoll, which on some versions of Python waits for whole milliseconds.
            ready, _, _ = select.select(watched, [], [], wait)
            if sys.stdin.fileno() in ready and not self._obey():
                return
            now = time.monotonic()
            for way in self.ways:
                if way.source in ready:
                    way.take(now, self.delay, self.rate, self.cut)
            wait = min(way.give(time.monotonic()) for way in self.ways)

    def _obey(self) -> bool:
        match sys.stdin.readline().split():
            case []:
                return False
            case ["set", delay, rate]:
                self.delay, self.rate = float(delay), float(rate)
                for way in self.ways:
                    way.flush()
            case ["cut"]:
                self.cut = None
            case ["cut", address]:
                if self.cut is not None:
                    self.cut.add(socket.inet_aton(address))
            case ["heal"]:
                self.cut = set()
            case ["count"]:
                pass
            case words:
                raise ValueError(f"no such command: {words}")
        print(json.dumps([way.counters() for way in self.ways]), flush=True)
        return True


def device(pid: str) -> int:
    """Make the device in the network of a process, and stay there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net") as namespace:  # noqa: PTH123
        if libc.setns(namespace.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH22x", NAME.encode(), _IFF_TUN | _IFF_NO_PI))
    return file


def main() -> None:
    link = Link(*map(device, sys.argv[1:]))
    # What runs beside it is not to delay packets; and select waits to the microsecond, not 0.1 % longer.
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    gc.disable()
    print("ready", flush=True)
    link.run()


if __name__ == "__main__":
    main()
