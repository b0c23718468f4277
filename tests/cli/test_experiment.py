import csv
import sys

import pytest

from andante.cli import experiment, main
from andante.cli.experiment import EXPERIMENTS
from andante.sim.experiments.result import Figure, Result, Series, Table

TINY = Result(
    title="A tiny experiment",
    tables=(
        Table(
            "results",
            ("plant", "rule", "held, %"),
            (("quick", "ours", 100.0), ("quick", "theirs", 99.12345678), ("slow", "ours", 7)),
        ),
    ),
    figures=(Figure("speed", "Speed", "minutes", "pages", (Series("ours", (1, 2), (3, 4)),)),),
    notes=("Held is good.",),
)
PRINTED = """\
A tiny experiment

results
plant  rule    held, %
quick  ours        100
       theirs  99.1235
slow   ours          7

- Held is good.

"""


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """The experiment `limit` is a tiny one that remembers its seeds."""
    seeds = []

    class Module:
        @staticmethod
        def run(*, seed=1):
            seeds.append(seed)
            return TINY

    monkeypatch.setitem(experiment._RUN, "limit", Module.run)
    monkeypatch.chdir(tmp_path)
    return seeds


def test_tables_are_printed_and_written_and_figures_drawn(tiny, tmp_path, capsys):
    assert main(["experiment", "limit"]) == 0
    printed = capsys.readouterr().out
    assert printed == PRINTED + "In experiment-limit: results.csv, speed.svg\n"
    with (tmp_path / "experiment-limit" / "results.csv").open(newline="") as file:
        assert list(csv.reader(file))[:2] == [
            ["plant", "rule", "held, %"],
            ["quick", "ours", "100.0"],
        ]
    drawn = (tmp_path / "experiment-limit" / "speed.svg").read_bytes()
    assert drawn.startswith(b"<?xml")
    assert main(["experiment", "limit"]) == 0
    assert (tmp_path / "experiment-limit" / "speed.svg").read_bytes() == drawn, "the same again"
    assert tiny == [1, 1]


def test_out_and_seed(tiny, tmp_path, capsys):
    assert main(["experiment", "limit", "--out", "a/b", "--seed", "7"]) == 0
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == {"results.csv", "speed.svg"}
    assert "In a/b: " in capsys.readouterr().out
    assert tiny == [7]


def test_without_matplotlib_one_line_says_how_to_get_it(tiny, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["experiment", "limit"]) == 0
    captured = capsys.readouterr()
    assert captured.out.endswith("In experiment-limit: results.csv\n")
    assert "figures need matplotlib; install it with: pip install 'matplotlib>=" in captured.err
    assert [path.name for path in (tmp_path / "experiment-limit").iterdir()] == ["results.csv"]


@pytest.mark.parametrize("arguments", [[], ["none"], ["pid", "--seed", "x"], ["pid", "--figures"]])
def test_wrong_usage_is_told_in_one_line(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(["experiment", *arguments])
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("andante: ")
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_directory(tiny, tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main(["experiment", "limit", "--out", "taken"]) == 2
    assert capsys.readouterr().err == "andante: cannot use taken for the files: File exists\n"
    assert tiny == []


def test_pid_can_be_run(tmp_path, capsys):
    assert "pid" in EXPERIMENTS
    assert main(["experiment", "pid", "--out", str(tmp_path)]) == 0
    assert "A set-point in pages a minute (source 1)" in capsys.readouterr().out
    assert (tmp_path / "record.csv").exists()
    assert (tmp_path / "record.svg").exists()
