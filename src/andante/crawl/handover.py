"""Servers that come to a node of a cluster, and servers that go."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping

from andante import url as urls
from andante.cluster.exchange import (
    POOL,
    BuriedError,
    ClusterError,
    Ended,
    Give,
    Grant,
    Heard,
    Keep,
    Known,
    Links,
    LostError,
    Mail,
    Marked,
    Own,
    Rewrite,
    Store,
    UnreachableError,
)
from andante.cluster.frontier import ADDRESS, SharedFrontier
from andante.cluster.outbox import ENTRY_MAX, RECALL_MAX, REPORT_MAX, Kept, Outbox
from andante.cluster.packing import pack, unpack
from andante.crawl import luggage
from andante.crawl.admission import Admission
from andante.crawl.state import State
from andante.frontier import Server
from andante.frontier.block import Link
from andante.frontier.seen import WIDTH
from andante.frontier.seen import unpack as unpack_fingerprints

_PAGE = 100
"""Entries of a log that are asked for at once."""

_NOWHERE = -1
"""Whereto a server goes that is another node's already."""

_ENDED_MIN = 100
"""URLs that have ended in a log before it is written anew."""

_READING = 0.1
"""Seconds for which what the store has is read at a time: what comes of it is as long as whoever has written it likes."""

_ALL = 0xFFFF_FFFF
"""More entries than any log has."""

_READERS = 8
"""Logs that are read at once: each takes a connection to the store, and the heart-beat needs one, too."""


