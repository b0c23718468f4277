"""The journal: one SQLite file that holds a job's queue, what it knows, and how far its outputs are committed.

One thread writes it, in group commits. A commit is the only moment at which anything becomes true: pages done, blocks of new links, and the
positions up to which the outputs count all change in one transaction, after the outputs were written and synced.

SQLite sees to its own structure, not to what is in its cells. So each cell that holds bytes has a checksum of itself and of the rest of
its row in front: a bit that has changed on the disk is a `JobError`, not another URL or a page that is never fetched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from andante.errors import AndanteError
from andante.flow import Learnt, Sample, Trouble

FORMAT = 5
"""Version of the layout below, kept in ``user_version``."""

SERIES_MAX = 60_480
"""Moments of the time series that are kept, ten seconds each: a week."""

_APPLICATION = 0x416E6474  # "Andt"

_LAYOUT = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE block (number INTEGER PRIMARY KEY, server TEXT NOT NULL, grades BLOB NOT NULL, size INTEGER NOT NULL, done BLOB NOT NULL, links BLOB NOT NULL);
CREATE TABLE seen (number INTEGER PRIMARY KEY, fingerprints BLOB NOT NULL);
CREATE TABLE robots (server TEXT PRIMARY KEY, packed BLOB NOT NULL, expires_at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE server (key TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE ended (number INTEGER PRIMARY KEY, outcomes BLOB NOT NULL);
CREATE TABLE series (number INTEGER PRIMARY KEY, samples BLOB NOT NULL);
CREATE TABLE outbox (number INTEGER PRIMARY KEY, part BLOB NOT NULL);
"""


_WRITTEN = "redirect-out-of-scope"
"""The reason for exclusion of what the outputs hold all the same."""


class JobError(AndanteError):
    """A job cannot be opened or written; the message is one line for the user."""


class ServerState(msgspec.Struct, array_like=True, gc=False):
    """What politeness must remember of a server that was met, when the crawl goes on in another process."""

    crawl_delay: float = 0.0
    """Crawl-delay of its robots.txt, seconds."""
    hold_until: float = 0.0
    """Ask nothing before this time, seconds since 1970."""
    learnt: Learnt | None = None
    """What it lets through, where it has refused."""
    trouble: Trouble | None = None
    """Its failures of late."""


class Ended(msgspec.Struct, array_like=True, frozen=True):
    """A URL that ended without a page in the outputs."""

    url: str
    state: str
    """``redirected``, ``failed`` or ``excluded``."""
    reason: str
    detail: str = ""


class StoredBlock(msgspec.Struct, frozen=True):
    """A row of the block table, without its links."""

    number: int
    server: str
    grades: bytes
    size: int
    done: bytes


class Batch(msgspec.Struct, kw_only=True):
    """What one commit writes, besides the outputs."""

    blocks: list[tuple[int, str, bytes, int, bytes, bytes]] = []
    """New blocks: number, server, grades, size, done mask, links."""
    grown: list[tuple[int, str, bytes, int, bytes, bytes]] = []
    """Stored blocks that have grown: as new ones, with the new links."""
    done: list[tuple[bytes, int]] = []
    """Done masks of stored blocks: mask, number."""
    finished: list[tuple[int]] = []
    """Numbers of stored blocks that are done."""
    fingerprints: bytes = b""
    servers: list[tuple[str, ServerState]] = []
    ended: list[Ended] = []
    samples: list[Sample] = []
    outbox: list[tuple[int, bytes]] = []
    """What a node of a cluster still has to say: number, part."""
    heard: list[tuple[int]] = []
    """Numbers of those that were heard."""
    robots: list[tuple[str, bytes, float]] = []
    """What robots.txt say: server, packed, until when that holds in seconds since 1970."""
    meta: dict[str, Any] = {}


