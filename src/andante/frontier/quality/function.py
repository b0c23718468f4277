"""A user's function as a quality."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, nan

from andante.frontier.quality.base import Found

SLOW = 1e-3
"""Seconds a call in the mean above which the user is told."""
_CALLS = 100
"""Calls before the mean is looked at: the first ones may import or load something. It is looked at sooner if they have taken as long already."""
_CALLS_MIN = 10


class Function:
    """Worth is what a function of one link returns.

    What is no finite number of at least 0 counts as 0, also when the function raises. The user is told once for each kind of fault, and
    once that it is slow.

    Args:
        function: is called with a `Found` for each link met for the first time, and for each seed.
        name: what messages call it.
        problem: is called with a message of one line.
        clock: seconds, to measure the function; None: it is not measured.
    """

    wants_text = True
    rescores = False

    def __init__(
        self,
        function: Callable[[Found], float],
        *,
        name: str,
        problem: Callable[[str], None],
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._function = function
        self._name = name
        self._problem = problem
        self._clock = clock
        self._kinds: set[str] = set()
        self._calls = 0
        self._seconds = 0.0

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Ask for each."""
        return self._ask([Found(url) for url in urls])

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Ask for each link."""
        del url, text
        return self._ask(found)

    def due(self) -> None:
        """Nothing changes."""

    def _ask(self, found: Sequence[Found]) -> list[float]:
        if self._clock is None:
            return [self._score(link) for link in found]
        start = self._clock()
        scores = [self._score(link) for link in found]
        self._seconds += self._clock() - start
        self._calls += len(found)
        if self._calls >= _CALLS_MIN and self._seconds > SLOW * max(self._calls, _CALLS):
            mean = 1e3 * self._seconds / self._calls
            self._tell("slow", f"is slow: {mean:.1f} ms a link, in which nothing else is done")
        return scores

    def _score(self, link: Found) -> float:
        try:
            score = self._function(link)
        except Exception as error:  # whatever a user's function may raise
            kind = type(error).__name__
            self._tell(kind, f"raised {kind} on {link.url}: {_line(error)}; such links count 0")
            return 0.0
        value = _number(score)
        if isfinite(value) and value >= 0:
            return value
        self._tell(
            "no score",
            f"returned {_line(score)} for {link.url}, not a finite number of at least 0; such links count 0",
        )
        return 0.0

    def _tell(self, kind: str, message: str) -> None:
        if kind not in self._kinds:
            self._kinds.add(kind)
            self._problem(f"quality {self._name} {message}")


def _number(score: object) -> float:
    try:
        return nan if isinstance(score, str | bytes) else float(score)  # type: ignore[arg-type]
    except Exception:  # whatever a user's class may raise
        return nan


def _line(value: object) -> str:
    try:
        text = str(value) if isinstance(value, Exception) else repr(value)
    except Exception:  # the same
        text = f"a {type(value).__name__}"
    return " ".join(text.split())[:200]
