"""The throttle joins the controllers of `flow` to the servers of a crawl: how fast, how many at once, and when not at all.

Set-points, delays, ceilings and the back-off of a server are the server's; the connection limit, and the back-off of what shares
a machine, are its IP address's. The smallest of all demands wins.
"""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime
from math import inf
from typing import NamedTuple

from andante.crawl.gauge import TOTAL, Gauge
from andante.crawl.state import State
from andante.fetch import Failure, Response
from andante.flow import (
    Again,
    Backoff,
    BackoffSettings,
    Ceiling,
    KneeLimit,
    Sample,
    Sign,
    Unloaded,
    Verdict,
    verdict,
)
from andante.frontier import Address, Server
from andante.observe import Event
from andante.store import Rates

_IDLE = 120.0
"""Seconds after its last request for which a server that has nothing to remember is kept in mind."""

_HOLD_MAX = 86_400.0
"""Longest Retry-After that is kept to, seconds: a day."""

_CONNECTIONS_MIN = 16
"""Where the limit of the whole crawl starts, and its least: a few servers that hang must not stop the others."""

_REFERENCE = 0.1
"""Seconds that stand for each server's unloaded latency in what the limit of the whole crawl is shown."""

_ANSWERED = verdict("ok", 200)

_ADDRESS_FAILURES = 5
"""Failures at which the waits of an IP address grow no more: the fifth is 32 s. Whether to be more patient is for each of its servers."""


class _Came(NamedTuple):
    """What came of a request, as far as back-off is concerned."""

    reason: str
    sent_at: float
    now: float
    wait: float = 0.0
    """Seconds that the server asks for."""
    is_page: bool = True
    """A response to a request for a page."""


class _ServerFlow:
    """How fast a server may be asked, and how it fares; there is one for each that was asked lately."""

    __slots__ = ("answered", "backoff", "ceiling", "gauge", "last", "unloaded")

    def __init__(self, gauge: Gauge, ceiling: Ceiling, now: float) -> None:
        self.gauge = gauge
        self.ceiling = ceiling
        self.unloaded = Unloaded()
        self.backoff: Backoff | None = None
        self.answered = False
        self.last = now

    @property
    def set_point(self) -> float:
        """Requests a minute that may go: what the user wants, or the ceiling where that is lower."""
        return min(self.gauge.set_point, self.ceiling.set_point)


class _AddressFlow:
    """The same for an IP address."""

    __slots__ = ("backoff", "last", "limit")

    def __init__(self, limit: KneeLimit | None) -> None:
        self.backoff: Backoff | None = None
        self.limit = limit
        self.last = 0.0