class Journal:
    """The open journal of a job.

    Args:
        path: of the file, made if it is not there. None: it is kept in memory.
        read_only: nothing will be written.

    Raises:
        JobError: the file is not a journal, is damaged, or was written by another version. Nothing is changed then.
    """

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        self._path = path
        if path is None:
            self._writer = self._reader = sqlite3.connect(
                ":memory:", isolation_level=None, check_same_thread=False
            )
            self._writer.executescript(_LAYOUT)
            return
        if path.exists():
            _check(path)
        else:
            _create(path)
        connect = _connect_to_read if read_only else partial(_connect, mode="rw")
        self._writer = connect(path)
        self._reader = connect(path)

    def close(self) -> None:
        """Close the file; the journal cannot be used any more."""
        self._reader.close()
        self._writer.close()

    # Reading

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Read in this what the journal holds: whatever is wrong with it is said in one line.

        Raises:
            JobError: it is damaged.
        """
        try:
            yield
        except (sqlite3.Error, msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise _damaged(self._path, f"{what}: {error}") from error

    def meta(self) -> dict[str, Any]:
        """Return settings, counts and output positions as last committed."""
        with self.reading("meta"):
            rows = self._reader.execute("SELECT key, value FROM meta")
            return {key: msgspec.msgpack.decode(_unseal(value, key)) for key, value in rows}

    def blocks(self) -> Iterator[StoredBlock]:
        """Return all blocks in the order of their numbers."""
        query = "SELECT number, server, grades, size, done FROM block ORDER BY number"
        with self.reading("block"):
            for number, server, sealed, size, done in self._reader.execute(query):
                grades = _unseal(sealed, number, server, size)
                yield StoredBlock(number, server, grades, size, _unseal(done, number))

    def links(self, number: int) -> bytes:
        """Return the packed links of a block: all its parts, one behind the other. They have checksums of their own."""
        with self.reading("links"):
            query = "SELECT links FROM block WHERE number = ?"
            row = self._reader.execute(query, (number,)).fetchone()
            if row is None or not isinstance(row[0], bytes):
                raise ValueError(f"block {number} has none")
            return row[0]

    def fingerprints(self) -> Iterator[bytes]:
        """Return the packed fingerprints of all known URLs, commit by commit."""
        return self._unsealed("seen", "SELECT fingerprints FROM seen ORDER BY number")

    def servers(self) -> dict[str, ServerState]:
        """Return the servers met, and what is remembered of them."""
        decode = msgspec.msgpack.Decoder(ServerState).decode
        with self.reading("server"):
            rows = self._reader.execute("SELECT key, state FROM server")
            return {key: decode(_unseal(state, key)) for key, state in rows}

    def robots(self, server: str) -> tuple[bytes, float] | None:
        """Return what the robots.txt of a server says, packed, and until when that holds in seconds since 1970; None: it was not read, or the row is damaged."""
        query = "SELECT packed, expires_at FROM robots WHERE server = ?"
        row = self._reader.execute(query, (server,)).fetchone()
        if row is None:
            return None
        try:
            return _unseal(row[0], server, row[1]), float(row[1])
        except (TypeError, ValueError):
            return None  # to read robots.txt again mends it

    def ended(self) -> Iterator[Ended]:
        """Return the URLs that ended without a page, in the order they ended."""
        with self.reading("ended"):
            for cell in self._unsealed("ended", "SELECT outcomes FROM ended ORDER BY number"):
                yield from msgspec.msgpack.decode(cell, type=list[Ended])

    def samples(self) -> Iterator[Sample]:
        """Return the time series of all servers, oldest first."""
        with self.reading("series"):
            for cell in self._unsealed("series", "SELECT samples FROM series ORDER BY number"):
                yield from msgspec.msgpack.decode(cell, type=list[Sample])

    def outbox(self) -> Iterator[tuple[int, bytes]]:
        """Return what a node of a cluster had still to say, in order."""
        with self.reading("outbox"):
            for number, part in self._reader.execute(
                "SELECT number, part FROM outbox ORDER BY number"
            ):
                yield number, _unseal(part, number)

    def _unsealed(self, what: str, query: str) -> Iterator[bytes]:
        with self.reading(what):
            for (cell,) in self._reader.execute(query):
                yield _unseal(cell)

    def is_fruitless(self) -> bool:
        """Tell whether the job has ended and nothing has come that the outputs hold: all has failed, as without a network, or robots.txt forbade it."""
        stats = self.meta().get("stats", {})
        excluded = stats.get("excluded", {})
        got = any(stats.get(name) for name in ("fetched", "redirected")) or (_WRITTEN in excluded)
        ended = stats.get("failed") or excluded
        return bool(ended) and not got and next(self.blocks(), None) is None

    # Writing

    def reset(self) -> None:
        """Forget all URLs, so that the job starts over; what is known of servers and outputs stays."""
        self._writer.executescript(
            "BEGIN; DELETE FROM block; DELETE FROM seen; DELETE FROM ended; DELETE FROM meta WHERE key = 'stats'; COMMIT;"
        )

    def forget_robots(self, before: float) -> None:
        """Forget robots.txt that hold no longer than ``before``, seconds since 1970."""
        self._writer.execute("DELETE FROM robots WHERE expires_at <= ?", (before,))

    def forget_queue(self) -> None:
        """Forget the URLs that wait: they are kept elsewhere."""
        self._writer.execute("DELETE FROM block")

    def commit(self, batch: Batch) -> None:
        """Write a batch in one transaction; it is on disk, or nothing of it is.

        Raises:
            OSError: the disk is full or failing.
        """
        db = self._writer
        try:
            with db:
                db.execute("BEGIN IMMEDIATE")
                _write_queue(db, batch)
                _write_rest(db, batch)
        except sqlite3.Error as error:
            message = f"cannot write {self._path}: {error}"
            raise OSError(message) from error


def _write_queue(db: sqlite3.Connection, batch: Batch) -> None:
    """Write what has changed of the URLs that wait and are known."""
    db.executemany(
        "INSERT INTO block VALUES (?, ?, ?, ?, ?, ?)",
        (
            (
                number,
                server,
                _seal(grades, number, server, size),
                size,
                _seal(done, number),
                links,
            )
            for number, server, grades, size, done, links in batch.blocks
        ),
    )
    db.executemany(
        "UPDATE block SET grades = ?, size = ?, done = ?, links = CAST(links || ? AS BLOB) WHERE number = ?",
        (
            (
                _seal(grades, number, server, size),
                size,
                _seal(done, number),
                links,
                number,
            )
            for number, server, grades, size, done, links in batch.grown
        ),
    )
    db.executemany(
        "UPDATE block SET done = ? WHERE number = ?",
        ((_seal(done, number), number) for done, number in batch.done),
    )
    db.executemany("DELETE FROM block WHERE number = ?", batch.finished)
    if batch.fingerprints:
        cell = _seal(batch.fingerprints)
        db.execute("INSERT INTO seen (fingerprints) VALUES (?)", (cell,))


def _write_rest(db: sqlite3.Connection, batch: Batch) -> None:
    """Write what has ended, and what is remembered beside the queue."""
    encode = msgspec.msgpack.encode
    db.executemany(
        "REPLACE INTO server VALUES (?, ?)",
        ((key, _seal(encode(state), key)) for key, state in batch.servers),
    )
    if batch.ended:
        cell = _seal(encode(batch.ended))
        db.execute("INSERT INTO ended (outcomes) VALUES (?)", (cell,))
    if batch.samples:
        last = "INSERT INTO series (samples) VALUES (?) RETURNING number"
        [(number,)] = db.execute(last, (_seal(encode(batch.samples)),)).fetchall()
        db.execute("DELETE FROM series WHERE number <= ?", (number - SERIES_MAX,))
    db.executemany(
        "INSERT INTO outbox VALUES (?, ?)",
        ((number, _seal(part, number)) for number, part in batch.outbox),
    )
    db.executemany("DELETE FROM outbox WHERE number = ?", batch.heard)
    db.executemany(
        "REPLACE INTO robots VALUES (?, ?, ?)",
        (
            (server, _seal(packed, server, expires_at), expires_at)
            for server, packed, expires_at in batch.robots
        ),
    )
    db.executemany(
        "REPLACE INTO meta VALUES (?, ?)",
        ((key, _seal(encode(value), key)) for key, value in batch.meta.items()),
    )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    if mode.startswith("ro"):
        return db
    if mode == "rw":
        db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")  # the process may be killed, and so may the machine
    return db


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a journal that may stand where nothing may be written: on a read-only file system, or in another user's directory.

    SQLite reads a journal in its WAL mode with the help of files beside it, which it makes if they are not there. If it may not, and there are none,
    nobody writes the journal now, and it is read as it stands.

    Raises:
        JobError: it cannot be read, in one line.
    """
    try:
        with path.open("rb"):
            pass
        db = _connect(path, "ro")
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            db.close()
            if error.sqlite_errorcode & 0xFF not in (
                sqlite3.SQLITE_CANTOPEN,
                sqlite3.SQLITE_READONLY,
            ):
                raise
        else:
            return db
        if (log := path.with_name(path.name + "-wal")).exists() and log.stat().st_size:
            message = f"{path} cannot be read where nothing may be written: {log.name} holds the last commits; copy the directory to where you may write"
            raise JobError(message)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise JobError(message) from None
    return _connect(path, "ro&immutable=1")


