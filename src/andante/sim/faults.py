"""What goes wrong in a simulated cluster: chosen by a seed for the first part of a run, the safety phase; then all is healed, and the run must come to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from andante.sim.cluster import ClusterSimulation, Node

SLOW = (0.1, 2.0)
"""Seconds for which a slow node runs, and for which it then stands, at most."""

JUMP = 900.0
"""Most seconds by which a clock's time of day jumps."""


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong, and is put right."""

    at: float
    """Seconds from the beginning."""
    seconds: float
    """For which it lasts; infinity: it is never put right."""
    kind: str
    """Of `KINDS`."""
    node: int = 0
    """Number of the node."""

    def __str__(self) -> str:
        name = f" of node {chr(ord('a') + self.node)}" if self.kind in _OF_NODES else ""
        lasts = "for good" if self.seconds == inf else f"for {self.seconds:.1f} s"
        return f"at {self.at:.1f} s {lasts}: {_WORDS[self.kind]}{name}"

    @property
    def until(self) -> float:
        """When it is put right, or begins if it never is."""
        return self.at + (self.seconds if self.seconds < inf else 0.0)

    async def happen(self, simulation: ClusterSimulation) -> None:
        """Let it happen, and put it right."""
        await asyncio.sleep(self.at)
        node = simulation.nodes[self.node]
        simulation.watch.tell(f"FAULT {self}")
        await _ACTS[self.kind](self, simulation, node)

    async def last(self) -> None:
        """Wait until it is put right."""
        await asyncio.sleep(self.seconds if self.seconds < inf else 1e9)


def draw(seed: int, nodes: int, *, members: bool, span: float) -> list[Fault]:
    """Return what goes wrong: nothing in one of eight seeds, else up to six things.

    Args:
        seed: of the choice.
        nodes: how many there are; one of them at least is not lost for good.
        members: there is a service of members, which may fail, too.
        span: seconds within which everything begins.
    """
    random = Random(f"faults {seed}")
    kinds = [kind for kind in KINDS if kind != LOSS and (members or not kind.startswith("members"))]
    if random.random() < 0.5:
        kinds = [kind for kind in kinds if kind in _LONG]
    faults: list[Fault] = []
    mortal = random.sample(range(nodes), nodes - 1)
    for _ in range(0 if random.random() < 0.125 else random.randint(1, 6)):
        kind, node = random.choice(kinds), random.randrange(nodes)
        at = random.uniform(1.0, span)
        seconds = random.choice((random.uniform(0.5, 8.0), random.uniform(8.0, 40.0)))
        if kind == "kill" and node in mortal and random.random() < 0.3:
            seconds = inf
        if kind == "late":
            if node == 0 or any(each.kind == "late" for each in faults):
                continue
            at = random.uniform(1.0, span / 2)
        if kind == "kill two" and nodes < 3:
            continue
        faults.append(Fault(at, seconds, kind, node))
    if faults and random.random() < _LOSING:
        faults.append(_draw_loss(random, span))
        if not members:
            faults = [
                fault for fault in faults if fault.kind != "late"
            ]  # for it there was no crawl
    return sorted(faults, key=lambda fault: fault.at)


def _draw_loss(random: Random, span: float) -> Fault:
    seconds = random.choice((random.uniform(0.5, 8.0), random.uniform(8.0, 40.0)))
    return Fault(random.uniform(1.0, span), seconds, LOSS)


async def _kill(fault: Fault, _simulation: ClusterSimulation, node: Node) -> None:
    was_up = node.is_up
    await node.kill()
    if not was_up:
        return
    if fault.seconds == inf:
        node.is_done = True
        _simulation.changed.set()
        return
    await fault.last()
    node.start()


async def _kill_two(fault: Fault, simulation: ClusterSimulation, node: Node) -> None:
    number = simulation.nodes.index(node)
    two = [node, simulation.nodes[(number + 1) % len(simulation.nodes)]]
    for each in two:
        await each.kill()
    await fault.last()
    for each in two:
        each.start()


async def _hang(fault: Fault, simulation: ClusterSimulation, node: Node) -> None:
    life = node.life
    if life is None or not node.is_up:
        return
    life.process.stop()
    await fault.last()
    if life.process.is_alive:
        life.process.resume()


async def _be_slow(fault: Fault, simulation: ClusterSimulation, node: Node) -> None:
    life = node.life
    if life is None or not node.is_up:
        return
    chance = Random(f"slow {fault}").random
    until = fault.at + fault.seconds
    while asyncio.get_running_loop().time() < until and life.process.is_alive:
        life.process.stop()
        await asyncio.sleep(SLOW[1] * chance())
        if life.process.is_alive:
            life.process.resume()
        await asyncio.sleep(SLOW[0] * chance())


async def _leave(fault: Fault, simulation: ClusterSimulation, node: Node) -> None:
    node.leave()
    await fault.last()
    await node.gone()
    node.start()


async def _be_late(fault: Fault, simulation: ClusterSimulation, node: Node) -> None:
    node.start()


async def _jump(fault: Fault, simulation: ClusterSimulation, node: Node) -> None:
    node.wall += Random(f"jump {fault}").uniform(-JUMP, JUMP)


async def _end_session(fault: Fault, simulation: ClusterSimulation, node: Node) -> None:
    if simulation.sessions is not None and node.session is not None:
        simulation.sessions.end(node.session.session)


async def _members_gone(fault: Fault, simulation: ClusterSimulation, node: Node) -> None:
    simulation.members_trouble.questions_lost += 1
    await fault.last()
    simulation.members_trouble.questions_lost -= 1
    if simulation.sessions is not None:
        simulation.sessions.restart()


async def _lose(fault: Fault, simulation: ClusterSimulation, node: Node) -> None:
    simulation.store_trouble.questions_lost += 1
    simulation.watch.lose()
    await fault.last()
    simulation.store_trouble.questions_lost -= 1


def _trouble(where: str, what: str) -> Callable[[Fault, ClusterSimulation, Any], Awaitable[None]]:
    """Return what makes a trouble of a kind, at a node's way to a service or at the service."""

    async def act(fault: Fault, simulation: ClusterSimulation, node: Node) -> None:
        place = node if where in ("store", "members") else simulation
        trouble = getattr(place, where)
        setattr(trouble, what, getattr(trouble, what) + 1)
        await fault.last()
        setattr(trouble, what, getattr(trouble, what) - 1)

    return act


