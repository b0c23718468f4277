"""robots.txt by RFC 9309: how it is read, and what it allows.

Rules:

1. 2xx: the first 500 KiB count, as UTF-8. An HTML page in its place has no rules.
2. 3xx: followed up to five times, to other servers too; a longer chain, or one that leads nowhere, is as good as 4xx.
3. 4xx other than 429: there is no robots.txt, all is allowed.
4. 429, 5xx, no response, or one that is not whole in time or cannot be decoded: nothing is allowed, until a later reading says otherwise.
5. What was read holds for 24 hours; that nothing could be read, for five minutes.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from protego import Protego

from andante import url as urls
from andante.fetch.coding import content_encoding, decode
from andante.fetch.outcome import Failure, Outcome, Response

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

PACKED_MAX = 2048
"""Bytes of a robots.txt that may be packed, some 400 rules: to read a longer one again is cheaper than to hand it around."""

_UNPACKED_MAX = 16 * 1024
"""Bytes of it before it is compressed; more hardly ever come down to so few."""

_HTML = re.compile(rb"[\s\xef\xbb\xbf]*<")


class Robots:
    """What a robots.txt says to one crawler, and until when.

    Args:
        text: the rules; empty allows everything.
        agent: product token of the crawler, as ``andante``.
        expires_at: when it is to be read again.
        unreachable: why it could not be read, so that nothing is allowed; empty if it could.
    """

    __slots__ = (
        "_agent",
        "_rules",
        "crawl_delay",
        "expires_at",
        "packed",
        "sitemaps",
        "unreachable",
    )

    def __init__(
        self, text: str = "", *, agent: str, expires_at: float, unreachable: str = ""
    ) -> None:
        rules = Protego.parse(text)
        self._agent = agent
        self._rules = rules if "llow" in text.lower() else None
        self.expires_at = expires_at
        """Time, of the clock that ``now`` came from, from which the file is to be read again."""
        self.unreachable = unreachable
        """Why nothing could be read and so nothing is allowed, as ``"503"`` or an outcome; else empty."""
        self.crawl_delay: float | None = rules.crawl_delay(agent)
        """Least seconds between requests that the server asks for."""
        self.sitemaps: list[str] = list(rules.sitemaps)
        """URLs of sitemaps as written, absolute or not."""
        self.packed = _pack(text)
        """The rules, for `unpack`; None: they are too long."""

    @classmethod
    def unpack(cls, packed: bytes, *, agent: str, expires_at: float) -> Robots:
        """Return what another crawler has read, perhaps under another name.

        Raises:
            ValueError: it was not packed so.
        """
        return cls(_unpack(packed), agent=agent, expires_at=expires_at)

    def allows(self, url: str) -> bool:
        """Tell whether the crawler may ask for a URL of the server."""
        if self._rules is None:
            return not self.unreachable
        return bool(self._rules.can_fetch(url, self._agent))


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
            return Robots(agent=self._agent, expires_at=now + TTL)
        body = _body(result)
        if isinstance(body, Failure):
            return self._unreachable(body.outcome, now)
        return Robots(_text(body), agent=self._agent, expires_at=now + TTL)

    def _unreachable(self, reason: str, now: float) -> Robots:
        return Robots(agent=self._agent, expires_at=now + TTL_UNREACHABLE, unreachable=reason)

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


def _pack(text: str) -> bytes | None:
    body = text.encode()
    if len(body) > _UNPACKED_MAX:
        return None
    packed = zlib.compress(body, 6, -15) if body else b""
    return packed if len(packed) <= PACKED_MAX else None


def _unpack(packed: bytes) -> str:
    """Undo `_pack`; of what it did not make, read no more than that could be."""
    if not packed:
        return ""
    unpacker = zlib.decompressobj(-15)
    try:
        body = unpacker.decompress(packed, _UNPACKED_MAX + 1)
    except zlib.error as error:
        raise ValueError("no packed robots.txt") from error
    if not unpacker.eof or unpacker.unused_data or len(body) > _UNPACKED_MAX:
        raise ValueError("a packed robots.txt that is cut off, too long, or followed by something")
    return body.decode()


def _text(body: bytes) -> str:
    if _HTML.match(body):
        return ""
    if len(body) > SIZE_MAX:  # a rule cut in two would be another rule
        body = body[: max(body.rfind(b"\n", 0, SIZE_MAX), 0)]
    return body.decode("utf-8-sig", "replace")
