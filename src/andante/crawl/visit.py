"""The visit: one connection to one server, taking URLs from its queue one after another."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from andante import url as urls
from andante.fetch import Connection, Failure, Outcome, Response
from andante.frontier import Server, Task

if TYPE_CHECKING:
    from andante.crawl.engine import Engine


async def visit(engine: Engine, server: Server) -> None:
    """Visit a server until its queue is empty, it must wait, its connection is used up, or the crawl stops.

    A server that must wait gives its place back: the connection is parked, and the server stands in the queue until its time
    comes. So no wait ever holds a worker or a connection slot.
    """
    connection: Connection | None = None
    task: Task | None = None
    try:
        if not engine.robots.is_wanted(server):
            task = engine.next_task(server)
            if task is None:
                return
        connection = engine.parked.take(server) or await _connect(engine, server)
        if connection is None:
            return
        while engine.robots.is_wanted(server) and connection.is_reusable and engine.may_go(server):
            await _read_robots(engine, server, connection)
        engine.frontier.widen(server)
        first, task = task, None
        lanes = [_lane(engine, server, connection, first)]
        lanes += [_lane(engine, server, connection) for _ in range(engine.settings.pipeline - 1)]
        await (lanes[0] if len(lanes) == 1 else asyncio.gather(*lanes))
    finally:
        if task is not None:
            engine.put_back(task)
        if connection is not None:
            engine.parked.put(server, connection)
        engine.visit_ended(server)


def is_stale(result: Response | Failure) -> bool:
    """Tell whether a kept-alive connection had gone before it was used: nothing was wrong with the request."""
    return isinstance(result, Failure) and result.outcome is Outcome.STALE


async def _connect(engine: Engine, server: Server) -> Connection | None:
    """Connect to a server; None when that fails, or when others on its address come first."""
    where = urls.parts(server.key + "/")
    addresses = await engine.client.resolve(where.host, where.port)
    if isinstance(addresses, Failure):
        engine.ends.unreachable(server, addresses)
        return None
    if not engine.frontier.bind(server, addresses[0]) or not engine.may_go(server):
        return None
    opened = await engine.client.open(where.host, where.port, tls=where.scheme == "https")
    if isinstance(opened, Failure):
        engine.ends.unreachable(server, opened)
        return None
    engine.stats.connections += 1
    if not opened.is_reusable:
        engine.ends.unreachable(server, Failure(Outcome.CLOSED, "before the first request"))
        return None
    return opened


async def _lane(
    engine: Engine, server: Server, connection: Connection, task: Task | None = None
) -> None:
    """Send one request after another; with pipelining several lanes share the connection."""
    while connection.is_reusable and engine.may_go(server) and not engine.robots.is_wanted(server):
        task = task or engine.next_task(server)
        if task is None:
            return
        await _fetch(engine, connection, task)
        task = None
    if task is not None:
        engine.put_back(task)


async def _fetch(engine: Engine, connection: Connection, task: Task) -> None:
    request = engine.request(task.server, task.link.target)
    engine.sent(task.server)
    engine.in_hand += 1
    try:
        result = await connection.exchange(request)
    except asyncio.CancelledError:
        engine.put_back(task)
        raise
    finally:
        engine.in_hand -= 1
        engine.finished(task.server)
    if is_stale(result):
        engine.put_back(task)
        return
    if isinstance(result, Failure):
        engine.ends.failure(task, result)
        return
    page = engine.ends.response(task, request, result, connection.address)
    if page is not None and engine.deliver is not None:
        await engine.deliver(page)


async def _read_robots(engine: Engine, server: Server, connection: Connection) -> None:
    url = engine.robots.url(server)
    if urls.origin(url) == server.key:
        engine.sent(server)
        result = await connection.exchange(engine.request(server, url[len(server.key) :]))
        engine.finished(server)
    else:
        result = await _fetch_elsewhere(engine, url)
    if not is_stale(result):
        engine.robots.on_result(server, result)


async def _fetch_elsewhere(engine: Engine, url: str) -> Response | Failure:
    """Fetch a robots.txt that has moved to another server, at that server's pace."""
    other = engine.frontier.server(urls.origin(url))
    where = urls.parts(url)
    await asyncio.sleep(max(0.0, other.next_time - engine.now()))
    engine.sent(other)
    opened = await engine.client.open(where.host, where.port, tls=where.scheme == "https")
    if isinstance(opened, Failure):
        return opened
    try:
        return await opened.exchange(engine.request(other, where.target))
    finally:
        opened.close()
        engine.finished(other)
