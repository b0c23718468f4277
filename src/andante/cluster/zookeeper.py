"""Members by ZooKeeper: each node has an ephemeral node, ``/andante/CRAWL/nodes/EPOCH``, which holds its name.

kazoo speaks with ZooKeeper in threads of its own, keeps the session alive by pings, and comes back after an interruption. It is only asked for
what does not block; what does (starting and closing) is done in a thread aside. What is asked while there is no connection fails at once, so that
nothing piles up. When the event loop hangs and asks nothing for the session's time, the pings end too, and then the session.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, quote, unquote

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoAuthError, NodeExistsError, NoNodeError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.hosts import collect_hosts
from kazoo.protocol.serialization import Connect
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.retry import KazooRetry
from kazoo.security import CREATOR_ALL_ACL

from andante.cluster.exchange import ClusterError, UnreachableError

SESSION = 10.0
"""Seconds asked for; the server grants between two and twenty of its ticks (2 s each, unless it is set up otherwise)."""

PATIENCE = 10.0
"""Seconds in which ZooKeeper must answer at the start."""

_CLOSING = 1.0  # seconds that closing may take; the session ends without us later
_CONNECTING = 2.0  # for a server to connect or to answer: a silent one must not cost the session
_AGAIN = 0.1  # after a failure
_SCHEME = "tls://"
_FILES = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"}
_RETRY = {"max_tries": -1, "delay": _AGAIN, "max_delay": 1.0}

logging.getLogger("kazoo").addHandler(logging.NullHandler())  # or its warnings are printed


class Address(NamedTuple):
    """Where ZooKeeper is, taken from ``[USER:PASSWORD@]HOST:PORT[,HOST:PORT...][/PATH]``; user and password may be percent-encoded.

    With ``tls://`` before that it is spoken to by TLS only, and files may be named after it as in a URL of Redis:
    ``?ssl_ca_certs=FILE`` for an authority of one's own, ``&ssl_certfile=FILE&ssl_keyfile=FILE`` for a certificate to show.
    """

    hosts: str
    path: str
    """Under which everything is; empty: the root."""
    credentials: str
    tls: dict[str, str] | None = None
    """The files; None: no TLS."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take an address apart.

        Raises:
            ClusterError: it is none. The message does not repeat it, as it may have a password in it.
        """
        rest, files = text.strip(), ""
        if is_secure := rest.startswith(_SCHEME):
            rest, _, files = rest.removeprefix(_SCHEME).partition("?")
        servers, _, path = rest.partition("/")
        credentials, _, hosts = servers.rpartition("@")
        user, colon, password = credentials.partition(":")
        try:
            collect_hosts(hosts)
            tls = dict(_files(files)) if is_secure else None
        except ValueError:
            hosts, tls = "", None
        names = [name for name in path.split("/") if name]
        if (
            not hosts
            or "://" in rest
            or bool(credentials) != bool(user and colon)
            or not {".", ".."}.isdisjoint(names)
        ):
            raise ClusterError(
                "ZooKeeper's address must be [USER:PASSWORD@]HOST:PORT[,HOST:PORT...][/PATH], or tls://..."
            )
        where = "".join(f"/{name}" for name in names)
        return cls(hosts, where, unquote(user + colon + password), tls)


class ZooKeeper:
    """`andante.cluster.members.Members` by ZooKeeper; see `connect`."""

    def __init__(self, address: Address, crawl: str, session: float) -> None:
        self._address = address
        self._folder = f"{address.path}/andante/{quote(crawl, safe='')}/nodes"
        self._client = _Client(address, session)
        self._entered: tuple[str, bytes] | None = None  # path and data of the node's own node
        self._former: set[str] = set()  # paths of those that are to go

    @classmethod
    async def connect(
        cls, address: str, crawl: str, *, session: float = SESSION, patience: float = PATIENCE
    ) -> Self:
        """Connect.

        Args:
            address: as in `Address`. With user and password, what is made belongs to that user only.
            crawl: its name; crawls of other names are not seen.
            session: seconds after which a node that is not heard of is gone.
            patience: seconds.

        Raises:
            ClusterError: the address is wrong, nobody answers, or access is refused; one line.
        """
        where = Address.parse(address)
        try:
            members = cls(where, crawl, session)
        except OSError as error:
            raise ClusterError(f"a file for TLS with ZooKeeper cannot be used: {error}") from None
        try:
            async with asyncio.timeout(patience):
                await members._begin()
        except BaseException as error:
            await members.close()
            if isinstance(error, TimeoutError):
                raise ClusterError(
                    f"ZooKeeper does not answer at {members._address.hosts} ({patience:g} s){members._client.handler.refused}"
                ) from None
            raise
        return members

    def __repr__(self) -> str:
        return f"<ZooKeeper {self._address.hosts}{self._folder}, {self._client.client_state}>"

    @property
    def ttl(self) -> float:
        """Seconds, as the server has granted them at the last connection."""
        return self._client.granted

    async def enter(self, epoch: int, about: str) -> None:
        """Make the ephemeral node."""
        path = f"{self._folder}/{epoch}"
        if self._entered is not None and self._entered[0] != path:
            self._former.add(self._entered[0])
        self._entered = path, about.encode()
        await self.confirm()

    async def confirm(self) -> None:
        """Write to the ephemeral node, or make it anew if the session that had it has ended."""
        entered = self._entered
        if entered is None:
            return
        path, about = entered
        await self._delete_former()
        try:
            stat = await self._answer(self._client.set_async, path, about)
            if stat.ephemeralOwner == self._client.session_id:
                return
            await self._delete(path)  # an earlier session's, which will end
        except NoNodeError:
            pass
        if self._entered == entered:  # it may have left meanwhile
            await self._create(path, about)

    async def present(self) -> frozenset[int]:
        """Return the epochs of all ephemeral nodes."""
        try:
            await self._answer(self._client.sync_async, self._folder)  # servers may lag behind
            names = await self._answer(self._client.get_children_async, self._folder)
        except NoNodeError:
            return frozenset()
        return frozenset(int(name) for name in names if name.isdecimal())

    async def leave(self) -> None:
        """Delete the ephemeral node."""
        entered, self._entered = self._entered, None
        if entered is not None:
            self._former.add(entered[0])
        await self._delete_former()

    async def remove(self) -> None:
        """Delete all that there is of the crawl."""
        for epoch in await self.present():
            await self._delete(f"{self._folder}/{epoch}")
        await self._delete(self._folder)
        await self._delete(self._folder.removesuffix("/nodes"))

    async def close(self) -> None:
        """End the session."""
        self._entered = None
        await asyncio.wait([_aside(self._client.end)], timeout=_CLOSING)

    async def _begin(self) -> None:
        began, loop = asyncio.Event(), asyncio.get_running_loop()

        def listen(state: str) -> None:
            if state == KazooState.CONNECTED:
                loop.call_soon_threadsafe(began.set)

        self._client.add_listener(listen)
        await _aside(self._client.start_async)
        await began.wait()
        self._client.remove_listener(listen)
        while True:
            try:
                await self._answer(self._client.ensure_path_async, self._folder)
            except UnreachableError:  # lost again; the caller has the patience
                await asyncio.sleep(_AGAIN)
            else:
                return

    async def _create(self, path: str, about: bytes) -> None:
        try:
            try:
                await self._answer(self._client.create_async, path, about, ephemeral=True)
            except NoNodeError:  # ZooKeeper has lost its data
                await self._answer(self._client.ensure_path_async, self._folder)
                await self._answer(self._client.create_async, path, about, ephemeral=True)
        except NodeExistsError as error:  # made by a question that had no answer
            raise UnreachableError("another question is under way") from error

    async def _delete_former(self) -> None:
        for path in sorted(self._former):
            await self._delete(path)
            self._former.discard(path)

    async def _delete(self, path: str) -> None:
        with suppress(NoNodeError):
            await self._answer(self._client.delete_async, path)

    async def _answer(self, ask: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Ask kazoo something; return the answer."""
        self._client.used_at = time.monotonic()
        if not self._client.connected:
            raise UnreachableError("there is no connection with ZooKeeper")
        try:
            async with asyncio.timeout(self.ttl / 2):
                return await asyncio.wrap_future(_future(ask(*arguments, **options)))
        except (NoNodeError, NodeExistsError):
            raise
        except NoAuthError:
            raise ClusterError(f"ZooKeeper refuses access to {self._folder}") from None
        except (KazooException, OSError, RuntimeError) as error:
            raise UnreachableError(f"ZooKeeper: {type(error).__name__}") from error


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """Gives up a server that does not take the connection before the session is lost, and does TLS: kazoo leaves a connection open that fails."""

    def __init__(self, tls: dict[str, str] | None) -> None:
        super().__init__()
        self.refused = ""
        """What was wrong with the last server's TLS."""
        self._context: ssl.SSLContext | None = None
        if tls is not None:
            self._context = ssl.create_default_context(cafile=tls.get("ssl_ca_certs"))
            if "ssl_certfile" in tls:
                self._context.load_cert_chain(tls["ssl_certfile"], tls.get("ssl_keyfile"))

    def create_connection(self, *arguments: Any, timeout: float, **options: Any) -> Any:
        timeout = min(timeout, _CONNECTING)
        connection = super().create_connection(*arguments, timeout=timeout, **options)
        if self._context is None:
            return connection
        try:
            return self._context.wrap_socket(connection, server_hostname=options["hostname"])
        except OSError as error:
            connection.close()
            self.refused = f": {error}"
            raise


