"""Source 4's heuristic: priority matching of tasks to nodes, those in use first."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence

from andante.plan.model import Resources
from andante.plan.packing import Bin, Kind, Packing


def priority_matching(needs: Sequence[Resources], nodes: Sequence[Resources]) -> list[int | None]:
    """Return the node of each task, None for those that wait.

    Nothing is sorted: tasks come, and nodes are looked through, in the order of their lists.

    Source: 4, "static allocation", steps 1 to 4.
    """
    free = list(nodes)
    in_use: list[int] = []
    idle = list(range(len(nodes)))
    found: list[int | None] = []
    for need in needs:
        # Steps 1 and 2: the nodes in use, in order; all three resources must suffice.
        node = _first(in_use, free, need)
        if node is None:
            # Step 3: only then the idle nodes, in order.
            node = _first(idle, free, need)
            if node is not None:
                idle.remove(node)
                insort(in_use, node)
        if node is not None:
            free[node] = free[node].minus(need)
        found.append(node)  # step 4: where no node is left, the task waits
    return found


def _first(nodes: Iterable[int], free: Sequence[Resources], need: Resources) -> int | None:
    cpu, memory, bandwidth = need
    for node in nodes:
        left = free[node]
        if left[0] >= cpu and left[1] >= memory and left[2] >= bandwidth:
            return node
    return None


def matched(needs: list[Resources], kinds: list[Kind], reserved: Sequence[int] | None) -> Packing:
    """Return the source's packing; its list has the reserved nodes first, each part in the order of the types."""
    held = [kind.stock for kind in kinds] if reserved is None else reserved
    order = [at for at, count in enumerate(held) for _ in range(count)]
    order += [at for at, kind in enumerate(kinds) for _ in range(kind.stock - held[at])]
    found = priority_matching(needs, [kinds[at].size for at in order])
    items: dict[int, list[int]] = {}
    for item, node in enumerate(found):
        if node is not None:
            items.setdefault(node, []).append(item)
    bins = [Bin(order[node], tuple(items[node])) for node in sorted(items)]
    return Packing(bins, [item for item, node in enumerate(found) if node is None])
