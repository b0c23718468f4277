"""Save each page as a file: python examples/save_pages.py DIRECTORY URL...

A URL is text that a stranger wrote, so it never becomes a path: a number makes the name unique, and of the URL only letters and
digits are taken. The directory must be new, so that nothing is overwritten.
"""

from __future__ import annotations

import mimetypes
import re
import sys
from pathlib import Path

import andante


def file_name(number: int, page: andante.Page) -> str:
    """Return a name that is safe on any file system, as ``00007-guide-install.html``."""
    path = page.final_url.split("/", 3)[3]
    words = "-".join(re.findall("[a-z0-9]+", path.lower()))[:60] or "index"
    return f"{number:05}-{words}{mimetypes.guess_extension(page.content_type) or '.bin'}"


def main(directory: Path, seeds: list[str]) -> None:
    """Save what is found up to two links away from a seed."""
    directory.mkdir()
    whole = (
        page
        for page in andante.crawl(*seeds, max_depth=2)
        if page.status == 200 and not page.truncated
    )
    for number, page in enumerate(whole, 1):
        name = file_name(number, page)
        (directory / name).write_bytes(page.body)
        print(name, page.final_url)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
