"""The web of examples/demo_web.py in a process of its own, and in a hurry: its servers do not make a test wait."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"

_SERVE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import demo_web
for server in demo_web.SERVERS:
    server.latency = 0.01
    server.patience = 0
    server.robots = server.robots.replace("Crawl-delay: 2", "Crawl-delay: 0.3")
demo_web.main(Path(sys.argv[2]))
"""

PRELUDE = """
import functools
import andante

def _hurried(make):
    @functools.wraps(make, updated=())
    def hurry(*seeds, **settings):
        return make(*seeds, **settings | {{"rate": "max", "retry_wait": "10ms", "allow_private": True, "resolve": {resolve!r}}})
    return hurry

andante.crawl, andante.Crawl = _hurried(andante.crawl), _hurried(andante.Crawl)
"""
"""What Python code that crawls the demo web is run behind: a script for readers is polite, which tests have no time for."""


class DemoWeb(NamedTuple):
    """A running demo web."""

    announced: str
    """The line it has printed."""
    settings: str
    """The settings for a crawl of it, TOML; in a hurry too."""

    @property
    def port(self) -> str:
        """The port of all its servers."""
        return re.search(r":(\d+)/", self.announced)[1]

    @property
    def prelude(self) -> str:
        """The `PRELUDE` for this web."""
        return PRELUDE.format(resolve=re.findall(r'"(\S+:[\d.]+)",', self.settings))

    def without_port(self, text: str) -> str:
        """Return a text that is the same whatever the port."""
        return text.replace(f":{self.port}", ":PORT")


@contextmanager
def demo_web(folder: Path) -> Iterator[DemoWeb]:
    """Serve the demo web."""
    path = folder / "demo.toml"
    command = [sys.executable, "-c", _SERVE, EXAMPLES, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            announced = process.stdout.readline().replace(str(path), "tour.toml")
            settings = path.read_text()
            for slow, quick in (('rate = "2/s"', 'rate = "max"'), ('"2s"', '"10ms"')):
                assert slow in settings
                settings = settings.replace(slow, quick)
            yield DemoWeb(announced, settings)
        finally:
            process.terminate()
