"""Plain values as YAML 1.2. Texts are quoted as JSON quotes them, which is YAML, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_BLOCK = re.compile(r"\S[^\n]*(\n[^\n]*)*[^\n\s]\n")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def dump(value: Any, indent: int = 0) -> str:
    """Return a document, or a part of one."""
    return "\n".join(_lines(value, indent)) + "\n"


def _lines(value: Any, indent: int) -> list[str]:
    space = " " * indent
    if isinstance(value, Mapping) and value:
        found = []
        for key, each in value.items():
            if _is_leaf(each):
                found.append(f"{space}{_text(key)}: {_leaf(each, indent)}")
            else:
                found.append(f"{space}{_text(key)}:")
                found += _lines(each, indent + 2)
        return found
    if isinstance(value, list | tuple) and value:
        found = []
        for each in value:
            first, *rest = _lines(each, indent + 2)
            found += [f"{space}- {first.lstrip()}", *rest]
        return found
    return [f"{space}{_leaf(value, indent)}"]


def _is_leaf(value: Any) -> bool:
    return not isinstance(value, Mapping | list | tuple) or not value


def _leaf(value: Any, indent: int) -> str:
    if isinstance(value, str):
        if _BLOCK.fullmatch(value):
            lines = value.rstrip("\n").split("\n")
            return "\n".join(["|", *(" " * (indent + 2) + line if line else "" for line in lines)])
        return _text(value)
    return msgspec.json.encode(value).decode()


def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return msgspec.json.encode(value).decode()
