"""The frontier of a node: the servers that it owns, and a way for links to all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from andante import url as urls
from andante.cluster.recent import Recent
from andante.frontier import Frontier, Server, Task
from andante.frontier.block import Block, Link
from andante.frontier.frontier import Changes
from andante.frontier.queue import Read

Found = Callable[[str, bytes, Link, int], None]
"""Takes a link that may be new: server, fingerprint, link, grade."""


class SharedFrontier(Frontier):
    """A frontier whose seen test is elsewhere.

    Links that were not met lately are handed on, to be asked about; those that are new and the node's own come back by `admit`.
    A server that the node does not own any more is withdrawn, and gone when no visit to it is open.

    Args:
        read: reads the links of a stored block.
        found: takes the links that may be new.
        recent: fingerprints of URLs met lately.
        options: those of `Frontier`.
    """

    def __init__(self, read: Read, *, found: Found, recent: Recent, **options: Any) -> None:
        super().__init__(read, **options)
        self._found = found
        self._recent = recent
        self._ended: dict[str, bytearray] = {}
        self._gone: list[Block] = []
        self.in_all = 0
        """URLs that the crawl has met, all nodes together."""

    @property
    def known(self) -> int:
        """URLs met by all nodes, as far as is known here."""
        return self.in_all

    def admit(self, key: str, links: Iterable[tuple[Link, int]]) -> None:
        """Queue links of one of the node's servers that are new, with their grades."""
        for link, grade in links:
            self._queue(key, urls.fingerprint(key + link.target), link, grade)
        self._rank_grown()

    def finish(self, task: Task) -> None:
        """The URL has ended; that of a server that was withdrawn is another node's by now."""
        server = task.server
        if self.servers.get(server.key) is server:
            super().finish(task)
            self._ended.setdefault(server.key, bytearray()).extend(urls.fingerprint(task.url))

    def note(self, key: str, fingerprints: bytes) -> None:
        """URLs of a server have ended that were taken elsewhere."""
        if fingerprints:
            self._ended.setdefault(key, bytearray()).extend(fingerprints)

    def withdraw(self, server: Server) -> bool:
        """Let no visit to a server begin, and those that are open end; tell whether none is, and the server is gone."""
        if server.visits:
            server.warmth.is_leaving = True
            self._line(server).remove(server)
            return False
        self.forget(server)
        self.queued -= server.queued
        for block in {block.number: block for block in server.blocks()}.values():
            self._grown.pop(block.number, None)
            self._resident -= block.size - block.base
            if block.stored and block.number not in self._touched:
                self._gone.append(block)
        for number, (owner, block) in list(self._touched.items()):
            if owner is server:
                del self._touched[number]
                self._grown.pop(number, None)
                if block.stored:
                    self._gone.append(block)
        if self._waiting is not None:
            self._waiting = {
                fingerprint: place
                for fingerprint, place in self._waiting.items()
                if place.server is not server
            }
        return True

    def ended(self) -> dict[str, bytearray]:
        """Return the fingerprints of the URLs that have ended since the last call, by server."""
        ended, self._ended = self._ended, {}
        return ended

    def changes(self) -> Changes:
        """Return what a commit must write; blocks of servers that are gone may go."""
        changes = super().changes()
        changes.finished.extend(self._gone)
        self._gone = []
        return changes

    def _is_new(self, fingerprint: bytes) -> bool:
        return self._recent.add(fingerprint)

    def _admit(self, key: str, fingerprint: bytes, link: Link, grade: int) -> None:
        self._found(key, fingerprint, link, grade)
