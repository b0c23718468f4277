import sqlite3
from contextlib import closing
from math import inf

import pytest

from andante.flow import Sample
from andante.frontier.seen import unpack
from andante.store import journal
from andante.store.journal import Batch, Ended, JobError, Journal, ServerState


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


BATCH = Batch(
    blocks=[
        (1, "http://a.example", b"\x80\x7f\x7f", 3, b"\1", b"links of 1"),
        (2, "http://b.example", b"\x80", 1, b"", b"links of 2"),
    ],
    fingerprints=b"aaaaaaaabbbbbbbb",
    servers=[("http://a.example", ServerState(crawl_delay=2.0))],
    ended=[Ended("http://a.example/x", "failed", "reset", "in the body")],
    meta={"stats": {"requests": 5}, "positions": {"/pages.warc.gz": [0, 10]}},
)


def test_what_was_committed_is_there_again(path):
    with closing(Journal(path)) as journal:
        journal.commit(BATCH)
    with closing(Journal(path)) as journal:
        assert [
            (row.number, row.server, row.grades, row.size, row.done) for row in journal.blocks()
        ] == [
            (1, "http://a.example", b"\x80\x7f\x7f", 3, b"\1"),
            (2, "http://b.example", b"\x80", 1, b""),
        ]
        assert journal.links(2) == b"links of 2"
        assert list(unpack(b"".join(journal.fingerprints()))) == [b"aaaaaaaa", b"bbbbbbbb"]
        assert journal.servers() == {"http://a.example": ServerState(crawl_delay=2.0)}
        assert list(journal.ended()) == BATCH.ended
        assert journal.meta() == BATCH.meta


def test_a_block_grows_by_parts(path):
    """Whatever bytes the parts hold."""
    with closing(Journal(path)) as journal:
        journal.commit(BATCH)
        journal.commit(Batch(grown=[(1, "http://a.example", b"\x7f", 5, b"\2", b"\0\xff more")]))
        journal.commit(Batch(grown=[(1, "http://a.example", b"\x7e", 6, b"\3", b"\0")]))
        assert journal.links(1) == b"links of 1\0\xff more\0"
        assert [(row.number, row.size, row.done) for row in journal.blocks()] == [
            (1, 6, b"\3"),
            (2, 1, b""),
        ]


def test_later_commits_change_earlier_ones(path):
    with closing(Journal(path)) as journal:
        journal.commit(BATCH)
        journal.commit(
            Batch(
                done=[(b"\3", 1)],
                finished=[(2,)],
                fingerprints=b"cccccccc",
                servers=[("http://a.example", ServerState(hold_until=9.0))],
                meta={"stats": {"requests": 6}},
            )
        )
        assert [(row.number, row.done) for row in journal.blocks()] == [(1, b"\3")]
        assert b"".join(journal.fingerprints()) == b"aaaaaaaabbbbbbbbcccccccc"
        assert journal.servers()["http://a.example"].hold_until == 9.0
        assert journal.meta()["stats"] == {"requests": 6}
        assert journal.meta()["positions"] == BATCH.meta["positions"]


def test_a_commit_that_fails_changes_nothing(path):
    with closing(Journal(path)) as journal:
        journal.commit(BATCH)
        with pytest.raises(OSError, match="cannot write"):
            journal.commit(
                Batch(fingerprints=b"dddddddd", blocks=[(1, "twice", b"\x80", 1, b"", b"")])
            )
        assert b"".join(journal.fingerprints()) == BATCH.fingerprints
        journal.commit(Batch(fingerprints=b"dddddddd"))
        assert b"".join(journal.fingerprints()) == BATCH.fingerprints + b"dddddddd"


def test_readers_see_commits_while_it_is_open(path):
    with closing(Journal(path)) as journal, closing(Journal(path, read_only=True)) as reader:
        journal.commit(BATCH)
        assert reader.meta() == BATCH.meta
        with pytest.raises(OSError, match="readonly"):
            reader.commit(Batch(fingerprints=b"dddddddd"))


