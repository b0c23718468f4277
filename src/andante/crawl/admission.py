"""What comes from the store of a cluster is checked before it is taken: whoever can write there may have written it.

A node fetches what is in its own scope, whatever it is told; what a link says goes into requests and outputs, so it must be of the form that URLs have. What is
refused is dropped, and said; the log that it was in is written anew, so that nobody waits for it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from andante import url as urls
from andante.cluster.exchange import Entry
from andante.cluster.frontier import ADDRESS
from andante.cluster.packing import unpack
from andante.crawl.state import State
from andante.frontier.block import Link
from andante.observe import Event

_TARGET = re.compile(r"/[!\"$-~]*").fullmatch
_URL = re.compile(r"(https?://[!-~]+)?").fullmatch

Graded = tuple[Link, int]
"""A link and its grade."""


class Admission:
    """Tells what of the store's may be taken.

    Args:
        state: of the crawl.
        listen: hears what other nodes have told.
    """

    def __init__(self, state: State, listen: Callable[[], Awaitable[bool]]) -> None:
        self._state = state
        self._listen = listen
        self._sites: set[str] | None = None
        self._told: set[str] = set()
        self.spoilt: dict[str, None] = {}
        """Servers whose logs have something in them that was refused."""

    def server(self, key: str) -> bool:
        """Tell whether something is the name of a server, or of an IP address that is owned as one."""
        if key.startswith(ADDRESS):
            try:
                is_one = str(ip_address(key.removeprefix(ADDRESS))) != ""
            except ValueError:
                is_one = False
        else:
            url = f"{key}/"
            is_one = key.isascii() and urls.canonical(url) == url and urls.origin(url) == key
        if not is_one:
            self._refuse(key, "it is no server")
        return is_one

    def links(self, server: str, entry: Entry) -> list[Graded]:
        """Return the links of an entry that count, and may be taken."""
        try:
            links, grades = unpack(entry.entry)
            fresh = entry.fresh or b"\1" * len(links)
            counting = [
                (link, grade)
                for link, grade, counts in zip(links, grades, fresh, strict=True)
                if counts
            ]
        except ValueError as error:
            self._refuse(server, f"an entry cannot be read ({error})")
            self.spoilt[server] = None
            return []
        taken = self._taken(server, counting)
        if len(taken) < len(counting):
            self._refuse(server, "links are out of scope, or no links")
            self.spoilt[server] = None
        return taken

    async def links_now(self, server: str, entry: Entry) -> list[Graded]:
        """Return the same, by all that has been told: a seed may have moved since this node heard of the others."""
        version = self._state.scope.version
        links = self.links(server, entry)
        if server in self.spoilt and await self._listen() and self._state.scope.version != version:
            links = self.links(server, entry)
        return links

    def _taken(self, server: str, pairs: list[Graded]) -> list[Graded]:
        settings, admits = self._state.settings, self._state.scope.admits
        length_max = max(settings.max_url_length, urls.URL_LENGTH_MAX) - len(server)
        depth_max = settings.max_depth
        taken = []
        said = ""
        for pair in pairs:
            link = pair[0]
            target, referrer = link.target, link.referrer
            if referrer is not said:  # those of one page share it
                if not _URL(referrer):
                    continue
                said = referrer
            if (
                len(target) <= length_max
                and _TARGET(target)
                and (not link.asked or _URL(link.asked))
                and (
                    settings.sitemaps
                    if link.sitemap
                    else admits(server + target) and (depth_max is None or link.depth <= depth_max)
                )
            ):
                taken.append(pair)
        return taken

    def seed(self, text: str) -> bool:
        """Tell whether a seed may have moved there: only within the site of one that this node has."""
        if self._sites is None:
            self._sites = {urls.site(urls.host(seed)) for seed in self._state.seeds}
        is_one = (
            text.isascii()
            and urls.canonical(text) == text
            and urls.site(urls.host(text)) in self._sites
        )
        if not is_one:
            self._refuse(text, "no seed of this node can have moved there")
        return is_one

    def _refuse(self, what: str, why: str) -> None:
        """Say once of each kind what is refused."""
        if why not in self._told and self._state.emit is not None:
            self._state.emit(
                Event(
                    event="cluster.refused",
                    detail=f"the store has what this node does not take: {what[:200]}: {why}; more of the kind is not said",
                )
            )
        self._told.add(why)
