"""Values with units as people write them: ``40/min``, ``10s``, ``64MiB``."""

from __future__ import annotations

import math
import re

_NUMBER = r"(?P<number>\d+(?:\.\d+)?)"
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_duration = re.compile(rf"{_NUMBER}\s*(?P<unit>{'|'.join(_SECONDS)})")
_size = re.compile(rf"{_NUMBER}\s*(?P<unit>{'|'.join(_BYTES)})")
_BITS = {
    "bit/s": 1,
    "kbit/s": 10**3,
    "Mbit/s": 10**6,
    "Gbit/s": 10**9,
    "B/s": 8,
    "kB/s": 8 * 10**3,
    "MB/s": 8 * 10**6,
    "GB/s": 8 * 10**9,
}
_bandwidth = re.compile(rf"{_NUMBER}\s*(?P<unit>{'|'.join(_BITS)})")
_PER_MINUTE = {"s": 60.0, "m": 1.0, "h": 1 / 60}
_RATES = (0.01 / 60, 60_000_000.0)  # requests a minute; what is outside is a slip of the pen
_rate = re.compile(rf"{_NUMBER}\s*/\s*(?P<unit>s|sec|second|min|m|minute|h|hour)")


def duration(text: str) -> float:
    """Return seconds from ``500ms``, ``10s``, ``10m`` (or ``10min``), ``2h``, ``1d``, or ``0``.

    Raises:
        ValueError: in one line that says what is allowed.
    """
    if text.strip() == "0":
        return 0.0
    return _scaled(_duration, _SECONDS, text, "a duration such as 500ms, 10s, 10m, 2h or 1d")


def size(text: str) -> int:
    """Return bytes from ``500kB``, ``64MiB``, ``1GB`` ...

    Raises:
        ValueError: in one line that says what is allowed.
    """
    return int(_scaled(_size, _BYTES, text, "a size such as 500kB, 64MiB or 1GB"))


def bandwidth(text: str) -> int:
    """Return bits a second from ``100Mbit/s``, ``1Gbit/s``, ``12MB/s`` ...

    Raises:
        ValueError: in one line that says what is allowed.
    """
    return int(_scaled(_bandwidth, _BITS, text, "a bandwidth such as 100Mbit/s, 1Gbit/s or 12MB/s"))


def rate(text: str) -> float:
    """Return events a minute from ``40/min``, ``2/s``, ``100/h``, at least ``0.01/h`` and at most ``1000000/s``, or infinity from ``max``.

    Raises:
        ValueError: in one line that says what is allowed.
    """
    if text.strip().lower() == "max":
        return math.inf
    match = _rate.fullmatch(text.strip())
    value = float(match["number"]) * _PER_MINUTE[match["unit"][0]] if match else 0.0
    if not value:
        message = (
            f"{text!r} is not a rate: write a number above 0 such as 40/min, 2/s or 100/h, or max"
        )
        raise ValueError(message)
    if not _RATES[0] <= value <= _RATES[1]:
        message = f"{text!r} is not a rate: it must be from 0.01/h to 1000000/s, or max"
        raise ValueError(message)
    return value


def _scaled(
    pattern: re.Pattern[str], units: dict[str, float] | dict[str, int], text: str, wanted: str
) -> float:
    match = pattern.fullmatch(text.strip())
    value = float(match["number"]) * units[match["unit"]] if match else math.inf
    if math.isinf(value):
        message = f"{text!r} is not {wanted}"
        raise ValueError(message)
    return value


def format_size(count: float) -> str:
    """Return bytes in words: ``1.2 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def format_duration(seconds: float) -> str:
    """Return seconds in words: ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``, ``3 d 4 h``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    for unit, part, size in (("min", "s", 60), ("h", "min", 3600), ("d", "h", 86400)):
        if seconds < size:
            break
        whole, rest = divmod(round(seconds), size)
        text = f"{whole} {unit}" + (
            f" {rest * 60 // size if unit != 'd' else rest // 3600} {part}" if rest else ""
        )
        if whole < {"min": 60, "h": 24, "d": 10**9}[unit]:
            return text
    return f"{seconds:.0f} s"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 page``, ``1,200 pages``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_rate(per_minute: float) -> str:
    """Return pages a minute in words: ``40/min``, ``max``, or ``pause`` for 0."""
    if math.isinf(per_minute):
        return "max"
    return f"{per_minute:g}/min" if per_minute else "pause"


def format_exact(seconds: float) -> str:
    """Return seconds as they are written in settings: ``500ms``, ``10s``, ``2m``."""
    for unit in ("d", "h", "m", "s"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:g}{unit}"
    return f"{seconds * 1000:g}ms" if seconds else "0"


def format_binary(count: int) -> str:
    """Return bytes as they are written in settings: ``64KiB``, ``10MiB``, ``1GB``."""
    for unit in ("GiB", "GB", "MiB", "MB", "KiB", "kB"):
        if count and count % _BYTES[unit] == 0:
            return f"{count // _BYTES[unit]}{unit}"
    return f"{count}B"
