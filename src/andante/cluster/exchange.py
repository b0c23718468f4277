"""What a node and the shared store say to each other.

The store keeps, for each server, who owns it and a *log*: entries with links that were found for it, and entries that say which of its URLs
have ended. Whatever waits for a server is in its log, so who takes the server over needs nothing but the log; the owner works from a copy of its own.

A node speaks in *reports*: lists of what it has found, ended and wants, in order. A report is numbered, and counts once however often it is
sent. Each has its answer in one round trip, off the path on which pages are fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from andante.errors import AndanteError

POOL = 0
"""In the place of an epoch: no node. Servers without an owner that have URLs are in the *pool*, from which nodes take."""


ANSWER_MAX = 1_000
"""Entries of mail, and grants, in one answer at most, so that answers stay small; the others come when these are `Heard`."""


class ClusterError(AndanteError):
    """A node cannot join, or the store cannot be used; the message is one line for the user."""

    exit_status = 1


class NoCrawlError(ClusterError):
    """The store has no crawl of the name."""


class OtherSettingsError(ClusterError):
    """A node cannot join, as the crawl has been started with another ``config``: this one."""

    def __init__(self, config: bytes) -> None:
        super().__init__("the crawl has been started with other settings")
        self.config = config


class NameTakenError(ClusterError):
    """A node cannot join, as there is one of its name that is not the same again."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is a node {name!r} in the crawl already, with another job: give this one another --node"
        )


class UnreachableError(AndanteError):
    """The store did not answer; nothing is known of what it has done. The same report may be sent again."""

    exit_status = 1


class BuriedError(Exception):
    """The node's epoch is over: others have been given its servers. Nothing that it writes counts; it may join again."""


class LostError(Exception):
    """The store has lost its data, or the last that it had acknowledged (as it was started again from an old copy), and drops the rest.

    A node joins again, and all say what they hold: first `Own`, `Rewrite` and `Known`; then the store is settled, and what was found may be said (`Links`). Until
    then nobody is given anything.
    """


# What a report is made of


class Links(msgspec.Struct, frozen=True, tag="L", array_like=True):
    """Links found for a server. Those never seen before are marked seen and appended to its log, in one step.

    Anyone may say this. Answer: `Marked`.
    """

    server: str
    fingerprints: bytes
    """Of the links, 8 bytes each, in order."""
    entry: bytes
    """The links packed; the store does not look into it."""
    takes: bool = True
    """If nobody owns the server, it is not in the pool, and the store is settled, it is the node's from now on."""


class Ended(msgspec.Struct, frozen=True, tag="E", array_like=True):
    """URLs of a server that have ended, and are safe in the outputs where they belong. Only its owner may say this. Answer: whether it was."""

    server: str
    fingerprints: bytes


class Keep(msgspec.Struct, frozen=True, tag="K", array_like=True):
    """What the next owner must know of a server: a text of the owner's. Only its owner may say this. Answer: whether it was."""

    server: str
    state: bytes


class Give(msgspec.Struct, frozen=True, tag="G", array_like=True):
    """A server goes to another node, or to the pool. Where nothing waits for it, the pool does not list it: it is the next finder's. Only its owner may say this. Answer: whether it was."""

    server: str
    to: int = POOL


class Take(msgspec.Struct, frozen=True, tag="T", array_like=True):
    """The node wants servers from the pool with so many URLs in all: those that were put in first, at least one if there is one and the store is settled.

    Answer: list of `Grant`. A store of several parts has an order in each of them, and none over all.
    """

    urls: int
    servers: int = 1_000
    """At most so many."""


class Rewrite(msgspec.Struct, frozen=True, tag="R", array_like=True):
    """The log of a server is replaced by entries of the URLs that wait by what its owner has read; they are marked seen. Refused while there is mail of the server.

    Only its owner may say this. Answer: whether it was done.
    """

    server: str
    entries: list[tuple[bytes, bytes]]
    """Of each the fingerprints of its links, and the links packed."""


class Heard(msgspec.Struct, frozen=True, tag="H", array_like=True):
    """The node has read the log of a server of its own up to ``length`` entries: its mail up to there may go. Answer: none (None)."""

    server: str
    length: int


class Own(msgspec.Struct, frozen=True, tag="O", array_like=True):
    """After the store has lost its data, and until it is settled: the server is the node's still, if it is nobody else's; its log is empty, and a `Rewrite` is to follow. Answer: whether it is the node's now."""

    server: str


class Known(msgspec.Struct, frozen=True, tag="N", array_like=True):
    """After the store has lost its data: URLs that were seen, whatever their servers. Answer: none."""

    fingerprints: bytes


Part = Links | Ended | Keep | Give | Take | Rewrite | Heard | Own | Known


class Report(msgspec.Struct, frozen=True):
    """What a node says."""

    number: int
    """From 1 in each epoch, counts up by one. A report is sent again, unchanged, until it is answered; then comes the next."""
    parts: Sequence[Part] = ()
    beat: bytes = b""
    """What the other nodes should know of it; the store does not look into it."""


# What it is answered


class Marked(msgspec.Struct, frozen=True, array_like=True):
    """Links are in the log, or were before."""

    owner: int
    """Epoch of the server's owner; `POOL`: it has none."""
    fresh: bytes
    """For each link a byte: 1 if it was never seen before."""
    length: int
    """Entries in the log now. It shrinks by `Rewrite` only."""
    taken: bool = False
    """The server is the node's by this very part: nothing else waits for it."""
    state: bytes = b""
    """Where it is taken: as its last owner kept it (`Keep`)."""
    aged: float = 0.0
    """Seconds since that was kept."""


