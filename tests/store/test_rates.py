import threading
from math import inf

import pytest

from andante.store import JobError, Rates, RatesFile

SERVERS = {
    "http://a.example": "1/min",
    "a.example:80": "2/min",
    "a.example": "3/min",
    "b.example:8080": "4/min",
    "[::1]": "5/min",
    "[::2]:8080": "6/min",
    "c.example:443": "max",
}


@pytest.mark.parametrize(
    ("origin", "rate"),
    [
        ("http://a.example", 1),
        ("https://a.example", 3),
        ("http://a.example:8080", 3),
        ("http://b.example:8080", 4),
        ("https://b.example:8080", 4),
        ("http://b.example", 40),
        ("http://[::1]", 5),
        ("http://[::1]:8080", 5),
        ("http://[::2]:8080", 6),
        ("http://[::2]", 40),
        ("https://c.example", inf),
        ("http://c.example", 40),
    ],
)
def test_the_most_exact_name_of_a_server_counts(origin, rate):
    assert Rates(rate="40/min", servers=SERVERS).of(origin, 7.0) == rate


def test_what_is_not_given_is_as_the_settings_say():
    assert Rates().of("http://a.example", 7.0) == 7.0
    assert Rates().total(8.0) == 8.0
    assert Rates(rate="2/s", total_rate="10/s").total(8.0) == 600
    assert Rates(rate="2/s").of("http://a.example", 7.0) == 120


@pytest.mark.parametrize("written", ["pause", "0", "0/min"])
def test_a_pause_is_a_set_point_of_0(written):
    assert Rates(rate=written).of("http://a.example", 7.0) == 0
    assert Rates(total_rate=written).total(7.0) == 0
    paused = Rates(rate="5/min", servers={"a.example": written})
    assert (paused.of("http://a.example", 7.0), paused.of("http://b.example", 7.0)) == (0, 5)
    assert paused.has_paused
    assert not Rates(rate="5/min").has_paused


def test_a_file_has_changed_only_when_it_has(tmp_path):
    file, other = RatesFile(tmp_path), RatesFile(tmp_path)
    assert file.changed() is None
    assert file.read() == Rates()
    given = Rates(rate="40/min", servers={"[::1]": "max"})
    other.write(given)
    assert file.changed() == given
    assert file.changed() is None
    other.write(given)
    other.write(Rates(total_rate="2/s"))
    assert file.changed() == Rates(total_rate="2/s")
    (tmp_path / "rates.json").unlink()
    assert file.changed() == Rates()
    assert file.changed() is None


@pytest.mark.parametrize(
    "written",
    [b"", b"{", b"[]", b'{"rate": 40}', b'{"rate": "-1/min"}', b'{"servers": {"a": "soon"}}'],
)
def test_a_damaged_file_is_told_once_in_one_line(tmp_path, written):
    (tmp_path / "rates.json").write_bytes(written)
    file = RatesFile(tmp_path)
    with pytest.raises(JobError, match=r"^[^\n]*rates\.json does not hold rates: [^\n]*$"):
        file.changed()
    assert file.changed() is None


def test_what_cannot_be_read_is_one_line_too(tmp_path):
    (tmp_path / "rates.json").mkdir()
    with pytest.raises(JobError, match=r"^cannot read .*rates\.json: Is a directory$"):
        RatesFile(tmp_path).changed()


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "rates.json").mkdir()
    with pytest.raises(JobError, match=r"^cannot write .*rates\.json: Is a directory$"):
        RatesFile(tmp_path).write(Rates(rate="1/s"))
    assert [path.name for path in tmp_path.iterdir()] == ["rates.json"]


def test_a_write_is_whole_or_not_at_all(tmp_path):
    """Whoever has the old file open keeps it, and the new one is complete under its name."""
    file = RatesFile(tmp_path)
    file.write(Rates(rate="40/min"))
    with (tmp_path / "rates.json").open("rb") as old:
        file.write(Rates(rate="20/min"))
        assert b"40/min" in old.read()
    assert file.read() == Rates(rate="20/min")
    assert [path.name for path in tmp_path.iterdir()] == ["rates.json"]


def test_of_two_changes_at_once_none_is_lost(tmp_path):
    """The second one waits until the first one has written."""
    began, may_end = threading.Event(), threading.Event()

    def slow():
        with RatesFile(tmp_path).change() as rates:
            began.set()
            may_end.wait(10)
            rates.rate = "40/min"

    first = threading.Thread(target=slow)
    first.start()
    began.wait(10)
    threading.Timer(0.05, may_end.set).start()
    with RatesFile(tmp_path).change() as rates:
        rates.total_rate = "2/s"
    first.join()
    assert RatesFile(tmp_path).read() == Rates(rate="40/min", total_rate="2/s")


def test_a_change_that_fails_writes_nothing(tmp_path):
    file = RatesFile(tmp_path)
    with pytest.raises(ValueError, match="no rate"), file.change():
        raise ValueError("no rate")
    assert not list(tmp_path.iterdir())
    with (
        pytest.raises(JobError, match=r"^cannot read .*none: No such file or directory$"),
        RatesFile(tmp_path / "none").change(),
    ):
        pass
