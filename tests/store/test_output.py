import contextlib
import errno
import gzip
import itertools
import json
import resource
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.store.formats import files, open_output
from andante.store.output import Output, OutputDamaged
from support.fetched import make_page


class PlainSink:
    """Writes the payload of a page and nothing else."""

    wants_title = False
    wants_redirects = False

    def header(self, filename):
        return f"[{filename}]".encode()

    def encode(self, page):
        return page.payload


def plain(directory, position=None, size_max=None):
    return Output(
        directory / "p.x.gz", PlainSink(), suffix=".x.gz", position=position, size_max=size_max
    )


def written(directory):
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def run(directory, batches, size_max, position=(0, 0)):
    """Append the batches, and return the position after each."""
    output = plain(directory, position, size_max)
    positions = []
    for batch in batches:
        output.append(batch)
        positions.append(output.position)
    output.close()
    return positions


def crash(directory, position, survive):
    """Leave only the first ``survive`` bytes of what was written after a position, as an interrupted write does."""
    index, offset = position
    for number in itertools.count(index):
        path = directory / ("p.x.gz" if not number else f"p-{number:05}.x.gz")
        if not path.exists():
            break
        data = path.read_bytes()
        keep = min(offset + survive, len(data))
        survive -= keep - offset
        if survive or keep:
            path.write_bytes(data[:keep])
        else:
            path.unlink()
        offset = 0
    return survive


# Appending


def test_the_first_record_makes_the_file_and_its_header(tmp_path):
    output = plain(tmp_path)
    output.append([])
    output.sync()
    assert (output.position, [*tmp_path.glob("p-*")]) == ((0, 0), [])
    output.append([b"abc", b"", b"de"])
    output.sync()
    assert (output.position, written(tmp_path)) == ((0, 13), {"p.x.gz": b"[p.x.gz]abcde"})
    output.append([b"f"])
    output.close()
    assert written(tmp_path) == {"p.x.gz": b"[p.x.gz]abcdef"}


def test_finish_leaves_a_valid_file_even_without_a_record(tmp_path):
    plain(tmp_path).finish()
    assert written(tmp_path) == {"p.x.gz": b"[p.x.gz]"}
    output = plain(tmp_path, position=(0, 0))
    output.append([b"a"])
    output.finish()
    assert written(tmp_path) == {"p.x.gz": b"[p.x.gz]a"}


def test_more_records_than_one_system_call_takes(tmp_path):
    output = plain(tmp_path)
    records = [b"%d," % number for number in range(5000)]
    output.append(records)
    output.close()
    assert written(tmp_path) == {"p.x.gz": b"[p.x.gz]" + b"".join(records)}


def test_a_full_file_is_followed_by_the_next_and_no_record_is_parted(tmp_path):
    output = plain(tmp_path, size_max=16)
    output.append([b"a", b"bcdefg", b"h", b"i", b"j" * 30, b"k"])
    output.sync()
    assert output.position == (2, 15)
    output.close()
    assert written(tmp_path) == {
        "p.x.gz": b"[p.x.gz]abcdefgh",
        "p-00001.x.gz": b"[p-00001.x.gz]i" + b"j" * 30,
        "p-00002.x.gz": b"[p-00002.x.gz]k",
    }


# Going on


