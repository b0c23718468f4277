"""The server queue: the servers of a crawl, and which of them is visited next."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from andante.frontier.estimate import Estimates, Measured
from andante.frontier.lineup import Lineup
from andante.frontier.policy import Policy
from andante.frontier.server import Address, Server, Terms


class ServerQueue:
    """The upper one of two levels: servers, the visits to them, and who is next.

    Choosing a server, and ranking it anew when links come, is O(log n): see `Lineup`. Servers that share an IP address stand in a line of their own, and their
    address in the line of all. Whoever is visited is in none, so no server gets more than ``per_server`` visits, and no address more than that in
    all, by construction. Visits are not pre-empted.

    Args:
        policy: ranks the servers that are ready.
        patience: seconds after which a server that is ready is visited before those of higher rank.
        set_point: requests a minute to a server, and to an address; infinity: no bound.
        delay: least seconds from the end of a response to the next request.
        per_server: most visits to one server at once.
        per_address: politeness also by IP address.
        pipelined: a connection has several requests under way.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        patience: float,
        set_point: float,
        delay: float,
        per_server: int,
        per_address: bool,
        pipelined: bool,
    ) -> None:
        self._policy = policy
        self._patience = patience
        self._per_address = per_address
        self._estimates = Estimates(pipelined=pipelined)
        self._terms = Terms(
            set_point=set_point,
            delay=delay,
            per_server=per_server,
            estimates=self._estimates,
            turn=policy.turn,
        )
        self.servers: dict[str, Server] = {}
        self.met = 0
        """Servers met, those that were forgotten among them."""
        self._met: Lineup[Server | Address] = Lineup(self._rank, patience=patience, since=_since)
        self._new: Lineup[Server] = Lineup(policy.rank, patience=patience)
        self._addresses: dict[str, Address] = {}
        self._errands: dict[Server, list[Server]] = {}
        self._absent: set[Server] = set()
        self._visits = 0
        self._now = 0.0

    @property
    def visits(self) -> int:
        """Visits open now."""
        return self._visits

    def server(self, key: str) -> Server:
        """Return the server of an origin, known or new."""
        server = self.servers.get(key)
        if server is None:
            server = self.servers[key] = Server(key, self._terms)
            self.met += 1
        return server

    def keeps(self, server: Server) -> bool:
        """Tell whether the server is this crawler's, and not about to be another's."""
        is_leaving = server.warm is not None and server.warm.is_leaving
        return self.servers.get(server.key) is server and not is_leaving

    def reach(self, server: Server, key: str) -> Server | None:
        """Return another server that this one needs something of; None: it cannot be had now, and the server waits for it."""
        return self.server(key)

    def forget(self, server: Server) -> None:
        """The server is no more: it must not be visited now."""
        _unlist(server)
        warm = server.warm
        if warm is not None:
            if warm.address.only is server:
                self._addresses.pop(warm.address.key, None)
            self._list_address(warm.address)
        self._absent.discard(server)
        for other, senders in list(self._errands.items()):
            if server in senders:
                senders.remove(server)
                if not senders:
                    del self._errands[other]
        del self.servers[server.key]
        for sender in self._errands.pop(server, ()):
            self.back(sender)  # it has to ask elsewhere

    def rest(self, now: float) -> None:
        """Ask each server, known or still to be met, nothing before its pause has passed: it may have been asked until now."""
        self._terms.started = self._now = now
        for server in self.servers.values():
            if server.warm is not None:
                server.origin_pace.hold(now + server.pause)
            self._list_anew(server)

    def change_rates(self, rate_of: Callable[[str], float], now: float) -> None:
        """From now on servers have the set-points that ``rate_of`` gives for their keys, and addresses the highest of their servers'.

        All are put in their queues anew: with some millions of servers that takes seconds.
        """
        self._terms.rate_of = rate_of
        rates: dict[Address, float] = {}
        for server in self.servers.values():
            if server.warm is None:
                continue
            rate = rate_of(server.key)
            server.origin_pace.change(rate, now)
            rates[server.address] = max(rate, rates.get(server.address, 0.0))
        for address, rate in rates.items():
            address.pace.change(rate, now)
        for server in self.servers.values():
            self._list_anew(server)

    # Visits

    def open_visit(self, now: float) -> Server | None:
        """Choose the server of the highest rank among those that are ready, and count a visit to it; None when none is ready."""
        self._now = now
        while (item := self._pop(now)) is not None:
            server = self._chosen(item, now)
            if server is not None:
                warmth = server.warmth
                warmth.visits += 1
                warmth.address.visits += 1
                self._visits += 1
                if warmth.wide:
                    self._list(server)
                if warmth.address.shared is not None:
                    self._list_address(warmth.address)
                return server
        return None

    def wakeup(self) -> float | None:
        """Return the time before which `open_visit` has nothing; None while nothing waits for a time."""
        wakeup = min(self._met.wakeup(), self._new.wakeup())
        return None if wakeup == inf else wakeup

    def learn(self, server: Server, visit: Measured) -> None:
        """Take what a visit to a server has measured."""
        server.estimate = self._estimates.learn(server.estimate, visit)
        self._list(server)

    def close_visit(self, server: Server) -> None:
        """A visit has ended; the server stands in the queue again if it has URLs."""
        warmth = server.warmth
        warmth.visits -= 1
        warmth.address.visits -= 1
        self._visits -= 1
        self.changed(server)
        if warmth.address.shared is not None:
            self._list_address(warmth.address)

    def cool(self, server: Server) -> None:
        """The server was not asked for a while: forget what is only of use where it was, unless others share its address or it has a delay of its own."""
        address = server.address
        is_plain = address.shared is None and server.origin_pace.delay <= self._terms.delay
        if is_plain and not server.visits and server.next_time <= self._now:
            self._addresses.pop(address.key, None)
            server.cool()

    def bind(self, server: Server, key: str, now: float) -> bool:
        """The server was found at an IP address: from now on it shares the address's pace with the others there.

        Returns:
            Whether the visit may go on; false when as many others as are allowed are at the address already.
        """
        if not self._per_address:
            return True
        old, address = server.address, self._addresses.get(key)
        if address is None:
            address = self._addresses[key] = self._terms.address(server.key) if old.key else old
            address.key = key
            address.only = server
        if address is not old:
            self._move(server, old, address, now)
        return address.visits <= address.limit

    def widen(self, server: Server) -> None:
        """From now on the server may have as many visits at once as are allowed; until then it has one."""
        if not server.wide:
            server.warmth.wide = True
            self._list(server)

    def set_limit(self, server: Server, limit: int) -> None:
        """From now on the server's address may have so many visits at once; those above it should end (`Server.is_crowded`)."""
        server.address.limit = limit
        self._list(server)
        self._list_address(server.address)

    def changed(self, server: Server) -> None:
        """The URLs that wait for a server have changed, and so may its rank."""
        line = server.line
        if line is None or server.order is None:
            self._list(server)
        elif line.rank_again(server) and line not in (self._met, self._new):
            self._met.rank_again(server.address)

    # Errands

    def send(self, server: Server, other: Server) -> None:
        """What must be known of a server is at another one: it is not visited until someone there has done its errand, and has called `back`."""
        self._absent.add(server)
        self._errands.setdefault(other, []).append(server)
        self._list_anew(server)
        self._list(other)

    def has_errand(self, server: Server) -> bool:
        """Tell whether another server needs something of this one."""
        return server in self._errands

    def take_errand(self, server: Server) -> Server | None:
        """Return a server that needs something of this one, which is visited; None when none does."""
        senders = self._errands.get(server)
        if senders is None:
            return None
        sender = senders.pop()
        if not senders:
            del self._errands[server]
        return sender

    def is_absent(self, server: Server) -> bool:
        """Tell whether the server waits for an errand of its own."""
        return server in self._absent

    def back(self, server: Server) -> None:
        """The errand of a server is done."""
        self._absent.discard(server)
        self._list(server)

    # Who waits where

    def _rank(self, item: Server | Address) -> float:
        if isinstance(item, Server):
            return self._policy.rank(item)
        assert item.shared is not None
        best = item.shared.first(self._now)
        return -inf if best is None else self._policy.rank(best)

    def _line(self, server: Server) -> Lineup[Server] | Lineup[Server | Address]:
        """Return the line in which a server stands when it waits.

        Servers that were never visited have one of their own. What is expected of them changes with each visit to others, and with it all their ranks;
        so they are ranked there by what is expected of any server, and only the first of them is compared with those that were met.
        """
        if server.warm is not None and server.warm.address.shared is not None:
            return server.warm.address.shared
        return self._new if server.estimate is None else self._met

    def _pop(self, now: float) -> Server | Address | None:
        """Take the next one out of the line in which it stands."""
        met, new = self._met.first(now), self._new.first(now)
        if new is not None and (met is None or self._is_before(new, met, now)):
            self._new.remove(new)
            return new
        if met is not None:
            self._met.remove(met)
        return met

    def _is_before(self, new: Server, met: Server | Address, now: float) -> bool:
        """Tell whether a server that was never visited comes before the first of the others."""
        if self._patience < inf and min(_since(new), _since(met)) < now - self._patience:
            return _since(new) < _since(met)
        estimates = self._estimates  # for this comparison, what servers do on average counts
        usual, estimates.new = estimates.new, estimates.crawl
        order = -self._policy.rank(new)
        estimates.new = usual
        return (order, new.entry) < (met.order, met.entry)

    def _chosen(self, item: Server | Address, now: float) -> Server | None:
        """Return the server to visit, of one that was at the head of the line; None when its time was put off while it waited."""
        if isinstance(item, Server):
            if self._ready(item) <= now:
                return item
            self._list(item)
            return None
        assert item.shared is not None
        while item.pace.next_time <= now and (server := item.shared.pop(now)):
            if self._ready(server) <= now:
                return server
            self._list(server)
        self._list_address(item)
        return None

    def _list(self, server: Server) -> None:
        """Put a server among those that wait, if it may be visited at some time."""
        ready, line = self._ready(server), self._line(server)
        if ready == inf or (server.line is line and server.ready_at <= ready):
            return
        line.put(server, ready, self._now)
        if line is not self._met and line is not self._new:
            self._list_address(server.address)

    def _ready(self, server: Server) -> float:
        """Return when a server may be visited, whatever an address that it shares says; infinity: not before something changes."""
        has_errand = server in self._errands
        if not has_errand and (not server.queued or server in self._absent):
            return inf
        warm = server.warm
        if warm is not None and warm.visits >= server.limit:
            return inf
        is_alone = warm is None or warm.address.shared is None
        ready = max(server.next_time if is_alone else server.own_time, self._now)
        if server.retries and len(server.retries) == server.queued and not has_errand:
            return max(ready, server.retries[0][0])
        return ready

    def _list_address(self, address: Address) -> None:
        """Put an address that servers share in the line of all, or where it should stand now."""
        if address.shared is None:
            return
        wakeup = address.shared.wakeup() if address.visits < address.limit else inf
        if wakeup == inf:
            _unlist(address)
            return
        ready = max(address.pace.next_time, wakeup, self._now)
        if address.line is None or address.ready_at > ready:
            self._met.put(address, ready)
        else:
            self._met.rank_again(address)

    def _list_anew(self, server: Server) -> None:
        _unlist(server)
        self._list(server)

    def _move(self, server: Server, old: Address, address: Address, now: float) -> None:
        """Let a server move to another address, with what it owes to the old one."""
        _unlist(server)
        if old.only is server:
            self._addresses.pop(old.key, None)
        old.visits -= server.visits
        address.visits += server.visits
        address.pace.hold(old.pace.owed)
        own = server.origin_pace.set_point
        if own > address.pace.set_point:
            address.pace.change(own, now)
        server.warmth.address = address
        if address.only is not None and address.only is not server:
            other, address.only = address.only, None
            _unlist(other)
            address.shared = Lineup(self._policy.rank, patience=self._patience)
            self._list(other)
        self._list(server)
        self._list_address(old)
        self._list_address(address)


def _since(item: Server | Address) -> float:
    """Return since when one that is ready has waited; an address does as long as any of its servers."""
    if isinstance(item, Server):
        return item.ready_at
    assert item.shared is not None
    return item.shared.oldest()


def _unlist(item: Server | Address) -> None:
    """Let a server or an address wait no longer, wherever it does."""
    if item.line is not None:
        item.line.remove(item)