_TABLE: dict[str, tuple[str, Callable[[Fault, Any, Any], Awaitable[None]]]] = {
    "kill": ("kill -9", _kill),
    "kill two": ("kill -9, and of the next one,", _kill_two),
    "hang": ("a stop (SIGSTOP)", _hang),
    "slow": ("slowness", _be_slow),
    "leave": ("leaving", _leave),
    "late": ("a late start", _be_late),
    "clock": ("a jump of the time of day", _jump),
    "cut": ("no way to the store", _trouble("store", "questions_lost")),
    "deaf": ("no answer from the store", _trouble("store", "answers_lost")),
    "lag": ("a way to the store on which messages are late", _trouble("store", "is_late")),
    "store gone": ("the store gone", _trouble("store_trouble", "questions_lost")),
    "store full": ("the store full", _trouble("store_trouble", "is_full")),
    "members cut": ("no way to the members", _trouble("members", "questions_lost")),
    "members deaf": ("no answer from the members", _trouble("members", "answers_lost")),
    "members gone": ("the members gone", _members_gone),
    "members end": ("the end of the session", _end_session),
    "loss": ("the store gone, and its data lost", _lose),
}
_WORDS = {kind: words for kind, (words, _) in _TABLE.items()}
_ACTS = {kind: act for kind, (_, act) in _TABLE.items()}
_OF_NODES = set(_TABLE) - {"store gone", "store full", "members gone", "loss"}

_LONG = ("kill", "hang", "cut", "deaf", "store gone", "members cut", "members gone")
"""Faults by which nodes are taken for dead: in half of the seeds there are no others."""

LOSS = "loss"
"""The store loses its data: besides all others, so that these are the same with it and without."""

_LOSING = 0.25
"""Share of the seeds with faults in which the store loses its data."""

KINDS = tuple(_TABLE)
"""What goes wrong by chance."""
