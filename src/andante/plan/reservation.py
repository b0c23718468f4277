"""How many nodes to reserve: what the user says, and what is best."""

from __future__ import annotations

from collections.abc import Sequence

from andante.plan.model import NodeType


def reserved(written: Sequence[str], nodes: Sequence[NodeType]) -> tuple[int, ...] | None:
    """Return the nodes of each type to reserve from ``5``, ``small=3``, ``small=3,large=1``; None from ``best``.

    A bare number is of all types together: the first nodes of the file.

    Raises:
        ValueError: in one line that says what is allowed.
    """
    parts = [part.strip() for text in written for part in text.split(",")]
    if parts == ["best"]:
        return None
    if len(parts) == 1 and "=" not in parts[0]:
        return _first(_count(parts[0]), nodes)
    counts = dict.fromkeys((kind.name for kind in nodes), 0)
    for part in parts:
        name, equals, number = (each.strip() for each in part.partition("="))
        if not equals or name not in counts:
            raise ValueError(
                f"{part!r} is no number of nodes of a type: write best, a number, or {nodes[0].name}=N; there are {', '.join(counts)}"
            )
        counts[name] = _count(number)
    for kind in nodes:
        if counts[kind.name] > kind.count:
            raise ValueError(f"{kind.name}={counts[kind.name]}: there are {kind.count} such nodes")
    return tuple(counts.values())


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise ValueError(f"{text!r} is not a number of nodes: write a whole number, or best")
    return int(text)


def _first(count: int, nodes: Sequence[NodeType]) -> tuple[int, ...]:
    there = sum(kind.count for kind in nodes)
    if count > there:
        raise ValueError(f"{count} nodes cannot be reserved: there are {there}")
    found = []
    for kind in nodes:
        found.append(min(count, kind.count))
        count -= found[-1]
    return tuple(found)
