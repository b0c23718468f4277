"""What is to be run, on what, at which prices; and what came of it: source 4's vectors of resources and its three costs.

Resources are whole numbers (millionths of a processor, bytes, bits a second), so that what fits, fits exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec


class Resources(NamedTuple):
    """What a node has, or a task needs."""

    cpu: int
    """Millionths of a processor."""
    memory: int
    """Bytes."""
    bandwidth: int
    """Bits a second."""

    def fits(self, other: Resources) -> bool:
        """Tell whether these are enough for the other ones."""
        return (
            self.cpu >= other.cpu
            and self.memory >= other.memory
            and self.bandwidth >= other.bandwidth
        )

    def plus(self, other: Resources) -> Resources:
        """Return the sum."""
        return Resources(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: Resources) -> Resources:
        """Return what is left."""
        return Resources(*(a - b for a, b in zip(self, other, strict=True)))


NOTHING = Resources(0, 0, 0)

CPU = 1_000_000
"""A processor, in the unit of `Resources`."""


class NodeType(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are all alike. Prices are for an hour."""

    name: str
    count: int
    """How many there are."""
    size: Resources
    reserve: float
    """Price of having a node reserved before the crawl, used or not."""
    use: float
    """Price of using a reserved node, besides."""
    extra: float
    """Price of a node that is added because the reserved ones are not enough."""
    taken: int = 0
    """Bytes of its memory, besides those of `size`, that the processes on it need themselves."""

    @property
    def price(self) -> float:
        """Price of a node for somebody who knows that it is needed."""
        return min(self.reserve + self.use, self.extra)

    @property
    def is_odd(self) -> bool:
        """Adding a node costs less than having reserved it: nobody would reserve."""
        return self.extra < self.reserve + self.use


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A site, or a group of sites."""

    name: str
    need: Resources
    """Of each copy."""
    copies: int = 1
    """Shares that it runs in, each on any node: for politeness, the most nodes that it can use."""
    servers: tuple[str, ...] = ()
    """Origins, as ``https://docs.example.org``."""


class Problem(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Tasks, and the nodes that there are for them."""

    nodes: tuple[NodeType, ...]
    tasks: tuple[Task, ...]
    hours: float = 1.0
    """How long it all runs."""

    @cached_property
    def items(self) -> list[int]:
        """The task of each copy, in order: what is placed."""
        return [at for at, task in enumerate(self.tasks) for _ in range(task.copies)]

    @cached_property
    def needs(self) -> list[Resources]:
        """What each copy needs."""
        return [self.tasks[at].need for at in self.items]

    def fits_none(self) -> list[Task]:
        """Return the tasks that are larger than any node."""
        return [
            task for task in self.tasks if not any(kind.size.fits(task.need) for kind in self.nodes)
        ]


class Tariff(NamedTuple):
    """What the nodes of a type cost an hour: the first ones, which are reserved, and those after them."""

    reserved: int
    first: float
    rest: float

    def cost(self, nodes: int) -> float:
        """Return the price of so many nodes."""
        first = min(nodes, self.reserved)
        return self.first * first + self.rest * (nodes - first)

    def next(self, nodes: int) -> float:
        """Return the price of another node when there are so many."""
        return self.first if nodes < self.reserved else self.rest


def tariffs(nodes: Sequence[NodeType], reserved: Sequence[int] | None) -> list[Tariff]:
    """Return the price of nodes once so many of each type are reserved; None: before that, by somebody who will reserve what is needed."""
    if reserved is None:
        return [Tariff(kind.count, kind.price, kind.price) for kind in nodes]
    return [
        Tariff(count, kind.use, kind.extra) for kind, count in zip(nodes, reserved, strict=True)
    ]


class Costs(NamedTuple):
    """Source 4's three costs."""

    reservation: float
    usage: float
    additional: float

    @property
    def total(self) -> float:
        """Their sum."""
        return self.reservation + self.usage + self.additional


class Node(msgspec.Struct, frozen=True):
    """A node in use, and what it runs."""

    kind: int
    """Index of its type."""
    number: int
    """From 1, of its type; the reserved ones are the first."""
    items: tuple[int, ...]
    """Indices of `Problem.items`."""


class Waiting(NamedTuple):
    """A copy of a task that has no node."""

    item: int
    reason: str


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Who runs what."""

    problem: Problem
    reserved: tuple[int, ...]
    """Nodes of each type."""
    nodes: tuple[Node, ...]
    """Those in use, by type and number."""
    waiting: tuple[Waiting, ...]
    bound: float
    """No plan that runs the same tasks with the same nodes reserved costs less."""
    method: str

    @cached_property
    def used(self) -> tuple[int, ...]:
        """Nodes in use of each type."""
        count = Counter(node.kind for node in self.nodes)
        return tuple(count[kind] for kind in range(len(self.problem.nodes)))

    @cached_property
    def costs(self) -> Costs:
        """The three costs, for all hours."""
        return costs(self.problem, self.reserved, self.used)

    @property
    def gap(self) -> float:
        """By which share the total is above the bound; at most so much could be saved."""
        return round(self.costs.total / self.bound - 1, 9) if self.bound > 0 else 0.0

    def name(self, node: Node) -> str:
        """Return the name of a node, as ``small-3``."""
        return f"{self.problem.nodes[node.kind].name}-{node.number}"

    def load(self, node: Node) -> Resources:
        """Return what the tasks of a node need together."""
        need = NOTHING
        for item in node.items:
            need = need.plus(self.problem.needs[item])
        return need

    def placed(self) -> Iterator[tuple[int, Node]]:
        """Return the items that run, and where, in the order of the tasks."""
        return iter(sorted(((item, node) for node in self.nodes for item in node.items), key=_item))


def _item(pair: tuple[int, Node]) -> int:
    return pair[0]


def costs(problem: Problem, reserved: Sequence[int], used: Sequence[int]) -> Costs:
    """Return what so many nodes of each type cost, of which so many are reserved."""
    rows = list(zip(problem.nodes, reserved, used, strict=True))
    return Costs(
        problem.hours * sum(kind.reserve * held for kind, held, _ in rows),
        problem.hours * sum(kind.use * min(held, count) for kind, held, count in rows),
        problem.hours * sum(kind.extra * max(0, count - held) for kind, held, count in rows),
    )