def test_another_version_is_refused_and_left_alone(path):
    with closing(Journal(path)) as journal:
        journal.commit(BATCH)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(JobError, match="has format 99, this Andante reads format 5"):
        Journal(path)
    assert path.read_bytes() == before


def test_another_database_is_refused(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE other (x)")
    with pytest.raises(JobError, match="is not the journal of an Andante job"):
        Journal(path)


@pytest.mark.parametrize("damage", ["text", "torn", "overwritten"])
def test_a_damaged_journal_is_refused_and_left_alone(path, damage):
    with closing(Journal(path)) as journal:
        journal.commit(
            Batch(
                blocks=[(n, "http://a.example", b"\x80", 1, b"", bytes(3000)) for n in range(1, 50)]
            )
        )
    content = path.read_bytes()
    broken = {
        "text": b"not a database, " * 100,
        "torn": content[: len(content) // 2],
        "overwritten": content[:8192] + b"\xff" * 8192 + content[16384:],
    }
    path.write_bytes(broken[damage])
    with pytest.raises(JobError, match="is damaged"):
        Journal(path)
    assert path.read_bytes() == broken[damage]


def test_a_torn_log_falls_back_to_the_last_whole_commit(path):
    """What a crash of the machine leaves: SQLite's log cut anywhere."""
    journal = Journal(path)
    for number in range(1, 30):
        journal.commit(Batch(fingerprints=b"%08d" % number, meta={"last": number}))
    log = path.with_name(path.name + "-wal")
    content, main = log.read_bytes(), path.read_bytes()
    journal.close()
    for cut in range(0, len(content), 5_000):
        path.write_bytes(main)
        log.write_bytes(content[:cut])
        path.with_name(path.name + "-shm").unlink(missing_ok=True)
        with closing(Journal(path)) as torn:
            last = torn.meta().get("last", 0)
            assert b"".join(torn.fingerprints()) == b"".join(
                b"%08d" % number for number in range(1, last + 1)
            )


def test_a_full_disk_is_an_os_error(path):
    with closing(Journal(path)) as journal:
        journal.commit(BATCH)
        (pages,) = journal._writer.execute("PRAGMA page_count").fetchone()
        journal._writer.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(OSError, match="full"):
            journal.commit(Batch(blocks=[(9, "http://a.example", b"\x80", 1, b"", bytes(100_000))]))
        assert journal.meta() == BATCH.meta


@pytest.mark.parametrize(
    ("stats", "block", "expected"),
    [
        ({"failed": {"dns": 1}, "fetched": {}, "redirected": 0, "excluded": {}}, False, True),
        ({"failed": {"dns": 1}, "fetched": {}, "redirected": 0, "excluded": {}}, True, False),
        (
            {"failed": {"dns": 1}, "fetched": {"200": 1}, "redirected": 0, "excluded": {}},
            False,
            False,
        ),
        ({"failed": {}, "fetched": {}, "redirected": 0, "excluded": {}}, False, False),
    ],
)
def test_a_job_in_which_all_failed_starts_over(path, stats, block, expected):
    blocks = [(1, "http://a.example", b"\x80", 1, b"", b"links")] if block else []
    with closing(Journal(path)) as journal:
        journal.commit(
            Batch(blocks=blocks, fingerprints=b"aaaaaaaa", meta={"stats": stats, "positions": {}})
        )
        assert journal.is_fruitless() is expected
        journal.reset()
        assert b"".join(journal.fingerprints()) == b""
        assert journal.meta() == {"positions": {}}


def test_the_time_series_keeps_its_last_moments(path, monkeypatch):
    monkeypatch.setattr(journal, "SERIES_MAX", 3)
    with closing(Journal(path)) as kept:
        for moment in range(5):
            sample = Sample(
                time=float(moment),
                server="http://a.example",
                rate=1.0,
                set_point=inf,
                ceiling=inf,
                delay=0.0,
                limit=1,
                in_flight=1,
                latency=0.1,
                reason="",
            )
            kept.commit(Batch(samples=[sample]))
        assert [sample.time for sample in kept.samples()] == [2.0, 3.0, 4.0]
