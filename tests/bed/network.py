"""A small network of its own on this machine: nodes, a web, and a store behind a link that delays and limits.

    node 1  10.77.1.11 ─┐
    node 2  10.77.1.12 ─┼─ bridge ─ web 10.77.1.1 ─ link ─ store 10.77.0.1
    node 3  10.77.1.13 ─┘           and 10.78.0.0/16

Nothing in it can reach anything else. It takes root, and network namespaces, which have no names: each lives as long as a process
that does nothing but hold it, and that dies with this one. So networks of several runs do not meet, and none outlives its run,
however that ends. ``nsenter -t PID -n -m`` looks into one.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from services.process import Place, folder, wait_until

STORE, WEB = "10.77.0.1", "10.77.1.1"
WEB_ADDRESSES = "10.78.0.0/16"
"""All of them are the web's."""

_CLONE_NEWNET = 0x40000000
_HOLD = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "cat"]


class Node(Place):
    """A machine of the network; it shares this one's files, but not its names."""

    def __init__(self, address: str, holder: subprocess.Popen[bytes]) -> None:
        self.address = address
        self.pid = holder.pid
        # It becomes the command, in the working directory of the caller.
        script = f'exec nsenter -t {self.pid} -n -m env -C "$PWD" "$@"'
        self.prefix = ["sh", "-c", script, "sh"]

    def __repr__(self) -> str:
        return f"<Node {self.address}: nsenter -t {self.pid} -n -m>"

    @contextmanager
    def entered(self) -> Iterator[None]:
        with Path("/proc/thread-self/ns/net").open() as ours:
            with Path(f"/proc/{self.pid}/ns/net").open() as theirs:
                _enter(theirs.fileno())
            try:
                yield
            finally:
                _enter(ours.fileno())

    def run(self, *command: str, given: str = "") -> str:
        """Run a command there; return what it prints."""
        done = subprocess.run(
            [*self.prefix, *command], input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{self}: {' '.join(command)}\n{given}\n{done.stderr}"
        return done.stdout

    def configure(self, *lines: str) -> None:
        """Give ``ip`` its orders."""
        self.run("ip", "-batch", "-", given="\n".join(["link set lo up", *lines, ""]))

    def lost(self, device: str) -> int:
        """Return how many packets a device there has dropped."""
        rows = Path(f"/proc/{self.pid}/net/dev").read_text().splitlines()
        counts = next(
            row.split(":")[1].split() for row in rows if row.split(":")[0].strip() == device
        )
        return int(counts[3]) + int(counts[11])


class Counters(NamedTuple):
    """What a link has done with packets since its start, both ways together."""

    packets: int
    """Handed over."""
    bytes: int
    dropped: int
    """As its queue was full."""
    cut: int
    """As it was told to."""


class Link:
    """The link to the store."""

    def __init__(self, web: Node, store: Node, process: subprocess.Popen[str]) -> None:
        self._ends = (web, store)
        self._process = process
        assert self._read() == "ready"

    def set(self, *, round_trip: float, rate: float) -> None:
        """Delay for so many seconds there and back together, and carry so many bits a second each way (0: no limit)."""
        self._order(f"set {round_trip / 2} {rate / 8}")

    def cut(self, node: Node | None = None) -> None:
        """Lose all packets, or those of a node, from now on."""
        self._order(f"cut {node.address if node else ''}")

    def heal(self) -> None:
        """Lose none any more."""
        self._order("heal")

    def counters(self) -> Counters:
        """Return what became of the packets so far."""
        ways = self._order("count")
        both = {name: sum(way[name] for way in ways) for name in Counters._fields}
        both["dropped"] += sum(end.lost("wan") for end in self._ends)
        return Counters(**both)

    def _order(self, line: str) -> list[dict[str, int]]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return list(json.loads(self._read()))

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, "the link has ended"
        return line


class Network(NamedTuple):
    """A running network."""

    nodes: Sequence[Node]
    web: Node
    store: Node
    """Where Redis and ZooKeeper are to run."""
    link: Link | None
    """None: there is a plain cable."""


@contextmanager
def network(
    nodes: int = 3, *, hosts: Mapping[str, str] | None = None, linked: bool = True
) -> Iterator[Network]:
    """Make a network.

    Args:
        nodes: how many.
        hosts: names and their addresses, for all of them.
        linked: put the link before the store; it neither delays nor limits until it is told to.
    """
    assert os.geteuid() == 0, "a network of its own takes root: run this as root"
    with ExitStack() as stack:
        addresses = [STORE, WEB, *(f"10.77.1.{11 + n}" for n in range(nodes))]
        etc = stack.enter_context(folder())
        _write_names(etc, dict(hosts or {}) | {f"at-{a.replace('.', '-')}": a for a in addresses})
        store, web, *crawlers = (stack.enter_context(_node(a, etc)) for a in addresses)
        link = stack.enter_context(_link(web, store)) if linked else _cable(web, store)
        _configure(web, store, crawlers)
        yield Network(crawlers, web, store, link)


def _write_names(etc: Path, known: Mapping[str, str]) -> None:
    """Write what the nodes have in the place of files in /etc: who is not in it is not found, without waiting for a name server."""
    own = {"localhost": "127.0.0.1", socket.gethostname(): "127.0.0.1"}
    rows = (f"{address}\t{name}\n" for name, address in (own | known).items())
    (etc / "hosts").write_text("".join(rows))
    (etc / "resolv.conf").write_text("nameserver 127.0.0.1\n")


@contextmanager
def _node(address: str, etc: Path) -> Iterator[Node]:
    with subprocess.Popen(_HOLD, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as holder:
        try:
            ours = Path("/proc/self/ns/mnt").readlink()

            def is_held() -> bool:
                assert holder.poll() is None, "namespaces are not allowed here: see above"
                # unshare enters the network first, then the mounts, then becomes cat.
                at = Path(f"/proc/{holder.pid}")
                return (at / "ns/mnt").readlink() != ours and (at / "comm").read_text() == "cat\n"

            wait_until(is_held)
            node = Node(address, holder)
            for file in etc.iterdir():
                node.run("mount", "--bind", str(file), f"/etc/{file.name}")
            yield node
        finally:
            holder.kill()


@contextmanager
def _link(web: Node, store: Node) -> Iterator[Link]:
    assert Path("/dev/net/tun").exists(), "the link takes /dev/net/tun (modprobe tun)"
    script = Path(__file__).with_name("link.py")
    with subprocess.Popen(
        [sys.executable, "-I", "-S", script, str(web.pid), str(store.pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Link(web, store, process)
        finally:
            process.kill()


def _cable(web: Node, store: Node) -> None:
    web.configure(f"link add wan type veth peer name wan netns {store.pid}")


def _configure(web: Node, store: Node, nodes: Sequence[Node]) -> None:
    web.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
    web.configure(
        f"addr add 10.77.0.2 peer {STORE} dev wan",
        "link set wan up",
        "link add hub type bridge",
        f"addr add {WEB}/24 dev hub",
        "link set hub up",
        f"route add local {WEB_ADDRESSES} dev lo",
        *(
            f"link add node{n} type veth peer name eth0 netns {each.pid}"
            for n, each in enumerate(nodes)
        ),
        *(f"link set node{n} master hub up" for n in range(len(nodes))),
    )
    store.configure(
        f"addr add {STORE} peer 10.77.0.2 dev wan",
        "link set wan up",
        "route add default dev wan via 10.77.0.2",
    )
    for node in nodes:
        node.configure(
            f"addr add {node.address}/24 dev eth0",
            "link set eth0 up",
            f"route add default via {WEB}",
        )


def _enter(namespace: int) -> None:
    """Move this thread into a network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


# Checks of a network


def round_trip(near: Node, far: Node, times: int = 20) -> float:
    """Return the median seconds that a byte takes there and back over TCP."""
    with _connected(near, far) as (here, there):
        echo = threading.Thread(
            target=lambda: [there.send(b) for b in iter(lambda: there.recv(1), b"")]
        )
        echo.start()
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            here.send(b"x")
            here.recv(1)
            taken.append(time.perf_counter() - began)
        here.shutdown(socket.SHUT_WR)
        echo.join()
    return median(taken)


def goodput(near: Node, far: Node, size: int) -> float:
    """Send so many bytes over TCP; return the bits a second that arrived, from the first to the last."""
    with _connected(near, far) as (here, there):
        send = threading.Thread(target=here.sendall, args=(bytes(size),))
        send.start()
        left, began = size - len(there.recv(65_536)), time.perf_counter()
        all_but_first = left
        while left:
            left -= len(there.recv(65_536))
        send.join()
        return 8 * all_but_first / (time.perf_counter() - began)


@contextmanager
def _connected(near: Node, far: Node) -> Iterator[tuple[socket.socket, socket.socket]]:
    with far.entered():
        listener = socket.create_server((far.address, 0))
    with listener:
        with near.entered():
            here = socket.create_connection(listener.getsockname(), 10.0)
        there, _ = listener.accept()
        with here, there:
            for end in (here, there):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield here, there
