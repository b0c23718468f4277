"""Make a graph of the links in WARC files, and print what is linked most: python examples/link_graph.py FILE...

Needs warcio: pip install warcio
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator


def links(files: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """Yield each page with the URLs it links to: they are in its metadata record."""
    for file in files:
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "metadata":
                    fields = record.content_stream().read().decode().split("\r\n")
                    found = [
                        line.removeprefix("outlink: ") for line in fields if line[:9] == "outlink: "
                    ]
                    yield record.rec_headers.get_header("WARC-Target-URI"), found


def main(files: list[Path]) -> None:
    """Print the ten pages that most others link to."""
    graph = dict(links(files))
    linked = Counter(target for found in graph.values() for target in found if target in graph)
    for url, count in sorted(linked.items(), key=lambda item: (-item[1], item[0]))[:10]:
        print(f"{count:4} {url}")
    print(f"{linked.total()} links between {len(graph)} pages")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