def test_every_interrupted_write_is_cut_back_to_what_was_committed(tmp_path):
    batches = [[b"aa", b"bbb"], [b"cccccccc", b"d"], [b"e" * 30, b"f"], [b"g"]]
    whole = tmp_path / "whole"
    whole.mkdir()
    positions = [(0, 0), *run(whole, batches, 20)]
    expected = written(whole)
    total = sum(map(len, expected.values()))
    assert len(expected) == 3
    for done, position in enumerate(positions):
        for survive in range(total):
            directory = tmp_path / f"{done}-{survive}"
            directory.mkdir()
            run(directory, batches, 20)
            left = crash(directory, position, survive)
            run(directory, batches[done:], 20, position)
            assert written(directory) == expected
            if left:
                break


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    batches=st.lists(st.lists(st.binary(max_size=30), max_size=5), max_size=6),
    size_max=st.integers(1, 80),
)
def test_however_often_it_is_killed_each_record_is_there_once(data, batches, size_max):
    with tempfile.TemporaryDirectory() as name:
        whole, killed = Path(name, "whole"), Path(name, "killed")
        whole.mkdir()
        killed.mkdir()
        run(whole, batches, size_max)
        position, done = (0, 0), 0
        while done < len(batches):
            more = data.draw(st.integers(0, len(batches) - done), label="batches written")
            committed = data.draw(st.integers(0, more), label="of these committed")
            positions = [position, *run(killed, batches[done : done + more], size_max, position)]
            position, done = positions[committed], done + committed
            crash(killed, position, data.draw(st.integers(0, 200), label="bytes that survive"))
        run(killed, [], size_max, position)
        assert written(killed) == written(whole)


def test_opening_keeps_files_of_other_outputs(tmp_path):
    others = ["p-00002.x", "p-2.x.gz", "q-00002.x.gz", "p-00002-1.x.gz", "pp.x.gz", "p.x.gz.bak"]
    for name in others:
        (tmp_path / name).write_bytes(b"other")
    (tmp_path / "p-00002.x.gz").write_bytes(b"uncommitted")
    (tmp_path / "p-00001.x.gz").write_bytes(b"committed, and more")
    plain(tmp_path, position=[1, 9]).close()
    assert written(tmp_path) == dict.fromkeys(others, b"other") | {"p-00001.x.gz": b"committed"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"1234",
            r"p\.x\.gz has 4 bytes, the job has committed 5: restore it from a copy, or start another --job directory",
        ),
        (
            None,
            r"p\.x\.gz is missing: the job has committed 5 bytes of it; put it back, or start another --job directory",
        ),
    ],
)
def test_a_damaged_output_is_refused_and_left_as_it_is(tmp_path, content, message):
    (tmp_path / "p-00001.x.gz").write_bytes(b"uncommitted")
    if content is not None:
        (tmp_path / "p.x.gz").write_bytes(content)
    before = written(tmp_path)
    with pytest.raises(OutputDamaged, match=message):
        plain(tmp_path, position=(0, 5))
    assert written(tmp_path) == before


@pytest.mark.parametrize("name", ["p.x.gz", "p-00001.x.gz"])
def test_a_new_output_overwrites_nothing(tmp_path, name):
    (tmp_path / name).write_bytes(b"precious")
    with pytest.raises(
        FileExistsError,
        match=rf"{name} is there already: name another --output, or go on with the job that writes it",
    ):
        plain(tmp_path)
    assert written(tmp_path) == {name: b"precious"}


def test_a_file_that_appears_later_is_not_overwritten(tmp_path):
    output = plain(tmp_path)
    (tmp_path / "p.x.gz").write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        output.append([b"a"])
    assert written(tmp_path) == {"p.x.gz": b"precious"}


