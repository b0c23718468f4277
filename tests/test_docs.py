"""The documents are true: their commands and scripts are run, their links lead somewhere, their pictures are drawn by the code.

A fenced ``sh``, ``python`` or ``toml`` block is run in order with those before it in the document. A comment in the line above says
where that is not so: ``<!-- not run: why -->``, ``<!-- in the background -->``, ``<!-- Ctrl-C -->``, and of a ``text`` block
``<!-- printed -->``: the command before it has printed these lines; ``<!-- all that is printed -->``: and no others.
"""

import argparse
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from andante.cli import parser
from andante.crawl import load
from andante.observe.progress import LiveProgress, Snapshot
from andante.observe.stats import Stats
from support.demo import EXAMPLES, ROOT

DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
RUN = [ROOT / "README.md", DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]


def name(path):
    return str(path.relative_to(ROOT))


# What is shown works


class Block(NamedTuple):
    """A fenced block."""

    kind: str
    text: str
    note: str
    """What the comment above it says."""


_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>.*?) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks(path):
    return [Block(m["kind"], m["text"], m["note"] or "") for m in _BLOCK.finditer(path.read_text())]


class Reader:
    """Does what a document says, in a directory of its own, with the demo web in the place of docs.example.org, and a Redis in that of store.example.org."""

    def __init__(self, demo, folder, redis=None):
        self.demo = demo
        self.folder = folder
        self.printed = ""
        (folder / "examples").symlink_to(EXAMPLES)
        self._replaced = {
            "https://docs.example.org/": f"http://127.0.0.2:{demo.port}/",
            "--server docs.example.org": "--server 127.0.0.2",
            "docs.example.org": f"127.0.0.2_{demo.port}",  # the name of a job or a crawl
            "andante crawl ": "andante crawl --rate max ",
        }
        if redis is not None:
            self._replaced = {"redis://store.example.org/0": redis.url} | self._replaced
        self._env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def read(self, block):
        if block.note.startswith("not run: "):
            return
        text = block.text
        for shown, meant in self._replaced.items():
            text = text.replace(shown, meant)
        match block.kind, block.note:
            case "sh", "in the background":
                self._serve(text)
            case "sh", "Ctrl-C":
                self._interrupt(text)
            case "sh", "":
                self._do(["bash", "-eu", "-c", text])
            case "python", "":
                self._do([sys.executable, "-c", self.demo.prelude + text])
            case "toml", "":
                (self.folder / "block.toml").write_text(text)
                load(self.folder / "block.toml")
            case "text", "printed" | "all that is printed" as note:
                printed = self.demo.without_port(self.printed).splitlines()
                shown = re.sub(r":\d{5}\b", ":PORT", text).splitlines()
                assert set(shown) <= set(printed), printed
                assert note == "printed" or shown == printed
            case "text", "":
                pass
            case _:
                raise AssertionError(f"what is to be done with this? {block}")

    def _do(self, command):
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{command[-1]}\n{done.stderr}"
        self.printed = done.stdout + done.stderr

    def _serve(self, text):
        """It is served already; what differs is its haste."""
        assert text == "python examples/demo_web.py tour.toml\n"
        assert (EXAMPLES / "demo_web.py").exists()
        (self.folder / "tour.toml").write_text(self.demo.settings)

    def _interrupt(self, text):
        """Press Ctrl-C when the first pages have been written."""
        with subprocess.Popen(
            ["bash", "-c", f"exec {text}"],
            cwd=self.folder,
            env=self._env,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            pages = self.folder / "tour" / "pages.jsonl"
            while process.poll() is None and not (pages.exists() and pages.stat().st_size):
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        self.printed = out + err


@pytest.mark.parametrize("path", RUN, ids=name)
def test_what_is_shown_works(demo, redis, tmp_path, path):
    reader = Reader(demo, tmp_path, redis)
    found = blocks(path)
    assert any(block.kind in ("sh", "python") for block in found)
    for block in found:
        reader.read(block)


def test_the_settings_page_shows_a_file_that_loads(demo, tmp_path):
    reader = Reader(demo, tmp_path)
    for block in blocks(DOCS / "reference" / "settings.md"):
        reader.read(block)


def test_the_announced_web_is_the_one_in_the_tutorial(demo):
    shown = next(b.text for b in blocks(DOCS / "tutorial.md") if "servers, from" in b.text)
    assert re.sub(r":\d+/", ":PORT/", shown) == demo.without_port(demo.announced)


# The picture in the README


def panel():
    """Draw a crawl at 41 s that has fetched 138 pages in the ten seconds before."""
    stats = Stats(
        fetched=Counter({"200": 535, "404": 6}),
        redirected=12,
        excluded=Counter(robots=49),
        requests=574,
        connections=16,
        bytes=8_100_000,
    )
    before = Stats(fetched=Counter({"200": 397}))
    stream = io.StringIO()
    with LiveProgress(stream) as progress:
        for elapsed, counts in ((31.0, before), (41.0, stats)):
            now = Snapshot(
                stats=counts, known=3811, queued=3209, servers=14, visits=5, elapsed=elapsed
            )
            progress.update(now)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    return drawn[drawn.rindex("╭") : drawn.rindex("╯") + 1].replace("\r", "")


def test_the_picture_is_as_the_panel_is_drawn(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    picture = next(block.text for block in blocks(ROOT / "README.md") if "╭─" in block.text)
    assert picture.rstrip() == panel()


# Links


def anchors(text):
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there.read_text()), target


def test_what_is_said_to_defend_is_there():
    text = (DOCS / "explanation" / "security.md").read_text()
    named = set(re.findall(r"`((?:src|tests)/[^`]+)`", text))
    assert len(named) > 20
    assert {path for path in named if not (ROOT / path).is_file()} == set()


def test_every_page_is_linked_from_the_index():
    index = (DOCS / "README.md").read_text()
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} - {"README.md"}
    assert {page for page in pages if page not in index and "decisions/" not in page} == set()


# The reference


def test_the_reference_is_up_to_date():
    check = [sys.executable, ROOT / "tools" / "reference.py", "--check"]
    done = subprocess.run(check, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def commands():
    actions = parser()._actions
    return next(action for action in actions if isinstance(action, argparse._SubParsersAction))


@pytest.mark.parametrize("command", commands().choices)
def test_every_command_is_documented_and_has_help(command):
    assert any(f"andante {command} " in path.read_text() for path in RUN)
    assert all(action.help for action in commands().choices[command]._actions)


def test_flags_named_in_the_documents_are_there():
    known = {
        flag
        for sub in commands().choices.values()
        for a in sub._actions
        for flag in a.option_strings
    }
    benchmarks = "".join(path.read_text() for path in (ROOT / "benchmarks").glob("*.py"))
    # Of warcio, kubectl, the root command, and the benchmarks.
    others = {"--fields", "--server-side", "--version", *re.findall(r'"(--[a-z-]+)"', benchmarks)}
    text = "".join(path.read_text() for path in PAGES if "decisions" not in path.parts)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) <= known | others


def test_no_document_installs_from_an_index_what_is_on_none():
    said = [path for path in PAGES if re.search(r"pip install '?andante\b", path.read_text())]
    assert said == []
