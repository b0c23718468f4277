"""What an experiment finds: tables and figures, as plain data."""

from __future__ import annotations

import msgspec


class Table(msgspec.Struct, frozen=True):
    """Rows of texts and numbers under named columns; the names carry the units."""

    name: str
    """Short name; a CSV file is called after it."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]


class Series(msgspec.Struct, frozen=True):
    """A line of a figure."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]


class Figure(msgspec.Struct, frozen=True):
    """Lines over one pair of axes."""

    name: str
    """Short name; the file is called after it."""
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]


class Result(msgspec.Struct, frozen=True):
    """All that an experiment finds."""

    title: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader of the tables should know, a sentence each."""
