"""One connection to one server: requests go out, responses come back in their order.

Framing is llhttp's (by ``httptools``); this class adds what a crawler needs around it: limits, time-outs, and a named outcome
for each way in which a server can fail.

Rules:

1. Every exchange ends in exactly one `Response` or `Failure`; only cancellation raises, and rule 6.
2. A body longer than ``max_body``, or still under way when ``total_timeout`` ends, is cut and kept (``truncated``); the
   connection is then closed, as what follows on it cannot be trusted. A body that stops short of its Content-Length or
   last chunk is a failure.
3. A response that nobody asked for closes the connection, so that it can never answer the next request.
4. When the connection ends, the exchange whose turn it is gets the reason; those behind it, and one that had no byte yet on
   a connection that has served before, are ``stale``: they may be sent again at once.
5. Leniency is that of browsers. What llhttp refuses within its first `AGAIN_MAX` bytes is read again by `andante.fetch.lenient`; the
   connection is closed after it. A pipelined response that is refused makes its exchange ``stale``: sent again it comes first.
6. The memory of long bodies is counted, and bounded over all connections (`andante.fetch.bodies`). If the disk that takes what
   is beyond it is full or failing, the exchange raises the OSError.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Literal, cast

import httptools

from andante.fetch.bodies import STEP, UNCOUNTED, Body, BodyMemory
from andante.fetch.lenient import AGAIN_MAX, BadResponseError, LenientParser, is_chunked
from andante.fetch.outcome import Failure, Outcome, Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from andante.fetch.limits import Limits
    from andante.page import Header, Payload

_CHUNK_COST = 8
"""Bytes allowed for a byte of body: one in a chunk of its own takes six."""

_FRAMING_MAX = 2**18
"""Bytes of chunk framing and trailers allowed in a row beyond that, and beyond the limit of the header."""

_TICK_MIN = 0.002
"""Least delay of the timer, seconds: the loop's clock counts milliseconds."""


_Cut = Literal["", "length", "time"]
"""Why a body ends before its end."""


class _OddFramingError(Exception):
    """llhttp would read on to the end of the connection where browsers go by Content-Length."""


class _Exchange:
    """A request sent, and who waits for its response."""

    __slots__ = ("future", "max_body", "sent_at")

    def __init__(
        self, future: asyncio.Future[Response | Failure], sent_at: float, max_body: int
    ) -> None:
        self.future = future
        self.sent_at = sent_at
        self.max_body = max_body