class Throttle:
    """Takes what is sent and what comes back; tells the paces and limits of the frontier."""

    def __init__(self, state: State) -> None:
        settings = state.settings
        self._state = state
        self._rates = Rates()
        self._servers: dict[Server, _ServerFlow] = {}
        self._addresses: dict[Address, _AddressFlow] = {}
        self._patience = BackoffSettings(
            base=settings.retry_wait,
            give_up_after=settings.give_up_after,
            set_aside=settings.set_aside,
            set_asides=settings.set_asides,
        )
        self._address_patience = BackoffSettings(
            base=settings.retry_wait,
            set_aside_after=_ADDRESS_FAILURES,
            set_aside=settings.retry_wait * 2.0 ** (_ADDRESS_FAILURES - 1),
        )
        self._limit = None
        if settings.connections == "auto":
            self._limit = KneeLimit(limit_min=_CONNECTIONS_MIN)
        self._connections = 0 if settings.connections == "auto" else settings.connections
        self._per_server = 1 if settings.per_server == "auto" else settings.per_server
        self._total = Gauge(settings.total_rate, state.now())

    @property
    def connections(self) -> int:
        """Most connections at work at once, now."""
        return self._limit.limit if self._limit is not None else self._connections

    # Requests

    def sent(self, server: Server) -> float:
        """A request starts: it counts in all paces that hold for it. Return the time."""
        now = self._state.now()
        flow = self._flow(server, now)
        server.origin_pace.on_sent(now)
        server.address.pace.on_sent(now)
        self._state.total.on_sent(now)
        flow.ceiling.on_sent(now)
        if flow.ceiling.set_point < inf:
            server.origin_pace.hold(flow.ceiling.next_time)
        self._state.stats.requests += 1
        flow.last = now
        flow.gauge.sent(now, server.origin_pace.slot)
        self._total.sent(now, self._state.total.slot)
        self._note_holders(server, flow.gauge, now)
        return now

    def finished(self, server: Server) -> None:
        """The request has ended, whatever came of it."""
        now = self._state.now()
        server.origin_pace.on_finished(now)
        server.address.pace.on_finished(now)
        gauge = self._flow(server, now).gauge
        gauge.finished()
        self._total.finished()
        self._note_holders(server, gauge, now)

    def visited(self, server: Server) -> None:
        """A visit has ended, perhaps without a request: what holds the next one back may be another thing now."""
        flow = self._servers.get(server)
        if flow is not None:
            self._note_holders(server, flow.gauge, self._state.now())

    def fetched(self, server: Server, result: Response | Failure, sent_at: float) -> Verdict:
        """A page was asked for at ``sent_at``, or a connection; return what follows from what came."""
        now = self._state.now()
        if isinstance(result, Failure):
            return self._judge(
                server,
                verdict(result.outcome),
                _Came(result.outcome, sent_at, now, is_page=False),
            )
        found = verdict("ok", result.status)
        flow = self._flow(server, now)
        flow.answered = True
        flow.gauge.responded(result.first_byte)
        self._total.responded(result.first_byte)
        if 200 <= result.status < 300:  # errors and redirects may be quicker than any page
            self._measure(server, flow, result, now)
        wait = retry_after(result, self._state.wall())
        return self._judge(server, found, _Came(str(result.status), sent_at, now, wait))

    def read_robots(
        self, server: Server, result: Response | Failure, sent_at: float, *, unreachable: str
    ) -> None:
        """robots.txt was asked for. It is no page: it teaches neither the connection limit nor the ceiling, as meters often leave it out."""
        found, wait = _ANSWERED, 0.0
        if isinstance(result, Response):
            wait = retry_after(result, self._state.wall())
        if unreachable:  # whatever the reason, nothing may be asked of the server; of its address it says what it says elsewhere
            row = verdict("ok", int(unreachable)) if unreachable.isdigit() else verdict(unreachable)
            found = Verdict(Again.COUNTED, Sign.BAD, row.address)
        now, reason = self._state.now(), f"robots.txt: {unreachable}"
        self._flow(server, now).answered |= not unreachable
        came = _Came(reason, sent_at, now, wait, is_page=False)
        self._judge(server, found, came)

    def held_until(self, server: Server) -> float:
        """Return the time before which back-off allows nothing."""
        flow = self._servers.get(server)
        return -inf if flow is None or flow.backoff is None else flow.backoff.until

    def is_given_up(self, server: Server) -> bool:
        """Tell whether a server has failed for so long that its URLs should end."""
        flow = self._servers.get(server)
        return flow is not None and flow.backoff is not None and flow.backoff.is_given_up

    def is_well(self, server: Server) -> bool:
        """Tell whether a server may have more than one request at once: while it or its address is in trouble one is enough to see when that ends."""
        flows = (self._servers.get(server), self._addresses.get(server.address))
        return not any(flow and flow.backoff and flow.backoff.failures for flow in flows)

    # Set-points

    def change(self, rates: Rates) -> None:
        """Take the set-points that a user has given the job."""
        state, now = self._state, self._state.now()
        self._rates = rates
        total = rates.total(state.settings.total_rate)
        state.total.change(total, now)
        self._total.want(total, now)
        state.frontier.change_rates(lambda key: rates.of(key, state.settings.rate), now)
        for server, flow in self._servers.items():  # addresses know no ceilings, which come and go
            flow.gauge.want(rates.of(server.key, state.settings.rate), now)
            server.origin_pace.change(flow.set_point, now)
            self._note_holders(server, flow.gauge, now)
        state.wake()

    @property
    def has_paused(self) -> bool:
        """Tell whether the user has paused the crawl, or a server."""
        return self._rates.has_paused

    # Samples

    def samples(self) -> list[Sample]:
        """Return how each server has fared that was asked since the last call, or waits with URLs while it is held, and the whole crawl.

        Those that are idle are forgotten.
        """
        now, wall = self._state.now(), self._state.wall()
        found = []
        self._forget_addresses(now)
        self._total.held(self._total_holder(now), now)
        if self._total.wants_reasons and not self._total.is_idle:
            sample = self._total.sample(
                TOTAL, now, wall, ceiling=inf, delay=0.0, limit=self.connections
            )
            found.append(sample)
        for server, flow in list(self._servers.items()):
            is_held = bool(server.queued) and (
                not flow.gauge.set_point or self._is_held(server, now)
            )
            if is_held or not flow.gauge.is_idle:
                flow.gauge.held(self._holder(server, flow.gauge, now), now)
                sample = flow.gauge.sample(
                    server.key,
                    now,
                    wall,
                    ceiling=flow.ceiling.set_point,
                    delay=server.origin_pace.delay,
                    limit=server.limit,
                    is_held=is_held,
                )
                found.append(sample)
            elif now - flow.last > _IDLE and not server.visits:
                self._state.robots.forget(server)
                self._forget(server, flow, now)
        return found

    def forget(self, server: Server) -> None:
        """The server is another crawler's now."""
        self._servers.pop(server, None)

    def _forget(self, server: Server, flow: _ServerFlow, now: float) -> None:
        """Forget an idle server, unless it is in trouble and has URLs that wait, or is alone at an address in trouble."""
        backoff, is_alone = flow.backoff, server.address.shared is None
        is_over = backoff is None or (backoff.is_over(now) and not server.queued)
        if (is_over or server.given_up) and not (is_alone and server.address in self._addresses):
            del self._servers[server]
            self._state.frontier.cool(server)

    def _forget_addresses(self, now: float) -> None:
        for address, flow in list(self._addresses.items()):
            is_over = flow.backoff is None or flow.backoff.is_over(now)
            if is_over and now - flow.last > _IDLE and not address.visits:
                del self._addresses[address]

    # Inside

    def _flow(self, server: Server, now: float) -> _ServerFlow:
        flow = self._servers.get(server)
        if flow is None:
            set_point = self._rates.of(server.key, self._state.settings.rate)
            ceiling = Ceiling(self._state.job.learnt(server.key), now=now)
            flow = self._servers[server] = _ServerFlow(Gauge(set_point, now), ceiling, now)
            flow.answered = server.estimate is not None  # it had been asked before it was forgotten
            flow.backoff = self._earlier(server, now)
            server.origin_pace.change(flow.set_point, now)
        return flow

    def _earlier(self, server: Server, now: float) -> Backoff | None:
        """Return the back-off of an earlier start, or of the crawler that had the server, unless all is forgiven."""
        trouble, held_until = self._state.job.trouble(server.key)
        if trouble is None:
            return None
        quiet = max(self._state.wall() - held_until, 0.0)
        backoff = Backoff(self._patience, trouble=trouble, quiet_from=now - quiet)
        return None if backoff.is_over(now) else backoff

    def _address(self, address: Address) -> _AddressFlow:
        flow = self._addresses.get(address)
        if flow is None:
            limit = KneeLimit() if self._state.settings.per_server == "auto" else None
            flow = self._addresses[address] = _AddressFlow(limit)
        return flow

    def _judge(self, server: Server, found: Verdict, came: _Came) -> Verdict:
        """Let what came of a request count in back-off, ceiling and limit."""
        now = came.now
        flow, address = self._flow(server, now), self._address(server.address)
        address.last = now
        before = flow.ceiling.set_point
        if found.refused:
            known = flow.ceiling.on_refused(came.sent_at, now=now)
            came = came._replace(wait=max(came.wait, known))
        elif came.is_page:
            flow.ceiling.on_success(came.sent_at, now=now)
        if flow.set_point != server.origin_pace.set_point:
            server.origin_pace.change(flow.set_point, now)
        if flow.ceiling.set_point != before:
            self._state.job.learn(server.key, flow.ceiling.learnt)
        if found.overload and address.limit is not None:
            address.limit.on_failure(now=now, in_flight=server.address.visits)
        if found.server is not Sign.GOOD or flow.backoff is not None or came.wait:
            flow.backoff = flow.backoff or Backoff(self._patience, has_answered=flow.answered)
            if flow.backoff.is_set_aside and found.again is not Again.NEVER:
                found = found._replace(again=Again.UNCOUNTED)  # it is the server, not the URL
            self._back_off(server, flow.backoff, found.server, came)
            if flow.backoff.is_over(now):
                flow.backoff = None
        if self._state.settings.per_ip:
            self._share(server, address, found.address, came)
        self._set_limit(server, address)
        return found

    def _share(self, server: Server, flow: _AddressFlow, sign: Sign, came: _Came) -> None:
        """Let the outcome count for the other servers at the address too."""
        if flow.backoff is None:
            if sign in (Sign.GOOD, Sign.NEUTRAL):
                return
            flow.backoff = Backoff(self._address_patience)
        # What one server asks for is for itself: others may share its address.
        server.address.pace.hold(self._until(flow.backoff, sign, came._replace(wait=0.0)))

    def _until(self, backoff: Backoff, sign: Sign, came: _Came) -> float:
        return backoff.on_outcome(
            sign,
            sent_at=came.sent_at,
            now=came.now,
            jitter=self._state.chance(),
            at_least=came.wait,
        )

    def _back_off(self, server: Server, backoff: Backoff, sign: Sign, came: _Came) -> None:
        state, before = self._state, backoff.until
        until = self._until(backoff, sign, came)
        state.job.suffer(server.key, backoff.trouble)
        if backoff.failures:
            server.warmth.wide = False
        if until <= max(before, came.now):
            return
        server.origin_pace.hold(until)
        self._note_holders(server, self._flow(server, came.now).gauge, came.now)
        seconds = until - came.now
        state.job.hold(server.key, state.wall() + seconds)
        if state.emit is not None:
            name = "server.set-aside" if backoff.is_set_aside else "server.held"
            event = Event(
                event=name, server=server.key, reason=came.reason, seconds=round(seconds, 1)
            )
            state.emit(event)

    def _measure(self, server: Server, flow: _ServerFlow, response: Response, now: float) -> None:
        """Show a page to the limits; that of the whole crawl sees how it compares with other pages of its server."""
        if self._limit is not None:
            load = flow.unloaded.load(response.first_byte, lag=response.lag)
            in_flight = self._state.frontier.visits
            self._limit.on_response(load * _REFERENCE, now=now, in_flight=in_flight)
        limit = self._address(server.address).limit
        if limit is not None:
            in_flight = server.address.visits
            limit.on_response(response.first_byte, now=now, in_flight=in_flight, lag=response.lag)

    def _set_limit(self, server: Server, flow: _AddressFlow) -> None:
        """Tell the frontier how many visits an address may have."""
        before = server.address.limit
        if flow.backoff is not None and flow.backoff.failures:
            limit = 1
        elif flow.limit is not None:
            limit = flow.limit.limit
        else:
            limit = self._per_server
        if limit != before:
            self._state.frontier.set_limit(server, limit)
            if limit > before:
                self._state.wake()

    def _is_held(self, server: Server, until: float) -> bool:
        """Tell whether back-off, its own or that of its address, holds a server for longer than ``until``."""
        address = self._addresses.get(server.address)
        backoff = address.backoff if address is not None else None
        return self.held_until(server) > until or (backoff is not None and backoff.until > until)

    def _note_holders(self, server: Server, gauge: Gauge, now: float) -> None:
        if gauge.wants_reasons:
            gauge.held(self._holder(server, gauge, now), now)
        if self._total.wants_reasons:
            self._total.held(self._total_holder(now), now)

    def _holder(self, server: Server, gauge: Gauge, now: float) -> str:
        """Return what holds the next request to a server back after it is due: one of `flow.REASONS`."""
        state, pace = self._state, server.origin_pace
        again = server.retries if server.retries and len(server.retries) == server.queued else None
        pauses = pace.delay > 0 and pace.next_time > max(now, pace.slot)
        is_asked_to = pace.delay > state.settings.delay
        held = (
            ("paused", not gauge.set_point or not state.total.set_point),
            ("back-off", self.held_until(server) > now),
            ("no-urls", not server.queued),
            ("back-off", again is not None and again[0][0] > now),
            ("server", gauge.under_way >= server.limit),
            ("robots", pauses and is_asked_to),
            ("delay", pauses),
            ("back-off", self._is_held(server, max(now, pace.next_time))),
            ("address", server.address.pace.next_time > max(now, pace.next_time)),
            ("total-rate", state.total.next_time > now),
            ("connections", state.frontier.visits >= self.connections),
        )
        return next((reason for reason, holds in held if holds), "machine")

    def _total_holder(self, now: float) -> str:
        """Return what holds the next request of the whole crawl back."""
        frontier = self._state.frontier
        if not self._state.total.set_point:
            return "paused"
        if not frontier.queued:
            return "no-urls"
        if frontier.visits >= self.connections:
            return "connections"
        wakeup = frontier.wakeup()
        return "servers" if wakeup is None or wakeup > now else "machine"


def retry_after(response: Response, wall: float) -> float:
    """Return the seconds that ``Retry-After`` asks for, as a number or a date, at most a day; 0 where there is none."""
    value = next(
        (value for name, value in response.headers if name.lower() == b"retry-after"), b""
    ).strip()
    if not value:
        return 0.0
    if value.isdigit():
        return min(float(value), _HOLD_MAX)
    try:
        date = parsedate_to_datetime(value.decode("latin-1"))
        wait = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - wall
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max(wait, 0.0), _HOLD_MAX)