class _Client(KazooClient):  # type: ignore[misc]
    """kazoo's client, which says what was granted, pings only as long as it is used, and does not die of an answer that makes no sense."""

    def __init__(self, address: Address, session: float) -> None:
        handler = _Handler(address.tls)
        super().__init__(
            address.hosts,
            timeout=session,
            handler=handler,
            auth_data=[("digest", address.credentials)] if address.credentials else None,
            default_acl=CREATOR_ALL_ACL if address.credentials else None,
            connection_retry=KazooRetry(sleep_func=handler.sleep_func, **_RETRY),
        )
        self.granted = 0.0
        self.used_at = time.monotonic()
        connection = self._connection
        # kazoo has no other way.
        self._invoke, connection._invoke = connection._invoke, self._note  # noqa: SLF001
        self._ping, connection._send_ping = connection._send_ping, self._ping_if_used  # noqa: SLF001
        self._attempt, connection._connect_attempt = connection._connect_attempt, self._survive  # noqa: SLF001

    def _note(self, timeout: float, request: object, xid: int | None = None) -> Any:
        answer = self._invoke(min(timeout, _CONNECTING), request, xid)
        if isinstance(request, Connect) and answer[0].time_out > 0:
            self.granted = answer[0].time_out / 1000
        return answer

    def _ping_if_used(self, *arguments: Any) -> None:
        if time.monotonic() < self.used_at + self.granted:
            self._ping(*arguments)

    def _survive(self, *arguments: Any) -> Any:
        try:
            return self._attempt(*arguments)
        except Exception:  # kazoo has logged it; its thread would end
            self._session_callback(KeeperState.CONNECTING)
            return None

    @property
    def session_id(self) -> int | None:
        """Of the present session."""
        identity = self.client_id
        return identity[0] if identity is not None else None

    def end(self) -> None:
        """Stop and close; this blocks."""
        with suppress(Exception):  # it was not started, or hangs; the session ends by itself
            self.stop()
            self.close()


def _files(query: str) -> list[tuple[str, str]]:
    found = parse_qsl(query, strict_parsing=True) if query else []
    if not _FILES.issuperset(name for name, _ in found):
        raise ValueError
    return found


def _future(result: Any) -> Future[Any]:
    """Return what becomes of a result of kazoo's."""
    future: Future[Any] = Future()

    def settle(result: Any) -> None:
        if future.done() or not future.set_running_or_notify_cancel():
            return
        if result.successful():
            future.set_result(result.value)
        else:
            future.set_exception(result.exception)

    result.rawlink(settle)
    return future


def _aside(call: Callable[[], object]) -> asyncio.Future[Any]:
    """Call a function that blocks, in a thread for which an ending program does not wait."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # it is raised where the result is wanted
            future.set_exception(error)

    future.set_running_or_notify_cancel()
    threading.Thread(target=run, daemon=True).start()
    return asyncio.wrap_future(future)