class Grant(msgspec.Struct, frozen=True, array_like=True):
    """A server is the node's from now on; its log is to be read with `Store.entries`."""

    server: str
    waiting: int
    """URLs that wait for it."""
    state: bytes
    """As its last owner kept it (`Keep`), with `Store.entries` the rest of what is known."""
    aged: float
    """Seconds since that was kept; 0 where nothing was."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """An entry of a log, as the store has it: links that were found, or URLs that have ended."""

    author: int
    """Epoch of the node that wrote it."""
    fingerprints: bytes = b""
    """Of URLs that have ended, 8 bytes each; empty: the entry has links."""
    entry: bytes = b""
    """The links packed, those that count (`fresh`) and others; whoever reads it makes their fingerprints anew."""
    fresh: bytes = b""
    """For each link packed a byte, 1 if it counts; empty: all do."""


class Mail(msgspec.Struct, frozen=True, array_like=True):
    """Entries of the log of one of the node's servers, from the first that another node appended on; repeated in each answer until `Heard`.

    Those that the node has read already may be among them.
    """

    server: str
    start: int
    """Number of the first of the entries in the log."""
    entries: list[Entry]
    """Own entries may be among them, which the node knows by its epoch (`Entry.author`)."""


class Node(msgspec.Struct, frozen=True, array_like=True):
    """A node that has joined, and was not buried."""

    epoch: int
    name: str
    count: int
    """Of its reports that had a beat; others see by it that the node lives."""
    beat: bytes


class Totals(msgspec.Struct, frozen=True, array_like=True):
    """Counts of the whole crawl."""

    waiting: int = 0
    """URLs that have not ended, those in hand among them."""
    known: int = 0
    """URLs seen."""
    pool: int = 0
    """Servers in the pool."""
    false_positives: float = 0.0
    """Chance that a URL never seen before is taken for seen, at the present fill; 0 where the seen test is exact."""
    changes: int = 0
    """Counts up whenever links are appended: the crawl is over when two readings with nothing waiting have the same."""


class Answer(msgspec.Struct, frozen=True):
    """What a report is answered."""

    parts: list[object]
    """For each part of the report its answer."""
    mail: list[Mail]
    grants: list[Grant]
    """Servers given to the node by others (`Give`, `Store.bury`), repeated in each answer until `Heard`."""
    nodes: dict[int, Node]
    """As they are when the report has been carried out, all at one moment: its own beat is among theirs."""
    totals: Totals
    generation: str
    """Of the store's data; another than before: the store has lost them."""
    news: int
    """Counts up when `Store.tell` is called."""
    settled: bool = True
    """As in `Joined`."""


class Joined(msgspec.Struct, frozen=True):
    """A node has joined."""

    epoch: int
    """Its number, from 1, never used again: the token that fences off what it says too late."""
    predecessor: int
    """Epoch of an earlier life of the same node that nobody has buried, the first of them; `POOL`: none."""
    generation: str
    told: list[str]
    """What nodes have told each other (`Store.tell`)."""
    settled: bool = True
    """The store has not lost its data; or all nodes have had time to say what they hold (`Store.settle`)."""


class Store(Protocol):
    """The shared store of one crawl, as one node sees it.

    All methods raise `UnreachableError` when there is no answer, `BuriedError` when the node's epoch is over, `LostError` when the store has no data of the crawl, and
    `ClusterError` when it refuses (as it is full, or of another kind than was thought).
    """

    async def join(self, name: str, *, token: str, config: bytes, again: bool = False) -> Joined:
        """Join the crawl, or begin it.

        Args:
            name: of the node; no two may have one at a time.
            token: says that it is the same node again, whose earlier life has certainly ended (the job directory's own number).
            config: what must be the same for all nodes.
            again: the node knows that the crawl had begun: if there is none, its data were lost, and what begins is not settled.

        Raises:
            ClusterError: another node has the name, or the crawl has another config.
        """
        ...

    async def exchange(self, report: Report) -> Answer:
        """Send a report; one round trip.

        Raises:
            ValueError: a report with a later number has been answered.
        """
        ...

    async def entries(self, server: str, start: int, count: int) -> list[Entry]:
        """Return entries of a server's log from number ``start`` on, at most ``count``; fewer: there are no more."""
        ...

    async def bury(self, epoch: int, *, to: int = POOL, count: int | None = None) -> bool:
        """End an epoch: nothing that it says counts from now on, and its servers go to the pool, or to another node.

        May be called again, and by several nodes at once.

        Args:
            epoch: of the node that is dead.
            to: epoch of the node that gets its servers.
            count: only if the count of its beats (`Node.count`) is this still, in one step with its end.

        Returns:
            Whether its epoch is over.
        """
        ...

    async def settle(self) -> None:
        """After a loss: all nodes have said what they hold. Servers that nobody owns go to the pool."""
        ...

    async def tell(self, text: str) -> None:
        """Tell all nodes something that stays true for the whole crawl, such as another host in scope."""
        ...

    async def told(self) -> list[str]:
        """Return what nodes have told."""
        ...

    async def leave(self) -> None:
        """Leave in order: the node's epoch ends."""
        ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...
