"""A simulation as a TOML file: what is crawled, by what, and how.

The tables are ``[web]`` (`WebTraits`), ``[servers]`` (`Population`), ``[machine]`` (`MachineTraits`) and ``[crawl]`` (the settings of a crawl); ``seed``
stands before them. What is left out is as by default; but a simulated crawl follows links to all hosts unless ``scope`` says otherwise.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from andante import units
from andante.crawl.settings import Settings, SettingsError, from_strings
from andante.crawl.start import choose
from andante.sim.machine import MachineTraits
from andante.sim.population import Population
from andante.sim.simulation import Simulation
from andante.sim.web import Web, WebTraits

T = TypeVar("T", bound=msgspec.Struct)

_MEANINGLESS = ("job", "output", "resolve", "ca_file")
"""Settings of a crawl that a simulation has no use for."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """All that a simulation is made from."""

    web: WebTraits
    servers: Population
    machine: MachineTraits
    crawl: Settings
    seed: int = 1

    def simulation(self) -> Simulation:
        """Make the web, and the crawl of it."""
        count = self.web.servers + self.web.tarpits
        servers = self.servers.draw(count, seed=self.seed, alive=self.web.seeds)
        web = Web(self.web, servers, seed=self.seed)
        return Simulation(web, self.crawl, seed=self.seed, machine=self.machine)


def load(path: Path, *, seed: int | None = None) -> Scenario:
    """Read a file; ``seed``, if given, wins over the file's.

    Raises:
        SettingsError: the file cannot be read, is not TOML, has unknown keys or impossible values; one line says which.
    """
    try:
        tables = tomllib.loads(path.read_text())
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # no TOML, no UTF-8, or a number of more digits than Python reads
        raise SettingsError(f"{path} is not TOML: {error}") from None
    try:
        return _scenario(tables, seed)
    except ValueError as error:
        raise SettingsError(f"{path}: {error}") from None


def _scenario(tables: dict[str, Any], seed: int | None) -> Scenario:
    _known(tables, Scenario.__struct_fields__, "")
    for name, table in tables.items():
        if name != "seed" and not isinstance(table, dict):
            raise ValueError(f"{name}: a table is wanted: [{name}], and its keys below")
    found = tables.get("seed", 1)
    if not isinstance(found, int) or isinstance(found, bool):
        raise ValueError(f"seed: {found!r} is not a whole number")  # noqa: TRY004  # as all other errors of the file
    crawl = tables.get("crawl", {})
    for name in _MEANINGLESS:
        if name in crawl or name.replace("_", "-") in crawl:
            raise ValueError(f"crawl.{name}: a simulation has no use for it: leave it out")
    options: dict[str, Any] = {"scope": "any"} | from_strings(crawl, where="crawl.")
    try:
        settings = Settings(**options)
        choose(
            settings, wall=0.0, problem=lambda _: None
        )  # that there is such a policy, and a quality
    except SettingsError as error:
        raise ValueError(f"crawl.{error}") from None
    web = _section(tables, "web", WebTraits)
    if web.tarpits and settings.max_pages is None and settings.max_time is None:
        raise ValueError("web.tarpits: they never end: give crawl.max_pages or crawl.max_time, too")
    return Scenario(
        web=web,
        servers=_section(tables, "servers", Population),
        machine=_section(tables, "machine", MachineTraits),
        crawl=settings,
        seed=found if seed is None else seed,
    )


def _section(tables: Mapping[str, Any], name: str, kind: type[T]) -> T:
    table = tables.get(name, {})
    _known(table, kind.__struct_fields__, f"{name}.")
    values = {key: _value(f"{name}.{key}", key, value) for key, value in table.items()}
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}.{_plain(str(error), values)}") from None


def _known(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.0)[0]
            written = key if key.isprintable() else repr(key)
            raise ValueError(f"{where}{written}: there is no such key; did you mean {near!r}?")


def _value(where: str, key: str, value: object) -> object:
    """Return a value without its unit, as seconds, bytes, or bytes a second."""
    unit = _UNITS.get(key)
    if unit is None or not isinstance(value, str):
        return value
    try:
        return unit(value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _plain(error: str, values: Mapping[str, Any]) -> str:
    """Say in the words of the file what msgspec has found wrong, or what a check has."""
    match = re.fullmatch(r"(?P<what>.*) - at `\$\.(?P<key>\w+)`", error)
    if match is None:
        return error
    key, what = match["key"], match["what"]
    wanted = re.match(r"Expected `(?P<kind>[^`]*)`", what)
    if wanted is None:
        wanted_text = "one of pagerank, zipf" if key == "quality" else what
    else:
        wanted_text = _KINDS[wanted["kind"].partition(" ")[0]]
    return f"{key}: {values[key]!r} is not {wanted_text}"


_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}


def _speed(text: str) -> float:
    """Return bytes a second from ``2MB/s``, or infinity from ``max``."""
    if text.strip() == "max":
        return inf
    size, slash, unit = text.rpartition("/")
    if not slash or unit.strip() != "s":
        raise ValueError(f"{text!r} is not a speed such as 500kB/s or 2MB/s, or max")
    return units.size(size)


_UNITS: Mapping[str, Callable[[str], float]] = {
    "size": units.size,
    "bandwidth": _speed,
    "downlink": _speed,
} | dict.fromkeys(
    (
        "rtt",
        "service_time",
        "keep_alive",
        "meter_period",
        "meter_hold",
        "crawl_delay",
        "cpu_per_page",
        "cpu_per_open",
        "cpu_per_connection",
    ),
    units.duration,
)
