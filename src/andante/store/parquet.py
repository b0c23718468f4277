"""Parquet, through a spool.

A Parquet file ends in a footer, so it can be neither appended to nor cut back. Pages are therefore appended to a spool of JSON lines beside it
(``pages.parquet.spool``); when the crawl finishes, the spool becomes ``pages.parquet`` and is removed. A job that goes on after that
starts another spool (``pages-00001.parquet.spool``), and its finish writes a new ``pages.parquet`` from the old one and the spool: there is
always one file, it is always complete, and it takes its name only when it is. Its footer says up to which position of the spools it goes.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from andante.store.jsonl import JsonlSink, Row
from andante.store.output import Output, OutputDamaged, Position, sync_directory

_GROUP_SIZE = 4 * 2**20
"""Bytes of spool that become one row group: converting holds about eight times that in memory."""

_POSITION = b"andante.position"

SCHEMA = pa.schema(
    [
        ("url", pa.string()),
        ("final_url", pa.string()),
        ("status", pa.int32()),
        ("content_type", pa.string()),
        ("fetched_at", pa.timestamp("ms", tz="UTC")),
        ("depth", pa.int32()),
        ("referrer", pa.string()),
        ("title", pa.string()),
        ("links", pa.list_(pa.string())),
        ("elapsed_ms", pa.float64()),
        ("bytes", pa.int64()),
        ("encoding", pa.string()),
        ("truncated", pa.string()),
    ]
)

_SPOOLED = SCHEMA.set(SCHEMA.get_field_index("fetched_at"), pa.field("fetched_at", pa.string()))


class ParquetOutput(Output):
    """A Parquet file that is written when the crawl finishes; until then the pages are in its spool."""

    _TAIL = ".spool"

    def __init__(self, path: Path, *, position: Sequence[int] | None = None) -> None:
        self._temporary = path.with_name(f"{path.name}.tmp")
        if position is not None:
            position = _spool_position(path, position)
        super().__init__(path, JsonlSink(), suffix=".parquet", position=position)
        for number, spool in list(self._files(0)):
            if (
                number < self._index
            ):  # killed when the Parquet file was in place and its spool not yet removed
                spool.unlink()

    def finish(self) -> None:
        """Write the Parquet file and remove the spool.

        Raises:
            OSError: the disk is full or failing. The spool is kept, and so is the Parquet file of an earlier finish.
        """
        self.close()
        spool = self._name(self._index)
        if self._offset or not self.path.exists():
            try:
                self._convert(spool)
            except OSError:
                self._temporary.unlink(missing_ok=True)
                raise
            self._temporary.replace(self.path)
            sync_directory(self.path.parent)
        spool.unlink(missing_ok=True)

    def _convert(self, spool: Path) -> None:
        index, offset = self.position
        schema = SCHEMA.with_metadata({_POSITION: b"%d %d" % (index, offset)})
        with self._temporary.open("wb") as file:
            with pq.ParquetWriter(file, schema, compression="zstd") as writer:
                for table in itertools.chain(_finished_tables(self.path), _spooled_tables(spool)):
                    writer.write_table(table.cast(schema))
            file.flush()
            os.fsync(file.fileno())

    def _claims(self) -> Iterator[Path]:
        taken = (path for path in (self.path, self._temporary) if path.exists())
        return itertools.chain(taken, super()._claims())


def _spool_position(path: Path, position: Sequence[int]) -> Position:
    """Return where to go on: where the spool was committed, or in the next spool if all of that is in the Parquet file."""
    index, offset = position
    finished = _finished_position(path)
    if finished == (index, offset):
        return index + 1, 0
    if (finished[0] if finished else -1) != index - 1:
        raise OutputDamaged(
            f"{path} is not the file that the job wrote: restore it from a copy, or start another --job directory"
        )
    return index, offset


def _finished_position(path: Path) -> Position | None:
    """Return the position up to which the Parquet file goes; None if there is no such file."""
    if not path.exists():
        return None
    try:
        metadata = pq.read_schema(path).metadata or {}
        index, offset = map(int, metadata[_POSITION].split())
    except (pa.ArrowInvalid, KeyError):
        return None
    return index, offset


def _finished_tables(path: Path) -> Iterator[pa.Table]:
    """Read the row groups of the Parquet file of an earlier finish, if there was one."""
    if path.exists():
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)


def _spooled_tables(path: Path) -> Iterator[pa.Table]:
    if path.exists():
        decoder = msgspec.json.Decoder(Row)
        with path.open("rb") as spool:
            while lines := spool.readlines(_GROUP_SIZE):
                rows = [decoder.decode(line) for line in lines]
                columns = [[getattr(row, field.name) for row in rows] for field in _SPOOLED]
                yield pa.Table.from_arrays(
                    [pa.array(c, f.type) for c, f in zip(columns, _SPOOLED, strict=True)],
                    schema=_SPOOLED,
                )