class Handover:
    """Opens servers that the store has granted, and gives others away when nothing is done at them any more."""

    def __init__(
        self,
        state: State,
        frontier: SharedFrontier,
        outbox: Outbox,
        store: Store,
        admission: Admission,
    ) -> None:
        self._state = state
        self._frontier = frontier
        self._outbox = outbox
        self._store = store
        self._admission = admission
        self._reading: dict[str, list[tuple[int, list[tuple[Link, int]]]]] = {}
        self._read: dict[str, int] = {}
        self._leaving: dict[str, int] = {}
        self._packed: list[tuple[str, int, bytes]] = []
        self._gone: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Semaphore(_READERS)
        self._wanted: dict[str, list[Server]] = {}
        self._ended: Counter[str] = Counter()
        self._grown: set[str] = set()
        self._mending: set[str] = set()
        frontier.claim = self._claim
        self.arriving = 0
        """URLs of servers that are the node's, and are not queued yet."""
        self.failure: BaseException | None = None
        """Why a log could not be read: what waits there cannot be crawled."""
        self.before: set[bytes] = set()
        """Fingerprints of URLs that the node has fetched for a server and could not say so: they are not fetched again if it is granted to it anew."""

    @property
    def is_busy(self) -> bool:
        """Servers are on their way in or out."""
        return bool(self._reading or self._leaving or self._gone)

    @property
    def is_leaving(self) -> bool:
        """Servers are on their way out."""
        return bool(self._leaving or self._gone)

    def close(self) -> None:
        """Read no more."""
        for task in self._tasks:
            task.cancel()

    def forget(self) -> None:
        """The node has lost all its servers; what it has in hand, too."""
        self._state.life += 1
        self.close()
        self._reading.clear()
        self.arriving = 0
        self._read.clear()
        self._leaving.clear()
        self._packed.clear()
        self._gone.clear()
        self._wanted.clear()
        self._ended.clear()
        for server in list(self._frontier.servers.values()):
            if not self._frontier.withdraw(server):
                self._leaving[server.key] = _NOWHERE
            else:
                self._state.forget(server)
        self._frontier.emptied()  # they are the node's no more, and not for it to give

    # In

    def open(self, grants: Iterable[Grant]) -> None:
        """Read the logs of servers that are the node's now, and queue what waits for them."""
        for grant in grants:
            key = grant.server
            if key in self._reading or key in self._frontier.servers or key in self._gone:
                continue
            if not self._admission.server(key):
                self._bin(key)
                continue
            self._reading[key] = []
            self.arriving += grant.waiting
            task = asyncio.get_running_loop().create_task(self._open(grant))
            self._tasks.add(task)
            task.add_done_callback(self._opened)

    def _bin(self, key: str) -> None:
        """What is no server goes back with nothing that waits for it, so that nobody is given it again."""
        self._gone.add(key)
        self._outbox.acknowledge([Heard(key, _ALL)])
        self._outbox.say(Rewrite(key, []))
        self._outbox.say(Give(key))

    def _opened(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self.failure = self.failure or task.exception()

    async def _open(self, grant: Grant) -> None:
        waiting: dict[bytes, tuple[Link, int]] = {}
        length = 0
        while True:
            try:
                async with self._turn:
                    entries = await self._store.entries(grant.server, length, _PAGE)
            except (UnreachableError, ClusterError):
                await asyncio.sleep(self._state.settings.heartbeat)
                continue
            except (BuriedError, LostError):
                return  # the next report hears so, and all begins anew
            began = self._state.now()
            for entry in entries:
                if self._state.now() > began + _READING:
                    await asyncio.sleep(0)  # others want the loop, too
                    began = self._state.now()
                if entry.entry:
                    links = await self._admission.links_now(grant.server, entry)
                    waiting.update(_by_fingerprint(grant.server, links))
                else:
                    for fingerprint in unpack_fingerprints(entry.fingerprints):
                        waiting.pop(fingerprint, None)
            length += len(entries)
            if len(entries) < _PAGE:
                break
        later = self._reading.pop(grant.server)
        self.arriving -= grant.waiting
        self._arrive(grant, waiting)
        for number, links in later:
            if number >= length:
                self._admit(grant.server, links)
        self._read[grant.server] = length
        self._outbox.acknowledge([Heard(grant.server, length)])
        self._state.wake()

    def _arrive(self, grant: Grant, waiting: dict[bytes, tuple[Link, int]]) -> None:
        """Queue what waits for a server, with what came with it."""
        server = self._frontier.server(grant.server)
        address = luggage.unpack(self._state, server, grant.state, grant.aged)
        self._frontier.expect(server, address)
        fetched = b"".join(each for each in waiting if each in self.before)
        for fingerprint in unpack_fingerprints(fetched):
            del waiting[fingerprint]
        self._frontier.note(server.key, fetched)
        self._admit(server.key, waiting.values())

    def _admit(self, key: str, links: Iterable[tuple[Link, int]]) -> None:
        self._grown.add(key)
        self._frontier.admit(key, links)

    def marked(self, kept: Kept, answer: Marked, epoch: int) -> None:
        """Links are in the log of a server: those that are new wait here, if it is the node's."""
        part = kept.part
        key: str = part.server  # type: ignore[union-attr]
        if not part.fingerprints:  # type: ignore[union-attr]
            if key in self._wanted:
                self._claimed(key, answer.owner, epoch)
            elif answer.taken:
                self._outbox.say(Give(key))  # an earlier life had claimed it
            return
        if answer.owner != epoch or self._is_leaving(key):
            return
        if 1 not in answer.fresh and not answer.taken:
            return
        pairs = list(zip(kept.links, kept.grades, strict=True)) or _unpack(part.entry)  # type: ignore[union-attr]
        links = [pair for pair, fresh in zip(pairs, answer.fresh, strict=True) if fresh]
        if key in self._reading:
            self._reading[key].append((answer.length - 1, links))
        elif answer.taken and answer.state:
            grant = Grant(key, 0, answer.state, answer.aged)
            self._arrive(grant, dict(_by_fingerprint(key, links)))
        elif answer.taken:
            self._frontier.server(key)  # also with no link that is new: others will come
            self._admit(key, links)
        elif answer.length > self._read.get(key, 0) and key in self._frontier.servers:
            self._admit(key, links)  # else the log, which has them, was read or will be

    def mail(self, letters: Iterable[Mail], epoch: int) -> None:
        """Queue what other nodes have found for the node's servers."""
        heard = []
        began = self._state.now()
        for letter in letters:
            key, length = letter.server, letter.start + len(letter.entries)
            if key in self._reading or self._state.now() > began + _READING:
                continue  # it comes again
            read = self._read.get(key, 0)
            if key in self._frontier.servers and not self._is_leaving(key):
                for number, entry in enumerate(letter.entries, letter.start):
                    if number >= read and entry.author != epoch and entry.entry:
                        self._admit(key, self._admission.links(key, entry))
            if length > read:
                self._read[key] = length
                heard.append(Heard(key, length))
        self._outbox.acknowledge(heard)

    # What a server needs besides

    def _claim(self, server: Server, wanted: str) -> None:
        """Ask for an IP address, or another server, without which a server cannot be visited."""
        servers = self._wanted.setdefault(wanted, [])
        servers.append(server)
        if len(servers) == 1:
            self._outbox.say(Links(wanted, b"", b""))

    def _claimed(self, wanted: str, owner: int, epoch: int) -> None:
        """It is known whose it is: if another node's, the server goes there."""
        servers = [each for each in self._wanted.pop(wanted) if self._is_here(each)]
        if wanted in self._gone:  # it is the node's no more as soon as the store hears so
            for server in servers:
                self._frontier.back(server)
            return
        if owner == epoch and not servers and wanted.startswith(ADDRESS):
            self._outbox.say(Give(wanted))  # who needed it has left meanwhile
        elif owner == epoch:
            self._frontier.own(wanted, servers, self._state.now())
        for server in servers:
            if owner in (POOL, epoch):  # nobody's: it is asked for again
                self._frontier.back(server)
            else:
                self.give(server.key, owner)

    def _is_here(self, server: Server) -> bool:
        return self._frontier.servers.get(server.key) is server

    # Out

    def give(self, key: str, to: int = POOL) -> None:
        """Let a server go, with those at its address, when nothing is done at them any more and what was done is safe."""
        if key in self._frontier.servers:
            for server in self._frontier.neighbours(self._frontier.servers[key]):
                self._leaving.setdefault(server.key, to)
            self.see_to_leaving()

    def pass_on(self, key: str, to: int) -> None:
        """A server that is the node's, as it has found it, is another's by a plan. Nothing was done there."""
        self._gone.add(key)
        self._outbox.say(Give(key, to))

    def see_to_leaving(self) -> None:
        """Pack the luggage of servers at which nothing is done any more."""
        for key, to in list(self._leaving.items()):
            server = self._frontier.servers.get(key)
            packed = b""
            if server is not None and to != _NOWHERE and not server.visits:
                packed = self._luggage(server, goes=True)
                self._remember(server)
            if server is None or self._frontier.withdraw(server):
                del self._leaving[key]
                self._read.pop(key, None)
                if server is not None:
                    self._state.forget(server)
                emptied = [ADDRESS + address for address in self._frontier.emptied()]
                if to != _NOWHERE:
                    self._packed.append((key, to, packed))
                    self._packed += [(address, to, b"") for address in emptied]
                    self._gone.update((key, *emptied))

    def _remember(self, server: Server) -> None:
        """Until another node has read what waits for a server that goes, it is in the store alone, which may lose it."""
        if server.queued <= RECALL_MAX // 5:
            for fingerprints, entry in self.rewrite(server).entries:
                self._outbox.remember(Links(server.key, fingerprints, entry))

    def packed(self) -> list[tuple[str, int, bytes]]:
        """Return those that may go with the commit that comes now: server, whereto, luggage."""
        packed, self._packed = self._packed, []
        return packed

    def send(self, packed: Iterable[tuple[str, int, bytes]]) -> None:
        """The commit is done: they go."""
        for key, to, state in packed:
            if state:
                self._outbox.say(Keep(key, state))
            self._outbox.say(Give(key, to))

    def lose(self, key: str) -> None:
        """The server is another node's."""
        if key in self._frontier.servers:
            self._leaving[key] = _NOWHERE
            self.see_to_leaving()

    def given(self, key: str) -> None:
        """The store has let the server go."""
        self._gone.discard(key)

    # After a loss, or another epoch

    def set_aside_ended(self) -> None:
        """URLs have ended of which another epoch of this node could not say so: it is said when their servers are granted to it again."""
        for part in self._outbox.drop(Ended):
            assert isinstance(part, Ended)
            self.before.update(unpack_fingerprints(part.fingerprints))

    def claim_all(self) -> None:
        """Say what the node holds to a store that has lost its data: nobody else can have any of it."""
        self._begin_logs()
        self._frontier.doubt()
        say = self._outbox.say_first
        for server in list(self._frontier.servers.values()):
            if self._leaving.get(server.key) != _NOWHERE:
                say(Own(server.key))
                say(self.rewrite(server, unsafe=True))
                say(Keep(server.key, self._luggage(server, goes=False)))
        for address in self._frontier.addresses:
            say(Own(ADDRESS + address))
        self._outbox.recall()
        self._say_known()

    def offer_all(self) -> None:
        """The same where others may have the node's servers: what waited there is for whoever has them, and the node is to forget them."""
        self._frontier.doubt()
        for server in list(self._frontier.servers.values()):
            if self._leaving.get(server.key) != _NOWHERE:
                for found, entry in self.rewrite(server, unsafe=True).entries:
                    self._outbox.say(Links(server.key, found, entry, takes=False))
        self._outbox.recall()
        for fingerprints in self._say_known():
            self.before.update(unpack_fingerprints(fingerprints))  # others may have found it

    def _begin_logs(self) -> None:
        """What was on its way in or out is not any more, and logs begin anew; no node that servers were to go to is there."""
        self.close()
        self._reading.clear()
        self.arriving = 0
        self._read.clear()
        self._packed.clear()
        self._gone.clear()
        self._leaving = {key: min(to, POOL) for key, to in self._leaving.items()}

    def _say_known(self) -> list[bytes]:
        """Say what has ended here: no node may fetch it again."""
        known = [each for each in (b"".join(self.before), *self._state.job.known()) if each]
        for fingerprints in known:
            self._outbox.say_first(Known(fingerprints))
        return known

    # What the store keeps

    def rewritten(self, ended: Mapping[str, bytearray]) -> list[Rewrite]:
        """Return the logs to be written anew, as they hold more of what has ended than of what waits; not those of which more waits than a report takes.

        Args:
            ended: fingerprints of what ends with the commit that comes now, by server.
        """
        self._grown.clear()
        rewritten = []
        for key, fingerprints in ended.items():
            self._ended[key] += len(fingerprints) // WIDTH
            server = self._frontier.servers.get(key)
            if server is None:
                del self._ended[key]
            elif (
                (not server.queued or self._ended[key] > _ENDED_MIN + server.queued)
                and server.queued <= REPORT_MAX
                and not self._outbox.has_links(key)
            ):
                del self._ended[key]
                rewritten.append(self.rewrite(server))
        return rewritten + self._mended({part.server for part in rewritten})

    def _mended(self, besides: Container[str]) -> list[Rewrite]:
        """Return the logs to be written anew without what was refused: who counts what waits would wait for that."""
        mended = []
        for key in list(self._admission.spoilt):
            if key in self._reading or self._outbox.has_links(key):
                continue
            server = self._frontier.servers.get(key)
            if server is not None and server.queued > REPORT_MAX:
                continue
            del self._admission.spoilt[key]
            if server is not None and key not in besides:
                mended.append(self.rewrite(server))
                self._mending.add(key)
        return mended

    def has_grown(self, key: str) -> bool:
        """Tell whether the log of a server has links that came after `rewritten` was called last, and are not in what it returned."""
        return key in self._grown

    def rewrite(self, server: Server, *, unsafe: bool = False) -> Rewrite:
        """Return what replaces the log of a server; if asked for, with what has ended and is not on the disk."""
        waiting = self._frontier.waiting(server, unsafe=unsafe)
        entries = []
        for at in range(0, len(waiting), ENTRY_MAX):
            links, grades = zip(*waiting[at : at + ENTRY_MAX], strict=True)
            found = b"".join(urls.fingerprint(server.key + link.target) for link in links)
            entries.append((found, pack(links, bytes(grades))))
        return Rewrite(server.key, entries)

    def was_rewritten(self, part: Rewrite, *, done: bool) -> None:
        """The log of a server is another; or not, as there was mail."""
        key = part.server
        if done and key in self._read:
            self._read[key] = len(part.entries)
        if not done and key in self._mending:
            self._admission.spoilt[key] = None
        self._mending.discard(key)

    def keep(self, server: Server) -> None:
        """Let the store know what the next owner of a server must know."""
        if not self._is_leaving(server.key):
            self._outbox.say(Keep(server.key, self._luggage(server, goes=False)))

    def _is_leaving(self, key: str) -> bool:
        return key in self._leaving or key in self._gone

    def _luggage(self, server: Server, *, goes: bool) -> bytes:
        address = self._frontier.address(server)
        return luggage.pack(self._state, server, address=address, goes=goes)


def _unpack(data: bytes) -> list[tuple[Link, int]]:
    links, grades = unpack(data)
    return list(zip(links, grades, strict=True))


def _by_fingerprint(
    server: str, pairs: Iterable[tuple[Link, int]]
) -> Iterator[tuple[bytes, tuple[Link, int]]]:
    return ((urls.fingerprint(server + pair[0].target), pair) for pair in pairs)
