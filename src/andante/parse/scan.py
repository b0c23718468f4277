"""The way of most pages: a compiled tokenizer without a tree (``_scanner.c``), where it can tell what a tree would."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from andante.parse.collect import Collector
from andante.parse.tokens import TITLE_SOURCE_MAX, attributes

_Scanned = tuple[list[bytes], list[tuple[str, bytes, int]], bytes]
scan: Callable[[bytes, str, bool, int, int, int], _Scanned | None] | None = None
with suppress(ImportError):  # installed without a C compiler: slower, and no other answer
    from andante.parse._scanner import scan

ELEMENTS_MAX = 10_000
"""Elements other than ``a`` that are read of a page."""


def read_scanned(
    page: bytes, encoding: str, collector: Collector, *, elements_size_max: int | None = None
) -> bytes | None:
    """Give a page's elements of interest to the collector, if they can be told without a tree.

    Args:
        page: in UTF-8, or another encoding that is ASCII in its lower half.
        encoding: Python codec of it.
        collector: is given the elements.
        elements_size_max: most bytes of the elements other than ``a`` together; None: any.

    Returns:
        The source of the title; None: nothing was done, the page needs a tree, or has longer elements.
    """
    if scan is None:
        return None
    whole_anchors = collector.drop_nofollow and b"nofollow" in page.lower()
    scanned = scan(
        page,
        collector.agent,
        whole_anchors,
        collector.links_max,
        ELEMENTS_MAX,
        collector.value_max,
    )
    if scanned is None:
        return None
    anchors, elements, title = scanned
    if (
        elements_size_max is not None
        and len(page) > elements_size_max
        and sum(len(source) for _, source, _ in elements) > elements_size_max
    ):
        return None
    done = 0
    for name, source, before in elements:
        if done < before:
            collector.take(anchors[done:before])
            done = before
        collector.element(name, attributes(source, encoding, collector.value_max))
    collector.take(anchors[done:] if done else anchors)
    return title[:TITLE_SOURCE_MAX]
