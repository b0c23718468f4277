"""Names to addresses: DNS by c-ares, with a cache that keeps to the time to live.

Order of sources: ``--resolve`` overrides, IP literals, ``localhost`` (RFC 6761: always loopback), the cache, then
``/etc/hosts`` and the name servers of ``/etc/resolv.conf``, IPv6 and IPv4 in the order of RFC 6724.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING

import aiodns
import pycares

from andante.fetch.outcome import Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Answer = list[str] | Failure
"""Addresses of a host, best first, never empty; or why there are none."""

TTL_MIN, TTL_MAX = 60.0, 3600.0
"""Seconds that an answer is kept at least (names with a TTL of 0 would be asked for at each connection) and at most."""

TTL_NO_SUCH_HOST, TTL_FAILURE = 60.0, 5.0
"""Seconds that a denial, and an error of the name servers, is kept."""

ADDRESSES_MAX = 32
"""Addresses of a host that are kept, the best; an answer has room for 4,000, and each visit looks at all of them."""

CACHE_SIZE = 20_000
"""Hosts whose answers are kept."""

_TRY_TIMEOUT, _TRIES = 2.0, 3  # a lost packet costs 2 s, a dead name server about 10

_DENIALS = frozenset(
    {
        aiodns.error.ARES_ENOTFOUND,
        aiodns.error.ARES_ENODATA,
        aiodns.error.ARES_ENONAME,
        aiodns.error.ARES_EBADNAME,
    }
)


def parse_override(rule: str) -> tuple[tuple[str, int], list[str]]:
    """Parse ``HOST:PORT:ADDR``, as curl has it: several addresses by commas, IPv6 in brackets or not.

    Raises:
        ValueError: the rule is not of this form.
    """
    host, port, addresses = rule.split(":", 2)
    literals = [
        address.strip().removeprefix("[").removesuffix("]") for address in addresses.split(",")
    ]
    return (host.lower(), int(port)), [str(ip_address(literal)) for literal in literals]


class Resolver:
    """Resolves host names; one for the whole crawl, in one event loop.

    Args:
        overrides: rules ``HOST:PORT:ADDR`` that win over everything.
        nameservers: ``ADDRESS`` or ``ADDRESS:PORT`` to ask instead of the system's.
        clock: gives the time for the cache, seconds.

    Raises:
        ValueError: an override is not of its form.
    """

    def __init__(
        self,
        *,
        overrides: Iterable[str] = (),
        nameservers: Sequence[str] = (),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._overrides = dict(map(parse_override, overrides))
        self._nameservers = nameservers
        self._clock = clock
        self._cache: dict[str, tuple[float, Answer]] = {}
        self._asking: dict[str, asyncio.Task[Answer]] = {}
        self._channel: aiodns.DNSResolver | None = None

    async def resolve(self, host: str, port: int) -> Answer:
        """Return the addresses of a host, or why there are none.

        Args:
            host: name in ASCII form or IP literal without brackets, lower case.
            port: only chooses the override.
        """
        override = self._overrides.get((host, port))
        if override is not None:
            return override
        cached = self._cache.get(host)
        if cached is not None and self._clock() < cached[0]:
            return cached[1]
        literal = _literal(host)
        if literal is not None:
            return literal
        asking = self._asking.get(host)
        if asking is None:
            asking = self._asking[host] = asyncio.create_task(self._ask(host))
        return await asyncio.shield(asking)  # others may wait for it, too

    async def close(self) -> None:
        """Give up what is being asked, and free the sockets."""
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def _ask(self, host: str) -> Answer:
        try:
            answer, ttl = await self._query(host)
            self._keep(host, answer, ttl)
            return answer
        finally:
            del self._asking[host]

    async def _query(self, host: str) -> tuple[Answer, float]:
        try:
            result = await self._open_channel().getaddrinfo(
                host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM
            )
        except aiodns.error.DNSError as error:
            code, text = (*error.args, "")[:2]
            outcome = Outcome.NO_SUCH_HOST if code in _DENIALS else Outcome.DNS
            ttl = TTL_NO_SUCH_HOST if code in _DENIALS else TTL_FAILURE
            return Failure(outcome, str(text)), ttl
        except (OSError, RuntimeError, UnicodeError, pycares.AresError) as error:
            return Failure(Outcome.DNS, f"cannot resolve: {error}"), TTL_FAILURE
        addresses = list(dict.fromkeys(_text(node) for node in result.nodes))[:ADDRESSES_MAX]
        if not addresses:
            return Failure(Outcome.NO_SUCH_HOST, "the name has no address"), TTL_NO_SUCH_HOST
        ttl = min(node.ttl for node in result.nodes)
        return addresses, min(max(ttl, TTL_MIN), TTL_MAX)

    def _open_channel(self) -> aiodns.DNSResolver:
        if self._channel is None:
            self._channel = aiodns.DNSResolver(
                nameservers=self._nameservers or None, timeout=_TRY_TIMEOUT, tries=_TRIES
            )
        return self._channel

    def _keep(self, host: str, answer: Answer, ttl: float) -> None:
        self._cache.pop(host, None)
        if len(self._cache) >= CACHE_SIZE:
            del self._cache[next(iter(self._cache))]
        self._cache[host] = self._clock() + ttl, answer


def _literal(host: str) -> list[str] | None:
    if host == "localhost" or host.endswith(".localhost"):
        return ["127.0.0.1", "::1"]
    try:
        return [str(ip_address(host))]
    except ValueError:
        return None


def _text(node: pycares.AddrInfoNode) -> str:
    address = node.addr[0]
    return address.decode("ascii") if isinstance(address, bytes) else str(address)
