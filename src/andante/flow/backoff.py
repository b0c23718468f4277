"""Back-off: what each outcome of a fetch asks for, and how long a server or an IP address in trouble is left alone.

The table and the rules, with their reasons, are in docs/explanation/back-off.md.
"""

from __future__ import annotations

from enum import Enum, auto
from math import inf
from typing import NamedTuple

import msgspec


class Again(Enum):
    """Whether the URL is tried again."""

    NEVER = auto()
    """The outcome is final."""
    UNCOUNTED = auto()
    """As soon as the server may be asked, and it does not count: nothing was wrong with the request."""
    COUNTED = auto()
    """Later, as often as the user's ``retries`` says."""
    PATIENTLY = auto()
    """Later, and `PATIENCE` times as often: it was the server that refused, whatever the URL."""


PATIENCE = 5
"""How many times ``retries`` a URL is tried again that was refused; not for ever, for some servers refuse one URL only."""


class Sign(Enum):
    """What an outcome says of the server, or of its IP address."""

    GOOD = auto()
    """It answers."""
    NEUTRAL = auto()
    """Nothing."""
    MILD = auto()
    """Perhaps it is in trouble, perhaps the page is: so many of these in a row are as one `BAD`."""
    BAD = auto()
    """It is in trouble, or asks to be left alone."""
    FATAL = auto()
    """If it has never answered, it never will; else as `BAD`."""


class Verdict(NamedTuple):
    """What follows from one outcome: a row of the table."""

    again: Again
    server: Sign
    address: Sign = Sign.NEUTRAL
    overload: bool = False
    """A sign that fewer connections should be open to the server."""
    refused: bool = False
    """The server met the request and turned it down: it may be metering."""


_FINAL = Verdict(Again.NEVER, Sign.GOOD, Sign.GOOD)
_BROKEN = Verdict(Again.NEVER, Sign.NEUTRAL, Sign.GOOD)
_FAULTY = Verdict(Again.COUNTED, Sign.MILD, Sign.GOOD)

OUTCOMES = {
    "no-such-host": Verdict(Again.NEVER, Sign.FATAL),
    "dns": Verdict(Again.COUNTED, Sign.BAD),
    "forbidden-address": Verdict(Again.NEVER, Sign.FATAL),
    "refused": Verdict(Again.COUNTED, Sign.BAD, overload=True),
    "unreachable": Verdict(Again.COUNTED, Sign.BAD, Sign.BAD),
    "connect-timeout": Verdict(Again.COUNTED, Sign.BAD, Sign.BAD, overload=True),
    "tls": Verdict(Again.NEVER, Sign.FATAL),
    "stale": Verdict(Again.UNCOUNTED, Sign.NEUTRAL),
    "reset": Verdict(Again.COUNTED, Sign.BAD, Sign.MILD, overload=True),
    "closed": Verdict(Again.COUNTED, Sign.MILD, overload=True),
    "first-byte-timeout": Verdict(Again.COUNTED, Sign.BAD, Sign.MILD, overload=True),
    "idle-timeout": Verdict(Again.COUNTED, Sign.BAD, Sign.MILD, overload=True),
    "total-timeout": Verdict(Again.COUNTED, Sign.MILD, overload=True),
    "bad-response": _BROKEN,
    "header-too-large": _BROKEN,
    "bad-encoding": _FINAL,
    "decoded-too-large": _FINAL,
}
"""What follows from each outcome of a fetch but ``ok``, by its name."""

STATUSES = {
    408: Verdict(Again.COUNTED, Sign.MILD, Sign.GOOD),
    429: Verdict(Again.PATIENTLY, Sign.BAD, Sign.BAD, refused=True),
    501: _FINAL,
    502: _FAULTY._replace(overload=True),
    503: Verdict(Again.PATIENTLY, Sign.BAD, Sign.BAD, overload=True, refused=True),
    504: _FAULTY._replace(overload=True),
    505: _FINAL,
}
"""What follows from a response, by its status. Of those not here 5xx is a fault that may pass, all others are final."""


def verdict(outcome: str, status: int = 0) -> Verdict:
    """Look up what follows from the outcome of a fetch, and of ``"ok"`` from the response's status.

    Raises:
        KeyError: there is no such outcome.
    """
    if outcome != "ok":
        return OUTCOMES[outcome]
    return STATUSES.get(status) or (_FAULTY if 500 <= status <= 599 else _FINAL)


class BackoffSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How patient back-off is. Times are seconds."""

    base: float = 2.0
    """The first wait; each further one is twice as long. 2, 6, 14, 30, 62, 126 s after the first failure it is tried again: just after bans of
    the usual lengths have ended."""
    jitter: float = 0.25
    """Waits are longer by up to this share of them, by chance, so that several crawlers do not come back together."""
    mild: int = 5
    """As many mild signs in a row, with no answer between them, are as one bad sign."""
    quiet: float = 300.0
    """So long with nothing asked of it is worth an answer: see `Backoff.is_over`."""
    give_up_after: int = 5
    """A server that has never answered is given up at so many failures: 30 s of waiting."""
    set_aside_after: int = 8
    """A server that has answered before is set aside at so many failures: after 254 s of waiting, when a restart would be over."""
    set_aside: float = 900.0
    """How long it is set aside, each time; its URLs are kept."""
    set_asides: int = 3
    """How many times it is set aside before it is given up: a crawl must end."""


_DEFAULTS = BackoffSettings()


class Trouble(msgspec.Struct, frozen=True, array_like=True):
    """What a job keeps of a back-off, besides how long it holds."""

    failures: int
    set_asides: int
    has_answered: bool


class Backoff:
    """The trouble of one server, or of one IP address. Without trouble there need not be one: see `is_over`.

    Failures are counted, and each answer takes one back: who answers more often than he fails has few, who fails more often has ever more.

    Invariants: ``until`` never moves back, what the server asks for is always kept to, and no other wait is longer than the longest of
    `BackoffSettings`; a request that was sent before the last failure was known changes no count, so failures of requests in flight
    together count once; after an answer to a later one it is not given up.

    Args:
        settings: how patient it is.
        has_answered: it has answered at some time, so it is worth waiting for.
        trouble: that it was in when it was last heard of.
        quiet_from: since when nothing has been asked of it, where there is such trouble.
    """

    __slots__ = (
        "_clock",
        "_failed_at",
        "_mild",
        "_quiet_from",
        "_set_asides",
        "_settings",
        "failures",
        "has_answered",
        "is_given_up",
        "until",
    )

    def __init__(
        self,
        settings: BackoffSettings = _DEFAULTS,
        *,
        has_answered: bool = True,
        trouble: Trouble | None = None,
        quiet_from: float = -inf,
    ) -> None:
        self._settings = settings
        self.has_answered = has_answered
        self.failures = 0
        """Failures less answers, at least 0; of one that has answered at most ``set_aside_after``."""
        self.until = -inf
        """Nothing may be asked before this time."""
        self.is_given_up = False
        """It has failed for so long that nothing should be asked of it any more."""
        self._mild = 0
        self._set_asides = 0
        self._failed_at = self._quiet_from = self._clock = -inf
        if trouble is not None:
            self.failures, self._set_asides = trouble.failures, trouble.set_asides
            self.has_answered = trouble.has_answered
            self._quiet_from = quiet_from

    def __repr__(self) -> str:
        state = "given up" if self.is_given_up else f"until {self.until:.1f}"
        return f"<Backoff: {self.failures} failures, set aside {self._set_asides} times, {state}>"

    @property
    def limit(self) -> float:
        """Most requests in flight: 1 while in trouble, else infinite."""
        return 1 if self.failures else inf

    @property
    def trouble(self) -> Trouble | None:
        """What a job should keep; None where there are no failures, or nothing is asked any more."""
        if not self.failures or self.is_given_up:
            return None
        return Trouble(self.failures, self._set_asides, self.has_answered)

    @property
    def is_set_aside(self) -> bool:
        """It fails so persistently that the wait is a long one."""
        return self.failures >= self._settings.set_aside_after

    def is_over(self, now: float) -> bool:
        """Tell whether all is forgiven, by answers or by quiet time: this object can go, if nothing waits to be asked."""
        marks = self.failures + (self._mild > 0)
        return now >= self.until and now - self._quiet_from >= marks * self._settings.quiet

    def on_outcome(
        self, sign: Sign, *, sent_at: float, now: float, jitter: float, at_least: float = 0.0
    ) -> float:
        """Take the outcome of a request.

        Args:
            sign: what it says, from `verdict`.
            sent_at: when the request was sent, or the attempt to connect began.
            now: the time, of a clock that does not run back.
            jitter: chance, at least 0 and below 1.
            at_least: seconds that the server asks for (Retry-After), or is known to refuse for; 0: neither.

        Returns:
            The time before which nothing may be asked: `until`.

        Raises:
            ValueError: ``now`` is before that of an earlier call, or before ``sent_at``.
        """
        if not (now >= self._clock and now >= sent_at):
            message = f"the clock must not run back: {now} after {self._clock}, sent at {sent_at}"
            raise ValueError(message)
        self._clock = now
        is_news = sent_at >= self._failed_at
        wait = 0.0
        if sign is Sign.GOOD:
            if is_news:
                self._answered()
        elif self._is_failure(sign) and is_news:
            wait = self._fail(sign, now) * (1 + self._settings.jitter * jitter)
        if at_least > 0:
            wait = max(wait, at_least + jitter)  # Retry-After counts whole seconds
        if wait:
            self.until = max(self.until, now + wait)
        self._quiet_from = max(now, self.until)
        return self.until

    def _answered(self) -> None:
        self.failures = max(0, min(self.failures, self._settings.set_aside_after) - 1)
        self.has_answered = True
        self.is_given_up = False
        self._mild = 0
        if not self.failures:
            self._set_asides = 0

    def _is_failure(self, sign: Sign) -> bool:
        if sign is Sign.MILD:
            self._mild += 1
            if self._mild < self._settings.mild:
                return False
            self._mild = 0
        return sign is not Sign.NEUTRAL

    def _fail(self, sign: Sign, now: float) -> float:
        """Count a failure; return the seconds to wait."""
        settings = self._settings
        self._failed_at = now
        self.failures += 1
        if self.has_answered:
            self.failures = min(self.failures, settings.set_aside_after)
            self._set_asides += self.is_set_aside
            is_vain = self._set_asides > settings.set_asides
        else:
            is_vain = sign is Sign.FATAL or self.failures >= settings.give_up_after
        self.is_given_up = self.is_given_up or is_vain
        return (
            settings.set_aside if self.is_set_aside else settings.base * 2.0 ** (self.failures - 1)
        )
