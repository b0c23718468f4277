"""The visit: one connection to one server, taking URLs from its queue one after another."""

from __future__ import annotations

import asyncio

from andante import url as urls
from andante.crawl.ends import Ends
from andante.crawl.parked import Parked
from andante.crawl.robots import RobotsBook
from andante.crawl.state import State
from andante.crawl.throttle import Throttle
from andante.fetch import Connection, Failure, Outcome, Response
from andante.fetch.robots import BODY_MAX as ROBOTS_MAX
from andante.frontier import Measured, Server, Task

_PARKED_MAX = 256
"""Connections that are kept open while their servers must wait, where the user has set no limit."""


class Visitor:
    """Makes visits. Between those to a server its connection is parked."""

    def __init__(self, state: State, throttle: Throttle) -> None:
        self._state = state
        self._throttle = throttle
        self._ends = Ends(state, throttle)
        self._robots = RobotsBook(state, self._ends, throttle)
        connections = state.settings.connections
        self._parked = Parked(_PARKED_MAX if connections == "auto" else connections)

    def close(self) -> None:
        """Close the parked connections."""
        self._parked.close()

    async def visit(self, server: Server) -> None:
        """Visit a server until its queue is empty, it must wait, its connection is used up, or the crawl stops.

        A server that must wait gives its place back: the connection is parked, and the server stands in the queue until its
        time comes. So no wait ever holds a worker or a connection slot.
        """
        connection: Connection | None = None
        task: Task | None = None
        measured = Measured()
        try:
            if not self._robots.is_wanted(server):
                task = self._next_task(server)
                if task is None:
                    return
            connection = self._parked.take(server)
            if connection is None:
                connection = await self._connect(server)
                if connection is None:
                    return
                measured.connection_time = connection.connect_time + connection.tls_time
            while self._robots.is_wanted(server) and self._may_go_on(connection, server):
                await self._read_robots(server, connection)
            if self._throttle.is_well(server):
                self._state.frontier.widen(server)
            first, task = task, None
            lanes = [self._lane(server, connection, measured, first)]
            lanes += [
                self._lane(server, connection, measured)
                for _ in range(self._state.settings.pipeline - 1)
            ]
            await (lanes[0] if len(lanes) == 1 else asyncio.gather(*lanes))
        finally:
            if task is not None:
                self._state.put_back(task)
            if connection is not None:
                measured.served = connection.served
                measured.is_used_up = not connection.is_reusable
                self._state.frontier.learn(server, measured)
                self._parked.put(server, connection)
            self._state.frontier.close_visit(server)
            self._throttle.visited(server)

    def _may_go_on(self, connection: Connection, server: Server) -> bool:
        return connection.is_reusable and self._state.may_go(server)

    def _next_task(self, server: Server) -> Task | None:
        """Take the next URL that may be asked for; those that may not end here."""
        while task := self._state.frontier.take(server, self._state.now()):
            if server.given_up:
                self._ends.given_up(task)
            elif not self._robots.allows(task):
                self._ends.excluded(task, "robots")
            else:
                return task
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

    async def _lane(
        self, server: Server, connection: Connection, measured: Measured, task: Task | None = None
    ) -> None:
        """Send one request after another; with pipelining several lanes share the connection."""
        while self._may_go_on(connection, server) and not self._robots.is_wanted(server):
            task = task or self._next_task(server)
            if task is None:
                return
            await self._fetch(connection, task, measured)
            task = None
        if task is not None:
            self._state.put_back(task)

    async def _fetch(self, connection: Connection, task: Task, measured: Measured) -> None:
        state, server = self._state, task.server
        request = state.request(server, task.link.target)
        sent_at = self._throttle.sent(server)
        state.in_hand += 1
        try:
            result = await connection.exchange(request)
        except asyncio.CancelledError:
            state.put_back(task)
            raise
        finally:
            state.in_hand -= 1
            self._throttle.finished(server)
        if _is_stale(result):
            state.put_back(task)
            return
        found = self._throttle.fetched(server, result, sent_at)
        if isinstance(result, Failure):
            self._ends.failure(task, result, found=found)
        else:
            measured.responses += 1
            measured.seconds += result.total
            page = self._ends.response(task, request, result, connection.address, found=found)
            if page is not None and state.deliver is not None:
                await state.deliver(page)

    async def _read_robots(self, server: Server, connection: Connection) -> None:
        state = self._state
        url, sent_at = self._robots.url(server), state.now()
        if urls.origin(url) == server.key:
            request = state.request(server, url[len(server.key) :])
            self._throttle.sent(server)
            try:
                result = await connection.exchange(request, max_body=ROBOTS_MAX)
            finally:
                self._throttle.finished(server)
        else:
            result = await self._fetch_elsewhere(url)
        if not _is_stale(result):
            self._robots.on_result(server, result, sent_at)

    async def _fetch_elsewhere(self, url: str) -> Response | Failure:
        """Fetch a robots.txt that has moved to another server, at that server's pace."""
        state = self._state
        other = state.frontier.server(urls.origin(url))
        where = urls.parts(url)
        addresses = await state.client.resolve(where.host, where.port)
        if isinstance(addresses, Failure):
            return addresses
        state.frontier.bind(other, addresses[0], state.now())
        # Looked at again after each wait: others may have had the turn meanwhile.
        while (wait := max(other.next_time, state.total.next_time) - state.now()) > 0:  # noqa: ASYNC110  # it waits for a time, not an event
            await asyncio.sleep(wait)
        self._throttle.sent(other)
        try:
            opened = await state.client.open(where.host, where.port, tls=where.scheme == "https")
            if isinstance(opened, Failure):
                return opened
            try:
                request = state.request(other, where.target)
                return await opened.exchange(request, max_body=ROBOTS_MAX)
            finally:
                opened.close()
        finally:
            self._throttle.finished(other)


def _is_stale(result: Response | Failure) -> bool:
    """Tell whether a kept-alive connection had gone before it was used: nothing was wrong with the request."""
    return isinstance(result, Failure) and result.outcome is Outcome.STALE
