"""Each script in examples/ is run against the demo web; what it prints is in the ``.out`` file beside it."""

import subprocess
import sys

import pytest

from support.command import run as command
from support.demo import EXAMPLES

SCRIPTS = {
    "titles": ["http://alder.localhost:PORT/"],
    "save_pages": ["saved", "http://birch.localhost:PORT/"],
    "broken_links": [f"http://{name}.localhost:PORT/" for name in ("cedar", "hazel", "larch")],
    "link_graph": ["pages.warc.gz"],
}


def run(demo, name, *arguments, cwd):
    """Run a script of ours, in a hurry; return what it printed."""
    script = EXAMPLES / f"{name}.py"
    code = f"{demo.prelude}\nimport runpy, sys\nsys.argv[0] = ''\nrunpy.run_path({str(script)!r}, run_name='__main__')"
    words = [argument.replace("PORT", demo.port) for argument in arguments]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return demo.without_port(done.stdout)


def archive(demo, folder):
    """Make a WARC file of one server."""
    (folder / "tour.toml").write_text(demo.settings)
    seed = f"http://maple.localhost:{demo.port}/"
    options = ("--config", "tour.toml", "--scope", "host", "--output", "pages.warc.gz")
    assert command("crawl", seed, *options, cwd=folder).status == 0


@pytest.mark.parametrize("name", SCRIPTS)
def test_example(demo, tmp_path, name):
    if name == "link_graph":
        archive(demo, tmp_path)
    printed = run(demo, name, *SCRIPTS[name], cwd=tmp_path)
    assert printed == (EXAMPLES / f"{name}.out").read_text()


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SCRIPTS, "demo_web"}


def test_saved_pages_stay_in_their_directory(demo, tmp_path):
    run(demo, "save_pages", *SCRIPTS["save_pages"], cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert all(
        path.read_bytes().startswith(b"<!doctype") for path in (tmp_path / "saved").iterdir()
    )
