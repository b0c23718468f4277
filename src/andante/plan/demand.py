"""How many nodes to reserve when it is not known how large the crawl will be: the newsvendor problem.

A node is worth reserving if the chance that it is needed is at least r / (e - u): reserving it costs r for certain, and saves e - u when it is needed
(r, u and e are the prices of reservation, use and an added node). So with F, the distribution of the nodes needed, the best reservation is

    R = the least n with F(n) >= 1 - r / (e - u)        (Arrow, Harris and Marschak 1951)

for each type. The nodes needed at a demand of d times the tasks are d times those of the plan, rounded up: the mix of types is the plan's.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, log, sqrt
from statistics import NormalDist
from typing import NamedTuple

from andante.plan.model import NodeType, Plan, costs

POINTS = 1_000
"""Samples that stand for a distribution, each as likely as the others."""


class Choice(NamedTuple):
    """A way to reserve."""

    name: str
    reserved: tuple[int, ...]
    cost: float
    """Expected, for all hours."""


class Uncertain(NamedTuple):
    """Ways to reserve, compared."""

    choices: tuple[Choice, ...]
    """``best`` is the first."""
    quantiles: tuple[float, ...]
    """Of the nodes needed of each type, at which the best reservation stands."""
    short: float
    """Chance that there are not nodes enough, reserved or not."""


def lognormal(mean: float, deviation: float) -> list[float]:
    """Return samples of a lognormal distribution: its quantiles, evenly."""
    variance = log(1 + (deviation / mean) ** 2)
    if not variance:
        return [mean]
    normal = NormalDist(log(mean) - variance / 2, sqrt(variance))
    found = [normal.inv_cdf((at + 0.5) / POINTS) for at in range(POINTS)]
    return [exp(each) for each in found]


def quantile(kind: NodeType) -> float:
    """Return the share of the cases in which the reserved nodes should be enough."""
    saved = kind.extra - kind.use
    return max(0.0, 1 - kind.reserve / saved) if saved > 0 else 0.0


def uncertain(plan: Plan, samples: Sequence[float]) -> Uncertain:
    """Compare the best reservation with reserving the mean, the maximum, and nothing.

    Args:
        plan: of the tasks as they are.
        samples: of the demand, as multiples of the tasks, each as likely as the others.
    """
    kinds = plan.problem.nodes
    wanted = [
        tuple(ceil(round(sample * used, 6)) for used in plan.used) for sample in sorted(samples)
    ]
    cases = [
        tuple(min(need, kind.count) for need, kind in zip(case, kinds, strict=True))
        for case in wanted
    ]
    quantiles = tuple(map(quantile, kinds))
    ways = {
        "best": tuple(
            _at(share, column) for share, column in zip(quantiles, _columns(cases), strict=True)
        ),
        "mean": tuple(round(sum(column) / len(column)) for column in _columns(cases)),
        "maximum": tuple(max(column) for column in _columns(cases)),
        "nothing": (0,) * len(kinds),
    }
    choices = tuple(
        Choice(
            name,
            held,
            sum(costs(plan.problem, held, case).total for case in cases) / len(cases),
        )
        for name, held in ways.items()
    )
    short = sum(case != need for case, need in zip(cases, wanted, strict=True)) / len(cases)
    return Uncertain(choices, quantiles, short)


def _columns(cases: Sequence[tuple[int, ...]]) -> list[list[int]]:
    return [sorted(column) for column in zip(*cases, strict=True)]


def _at(share: float, column: Sequence[int]) -> int:
    """Return the least value that so much of a sorted column is at or below."""
    if share <= 0:
        return 0
    return column[min(len(column), max(1, ceil(round(share * len(column), 9)))) - 1]
