"""The way of most pages: a compiled tokenizer without a tree (``_scanner.c``), where it can tell what a tree would."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from andante.parse.collect import Collector
from andante.parse.tokens import attributes

_Scanned = tuple[list[bytes], list[tuple[str, bytes, int]], bytes]
scan: Callable[[bytes, str, bool, int, int], _Scanned | None] | None = None
with suppress(ImportError):  # installed without a C compiler: slower, and no other answer
    from andante.parse._scanner import scan

_ELEMENTS_MAX = 10_000
"""Elements other than ``a`` that are read of a page."""


def read_scanned(page: bytes, encoding: str, collector: Collector) -> bytes | None:
    """Give a page's elements of interest to the collector, if they can be told without a tree.

    Returns:
        The source of the title; None: nothing was done, the page needs a tree.
    """
    if scan is None:
        return None
    whole_anchors = collector.drop_nofollow and b"nofollow" in page.lower()
    scanned = scan(page, collector.agent, whole_anchors, collector.links_max, _ELEMENTS_MAX)
    if scanned is None:
        return None
    anchors, elements, title = scanned
    done = 0
    for name, source, before in elements:
        if done < before:
            collector.hrefs += anchors[done:before]
            done = before
        collector.element(name, attributes(source, encoding))
    collector.hrefs += anchors[done:] if done else anchors
    return title
