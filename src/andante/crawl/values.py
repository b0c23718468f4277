"""Values of settings: from what is written to the type that is wanted."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin


def typed(value: object, hint: Any, unit: Callable[[str], Any] | None) -> Any:
    """Return a value as the type of its setting.

    Args:
        value: as written: a text with its unit, a number, a list; or of the final type.
        hint: the type.
        unit: reads a text; None: the type does.

    Raises:
        ValueError: it cannot be one; the message says what is wanted.
    """
    if get_origin(hint) in (Union, types.UnionType):
        return _either(value, *get_args(hint), unit=unit)
    if get_origin(hint) is tuple:
        items = [value] if isinstance(value, str | Path) else value
        if not isinstance(items, Iterable):
            return _refuse(value, "a list")
        return tuple(typed(item, get_args(hint)[0], unit) for item in items)
    if get_origin(hint) is Literal:
        choices, word = get_args(hint), _word(value)
        return word if word in choices else _refuse(value, f"one of {', '.join(choices)}")
    if isinstance(value, str) and unit is not None:
        return unit(value)
    return _CONVERTERS[hint](value)


def header_problem(text: str) -> str:
    """Say why a header cannot carry a text, or nothing."""
    strange = next((character for character in text if ord(character) > 0xFF), None)
    if strange is None:
        return ""
    return f"{text!r} has {strange!r}, which no header can carry: it takes Latin-1, up to U+00FF"


def file_problem(path: Path) -> str:
    """Say why a path is not that of a file, or nothing."""
    try:
        return "" if path.is_file() else f"{path} is not a file"
    except (OSError, ValueError) as error:  # too long a name, or a NUL in it
        return f"{path}: {getattr(error, 'strerror', None) or error}"


def _either(value: object, first: Any, second: Any, *, unit: Callable[[str], Any] | None) -> Any:
    """Return a value of the first type, or one of the few that the second has (None, or a word)."""
    words = get_args(second) or (None,)
    if _word(value) in words:
        return _word(value)
    try:
        return typed(value, first, unit)
    except ValueError as error:
        message = " or ".join([str(error), *(word for word in words if word)])
        raise ValueError(message) from None


def _word(value: object) -> object:
    """Return a keyword as it is listed, however it is written."""
    return value.strip().lower() if isinstance(value, str) else value


def _bool(value: object) -> bool:
    return value if isinstance(value, bool) else _refuse(value, "true or false")


def _int(value: object) -> int:
    if isinstance(value, str) and value.strip().isdigit():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(_refuse(value, "a whole number"))


def _float(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return float(_refuse(value, "a number, or a text with its unit"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else _refuse(value, "a text")


def _path(value: object) -> Path:
    return Path(value) if isinstance(value, str | Path) else _refuse(value, "a path")


_CONVERTERS: dict[Any, Callable[[object], Any]] = {
    bool: _bool,
    int: _int,
    float: _float,
    str: _text,
    Path: _path,
}


def _refuse(value: object, wanted: str) -> Any:
    raise ValueError(f"{value!r} is not {wanted}")
