"""The visit: one connection to one server, taking URLs from its queue one after another."""

from __future__ import annotations

import asyncio

from andante import url as urls
from andante.crawl.ends import ENDED_AT_ONCE, Ends, Unread
from andante.crawl.parked import Parked
from andante.crawl.robots import RobotsBook
from andante.crawl.state import State
from andante.crawl.throttle import Throttle
from andante.fetch import Connection, Failure, Outcome, Response
from andante.fetch.robots import BODY_MAX as ROBOTS_MAX
from andante.frontier import Measured, Server, Task
from andante.page import Page

_PARKED_MAX = 256
"""Connections that are kept open while their servers must wait, or as many as may be at work, if that is more."""

_LARGE = 64 * 1024
"""Bytes of a body that wait for room in the output; shorter ones are soon read, and few go on while there is none."""


class Visitor:
    """Makes visits. Between those to a server its connection is parked."""

    def __init__(self, state: State, throttle: Throttle) -> None:
        self._state = state
        self._throttle = throttle
        self._ends = Ends(state, throttle)
        self._robots = RobotsBook(state, self._ends, throttle)
        connections = state.settings.connections
        self._parked = Parked(
            _PARKED_MAX if connections == "auto" else max(connections, _PARKED_MAX)
        )

    def close(self) -> None:
        """Close the parked connections."""
        self._parked.close()

    def forget(self, server: Server) -> None:
        """The server is another crawler's now."""
        while connection := self._parked.take(server):
            connection.close()
        self._robots.forget(server)
        self._throttle.forget(server)

    async def visit(self, server: Server) -> None:
        """Visit a server until its queue is empty, it must wait, its turn is over, its connection is used up, or the crawl stops.

        A server that must wait gives its place back: the connection is parked, and the server stands in the queue until its
        time comes. So no wait ever holds a worker or a connection slot.
        """
        await self._visit(server)
        await self._ends.end_given_up()

    async def _visit(self, server: Server) -> None:
        state = self._state
        connection: Connection | None = None
        task: Task | None = None
        measured = Measured()
        try:
            if not state.frontier.has_errand(server) and not self._robots.is_wanted(server):
                task = await self._next_task(server)
                if task is None:
                    return
            connection = self._parked.take(server)
            if connection is None:
                connection = await self._connect(server)
                if connection is None:
                    return
                measured.connection_time = connection.connect_time + connection.tls_time
            await self._do_errands(server, connection)
            await self._see_to_robots(server, connection)
            first, task = task, None
            await self._lanes(server, connection, measured, first)
        finally:
            if task is not None:
                state.put_back(task)
            if server.given_up:
                self._robots.give_up(server)
            if connection is not None:
                measured.served = connection.served
                measured.is_used_up = not connection.is_reusable
                state.frontier.learn(server, measured)
                self._parked.put(server, connection)
            state.frontier.close_visit(server)
            self._throttle.visited(server)

    def _may_go_on(self, connection: Connection, server: Server) -> bool:
        return connection.is_reusable and self._state.may_go(server)

    async def _next_task(self, server: Server) -> Task | None:
        """Take the next URL that may be asked for; those that may not end here, `ENDED_AT_ONCE` in one turn of the loop."""
        state, ended = self._state, 0
        while task := state.frontier.take(server, state.now()):
            if server.given_up:
                self._ends.given_up(task)
            elif not self._robots.allows(task):
                self._ends.excluded(task, "robots")
            elif ended >= ENDED_AT_ONCE and not state.may_go(server):  # others had turns meanwhile
                state.put_back(task)
                return None
            else:
                return task
            ended += 1
            if ended % ENDED_AT_ONCE == 0:
                await state.give_way()
                if state.stopping or not state.frontier.keeps(server):
                    return None
        return None

    async def _connect(self, server: Server) -> Connection | None:
        """Connect to a server; None when that fails, or when others on its address come first."""
        state, began = self._state, self._state.now()
        where = urls.parts(server.key + "/")
        addresses = await state.client.resolve(where.host, where.port)
        if isinstance(addresses, Failure):
            self._ends.unreachable(server, addresses, began)
            return None
        if not state.frontier.bind(server, addresses[0], state.now()) or not state.may_go(server):
            return None
        opened = await state.client.open(where.host, where.port, tls=where.scheme == "https")
        if isinstance(opened, Failure):
            self._ends.unreachable(server, opened, began)
            return None
        state.stats.connections += 1
        if not opened.is_reusable:
            failure = Failure(Outcome.CLOSED, "before the first request")
            self._ends.unreachable(server, failure, began)
            return None
        return opened

    async def _lanes(
        self, server: Server, connection: Connection, measured: Measured, task: Task | None
    ) -> None:
        """Send one request at a time while the server is in trouble, then as many as are pipelined."""
        if not self._throttle.is_well(server):
            await self._lane(server, connection, measured, task, until_well=True)
            if not self._throttle.is_well(server):
                return
            task = None
        self._state.frontier.widen(server)
        lanes = [self._lane(server, connection, measured, task)]
        lanes += [
            self._lane(server, connection, measured)
            for _ in range(self._state.settings.pipeline - 1)
        ]
        await (lanes[0] if len(lanes) == 1 else asyncio.gather(*lanes))

    async def _lane(
        self,
        server: Server,
        connection: Connection,
        measured: Measured,
        task: Task | None = None,
        *,
        until_well: bool = False,
    ) -> None:
        """Send one request after another; with pipelining several lanes share the connection."""
        while (
            self._may_go_on(connection, server)
            and not self._robots.is_wanted(server)
            and measured.asked < server.turn
        ):
            if until_well and self._throttle.is_well(server):
                break
            task = task or await self._next_task(server)
            if task is None:
                return
            await self._fetch(connection, task, measured)
            task = None
        if task is not None:
            self._state.put_back(task)

    async def _fetch(self, connection: Connection, task: Task, measured: Measured) -> None:
        state, server = self._state, task.server
        request = state.request(server, task.link.target)
        sent_at, life = self._throttle.sent(server), state.life
        state.in_hand += 1
        measured.asked += 1
        try:
            result = await connection.exchange(request)
            if isinstance(result, Response) and len(result.payload) >= _LARGE:
                await state.room_for_output()
        except asyncio.CancelledError:
            state.put_back(task)
            raise
        finally:
            state.in_hand -= 1
            self._throttle.finished(server)
        if _is_stale(result) or life != state.life:
            state.put_back(task)
            return
        found = self._throttle.fetched(server, result, sent_at)
        if isinstance(result, Failure):
            self._ends.failure(task, result, found=found)
        else:
            state.monitor.reads(task.url, len(result.payload))
            measured.responses += 1
            measured.seconds += result.total
            page = self._ends.response(task, request, result, connection.address, found=found)
            if isinstance(page, Unread):
                page = await self._ends.finish(page, life)
            if page is not None and state.deliver is not None:
                _hold_in_memory(page)
                await state.deliver(page)

    async def _do_errands(self, server: Server, connection: Connection) -> None:
        """Ask for what others need of the server: robots.txt that have moved to it."""
        frontier = self._state.frontier
        while self._may_go_on(connection, server) and (sender := frontier.take_errand(server)):
            if not await self._read_robots(server, connection, of=sender):
                frontier.send(sender, server)

    async def _see_to_robots(self, server: Server, connection: Connection) -> None:
        """Read the server's robots.txt if it is wanted; where it has moved to another server, one will be sent for it."""
        while (
            self._robots.is_wanted(server)
            and server.queued
            and not self._state.frontier.is_absent(server)
            and self._may_go_on(connection, server)
        ):
            if self._robots.has_moved(server):
                self._robots.send(server)
            else:
                await self._read_robots(server, connection, of=server)

    async def _read_robots(self, server: Server, connection: Connection, *, of: Server) -> bool:
        """Ask a server for its robots.txt, or for another one's that has moved there; tell whether that was answered."""
        state, sent_at = self._state, self._state.now()
        request = state.request(server, self._robots.url(of)[len(server.key) :])
        self._throttle.sent(server)
        try:
            result = await connection.exchange(request, max_body=ROBOTS_MAX)
        finally:
            self._throttle.finished(server)
        if _is_stale(result):
            return False
        if isinstance(result, Response):
            state.monitor.reads(self._robots.url(of), len(result.payload))
        self._robots.on_result(of, result, sent_at, at=server)
        return True


def _hold_in_memory(page: Page) -> None:
    """Give a page that may be in a file bytes of its own, as those it is delivered to expect."""
    payload = bytes(page.payload)  # copies a map only
    page.body = payload if page.body is page.payload else bytes(page.body)
    page.payload = payload


def _is_stale(result: Response | Failure) -> bool:
    """Tell whether a kept-alive connection had gone before it was used: nothing was wrong with the request."""
    return isinstance(result, Failure) and result.outcome is Outcome.STALE
