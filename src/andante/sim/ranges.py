"""What the numbers of a simulation may be."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

import msgspec


class Range(NamedTuple):
    """From ``least`` to ``most``, both included unless they are open."""

    least: float = 0.0
    most: float = 1e12
    is_open: bool = False
    """``least`` itself is not in it."""
    is_open_above: bool = False
    """``most`` itself is not in it."""

    def __str__(self) -> str:
        if self.most >= 1e12:
            return f"{'above' if self.is_open else 'at least'} {self.least:g}"
        most = f"{self.most:g}"
        return f"{'above' if self.is_open else 'from'} {self.least:g} {'and below' if self.is_open_above else 'to'} {most}"

    def holds(self, value: float) -> bool:
        """Tell whether a number is in it; NaN is in none."""
        is_enough = value > self.least if self.is_open else value >= self.least
        return is_enough and (value < self.most if self.is_open_above else value <= self.most)


SHARE = Range(0.0, 1.0)
TIME = Range()
ABOVE_ZERO = Range(is_open=True)
SPEED = Range(most=inf, is_open=True)
COUNT = Range(1)


def check(values: msgspec.Struct, ranges: Mapping[str, Range]) -> None:
    """Look whether all values are in their ranges.

    Raises:
        ValueError: one is not: ``name: what is wrong, and what would be right``.
    """
    for name, allowed in ranges.items():
        value = getattr(values, name)
        if value is not None and not allowed.holds(value):
            raise ValueError(f"{name}: {value:g} is out of range: it must be {allowed}")


def check_shares(values: msgspec.Struct, *names: str) -> None:
    """Look whether shares of one whole are no more than it.

    Raises:
        ValueError: they are.
    """
    total = sum(getattr(values, name) for name in names)
    if total > 1 + 1e-9:
        raise ValueError(
            f"{names[0]}: together with {' and '.join(names[1:])} it makes {total:g}: shares of one whole must not be more than 1"
        )
