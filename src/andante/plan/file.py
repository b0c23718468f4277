"""A problem as a TOML file: the types of nodes, and the tasks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from functools import cache
from math import ceil
from typing import Any, TypeVar

import msgspec

from andante import units
from andante import url as urls
from andante.plan.model import CPU, NodeType, Problem, Resources, Task

T = TypeVar("T", bound=msgspec.Struct)

NODES_MAX = 1_000_000
"""Nodes of a file, at most."""

NUMBER_MAX = 10**15
"""Of any number and size, so that sums are exact."""

DEVIATION_MAX = 1_000
"""Of the demand, in means."""

TASKS_MAX = 1_000_000
"""Tasks of a file, at most, copies counted."""


class NodeTable(msgspec.Struct, kw_only=True):
    """``[[node]]``: nodes that are all alike. Prices are for a node and an hour."""

    name: str
    """Of the type; its nodes are called ``small-1``, ``small-2`` ... Lower-case letters, digits and hyphens."""
    count: int
    """How many there are to be had."""
    cpu: float
    """Processors."""
    memory: str
    """``4GiB``, ``500MB`` ..."""
    bandwidth: str
    """``100Mbit/s``, ``1Gbit/s``, or bytes a second as ``12MB/s``."""
    reserve: float
    """Price of having one reserved before the crawl, used or not."""
    use: float
    """Price of using one that is reserved, besides."""
    extra: float
    """Price of one that is added because the reserved ones are not enough."""


class TaskTable(msgspec.Struct, kw_only=True):
    """``[[task]]``: a site, or a group of sites."""

    name: str
    """Any text; no two tasks have the same."""
    cpu: float
    """Processors that it needs."""
    memory: str
    """What it needs, as of a node."""
    bandwidth: str
    """What it needs, as of a node."""
    copies: int = 1
    """Shares that it runs in: for politeness, the most nodes that it can use. Each needs what is said above."""
    servers: list[str] = []
    """Origins that it crawls, as ``https://docs.example.org``, for the file of owners. Left out: the name, if it is a host or an origin."""


class DemandTable(msgspec.Struct, kw_only=True):
    """``[demand]``: how large the crawl may turn out, as multiples of the tasks; 1.5 is half as many again. Give ``samples``, or ``mean`` and ``deviation``."""

    samples: list[float] = []
    """Of earlier crawls."""
    mean: float = 1.0
    """Of a lognormal distribution."""
    deviation: float = 0.0
    """Standard deviation, of the same."""


class File(msgspec.Struct, kw_only=True, frozen=True):
    """What a file holds."""

    nodes: tuple[NodeType, ...]
    tasks: tuple[Task, ...]
    hours: float
    demand: DemandTable | None

    @property
    def problem(self) -> Problem:
        """The tasks, and the nodes for them."""
        return Problem(nodes=self.nodes, tasks=self.tasks, hours=self.hours)


def read(tables: Mapping[str, Any]) -> File:
    """Return what a file holds.

    Raises:
        ValueError: something is missing, unknown or impossible; one line says what.
    """
    _known(tables, ("node", "task", "hours", "demand"), "")
    nodes = tuple(_node(table, f"node {number}") for number, table in _listed(tables, "node"))
    tasks = tuple(_task(table, f"task {number}") for number, table in _listed(tables, "task"))
    if not nodes:
        raise ValueError("there are no nodes: give at least one [[node]]")
    if not sum(kind.count for kind in nodes):
        raise ValueError("there are no nodes: every count is 0")
    _distinct([kind.name for kind in nodes], "node")
    _distinct([task.name for task in tasks], "task")
    if (count := sum(kind.count for kind in nodes)) > NODES_MAX:
        raise ValueError(f"{count:,} nodes are too many: {NODES_MAX:,} are allowed")
    if (count := sum(task.copies for task in tasks)) > TASKS_MAX:
        raise ValueError(f"{count:,} tasks are too many, copies counted: {TASKS_MAX:,} are allowed")
    hours = _number(tables.get("hours", 1.0), "hours", above=True)
    return File(nodes=nodes, tasks=tasks, hours=hours, demand=_demand(tables.get("demand")))


def _listed(tables: Mapping[str, Any], name: str) -> list[tuple[int, Mapping[str, Any]]]:
    found = tables.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ValueError(f"{name}: a list of tables is wanted: [[{name}]], and its keys below")
    return list(enumerate(found, 1))


def _node(table: Mapping[str, Any], where: str) -> NodeType:
    found, where = _table(table, NodeTable, where)
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?", found.name):
        raise ValueError(
            f"{where}: {found.name!r} is not a name: write at most 42 lower-case letters, digits and hyphens"
        )
    return NodeType(
        name=found.name,
        count=int(_number(found.count, f"{where}: count")),
        size=_resources(found, where, above=True),
        reserve=_number(found.reserve, f"{where}: reserve"),
        use=_number(found.use, f"{where}: use"),
        extra=_number(found.extra, f"{where}: extra"),
    )


