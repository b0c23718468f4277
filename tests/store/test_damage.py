"""A journal whose cells are damaged: whoever reads it says so in one line, and nothing else ever happens."""

import contextlib
import functools
import io
import random
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from math import inf, nan

import msgspec
import pytest
import zstandard

from andante.cli import main
from andante.cluster.exchange import Links
from andante.cluster.outbox import decode
from andante.crawl.settings import Settings
from andante.crawl.start import engine, open_job
from andante.flow import Learnt, Sample, Trouble
from andante.frontier.frontier import remaining
from andante.sim.clock import Inline, run
from andante.store import Ended, JobError, has_met, inspect, series
from andante.store.job import Outgoing

A, B = "http://a.example", "https://b.example:8443"


def sample(server):
    return Sample(
        time=1e9,
        server=server,
        rate=1.0,
        set_point=inf,
        ceiling=inf,
        delay=0.0,
        limit=1,
        in_flight=1,
        latency=0.1,
        reason="",
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The directory of a job that has some of everything."""
    directory = tmp_path_factory.mktemp("whole") / "job"

    async def fill():
        settings = _settings(directory)
        with closing(open_job(settings, directory, Inline())) as job:
            job.seed_hosts["a.example"] = False
            running = engine(settings, [A + "/"], job=job, client=None, clock=lambda: 0.0)
            state, frontier = running.state, running.state.frontier
            frontier.offer([A + "/", *(f"{A}/{n}" for n in range(70))], depth=0)
            frontier.offer([f"{B}/{n}" for n in range(3)], depth=1, referrer=A + "/", asked=B + "/")
            frontier.offer(
                [f"{A}/scored/{n}" for n in range(5)],
                depth=1,
                referrer=A + "/",
                scores=[1.0, 3.0, 9.0, 0.1, 1.0],
            )
            job.crawl_delay(A, 2.0)
            job.learn(B, Learnt(1.0, is_known=True, burst=2, ban=30.0, peak=4.0))
            job.suffer(B, Trouble(2, 1, has_answered=True))
            job.end(Ended(A + "/gone", "failed", "reset", "in the body"))
            job.end(Ended(A + "/old", "redirected", "301", A + "/new"))
            job.sample([sample(A), sample(B)])
            _ = job.token
            running.stats = state.stats
            state.stats.fetched["200"] = 3
            state.stats.seconds = 2.5
            for _ in range(2):
                for server in list(frontier.servers.values()):
                    frontier.finish(frontier.take(server, 0.0))
                part = msgspec.msgpack.encode(Links(A, b"12345678", b""))
                await job.commit(
                    frontier,
                    outbox=Outgoing([(job._met + len(frontier.seen), part)], []),
                    stats=state.stats.to_dict(),
                    seeds=state.seeds,
                    settings={"scope": "host", "include": []},
                )
                frontier.offer([f"{A}/more", f"{B}/more"], depth=2, referrer=A + "/")

    run(fill())
    return directory


def use(directory):
    """Do all that is done with a job; return how that went: an error in one line, or nothing wrong."""
    errors = []
    for look in (
        lambda: list(series(directory)),
        lambda: has_met(directory, "a.example"),
        lambda: _looked_at(inspect(directory)),
        lambda: run(_gone_on_with(directory)),
    ):
        try:
            look()
        except JobError as error:
            errors.append(str(error))
    assert all(str(directory) in error and "\n" not in error for error in errors)
    return "refused" if errors else "used"


def _looked_at(found):
    repr(found)
    for flags in ((), ("--json",), ("--urls",), ("--speed",)):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main(["status", str(found.outputs[0].parent), *flags])


@functools.cache
def _settings(directory):
    return Settings(job=directory, output=(directory / "pages.jsonl",))


async def _gone_on_with(directory):
    settings = _settings(directory)
    with closing(open_job(settings, directory, Inline())) as job:
        running = engine(settings, [A + "/"], job=job, client=None, clock=lambda: 0.0)
        state = running.state
        job.restore(state.frontier, state.total, now=0.0, wall=1e9)
        assert all(map(decode, (part for _, part in job.outbox())))
        for server in list(state.frontier.servers.values()):
            running._throttle.held_until(server)
            for task in remaining(server, state.frontier):
                state.request(task.server, task.link.target)
                state.scope.admits(task.url)
                state.frontier.finish(task)
        state.frontier.offer([A + "/next"], depth=0)
        state.stats.fetched["200"] += 1
        running.snapshot()
        await job.commit(state.frontier, stats=state.stats.to_dict(), seeds=state.seeds)


def test_a_whole_journal_is_used(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "job")
    assert use(tmp_path / "job") == "used"


# Damage


def cells(directory):
    """Return all cells of a journal: table, column, row number, value."""
    with closing(sqlite3.connect(directory / "journal.sqlite")) as db:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
        for table in tables:
            cursor = db.execute(f"SELECT * FROM {table}")
            columns = [column for column, *_ in cursor.description]
            for row, values in enumerate(cursor.fetchall()):
                for column, value in zip(columns, values, strict=True):
                    yield table, column, row, value


STRANGE = [
    *(None, "", "x", "http://a.example/\n", 0, -1, 2**62, -(2**62), 1e300, -0.5, inf, b"", b"\0"),
    *(b"\xff" * 9, bytes(3000), b"\x91" * 5000, b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"),
    *(msgspec.msgpack.encode(value) for value in (None, -1, 2**63, nan, inf, "x", [], {}, [[]])),
    *(
        msgspec.msgpack.encode(value)
        for value in ([None] * 9, [-1.0] * 9, {"x": {"y": []}}, {"x": -1})
    ),
    *(
        msgspec.msgpack.encode(value)
        for value in ({"a": "b"}, ["\x1b[31m\n"], {"": True}, {"a": [0, 0]})
    ),
]


def packed(*targets):
    """Return the links of a block, whatever they are."""
    body = msgspec.msgpack.encode([[target, 0] for target in targets])
    part = zstandard.ZstdCompressor().compress(body)
    return len(part).to_bytes(4, "little") + part


def mutations(value, chance):
    """Return other values of a cell: of other types, cut, longer, and with bits flipped."""
    yield from STRANGE
    if isinstance(value, int):
        yield from (value + 1, value ^ 1 << chance.randrange(62), str(value))
    if isinstance(value, str):
        yield from (value.encode(), value[1:], value + "/", value + ":99999", value.upper())
        yield from (
            value[:at] + chance.choice("\0 @/é") + value[at:] for at in range(0, len(value), 3)
        )
    if isinstance(value, bytes):
        yield from (packed("/"), packed("x" * 9), packed("/\r\nX: y"), packed(*["/é"] * 80))
        yield (2**20).to_bytes(4, "little") + value[4:]
        yield from (value + value, value + b"\0", value.decode("latin-1"))
        yield from (value[:at] for at in range(len(value)))
        for at in range(len(value)):
            for bit in range(8):
                yield value[:at] + bytes((value[at] ^ 1 << bit,)) + value[at + 1 :]


def damaged(directory, table, column, row, value):
    """Change a cell; tell whether SQLite takes the value."""
    with closing(sqlite3.connect(directory / "journal.sqlite", isolation_level=None)) as db:
        if value is None:  # what only a damaged file can hold
            db.execute("PRAGMA writable_schema = ON")
            db.execute("UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '')")
    with closing(sqlite3.connect(directory / "journal.sqlite", isolation_level=None)) as db:
        [*keys] = db.execute(f"SELECT {_key(table)} FROM {table}").fetchall()
        try:
            db.execute(
                f"UPDATE {table} SET {column} = ? WHERE {_key(table)} IS ?", (value, keys[row][0])
            )
        except (sqlite3.IntegrityError, sqlite3.DataError, OverflowError):
            return False
    return True


def _key(table):
    return "key" if table in ("meta", "server") else "number"


def damages(whole, tmp_path, *, every):
    """Use the job after each of the mutations that is chosen; count how that went."""
    chance = random.Random(13)
    copy, found, number = tmp_path / "job", Counter(), 0
    for table, column, row, value in cells(whole):
        for mutation in mutations(value, chance):
            number += 1
            if mutation == value or number % every:
                continue
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(whole, copy)
            if not damaged(copy, table, column, row, mutation):
                continue
            try:
                found[use(copy)] += 1
            except Exception as error:
                raise AssertionError(
                    f"{table}.{column} of row {row} = {mutation!r:.200}"
                ) from error
    return found


def test_damaged_cells_are_refused_in_one_line(whole, tmp_path):
    found = damages(whole, tmp_path, every=97)
    assert found["refused"] > found["used"] > 0


@pytest.mark.slow
def test_all_damaged_cells_are_refused_in_one_line(whole, tmp_path):
    found = damages(whole, tmp_path, every=1)
    assert found.total() > 10_000
