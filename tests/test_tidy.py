"""The habits of the house, held by a test: short modules and functions, pure rooms, nothing left over."""

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from andante.cli import COMMANDS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "andante"
MODULES = sorted(PACKAGE.rglob("*.py"))
OURS = [
    path
    for folder in ("src", "tests", "tools", "benchmarks", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if ".cache" not in path.parts
]

MODULE_LINES, TEST_LINES, FUNCTION_LINES = 500, 600, 70
PURE = ("url.py", "page.py", "units.py", "frontier", "flow", "parse", "plan")
IMPURE = re.compile(
    r"time\.\w+|random\.\w+|datetime\.(datetime\.)?(now|today|utcnow)|open|print|input|Path|Path\.\w+"
)

ROOT_HOLDS = {
    *("CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"),
    *("Makefile", "pyproject.toml", "setup.py"),
    *("benchmarks", "docs", "examples", "src", "tests", "tools"),
}


def name(path):
    return str(path.relative_to(ROOT))


def functions(tree):
    return (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


@pytest.mark.parametrize("path", OURS, ids=name)
def test_short_and_finished(path):
    text = path.read_text()
    assert text.count("\n") <= (TEST_LINES if "tests" in path.parts else MODULE_LINES)
    assert not re.search(r"\b(T[O]DO|F[I]XME|X[X]X)\b", text)
    long = {
        function.name: function.end_lineno - function.lineno + 1
        for function in functions(ast.parse(text))
        if function.end_lineno - function.lineno >= FUNCTION_LINES
    }
    assert not long


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.relative_to(PACKAGE).parts[0] in PURE], ids=name
)
def test_pure_rooms_read_no_clock_and_throw_no_dice(path):
    calls = (
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    )
    assert not [call for call in calls if IMPURE.fullmatch(call)]


def test_every_module_is_used():
    """Each is imported by another one, or is a door: a package, or what ``python -m`` runs."""
    imported = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    doors = {"__init__.py", "__main__.py"}
    modules = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in MODULES
        if path.name not in doors
    }
    commands = {f"andante.cli.{name}" for name in COMMANDS}  # loaded by their names
    assert not modules - imported - commands


@pytest.mark.parametrize("document", ["README.md", "CHANGELOG.md", "LICENSE"])
def test_a_reader_finds(document):
    assert (ROOT / document).stat().st_size > 300


def test_the_root_holds_what_belongs_there():
    """What is made in it while one works has a name in .gitignore; what begins with a dot is somebody's own."""
    made = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    names = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert not {each for each in names if not any(fnmatch(each, m) for m in made)} - ROOT_HOLDS
