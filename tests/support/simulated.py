"""Simulated servers behind real sockets: the same model answers, so that both connectors can be held to the same contract."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import asynccontextmanager

from andante.sim.server import Server


@asynccontextmanager
async def serving(server: Server):
    """Serve on 127.0.0.1; yield the port."""
    tasks = set()

    async def converse(reader, writer):
        tasks.add(asyncio.current_task())
        try:
            await _converse(server, reader, writer)
        except (ConnectionError, asyncio.CancelledError):  # it ends with the test
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(converse, "127.0.0.1", 0)
    async with listening:
        try:
            yield listening.sockets[0].getsockname()[1]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _converse(server, reader, writer):
    now = asyncio.get_running_loop().time
    served = 0
    while served < server.traits.requests:
        try:
            async with asyncio.timeout(server.traits.keep_alive):
                request = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, TimeoutError):
            return
        served += 1
        target = request.split(b" ")[1].decode()
        reply = server.serve(target, now(), last=served >= server.traits.requests)
        await asyncio.sleep(max(0.0, reply.ends - now()))
        if reply.fault == "silence":
            await asyncio.Event().wait()
        if reply.fault == "reset":
            _reset(writer)
            return
        writer.write(reply.head + reply.body)
        await writer.drain()


def _reset(writer):
    """Close without a farewell: the peer gets a reset."""
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
