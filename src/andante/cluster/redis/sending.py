"""How a report is cut up for the shards, and how far it has got."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from andante.cluster.exchange import Ended, Grant, Known, Links, Part, Report, Take


class Step(NamedTuple):
    """What one shard is told of a report in one script call."""

    shard: int
    parts: dict[int, Part]
    """By their numbers in the report."""
    beat: bytes = b""


class Sending:
    """A report that is being sent, until the next one.

    Args:
        shard_of: says which shard has a server.
        shards: how many there are.
    """

    def __init__(self, report: Report, shard_of: Callable[[str], int], shards: int) -> None:
        self.report = report
        self.answers: list[object] = [None] * len(report.parts)
        self.heard: dict[int, Any] = {}
        """Of each shard the last reply."""
        self.takes: dict[int, list[Grant]] = {}
        """Those that several shards are to be asked for, and what they gave."""
        self.taking: list[Step] = []
        self.phases = self._cut(shard_of, shards)
        """What has not been answered: one phase after another, the steps of a phase at once. The last stays, if only to listen."""

    def _cut(self, shard_of: Callable[[str], int], shards: int) -> list[list[Step]]:
        """Cut the report into steps; URLs do not end at one shard before what was found on them is safe at others."""
        phases: list[dict[int, dict[int, Part]]] = [{}]
        linked: set[int] = set()
        for at, part in enumerate(self.report.parts):
            match part:
                case Take() if shards > 1:
                    self.takes[at] = []
                    continue
                case Take():
                    own = [0]
                case Known():
                    own = list(range(shards))
                case _:
                    own = [shard_of(part.server)]
            if isinstance(part, Ended) and linked.difference(own):
                phases.append({})
                linked = set()
            if isinstance(part, Links):
                linked.update(own)
            for shard in own:
                phases[-1].setdefault(shard, {})[at] = part
        if self.report.beat:
            phases[-1].setdefault(0, {})
        steps = [[Step(shard, parts) for shard, parts in phase.items()] for phase in phases]
        steps[-1] = [
            step if step.shard else step._replace(beat=self.report.beat) for step in steps[-1]
        ]
        return steps

    @property
    def is_answered(self) -> bool:
        """All that it says is known to be done."""
        return not (any(self.phases) or self.takes)
