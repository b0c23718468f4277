"""``make try``: crawl the small web of examples/demo_web.py, or, with a URL, a hundred pages of a real site."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
JOB = Path("build/try")
ANDANTE = Path(sys.executable).with_name("andante")


@contextmanager
def demo_web() -> Iterator[Path]:
    """Serve the demo web for a while; yield the settings of a crawl of it."""
    settings = JOB.with_suffix(".toml")
    command = [sys.executable, ROOT / "examples" / "demo_web.py", settings]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as web:
        assert web.stdout
        if not (announced := web.stdout.readline()):
            sys.exit("the demo web did not start")
        print(announced, end="")
        try:
            yield settings
        finally:
            web.terminate()


def crawl(*arguments: str | Path) -> int:
    """Run ``andante crawl``; say how to look at what it wrote."""
    pages = JOB / "pages.jsonl"
    command = [
        ANDANTE.relative_to(ROOT),
        "crawl",
        *arguments,
        "--job",
        JOB,
        "--output",
        pages,
        "--output",
        JOB / "pages.warc.gz",
    ]
    print("$", *command, "\n", flush=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the crawl
    status = subprocess.run(
        command,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ).returncode
    if pages.exists():
        print(f"\nLook at a page: tail -n 1 {pages} | python3 -m json.tool")
    return status


def main(urls: list[str]) -> int:
    """Crawl anew each time."""
    shutil.rmtree(JOB, ignore_errors=True)
    JOB.parent.mkdir(exist_ok=True)
    if urls:
        return crawl(*urls, "--max-pages", "100")
    with demo_web() as settings:
        return crawl("--config", settings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
