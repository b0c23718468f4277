"""What a start loads: a crawl that shares its work with nobody needs nothing of the cluster, the planner and the simulator, and nothing that is an extra."""

import json
import subprocess
import sys

import pytest

FOREIGN = (
    *("andante.cluster", "andante.crawl.peer", "andante.plan", "andante.sim"),
    *("kazoo", "matplotlib", "numpy", "pyarrow", "redis", "rich", "scipy"),
)

TELL = """
import json, sys
try:
    {statement}
finally:
    print("loaded", json.dumps(sorted(sys.modules)))
"""


def loaded(statement, cwd):
    """Return the modules that a statement has loaded, in a process of its own, and what it has printed before."""
    code = TELL.format(statement=statement)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )
    printed, _, modules = done.stdout.rpartition("loaded ")
    return json.loads(modules), printed + done.stderr


def foreign(modules):
    return [each for each in modules if each.startswith(FOREIGN)]


def command(*arguments):
    return f"from andante.cli import main; sys.exit(main({list(arguments)!r}))"


@pytest.mark.parametrize(
    ("statement", "printed"),
    [
        ("import andante", ""),
        (command("--version"), "andante "),
        (command("--help"), "crawl sites into files"),
        (command("crawl", "--help"), "--max-pages"),
        (command("crawl", "http://a.example/", "--rate", "fast"), "andante: --rate: 'fast' is no"),
        (command("status", "nowhere"), "andante: "),
    ],
)
def test_a_start_and_an_exit_load_nothing_of_the_cluster(statement, printed, tmp_path):
    modules, said = loaded(statement, tmp_path)
    assert printed in said
    assert foreign(modules) == []


def test_a_crawl_alone_loads_nothing_of_the_cluster(demo, tmp_path):
    (tmp_path / "demo.toml").write_text(demo.settings)
    crawl = ("crawl", "--config", "demo.toml", "--job", "job", "--max-pages", "5")
    modules, said = loaded(command(*crawl), tmp_path)
    assert "5 pages" in said
    assert "andante.crawl.engine" in modules
    assert foreign(modules) == []


def test_help_loads_no_command():
    modules, _ = loaded(command("--help"), None)
    assert [each for each in modules if each.startswith("andante.cli.")] == []
