"""Small problems for tests of the planner, in round numbers."""

from __future__ import annotations

from random import Random

from andante.plan import NodeType, Plan, Problem, Resources, Task, plan


def node(name: str, count: int, size: tuple[int, int, int], prices: str = "1 2 5") -> NodeType:
    """Return a type of nodes; the prices are reserve, use and extra."""
    reserve, use, extra = map(float, prices.split())
    return NodeType(
        name=name, count=count, size=Resources(*size), reserve=reserve, use=use, extra=extra
    )


def problem(nodes: list[NodeType], needs: list[tuple[int, int, int]], hours: float = 1) -> Problem:
    """Return a problem with tasks t0, t1 ..."""
    tasks = tuple(Task(name=f"t{at}", need=Resources(*need)) for at, need in enumerate(needs))
    return Problem(nodes=tuple(nodes), tasks=tasks, hours=hours)


def planned(given: Problem, reserved: tuple[int, ...] | None, **options: object) -> Plan:
    """Return a plan, the same each time."""
    return plan(given, reserved, chance=Random(1).random, **options)  # type: ignore[arg-type]


def check(found: Plan) -> None:
    """Check what is true of every plan."""
    given = found.problem
    runs = [item for node in found.nodes for item in node.items]
    waits = [each.item for each in found.waiting]
    assert sorted(runs + waits) == list(range(len(given.items)))
    for each in found.nodes:
        assert each.items
        assert given.nodes[each.kind].size.fits(found.load(each))
    names = [found.name(each) for each in found.nodes]
    assert len(set(names)) == len(names)
    for kind, used in zip(given.nodes, found.used, strict=True):
        assert used <= kind.count
    expected = NOTHING_COST
    for kind, held, used in zip(given.nodes, found.reserved, found.used, strict=True):
        expected = (
            expected[0] + kind.reserve * held,
            expected[1] + kind.use * min(held, used),
            expected[2] + kind.extra * max(0, used - held),
        )
    told = (found.costs.reservation, found.costs.usage, found.costs.additional)
    for a, b in zip(told, expected, strict=True):
        assert abs(a - b * given.hours) < 1e-9 * (1 + a)
    assert abs(found.costs.total - sum(told)) < 1e-9
    assert found.bound <= found.costs.total * (1 + 1e-9) + 1e-9
    assert found.gap >= -1e-9


NOTHING_COST = (0.0, 0.0, 0.0)
