"""Scores that the user has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from andante.frontier.quality.base import Found
from andante.url import canonical, fingerprint


class Given:
    """Worth as listed: one URL a line, white space, its score.

    Empty lines and those that begin with ``#`` are skipped; of a URL listed twice the last line counts.

    Args:
        lines: the list.
        unknown: the worth of a URL that is not in it.
        name: what errors call the list.

    Raises:
        ValueError: with name and number of the first line that cannot be read.
    """

    wants_text = False
    rescores = False

    def __init__(self, lines: Iterable[str], *, unknown: float = 0.0, name: str = "scores") -> None:
        self._unknown = unknown
        self._worth: dict[bytes, float] = {}
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                try:
                    url, score = _entry(line)
                except ValueError as error:
                    raise ValueError(f"{name}:{number}: {error}") from error
                self._worth[fingerprint(url)] = score

    def seeds(self, urls: Sequence[str]) -> list[float]:
        """Return the given worth of each."""
        return [self._worth.get(fingerprint(url), self._unknown) for url in urls]

    def page(self, url: str, found: Sequence[Found], *, text: str = "") -> list[float]:
        """Return the given worth of each link."""
        del url, text
        return self.seeds([link.url for link in found])

    def due(self) -> None:
        """Nothing changes."""


def _entry(line: str) -> tuple[str, float]:
    fields = line.split()
    if len(fields) != 2:
        raise ValueError(
            f"{line.strip()[:80]!r} is not a URL and a score, as in: https://a.example/ 0.5"
        )
    url = canonical(fields[0])
    if url is None:
        raise ValueError(f"{fields[0][:80]!r} is not an http or https URL")
    try:
        score = float(fields[1])
    except ValueError:
        score = -1.0
    if not (isfinite(score) and score >= 0):
        raise ValueError(f"score {fields[1][:80]!r} is not a number of at least 0")
    return url, score