class Connection(asyncio.Protocol):
    """An HTTP/1.1 connection; `Client.open` makes it.

    Args:
        limits: sizes and times that each exchange keeps to.
        clock: gives the time in seconds; the loop's own may be coarser.
        memory: of the bodies of all connections; None: this one has its own.
    """

    __slots__ = (
        "_body",
        "_check_at",
        "_checked",
        "_clock",
        "_exchanges",
        "_first_at",
        "_framing",
        "_head_done",
        "_headers",
        "_is_behind",
        "_lag",
        "_limits",
        "_loop",
        "_max_body",
        "_memory",
        "_parser",
        "_pieces",
        "_raw",
        "_read_at",
        "_reason",
        "_received",
        "_tick",
        "_timer",
        "_transport",
        "_turn_at",
        "address",
        "connect_time",
        "served",
        "tls_time",
    )

    def __init__(
        self,
        limits: Limits,
        clock: Callable[[], float] = monotonic,
        memory: BodyMemory | None = None,
    ) -> None:
        self.address = ""
        """IP address connected to."""
        self.connect_time = 0.0
        """Seconds that connecting took, TLS not included."""
        self.tls_time = 0.0
        """Seconds that the TLS handshake took; 0 without TLS."""
        self.served = 0
        """Responses received so far."""
        self._limits = limits
        self._clock = clock
        self._memory = memory or BodyMemory()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        # None before and after.
        self._parser: httptools.HttpResponseParser | LenientParser | None = None
        self._exchanges: deque[_Exchange] = deque()
        # One timer, armed again only when it fires: no deadline is nearer than a tick when it is set.
        self._timer: asyncio.TimerHandle | None = None
        self._tick = min(limits.first_byte_timeout, limits.idle_timeout, limits.total_timeout)
        # The response under way: that of the first exchange.
        self._headers: list[Header] = []
        self._pieces: list[bytes] = []
        self._body: Body | None = None  # the pieces before these, when there are many bytes
        self._reason = b""
        self._head_done = False
        self._received = 0
        self._checked = 0  # of these, when the body was looked at last
        self._check_at = UNCOUNTED  # when it will be
        self._framing = 0  # bytes in a row beyond what the body explains
        self._raw: list[bytes | memoryview] | None = None  # all reads, while it can be read again
        self._is_behind = False  # it was pipelined, so it may begin within a read
        self._max_body = limits.max_body
        self._turn_at = 0.0  # when the server became free to answer it
        self._first_at = 0.0  # the read with its first byte; 0 before
        self._lag = 0.0  # how late that was
        self._read_at = 0.0  # its last read

    def __repr__(self) -> str:
        state = "open" if self.is_reusable else "closed"
        return (
            f"<Connection to {self.address or '?'}: "
            f"{state}, {self.served} served, {self.in_flight} in flight>"
        )

    @property
    def is_reusable(self) -> bool:
        """True while another request may be sent."""
        return self._parser is not None and not self._wire.is_closing()

    @property
    def in_flight(self) -> int:
        """Number of requests sent whose responses have not ended."""
        return len(self._exchanges)

    async def exchange(self, request: bytes, *, max_body: int | None = None) -> Response | Failure:
        """Send a GET request and return its response.

        Requests sent before the last response has come are pipelined: they are answered in their order.

        Args:
            request: the whole request, header fields and empty line.
            max_body: another limit on the bytes of this body than the connection's.

        Cancellation: closes the connection; other exchanges on it end as ``stale``.
        """
        if not self.is_reusable:
            return Failure(Outcome.STALE, "the connection is closed")
        now = self._clock()
        future: asyncio.Future[Response | Failure] = self._loop.create_future()
        exchange = _Exchange(future, now, self._limits.max_body if max_body is None else max_body)
        self._exchanges.append(exchange)
        if len(self._exchanges) == 1:
            self._begin_turn(exchange, now, is_behind=False)
        self._wire.write(request)
        if self._timer is None:
            self._timer = self._loop.call_later(self._tick, self._on_timer)
        try:
            return await future
        except asyncio.CancelledError:
            self._abort(Failure(Outcome.STALE, "cancelled"))
            raise

    def close(self) -> None:
        """Close the connection; exchanges in flight end as ``stale``. May be called again."""
        self._end(Failure(Outcome.STALE, "closed by us"))
        if self._transport is not None:
            self._transport.close()

    # What the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; the protocol's part of `Client.open`."""
        self._transport = cast("asyncio.Transport", transport)
        parser = httptools.HttpResponseParser(self)
        parser.set_dangerous_leniencies(
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self._parser = parser

    def data_received(self, data: bytes) -> None:
        """Feed what was read to the parser, within the limits."""
        self._read_at = self._clock()
        rest: bytes | memoryview = data
        if not self._head_done and self._received + len(data) > self._limits.max_header:
            rest = self._feed_head(memoryview(data))
        self._received += len(rest)
        self._feed(rest)
        if self._received >= self._check_at:
            self._check_body()

    def connection_lost(self, exc: Exception | None) -> None:
        """End what is in flight with the reason."""
        if self._exchanges and exc is None and self._head_done and self._ends_at_eof():
            self._complete()
        self._end(self._loss(exc))

    # What the parser calls

    def on_message_begin(self) -> None:
        """Note the first byte of a response; refuse one that nobody asked for."""
        if not self._exchanges:
            self._abort(Failure(Outcome.STALE, "unsolicited response"))
        elif not self._first_at:  # not an interim response before
            self._first_at = self._read_at
            # What else was done since this turn of the loop began; its clock is in whole milliseconds.
            self._lag = max(0.0, self._read_at - self._loop.time() - 0.001)

    def on_status(self, reason: bytes) -> None:
        """Take (a part of) the reason phrase."""
        self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header field; those after the body (trailers) are dropped."""
        if not self._head_done:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Note that the body begins; an interim response (1xx) has none, whatever its fields say."""
        self._head_done = True
        parser = self._parser
        if parser is None:
            return
        if parser.get_status_code() < 100:
            self._abort(Failure(Outcome.BAD_RESPONSE, "status below 100"))
        elif not parser.should_keep_alive() and self._has_odd_framing():
            raise _OddFramingError

    def on_body(self, piece: bytes) -> None:
        """Take a piece of the body."""
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """Hand the response over; drop an interim one."""
        if self._parser is None:
            return
        if self._parser.get_status_code() < 200:
            self._clear()
            return
        keep = self._parser.should_keep_alive()
        self._complete()
        if not keep:
            self.close()

    # Inside

    @property
    def _wire(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    def _feed_head(self, data: memoryview) -> memoryview:
        """Feed as much as may belong to the head, and return the rest if the head has ended there."""
        room = self._limits.max_header - self._received
        self._received += room
        self._feed(data[:room])
        if self._head_done or not self._received:  # not: a response ended, another began
            return data[room:]
        self._abort(Failure(Outcome.HEADER_TOO_LARGE, f"more than {self._limits.max_header} bytes"))
        return data[:0]

    def _feed(self, data: bytes | memoryview) -> None:
        if self._parser is None:
            return
        if self._raw is not None:
            if self._received - len(data) > AGAIN_MAX:
                self._raw = None
            else:
                self._raw.append(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._abort(Failure(Outcome.BAD_RESPONSE, "switched protocols"))
        except httptools.HttpParserError as error:
            if isinstance(error, httptools.HttpParserCallbackError) and not isinstance(
                error.__context__, _OddFramingError
            ):
                raise
            self._feed_again(str(error))
        except BadResponseError as error:
            self._refuse(str(error))

    def _feed_again(self, problem: str) -> None:
        """Read the response again as browsers do, if it can be had from its beginning."""
        if self._raw is None or not self._exchanges:
            self._refuse(problem)
            return
        raw = b"".join(self._raw)
        self._raw = None
        self._clear()
        self._parser = LenientParser(self)
        self._feed(raw)

    def _refuse(self, problem: str) -> None:
        """End the response where it cannot be understood."""
        size = len(self._body or b"") + sum(map(len, self._pieces))
        if self._is_behind:
            self._abort(Failure(Outcome.STALE, f"to be read again: {problem}"))
        elif self._exchanges and size > self._max_body:
            self._cut("length")  # before that
        else:
            self._abort(Failure(Outcome.BAD_RESPONSE, problem))

    def _has_odd_framing(self) -> bool:
        """Tell whether there is a Content-Length besides a transfer coding that says nothing about the length."""
        if isinstance(self._parser, LenientParser):
            return False  # which knows
        names = {name.lower() for name, _ in self._headers}
        return {b"transfer-encoding", b"content-length"} <= names and not is_chunked(self._headers)

    def _check_body(self) -> None:
        """Count the pieces of the body, and cut it if it is too long."""
        if not self._exchanges:
            return
        pieces = b"".join(self._pieces)
        self._pieces.clear()
        if self._body is None:
            self._body = Body(self._memory)
        try:
            self._body.add(pieces)
        except OSError as error:
            self._abort(error)
            return
        room = self._max_body - len(self._body)
        if room < 0:
            self._cut("length")
            return
        framing = self._received - self._checked - _CHUNK_COST * len(pieces)
        self._framing = max(0, self._framing + framing)
        if self._framing > self._limits.max_header + _FRAMING_MAX:
            self._abort(Failure(Outcome.BAD_RESPONSE, "chunk framing without end"))
        self._checked = self._received
        self._check_at = self._received + min(STEP, room + 1)

    def _cut(self, reason: Literal["length", "time"]) -> None:
        """End the response here, in its body, and the connection with it."""
        self._complete(reason)
        self._abort(Failure(Outcome.STALE, "the response before was cut"))

    def _complete(self, truncated: _Cut = "") -> None:
        """Give the response to the first exchange, and the turn to the next."""
        assert self._parser is not None
        try:
            payload, truncated = self._payload(truncated)
        except OSError as error:
            self._abort(error)
            return
        exchange = self._exchanges.popleft()
        response = Response(
            self._parser.get_status_code(),
            self._reason.decode("latin-1"),
            self._parser.get_http_version(),
            self._headers,
            payload,
            exchange.sent_at,
            self._first_at - exchange.sent_at,
            self._read_at - exchange.sent_at,
            self._received,
            truncated,
            self._lag,
            self._body,
        )
        self.served += 1
        self._clear()
        self._raw = None
        self._received = 0
        if self._exchanges:
            self._begin_turn(self._exchanges[0], self._read_at, is_behind=True)
        if not exchange.future.done():
            exchange.future.set_result(response)

    def _payload(self, truncated: _Cut) -> tuple[Payload, _Cut]:
        """Return the body, within its limit."""
        payload = b"".join(self._pieces)
        if self._body is not None:
            self._body.add(payload)
            is_cut = len(self._body) > self._max_body
            return self._body.finish(self._max_body), "length" if is_cut else truncated
        if len(payload) > self._max_body:
            return payload[: self._max_body], "length"
        return payload, truncated

    def _clear(self) -> None:
        self._headers = []
        self._reason = b""
        self._head_done = False
        self._pieces.clear()
        self._body = None

    def _begin_turn(self, exchange: _Exchange, now: float, *, is_behind: bool) -> None:
        self._turn_at = now
        self._first_at = 0.0
        self._received = self._checked = self._framing = 0
        self._is_behind = is_behind
        self._raw = None if is_behind else []
        self._max_body = exchange.max_body
        self._check_at = min(UNCOUNTED, exchange.max_body + 1)

    def _ends_at_eof(self) -> bool:
        """Tell whether the end of the connection is the end of the body (RFC 9112, section 6.3)."""
        has_length = any(
            value.strip() for name, value in self._headers if name.lower() == b"content-length"
        )
        return not has_length and not is_chunked(self._headers)

    def _loss(self, exc: Exception | None) -> Failure:
        """Say what the loss of the connection means for the first exchange."""
        if not self._first_at and self.served:
            return Failure(Outcome.STALE, "closed by the server before the response")
        where = "before the response"
        if self._first_at:
            where = "in the body" if self._head_done else "in the header"
        if exc is None:
            return Failure(Outcome.CLOSED, where)
        if isinstance(exc, ssl.SSLError):
            return Failure(Outcome.TLS, f"{exc.reason or exc} {where}")
        return Failure(Outcome.RESET, where)

    def _on_timer(self) -> None:
        self._timer = None
        if not self._exchanges:
            return
        now, limits = self._clock(), self._limits
        total = self._turn_at + limits.total_timeout
        if self._first_at:
            outcome, due = Outcome.IDLE_TIMEOUT, self._read_at + limits.idle_timeout
        else:
            outcome, due = Outcome.FIRST_BYTE_TIMEOUT, self._turn_at + limits.first_byte_timeout
        if now >= total:
            if self._pieces or self._body:
                self._cut("time")
            else:
                self._abort(Failure(Outcome.TOTAL_TIMEOUT, f"{limits.total_timeout:g} s"))
        elif now >= due:
            self._abort(Failure(outcome))
        else:
            delay = min(total - now, due - now, self._tick)
            self._timer = self._loop.call_later(max(delay, _TICK_MIN), self._on_timer)

    def _abort(self, failure: Failure | OSError) -> None:
        """End all exchanges, and the connection without a farewell."""
        self._end(failure)
        self._wire.abort()

    def _end(self, failure: Failure | OSError) -> None:
        """End the first exchange with ``failure`` and those behind it as stale."""
        self._parser = None
        self._clear()
        self._raw = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._exchanges:
            future = self._exchanges.popleft().future
            if not future.done():
                if isinstance(failure, OSError):
                    future.set_exception(failure)
                else:
                    future.set_result(failure)
            failure = Failure(Outcome.STALE, "the exchange before failed")
