"""The outbox: what a node has to say to the shared store, in order, until it was heard.

What is said of a page is said in two steps. The links found on it may go at once: that they are known twice harms nobody. That its URL has ended
goes only when the page is safe on the node's own disk. Both are kept on that disk until the store has answered; so whichever of the two sides fails, the other one
has it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

import msgspec

from andante.cluster.exchange import Ended, Heard, Keep, Known, Links, Own, Part, Report, Rewrite
from andante.cluster.packing import LINKS_MAX, pack
from andante.frontier.block import Link
from andante.frontier.seen import WIDTH

REPORT_MAX = 5_000
"""About the most URLs in a report, unless a user says otherwise: half a megabyte."""

ENTRY_MAX = LINKS_MAX
"""Most links in an entry of a log."""

RECALL_MAX = 50_000
"""Links that were heard, and are remembered for the store: it may lose them before their owner has read them."""


class Found(msgspec.Struct):
    """Links found for a server, not packed yet."""

    links: list[Link] = []
    fingerprints: bytearray = msgspec.field(default_factory=bytearray)
    grades: bytearray = msgspec.field(default_factory=bytearray)


class Kept(msgspec.Struct, frozen=True):
    """A part that waits to be heard."""

    number: int
    part: Part
    size: int = 1
    """URLs in it, or what takes as much room."""
    links: Sequence[Link] = ()
    """Of a part of links: them, as long as they are in memory."""
    grades: bytes = b""


class Outbox:
    """What waits to be said. Parts are said in the order in which they were added.

    Args:
        report_max: about the most URLs in a report.
    """

    def __init__(self, report_max: int = REPORT_MAX) -> None:
        self._report_max = report_max
        self._entry_max = min(ENTRY_MAX, report_max)
        self._found: dict[str, Found] = {}
        self._parts: deque[Kept] = deque()
        self._last = 0
        self._stored = 0
        self._heard: list[int] = []
        self._report: Report | None = None
        self._said: list[Kept] = []
        self._number = 0
        self._ending: list[Kept] = []
        self._later: list[Kept] | None = None
        self._linked: Counter[str] = Counter()
        self._past: deque[Links] = deque()
        self._past_size = 0
        self._first: set[int] = set()
        self.waiting = 0
        """Links that wait to be heard."""

    def __bool__(self) -> bool:
        return bool(self._found or self._parts or self._said or self._later)

    @property
    def is_behind(self) -> bool:
        """More waits than one report takes."""
        return max(self.waiting, len(self._parts)) >= self._report_max

    @property
    def is_telling(self) -> bool:
        """Something that was to be said first waits still to be heard."""
        return bool(self._first)

    @property
    def is_claiming(self) -> bool:
        """A claim is among that."""
        said = self._first and (*self._said, *self._parts)
        return any(isinstance(kept.part, Own) for kept in said or ())

    @property
    def is_committing(self) -> bool:
        """URLs have ended with a commit that is under way."""
        return bool(self._ending)

    def restore(self, number: int, part: Part) -> None:
        """Add a part that an earlier life of the node has left."""
        self._append(Kept(number, part, _size(part)))
        self._last = self._stored = number

    # What there is to say

    def found(self, server: str, fingerprint: bytes, link: Link, grade: int) -> None:
        """A link was found."""
        found = self._found.get(server)
        if found is None:
            found = self._found[server] = Found()
        found.links.append(link)
        found.fingerprints += fingerprint
        found.grades.append(grade)
        self.waiting += 1
        if len(found.links) >= self._entry_max:
            self._seal(server, self._found.pop(server))

    def has_links(self, server: str) -> bool:
        """Tell whether links of a server wait to be heard."""
        return server in self._found or server in self._linked

    def say(self, part: Part) -> None:
        """Add a part, behind all links found so far."""
        self.seal()
        self._add(part)

    def acknowledge(self, parts: Sequence[Heard]) -> None:
        """Add parts that go with the next report, so that what was heard is not repeated: ahead of all others, but behind logs that are to be written anew.

        Such a log was made without what has come since; the store is to refuse it, as long as it believes that this was not heard.
        """
        waiting = self._parts if self._later is None else self._later
        is_free = not any(isinstance(kept.part, Rewrite) for kept in waiting)
        for part in parts:
            self._last += 1
            kept = Kept(self._last, part, size=0)
            waiting.insert(0, kept) if is_free else waiting.append(kept)

    def seal(self) -> None:
        """Pack the links found so far."""
        for server, found in self._found.items():
            self._seal(server, found)
        self._found.clear()

    def _seal(self, server: str, found: Found) -> None:
        grades = bytes(found.grades)
        part = Links(server, bytes(found.fingerprints), pack(found.links, grades))
        self._add(part, found.links, grades)

    def hold(self) -> None:
        """Say nothing of what waits or is still to come, but what is added by `say_first`, until `release`."""
        self.seal()
        self._later = list(self._parts)
        self._parts.clear()

    def say_first(self, part: Part) -> None:
        """Add a part that is said although all others are held."""
        self._last += 1
        self._first.add(self._last)
        self._parts.append(Kept(self._last, part, _size(part)))

    def remember(self, part: Links) -> None:
        """Links are in the store, and perhaps nowhere else as yet."""
        self._past.append(part)
        self._past_size += len(part.fingerprints) // WIDTH
        while self._past_size > RECALL_MAX:
            self._past_size -= len(self._past.popleft().fingerprints) // WIDTH

    def recall(self) -> None:
        """Say again what was heard lately."""
        past, self._past, self._past_size = self._past, deque(), 0
        for part in past:
            self._add(part)

    def release(self) -> None:
        """Say all again."""
        later, self._later = self._later, None
        self._parts += later or ()

    def _add(self, part: Part, links: Sequence[Link] = (), grades: bytes = b"") -> None:
        self._last += 1
        self._append(Kept(self._last, part, _size(part), links, grades))

    def _append(self, kept: Kept) -> None:
        if isinstance(kept.part, Links):
            self._linked[kept.part.server] += 1
        if self._later is None:
            self._parts.append(kept)
        else:
            self._later.append(kept)

    def _done_with(self, kept: Kept) -> None:
        self._first.discard(kept.number)
        self.waiting -= len(kept.links)
        if isinstance(kept.part, Links):
            server = kept.part.server
            self._linked[server] -= 1
            if not self._linked[server]:
                del self._linked[server]

    # Saying it

    def report(self, beat: bytes) -> Report:
        """Return the report to send: the one that has not been answered, or a new one with what waits."""
        if self._report is None:
            self.seal()
            urls = 0
            while self._parts and urls < self._report_max:
                kept = self._parts.popleft()
                urls += kept.size
                self._said.append(kept)
            self._number += 1
            self._report = Report(self._number, [kept.part for kept in self._said], beat)
        return self._report

    def heard(self, answers: Sequence[object]) -> list[tuple[Kept, object]]:
        """The report was answered; return its parts with their answers."""
        heard = list(zip(self._said, answers, strict=True))
        for kept in self._said:
            self._done_with(kept)
            if kept.number <= self._stored:
                self._heard.append(kept.number)
            if isinstance(kept.part, Links) and kept.part.fingerprints:
                self.remember(kept.part)
        self._said = []
        self._report = None
        return heard

    def restart(self) -> None:
        """The node has another epoch: what was not answered is said again, as its first report."""
        self._parts.extendleft(reversed(self._said))
        self._said = []
        self._report = None
        self._number = 0

    def drop(self, kind: type[Part]) -> list[Part]:
        """Take back the parts of a kind that have not been said, those of a commit under way among them; return them."""
        self.release()
        dropped = [kept for kept in (*self._parts, *self._ending) if isinstance(kept.part, kind)]
        self._parts = deque(kept for kept in self._parts if not isinstance(kept.part, kind))
        self._ending = [kept for kept in self._ending if not isinstance(kept.part, kind)]
        for kept in dropped:
            self._done_with(kept)
        self._heard += [kept.number for kept in dropped if kept.number <= self._stored]
        return [kept.part for kept in dropped]

    # On the node's own disk

    def changes(self, ended: dict[str, bytearray]) -> tuple[list[tuple[int, bytes]], list[int]]:
        """Return what the next commit must keep, number and packed part, and the numbers of those that it may forget.

        Args:
            ended: fingerprints of the URLs that end with this commit, by server. They are said when it is done: see `committed`.
        """
        self.seal()
        waiting = (*self._said, *self._parts, *(self._later or ()))
        new = [kept for kept in waiting if kept.number > self._stored]
        for server, fingerprints in ended.items():
            self._last += 1
            part = Ended(server, bytes(fingerprints))
            self._ending.append(Kept(self._last, part, len(fingerprints) // WIDTH))
        self._stored = self._last
        rows = [
            (kept.number, _encode(kept.part))
            for kept in (*new, *self._ending)
            if isinstance(kept.part, Links | Ended)
        ]
        heard, self._heard = self._heard, []
        return rows, heard

    def committed(self) -> None:
        """The commit is on disk: what it has ended may be said."""
        for kept in self._ending:
            self._append(kept)
        self._ending = []


_URL = 100
"""Bytes that a URL takes in a report, about."""


def _size(part: Part) -> int:
    """Return the URLs in a part; one if it has none, or more if it takes their room; none of a claim, as the log that follows it is to go with the same report."""
    match part:
        case Own():
            return 0
        case Links() | Ended() | Known():
            return max(len(part.fingerprints) // WIDTH, 1)
        case Rewrite():
            return max(sum(len(found) for found, _ in part.entries) // WIDTH, 1)
        case Keep():
            return 1 + len(part.state) // _URL
    return 1


_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[Links | Ended] = msgspec.msgpack.Decoder(Links | Ended)


def decode(data: bytes) -> Links | Ended:
    """Unpack a part that a commit has kept."""
    return _decoder.decode(data)
