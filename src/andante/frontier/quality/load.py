"""From the text of ``--quality`` to a quality."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pkgutil import resolve_name

from andante.frontier.quality.base import Quality
from andante.frontier.quality.depth import Depth
from andante.frontier.quality.function import Function
from andante.frontier.quality.given import Given
from andante.frontier.quality.keywords import Keywords
from andante.frontier.quality.opic import Opic
from andante.frontier.quality.pagerank import PageRank
from andante.frontier.quality.sitemap import SitemapQuality

NAMES = (
    "depth",
    "opic",
    "pagerank",
    "keywords:TERM,TERM",
    "sitemap",
    "file:PATH",
    "MODULE:FUNCTION",
)
"""What may be asked for."""


def load(
    text: str,
    *,
    read: Callable[[str], Iterable[str]],
    now: float,
    problem: Callable[[str], None],
    clock: Callable[[], float] | None = None,
) -> Quality:
    """Return the quality that a user asks for.

    Args:
        text: one of `NAMES`.
        read: returns the lines of the file at a path.
        now: seconds since 1970.
        problem: is told in one line what is wrong with a user's function.
        clock: seconds, to measure a user's function.

    Raises:
        ValueError: in one line that says what is allowed.
        OSError: from ``read``.
    """
    name, _, rest = text.partition(":")
    alone: dict[str, Callable[[], Quality]] = {
        "depth": Depth,
        "opic": Opic,
        "pagerank": PageRank,
        "sitemap": lambda: SitemapQuality(now),
    }
    if text in alone:
        return alone[text]()
    if name == "keywords":
        return Keywords(rest.split(","))
    if name == "file" and rest:
        return Given(read(rest), name=rest)
    if rest and name not in alone:
        return Function(_function(text), name=text, problem=problem, clock=clock)
    raise ValueError(_unknown(text))


def _unknown(text: str) -> str:
    known = {name.partition(":")[0]: name for name in NAMES[:-1]}
    near = difflib.get_close_matches(text.partition(":")[0].lower(), known, n=1)
    hint = f"; did you mean {known[near[0]]!r}?" if near else ""
    return f"unknown quality {text!r}{hint} (there are {', '.join(NAMES)})"


def _function(path: str) -> Callable[..., float]:
    try:
        function = resolve_name(path)
    except Exception as error:  # a user's module may raise anything
        hint = "" if "." in path else f"; {_unknown(path)}"
        reason = " ".join(str(error).split())
        raise ValueError(f"quality {path!r} cannot be imported: {reason}{hint}") from error
    if not callable(function):
        raise ValueError(  # noqa: TRY004  # the user's fault, not a caller's
            f"quality {path!r} is no function of a link, but of type {type(function).__name__}"
        )
    return function  # type: ignore[no-any-return]
