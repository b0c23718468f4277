"""Connections that are kept open while their server must wait."""

from __future__ import annotations

from andante.fetch import Connection
from andante.frontier import Server


class Parked:
    """Idle connections by server; when there are too many, the one parked longest is closed."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._connections: dict[Connection, Server] = {}
        self._by_server: dict[Server, list[Connection]] = {}

    def __len__(self) -> int:
        return len(self._connections)

    def take(self, server: Server) -> Connection | None:
        """Take a connection to the server that can still be used."""
        while connections := self._by_server.get(server):
            connection = connections.pop()
            if not connections:
                del self._by_server[server]
            del self._connections[connection]
            if connection.is_reusable:
                return connection
            connection.close()
        return None

    def put(self, server: Server, connection: Connection) -> None:
        """Park a connection; one that cannot be used again is closed."""
        if not connection.is_reusable:
            connection.close()
            return
        self._connections[connection] = server
        self._by_server.setdefault(server, []).append(connection)
        if len(self._connections) > self._size_max:
            oldest, its_server = next(iter(self._connections.items()))
            self._by_server[its_server].remove(oldest)
            if not self._by_server[its_server]:
                del self._by_server[its_server]
            del self._connections[oldest]
            oldest.close()

    def close(self) -> None:
        """Close all."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._by_server.clear()
