"""``make wheel``: build the wheel and the source distribution, and try the wheel where there is no checkout.

    tools/wheel.py [FOLDER]    into which they go [dist]

The wheel is built from the source distribution, so both are complete or neither is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
SOURCES = ("src", "pyproject.toml", "setup.py", "README.md", "LICENSE")

INSPECT = """
from importlib.resources import files
import andante, andante.parse._scanner
package = files(andante)
assert (package / "py.typed").is_file()
assert list((package / "cluster" / "redis" / "scripts").glob("*.lua"))
print(andante.__file__)
"""
"""The compiled scanner and all data files are there."""

PAGES = {
    "index.html": "<title>One</title><a href=two.html>2</a>",
    "two.html": "<title>Two</title><a href=index.html>1</a><a href=three.html>3</a>",
    "three.html": "<title>Three</title>",
}


def build(folder: Path) -> Path:
    """Build both; return the wheel."""
    with TemporaryDirectory(prefix="andante-sources-") as name:
        sources = Path(name)
        for each in SOURCES:
            if (ROOT / each).is_dir():
                ignored = shutil.ignore_patterns("*.egg-info", "*.so", "__pycache__")
                shutil.copytree(ROOT / each, sources / each, ignore=ignored)
            else:
                shutil.copy(ROOT / each, sources)
        run(sys.executable, "-m", "build", "--outdir", folder, sources)
    (wheel,) = folder.glob("andante-*.whl")
    (_,) = folder.glob("andante-*.tar.gz")
    return wheel


def run(*command: str | Path, status: int = 0, cwd: Path | None = None) -> str:
    """Run a command that knows nothing of this environment; return what it prints, errors too."""
    env = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=cwd, env=env, text=True, check=False, stdout=-1, stderr=subprocess.STDOUT
    )
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a few pages; yield the address of the first."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    handler = partial(Handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def attempt(wheel: Path, place: Path) -> None:
    """Install the wheel alone into an empty environment, and use it."""
    venv.create(place / "venv", with_pip=True)
    programs = place / "venv" / "bin"
    python, andante = programs / "python", programs / "andante"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
    run(*pip, "install", wheel)
    run(*pip, "check")
    installed = Path(run(python, "-c", INSPECT, cwd=place).strip())
    expect(installed.is_relative_to(programs.parent), f"imported from {installed}")
    version = run(andante, "--version", cwd=place).split()
    expect(version[:1] == ["andante"] and f"-{version[1]}-" in wheel.name, f"version {version}")
    expect("crawl sites into files" in run(andante, "--help", cwd=place), "--help")

    with served(place / "site") as url:
        crawl = (andante, "crawl", url, "--rate", "max", "--output", "pages.jsonl")
        said = run(*crawl, cwd=place)
    lines = (place / "pages.jsonl").read_text().splitlines()
    expect({json.loads(line)["title"] for line in lines} == {"One", "Two", "Three"}, said)

    crawl = (andante, "crawl", "http://127.0.0.1:9/", "--job", "other")
    said = run(*crawl, "--output", "pages.parquet", status=2, cwd=place)
    expect("Parquet needs pyarrow; install it with: pip install 'pyarrow>=" in said, said)
    shared = (*crawl, "--cluster", "redis://127.0.0.1:1/0")
    said = run(*shared, status=1, cwd=place)
    expect("--cluster needs redis; install it with: pip install 'kazoo>=" in said, said)
    run(*pip, "install", f"{wheel}[cluster]")
    said = run(*shared, status=1, cwd=place)
    expect("no answer from Redis at 127.0.0.1:1" in said, said)


def expect(is_so: object, said: str) -> None:
    """End with what was said instead, unless it is so."""
    if not is_so:
        sys.exit(f"the wheel is not as it should be: {said}")


def main() -> None:
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    wheel = build(folder)
    with TemporaryDirectory(prefix="andante-wheel-") as place:
        attempt(wheel.resolve(), Path(place))
    for path in sorted(folder.iterdir()):
        print(path)


if __name__ == "__main__":
    main()