def test_a_directory_without_the_right_to_write(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(
        PermissionError,
        match=rf"cannot write {tmp_path}/p\.x\.gz: no right to make files in {tmp_path}",
    ):
        plain(tmp_path)


# The disk is full


@contextlib.contextmanager
def limited_file_size(size):
    """Let writes fail beyond a size, as on a full disk but with EFBIG for ENOSPC; within the test, as pytest may write to a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    "records", [[b"x" * 100], [b"x" * 10] * 10, [b"x"] * 5000], ids=["one", "some", "many"]
)
def test_a_failed_append_leaves_what_was_there_and_works_when_there_is_room(tmp_path, records):
    output = plain(tmp_path)
    output.append([b"first"])
    with limited_file_size(50), pytest.raises(OSError, match="File too large") as caught:
        output.append(records)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(tmp_path / "p.x.gz"))
    assert (output.position, written(tmp_path)) == ((0, 13), {"p.x.gz": b"[p.x.gz]first"})
    output.append(records)
    output.close()
    assert written(tmp_path) == {"p.x.gz": b"[p.x.gz]first" + b"".join(records)}


def test_a_failed_append_takes_back_the_files_it_began(tmp_path):
    output = plain(tmp_path, size_max=20)
    output.append([b"first"])
    with limited_file_size(50), pytest.raises(OSError, match="File too large"):
        output.append([b"x" * 30, b"y" * 30, b"z" * 60])
    assert (output.position, written(tmp_path)) == ((0, 13), {"p.x.gz": b"[p.x.gz]first"})
    output.close()


def test_a_disk_without_room_for_the_first_byte_leaves_no_file(tmp_path):
    output = plain(tmp_path)
    with limited_file_size(3), pytest.raises(OSError, match="File too large"):
        output.append([b"first"])
    assert (output.position, written(tmp_path)) == ((0, 0), {})


# By name


@pytest.mark.parametrize("name", ["pages.warc.gz", "pages.warc", "pages.jsonl.gz", "pages.jsonl"])
def test_the_name_says_the_format(tmp_path, name):
    output = open_output(tmp_path / name)
    output.append([output.sink.encode(make_page())])
    output.close()
    data = (tmp_path / name).read_bytes()
    text = gzip.decompress(data) if name.endswith(".gz") else data
    if ".warc" in name:
        assert text.startswith(b"WARC/1.1\r\nWARC-Type: warcinfo\r\n")
        assert f"WARC-Filename: {name}\r\n".encode() in text
        assert text.count(b"\r\nWARC-Type: ") == 4
    else:
        assert json.loads(text)["final_url"] == "http://a.example/page?q=1"


def test_warc_files_are_numbered_and_each_says_its_name(tmp_path):
    output = open_output(tmp_path / "pages.warc.gz", size_max=1)
    for _ in range(3):
        output.append([output.sink.encode(make_page())])
    output.close()
    names = ["pages-00001.warc.gz", "pages-00002.warc.gz", "pages.warc.gz"]
    assert list(written(tmp_path)) == names
    for name, data in written(tmp_path).items():
        assert f"WARC-Filename: {name}\r\n".encode() in gzip.decompress(data)


def test_json_lines_stay_one_file(tmp_path):
    output = open_output(tmp_path / "pages.jsonl", size_max=1)
    output.append([output.sink.encode(make_page())] * 3)
    output.close()
    assert list(written(tmp_path)) == ["pages.jsonl"]


def test_what_the_warc_says_of_the_crawl(tmp_path):
    output = open_output(
        tmp_path / "pages.warc", about={"user_agent": "Someone/1", "robots": "ignore"}
    )
    output.finish()
    data = (tmp_path / "pages.warc").read_bytes()
    assert b"http-header-user-agent: Someone/1\r\nrobots: ignore\r\n" in data


@pytest.mark.parametrize(
    "name", ["pages.txt", "pages", "pages.warc.zst", "pages.gz", "pages.JSONL"]
)
def test_an_unknown_suffix_is_answered_with_those_allowed(tmp_path, name):
    with pytest.raises(
        ValueError,
        match=r"the name of an output ends in \.warc\.gz, \.warc, \.jsonl\.gz, \.jsonl or \.parquet",
    ):
        open_output(tmp_path / name)
    assert written(tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "position", "expected"),
    [
        ("pages.jsonl", (0, 5), ["pages.jsonl"]),
        ("pages.warc.gz", (2, 5), ["pages.warc.gz", "pages-00001.warc.gz", "pages-00002.warc.gz"]),
        ("pages.parquet", (3, 5), ["pages.parquet"]),
    ],
)
def test_the_files_of_an_output(name, position, expected):
    assert [path.name for path in files(Path(name), position)] == expected
