import itertools
import resource
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.store import parquet
from andante.store.formats import open_output
from andante.store.output import OutputDamaged
from support.fetched import make_page, pages


def append(output, some):
    output.append([output.sink.encode(page) for page in some])
    output.sync()
    return output.position


def numbered(count, start=0):
    return [
        make_page(final_url=f"http://a.example/{number}") for number in range(start, start + count)
    ]


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def urls(path):
    return pq.read_table(path)["final_url"].to_pylist()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pages.parquet"


def test_a_finished_crawl_is_one_file_with_typed_columns(path):
    output = open_output(path)
    append(output, [make_page()])
    assert names(path.parent) == ["pages.parquet.spool"]
    output.finish()
    assert names(path.parent) == ["pages.parquet"]
    table = pq.read_table(path)
    assert table.schema.remove_metadata() == pa.schema(
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
    assert table.to_pylist() == [
        {
            "url": "http://a.example/old",
            "final_url": "http://a.example/page?q=1",
            "status": 200,
            "content_type": "text/html",
            "fetched_at": datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC),
            "depth": 2,
            "referrer": "http://a.example/",
            "title": "Hello",
            "links": ["http://a.example/1", "http://b.example/2"],
            "elapsed_ms": 250.0,
            "bytes": 13,
            "encoding": "utf-8",
            "truncated": "",
        }
    ]


@settings(max_examples=25, deadline=None)
@given(some=st.lists(pages, max_size=4))
def test_pyarrow_reads_each_page_back(some, tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "pages.parquet"
    output = open_output(path)
    append(output, some)
    output.finish()
    rows = pq.read_table(path).to_pylist()
    assert len(rows) == len(some)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    for row, page in zip(rows, some, strict=True):
        for name in (
            "url",
            "final_url",
            "status",
            "content_type",
            "depth",
            "referrer",
            "title",
            "links",
            "encoding",
            "truncated",
        ):
            assert row[name] == getattr(page, name)
        assert row["bytes"] == len(page.payload)
        assert row["fetched_at"] == epoch + timedelta(milliseconds=int(page.fetched_at * 1000))


def test_a_long_spool_becomes_row_groups_of_bounded_size(path, monkeypatch):
    monkeypatch.setattr(parquet, "_GROUP_SIZE", 2000)
    output = open_output(path)
    append(output, numbered(50))
    output.finish()
    with pq.ParquetFile(path) as file:
        assert [
            file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)
        ] == [7] * 7 + [1]
    assert urls(path) == [f"http://a.example/{number}" for number in range(50)]


def test_a_crawl_without_a_page_leaves_an_empty_table(path):
    open_output(path).finish()
    assert names(path.parent) == ["pages.parquet"]
    assert pq.read_table(path).num_rows == 0


def test_a_job_that_goes_on_after_a_finish_keeps_all_pages(path):
    output = open_output(path)
    position = append(output, numbered(2))
    output.finish()
    for start in (2, 4, 6):
        output = open_output(path, position=position)
        assert urls(path) == [f"http://a.example/{number}" for number in range(start)]
        position = append(output, numbered(2, start))
        output.finish()
    assert urls(path) == [f"http://a.example/{number}" for number in range(8)]
    assert names(path.parent) == ["pages.parquet"]


def test_a_finish_without_new_pages_changes_nothing(path):
    output = open_output(path)
    position = append(output, numbered(2))
    output.finish()
    for _ in range(3):
        before = path.read_bytes()
        output = open_output(path, position=position)
        position = append(output, [])
        output.finish()
        assert (path.read_bytes(), names(path.parent)) == (before, ["pages.parquet"])


def killed_at(step, monkeypatch):
    """End the process at the ``step``-th file operation of a finish."""
    steps = itertools.count()

    def die(real):
        def wrapper(*args, **kwargs):
            if next(steps) == step:
                raise KeyboardInterrupt
            return real(*args, **kwargs)

        return wrapper

    monkeypatch.setattr(parquet.os, "fsync", die(parquet.os.fsync))
    monkeypatch.setattr(parquet.Path, "replace", die(parquet.Path.replace))
    monkeypatch.setattr(parquet.Path, "unlink", die(parquet.Path.unlink))


@pytest.mark.parametrize("step", range(4))
@pytest.mark.parametrize("is_first", [True, False])
def test_a_finish_killed_at_any_step_loses_and_doubles_nothing(path, step, is_first):
    position = None
    start = 0
    if not is_first:
        output = open_output(path)
        position = append(output, numbered(3))
        output.finish()
        start = 3
    output = open_output(path, position=position)
    position = append(output, numbered(3, start))
    with pytest.MonkeyPatch.context() as patch:
        killed_at(step, patch)
        with pytest.raises(KeyboardInterrupt):
            output.finish()
    output = open_output(path, position=position)
    position = append(output, numbered(3, start + 3))
    output.finish()
    assert urls(path) == [f"http://a.example/{number}" for number in range(start + 6)]
    assert names(path.parent) == ["pages.parquet"]


def test_uncommitted_pages_are_cut_off_the_spool(path):
    output = open_output(path)
    position = append(output, numbered(2))
    append(output, numbered(2, start=100))
    output.close()
    output = open_output(path, position=position)
    append(output, numbered(1, start=2))
    output.finish()
    assert urls(path) == [f"http://a.example/{number}" for number in range(3)]


def test_a_full_disk_at_the_finish_keeps_the_spool(path):
    output = open_output(path)
    position = append(output, numbered(20))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            output.finish()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert names(path.parent) == ["pages.parquet.spool"]
    open_output(path, position=position).finish()
    assert len(urls(path)) == 20


@pytest.mark.parametrize("content", [None, b"", b"not Parquet", "another table"])
def test_a_finished_file_that_is_not_ours_is_refused(path, content):
    output = open_output(path)
    append(output, numbered(1))
    output.finish()
    output = open_output(path, position=output.position)
    position = append(output, numbered(1))
    output.close()
    if content is None:
        path.unlink()
    elif content == "another table":
        pq.write_table(pa.table({"a": [1]}), path)
    else:
        path.write_bytes(content)
    before = {name: (path.parent / name).read_bytes() for name in names(path.parent)}
    with pytest.raises(OutputDamaged, match=r"pages\.parquet is not the file that the job wrote"):
        open_output(path, position=position)
    assert {name: (path.parent / name).read_bytes() for name in names(path.parent)} == before


def test_a_missing_spool_is_refused(path):
    output = open_output(path)
    position = append(output, numbered(1))
    output.close()
    (path.parent / "pages.parquet.spool").unlink()
    with pytest.raises(OutputDamaged, match=r"pages\.parquet\.spool is missing"):
        open_output(path, position=position)


@pytest.mark.parametrize(
    "name",
    ["pages.parquet", "pages.parquet.tmp", "pages.parquet.spool", "pages-00001.parquet.spool"],
)
def test_a_new_output_overwrites_nothing(path, name):
    (path.parent / name).write_bytes(b"precious")
    with pytest.raises(FileExistsError, match=f"{name} is there already"):
        open_output(path)
    assert (path.parent / name).read_bytes() == b"precious"


def test_without_pyarrow_the_error_says_what_to_install(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "andante.store.parquet")
    monkeypatch.delattr("andante.store.parquet")
    with pytest.raises(
        ValueError,
        match=r"Parquet needs pyarrow; install it with: pip install 'pyarrow>=",
    ):
        open_output(path)


def test_other_outputs_do_not_import_pyarrow():
    program = "import sys, andante.store.formats; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