def _task(table: Mapping[str, Any], where: str) -> Task:
    found, where = _table(table, TaskTable, where)
    if found.copies < 1:
        raise ValueError(f"{where}: copies: {found.copies} is below 1")
    return Task(
        name=found.name,
        need=_resources(found, where),
        copies=found.copies,
        servers=tuple(origin(server, where) for server in found.servers)
        or tuple(filter(None, [_named(found.name)])),
    )


def _resources(found: NodeTable | TaskTable, where: str, *, above: bool = False) -> Resources:
    return Resources(
        ceil(round(_number(found.cpu, f"{where}: cpu", above=above) * CPU, 3)),
        _unit(units.size, found.memory, f"{where}: memory", above=above),
        _unit(units.bandwidth, found.bandwidth, f"{where}: bandwidth", above=above),
    )


def _unit(unit: Callable[[str], int], text: str, where: str, *, above: bool) -> int:
    try:
        value = unit(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return int(_number(value, where, above=above))


def _number(value: Any, where: str, *, above: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}: {value!r} is not a number")  # noqa: TRY004  # as all other errors of the file
    if not 0 <= value <= NUMBER_MAX or (above and not value):
        raise ValueError(
            f"{where}: {value:g} is out of range: it must be {'above 0' if above else 'at least 0'}, and at most {NUMBER_MAX:g}"
        )
    return value


def origin(server: str, where: str) -> str:
    """Return the origin of a server that is written as an origin or a host.

    Raises:
        ValueError: it is neither.
    """
    url = urls.canonical(server if "://" in server else f"https://{server}")
    if url is None or urls.origin(url) + "/" != url:
        raise ValueError(
            f"{where}: {server!r} is not a server: write its origin, as https://docs.example.org"
        )
    return urls.origin(url)


def _named(name: str) -> str | None:
    """Return the origin that a name says, None if it says none."""
    is_host = "://" in name or re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d+)?", name)
    try:
        return origin(name, "") if is_host else None
    except ValueError:
        return None


def _demand(table: Any) -> DemandTable | None:
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ValueError("demand: a table is wanted: [demand], and its keys below")  # noqa: TRY004
    found, _ = _table(table, DemandTable, "demand")
    for sample in found.samples:
        _number(sample, "demand: samples")
    _number(found.mean, "demand: mean", above=True)
    if _number(found.deviation, "demand: deviation") > DEVIATION_MAX * found.mean:
        raise ValueError(
            f"demand: deviation: {found.deviation:g} is more than {DEVIATION_MAX:,} times the mean"
        )
    if found.samples and ("mean" in table or "deviation" in table):
        raise ValueError("demand: give samples, or mean and deviation, not both")
    if not found.samples and "deviation" not in table:
        raise ValueError("demand: give samples, or mean and deviation")
    return found


def _table(table: Mapping[str, Any], kind: type[T], where: str) -> tuple[T, str]:
    """Return a table as a struct, and how errors call it: by its name, where it has one."""
    name = table.get("name")
    if isinstance(name, str) and name and name.isprintable():
        where = f"{where.split(maxsplit=1)[0]} {name!r}"
    elif "name" in table:
        raise ValueError(f"{where}: name: {name!r} is not a name")
    _known(table, kind.__struct_fields__, f"{where}: ")
    for key in _required(kind):
        if key not in table:
            raise ValueError(f"{where}: {key} is missing")
    try:
        return msgspec.convert(table, kind), where
    except msgspec.ValidationError as error:
        raise ValueError(f"{where}: {_plain(str(error), table)}") from None


@cache
def _required(kind: type[msgspec.Struct]) -> list[str]:
    return [field.name for field in msgspec.structs.fields(kind) if field.required]


def _plain(error: str, table: Mapping[str, Any]) -> str:
    match = re.fullmatch(r"Expected `(?P<kind>\w+)[^`]*`.* - at `\$\.(?P<key>\w+).*`", error)
    if match is None:
        return error
    key = match["key"]
    wanted = {
        "memory": "a size in quotes, such as '4GiB' or '500MB'",
        "bandwidth": "a bandwidth in quotes, such as '100Mbit/s' or '12MB/s'",
    }.get(key) or {
        "int": "a whole number",
        "float": "a number",
        "array": "a list",
        "str": "a text",
    }[match["kind"]]
    return f"{key}: {table[key]!r} is not {wanted}"


def _known(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.0)[0]
            raise ValueError(f"{where}{key}: there is no such key; did you mean {near!r}?")


def _distinct(names: list[str], what: str) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name!r}: there are two of that name")
        seen.add(name)
