"""Flags made from the fields of `Settings`, so that flag, configuration key and keyword are one."""

from __future__ import annotations

import argparse
from dataclasses import Field, fields
from typing import Any, get_type_hints

from andante import units
from andante.crawl.settings import Settings, default

_METAVARS = {units.duration: "TIME", units.size: "SIZE", units.rate: "RATE"}
_FORMATS = {
    units.duration: units.format_exact,
    units.size: units.format_binary,
    units.rate: units.format_rate,
}


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each setting, in its group."""
    hints = get_type_hints(Settings)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for item in fields(Settings):
        name = item.metadata["group"]
        group = groups.get(name) or groups.setdefault(name, parser.add_argument_group(name.lower()))
        _add(group, item, hints[item.name])


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given as flags, as written."""
    names = {item.name for item in fields(Settings)}
    return {
        name.replace("_", "-"): value for name, value in vars(arguments).items() if name in names
    }


def default_text(item: Field[Any]) -> str:
    """Return the default of a setting as a user would write it, or an empty text where it has none."""
    value = default(item.name)
    if value is None or value == () or "[default" in item.metadata["help"]:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    unit = item.metadata["unit"]
    return _FORMATS[unit](value) if unit else str(value)


def _add(group: argparse._ArgumentGroup, item: Field[Any], hint: Any) -> None:
    flag = "--" + item.name.replace("_", "-")
    text = item.metadata["help"].replace("%", "%%")
    usual = default_text(item)
    if usual and not isinstance(default(item.name), bool):
        text += f" [default: {usual}]"
    common: dict[str, Any] = {"dest": item.name, "default": argparse.SUPPRESS, "help": text}
    if hint is bool:
        if default(item.name):
            flag = "--no-" + item.name.replace("_", "-")
            common |= {"action": "store_false", "help": _negated(text)}
        else:
            common["action"] = "store_true"
    else:
        common["metavar"] = _metavar(item, hint)
        if isinstance(default(item.name), tuple):
            common["action"] = "append"
    group.add_argument(flag, **common)


def _negated(text: str) -> str:
    return f"Turn off: {text[0].lower()}{text[1:]}"


_NAMES = {
    "scope": "host|site|any",
    "include": "RE",
    "exclude": "RE",
    "resolve": "HOST:PORT:ADDR",
    "job": "DIR",
    "output": "FILE",
    "ca_file": "FILE",
    "per_server": "N|auto",
    "connections": "N|auto",
}


def _metavar(item: Field[Any], hint: Any) -> str:
    unit = item.metadata["unit"]
    if unit:
        return _METAVARS[unit]
    return _NAMES.get(item.name, "N" if "int" in str(hint) else "TEXT")
