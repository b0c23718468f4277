"""robots.txt by RFC 9309: how it is read, and what it allows.

Rules:

1. 2xx: the first 500 KiB count; `andante.parse.robots` reads them. An HTML page in their place has no rules.
2. 3xx: followed up to five times, to other servers too; a longer chain, or one that leads nowhere, is as good as 4xx.
3. 4xx other than 429: there is no robots.txt, all is allowed.
4. 429, 5xx, no response, or one that is not whole in time or cannot be decoded: nothing is allowed, until a later reading says otherwise.
5. What was read holds for 24 hours; that nothing could be read, for five minutes.
"""

from __future__ import annotations

import re
import zlib
from math import inf
from typing import TYPE_CHECKING

import msgspec

from andante import url as urls
from andante.fetch.coding import content_encoding, decode
from andante.fetch.outcome import Failure, Outcome, Response
from andante.parse.robots import parse
from andante.parse.robots_rules import check

if TYPE_CHECKING:
    from andante.page import Header

SIZE_MAX = 500 * 1024
"""Bytes of a robots.txt that count (RFC 9309, section 2.5, asks for at least so many)."""

BODY_MAX = SIZE_MAX + 1
"""Bytes to read of it: the one beyond tells that it is longer, and its last line may be cut in two."""

HOPS_MAX = 5
"""Redirects that are followed (section 2.3.1.2)."""

TTL = 86_400.0
"""Seconds that a reading holds (section 2.4)."""

TTL_UNREACHABLE = 300.0
"""Seconds until a robots.txt that could not be read is tried again."""

_UNPACKED_MAX = 4 * SIZE_MAX
"""Bytes of rules before they are compressed: percent-encoding makes three characters of one."""

_HTML = re.compile(rb"[\s\xef\xbb\xbf]*<")


class Robots(msgspec.Struct, frozen=True, gc=False):
    """What a robots.txt says to one crawler, and until when."""

    expires_at: float
    """Time, of the clock that ``now`` came from, from which the file is to be read again."""
    rules: str = ""
    """For `Matcher`; empty: all is allowed."""
    crawl_delay: float | None = None
    """Least seconds between requests that the server asks for."""
    sitemaps: tuple[str, ...] = ()
    """URLs of sitemaps as written, absolute or not. They are not packed: who reads the file takes them."""
    unreachable: str = ""
    """Why nothing could be read and so nothing is allowed, as ``"503"`` or an outcome; else empty."""


class _Packed(msgspec.Struct, array_like=True):
    agent: str
    took_sitemaps: bool
    crawl_delay: float | None
    rules: str


_FORM = b"\x01"
"""First byte of what is packed as below."""


def pack(robots: Robots, *, agent: str, took_sitemaps: bool) -> bytes:
    """Pack what a robots.txt says, for `unpack`.

    Args:
        robots: what it says.
        agent: product token of the crawler that it says this to.
        took_sitemaps: the crawler has taken up the sitemaps that the file names.
    """
    packed = _Packed(agent, took_sitemaps, robots.crawl_delay, robots.rules)
    return _FORM + zlib.compress(msgspec.msgpack.encode(packed), 6, -15)


def unpack(packed: bytes, *, agent: str, wants_sitemaps: bool, expires_at: float) -> Robots:
    """Return what was packed, perhaps by another crawler.

    Raises:
        ValueError: it was not packed so, is for a crawler of another name, or lacks the sitemaps that are wanted.
    """
    if packed[:1] != _FORM:
        raise ValueError("no packed robots.txt")
    unpacker = zlib.decompressobj(-15)
    try:
        body = unpacker.decompress(packed[1:], _UNPACKED_MAX)
        found = msgspec.msgpack.decode(body, type=_Packed)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError("no packed robots.txt") from error
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("a packed robots.txt that is cut off, too long, or followed by something")
    if found.agent != agent or (wants_sitemaps and not found.took_sitemaps):
        raise ValueError("a packed robots.txt that was read for another crawler")
    delay = found.crawl_delay
    if delay is not None and not 0 <= delay < inf:
        raise ValueError("a packed robots.txt with a Crawl-delay that is no time")
    check(found.rules)
    return Robots(expires_at, found.rules, delay)


class RobotsReading:
    """The reading of one server's robots.txt: fetch ``url``, give the result, until there is a `Robots`.

    Args:
        server: origin, ``scheme://host[:port]``.
        agent: product token of the crawler.
    """

    def __init__(self, server: str, *, agent: str) -> None:
        self.url = f"{server}/robots.txt"
        """Canonical URL to fetch now; after a redirect it may be another server's."""
        self._agent = agent
        self._hops = 0

    def on_result(self, result: Response | Failure, *, now: float) -> Robots | None:
        """Take the result of fetching ``url``; None means that ``url`` has moved and is to be fetched again.

        Args:
            result: of an exchange, or why there was no connection.
            now: time of any steady clock, seconds.
        """
        if isinstance(result, Failure):
            return self._unreachable(result.outcome, now)
        status = result.status
        if status == 429 or status >= 500:
            return self._unreachable(str(status), now)
        if 300 <= status < 400 and self._move(_location(result.headers)):
            return None
        if not 200 <= status < 300:
            return Robots(now + TTL)
        body = _body(result)
        if isinstance(body, Failure):
            return self._unreachable(body.outcome, now)
        found = parse(_counted(body), self._agent)
        return Robots(now + TTL, found.rules, found.crawl_delay, found.sitemaps)

    def _unreachable(self, reason: str, now: float) -> Robots:
        return Robots(now + TTL_UNREACHABLE, unreachable=reason)

    def _move(self, location: bytes) -> bool:
        target = urls.canonical(urls.from_header(location), self.url) if location else None
        if target is None or self._hops >= HOPS_MAX:
            return False
        self.url = target
        self._hops += 1
        return True


def _body(response: Response) -> bytes | Failure:
    if response.truncated == "time":
        return Failure(Outcome.TOTAL_TIMEOUT)
    encoding = content_encoding(response.headers)
    return decode(response.payload, encoding, limit=BODY_MAX, cut=True)


def _location(headers: list[Header]) -> bytes:
    return next((value for name, value in headers if name.lower() == b"location"), b"")


def _counted(body: bytes) -> bytes:
    """Return what counts of a file."""
    if _HTML.match(body):
        return b""
    if len(body) > SIZE_MAX:  # a rule cut in two would be another rule
        end = max(body.rfind(b"\n", 0, SIZE_MAX), body.rfind(b"\r", 0, SIZE_MAX))
        return body[: max(end, 0)]
    return body