def _create(path: Path) -> None:
    """Make an empty journal, whole or not at all."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with closing(_connect(draft, "rwc")) as db:
        db.executescript(
            f"BEGIN; {_LAYOUT} PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {FORMAT}; COMMIT;"
        )
    draft.replace(path)


def _check(path: Path) -> None:
    """Look at a journal without changing anything."""
    try:
        with closing(_connect_to_read(path)) as db:
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if application != _APPLICATION:
                message = f"{path} is not the journal of an Andante job"
                raise JobError(message)
            if version != FORMAT:
                message = f"{path} has format {version}, this Andante reads format {FORMAT}: use the version that wrote it, or another --job directory"
                raise JobError(message)
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        verdict = str(error)
    if verdict != "ok":
        raise _damaged(path, verdict)


def _damaged(path: Path | None, why: str) -> JobError:
    """Return the error of a journal that holds what nobody wrote. Its pages are in the outputs all the same."""
    return JobError(
        f"{path} is damaged ({why.splitlines()[0]}): restore it from a copy, or start another --job directory"
    )


_SEAL = 4  # bytes of a checksum


def _seal(data: bytes, *row: object) -> bytes:
    """Return the cell for data: their checksum, together with the rest of the row that is to be safe, and they."""
    return crc32(data, crc32(repr(row).encode())).to_bytes(_SEAL, "little") + data


def _unseal(cell: object, *row: object) -> bytes:
    """Undo `_seal`.

    Raises:
        ValueError: the cell, or the rest of its row, is not what was written.
    """
    if not isinstance(cell, bytes) or _seal(cell[_SEAL:], *row) != cell:
        raise ValueError("a checksum is wrong")
    return cell[_SEAL:]
