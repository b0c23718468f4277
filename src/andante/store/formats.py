"""The formats of outputs: the end of a file's name says which it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from andante.extras import how_to_install
from andante.store.jsonl import JsonlSink
from andante.store.output import Output
from andante.store.warc import WarcSink

SUFFIXES = (".warc.gz", ".warc", ".jsonl.gz", ".jsonl", ".parquet")
"""What the names of outputs may end in."""

WARC_SIZE = 10**9
"""Bytes at which a WARC file is full, as the WARC specification recommends (annex C)."""


def open_output(
    path: Path,
    *,
    position: Sequence[int] | None = None,
    size_max: int = WARC_SIZE,
    about: dict[str, str] | None = None,
) -> Output:
    """Open an output in the format that its name says.

    Args:
        path: ends in one of `SUFFIXES`.
        position: as last committed; None if the output is new.
        size_max: bytes at which a WARC file is full. Other formats are one file.
        about: what a WARC file says of the crawl: ``user_agent`` and ``robots``.

    Raises:
        ValueError: the name ends in nothing known, or the format needs what is not installed.
        OutputDamaged: the output is not what was committed.
        OSError: the output is new and its file is there already, or its directory cannot be written to.
    """
    suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), None)
    match suffix:
        case ".warc.gz" | ".warc":
            sink = WarcSink(about or {}, compress=suffix == ".warc.gz")
            return Output(path, sink, suffix=suffix, position=position, size_max=size_max)
        case ".jsonl.gz" | ".jsonl":
            return Output(
                path, JsonlSink(compress=suffix == ".jsonl.gz"), suffix=suffix, position=position
            )
        case ".parquet":
            try:
                from andante.store.parquet import ParquetOutput  # noqa: PLC0415  # other outputs need not wait for pyarrow
            except ImportError:
                raise ValueError(
                    f"cannot write {path}: Parquet needs pyarrow; {how_to_install('parquet')}"
                ) from None
            return ParquetOutput(path, position=position)
        case _:
            raise ValueError(
                f"cannot write {path}: the name of an output ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
            )


def files(path: Path, position: Sequence[int]) -> list[Path]:
    """Return the files that an output has written up to a position, in order."""
    suffix = next(suffix for suffix in SUFFIXES if path.name.endswith(suffix))
    if suffix == ".parquet":
        return [path]
    stem = path.name.removesuffix(suffix)
    later = [path.with_name(f"{stem}-{index:05}{suffix}") for index in range(1, position[0] + 1)]
    return [path, *later]
