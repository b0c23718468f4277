"""The cost of everything that a server sends grows in line with it, by counted work and memory: attackers choose what it is.

What regular expressions do in C is not counted. They are looked at, and what they read must be read within seconds that would not
suffice if their time grew with the square.
"""

from __future__ import annotations

import re
import re._parser
from functools import partial
from re._constants import MAX_REPEAT, MAXREPEAT, MIN_REPEAT

import pytest

from andante import url as urls
from andante.fetch import coding
from andante.parse import (
    collect,
    encoding,
    href_value,
    html,
    references,
    robots_meta,
    scan,
    sitemap,
    tokens,
    tree,
)
from andante.parse.collect import Collector
from support.growth import (
    HEADERS,
    PAGES,
    SITEMAPS,
    URLS,
    Shape,
    calls,
    memory,
    mutations,
    seconds_suffice,
)

KIB = 1024
SECONDS = 15
"""Of the processor, for all shapes: many times what they take, and far less than one would take whose time grew with the square."""
CALLS = 5
"""Calls of a function that a byte may cause."""
MEMORY = 100
"""Bytes of memory that a byte may take: those of a node of a tree, or of a link and its URL."""


TREE = tree.QUICK_TREE_COPIES * 800
"""Bytes that the tree of a page may take that is read on the loop, however small the page."""


def read_page(body):
    codec = encoding.sniff_encoding(body, "")
    document = html.parse_html(body, encoding=codec, quick=True)
    if document is None:
        return
    assert document.title is not None
    urls.LinkResolver(href_value).resolve("http://h/d/1", document.hrefs, codec)


def read_tokens(body):
    collector = Collector(agent="andante", drop_nofollow=True, links_max=10_000)
    references.text_value(tokens.read_tokens(body, "utf-8", collector), "utf-8")


def read_texts(body):
    html.parse_html(body, encoding="utf-8", want_text=True, quick=True)


def read_header(value):
    text = value.decode("latin-1")
    robots_meta.header_directives([text, text], agent="andante")
    encoding.sniff_encoding(b"", text)
    collect.refresh_url(text)


def read_url(raw):
    text = raw.decode("utf-8", "replace")
    for codec in ("utf-8", "cp1252"):
        urls.canonical(text, "http://h/d/1?q", encoding=codec, length_max=len(text) + 100)
        resolver = urls.LinkResolver(href_value, length_max=len(text) + 100)
        resolver.resolve("http://h/d/1?q", [raw, text], codec)


READERS = {
    read_page: (PAGES, 4 * KIB),
    read_tokens: (PAGES, 4 * KIB),
    read_texts: (PAGES, 4 * KIB),
    sitemap.parse_sitemap: (SITEMAPS, 4 * KIB),
    read_header: (HEADERS, 2 * KIB),
    read_url: (URLS, KIB),
}


def check_growth(reader, shape, size):
    """What a reader does is in line with the size, whether that is small or eight times as large."""
    for body in (shape.of(size), shape.of(8 * size)):
        work = partial(reader, body)
        times = (
            6 if reader is read_url else 1
        )  # it reads in several ways, letters that an encoding lacks one by one
        assert calls(work) <= times * CALLS * len(body) + 3_000, shape
        assert memory(work) <= MEMORY * len(body) + 2_048 * KIB + (
            TREE if reader in (read_page, read_texts) else 0
        ), shape


def check_seconds(reader, shapes, size):
    def read(shapes):
        for shape in shapes:
            reader(shape.of(size))

    if not seconds_suffice(SECONDS, partial(read, shapes)):
        slow = [shape for shape in shapes if not seconds_suffice(2, partial(read, [shape]))]
        pytest.fail(f"{reader.__name__} takes too long for {slow}")


@pytest.mark.parametrize("reader", READERS)
def test_cost_grows_in_line_with_size(reader):
    shapes, size = READERS[reader]
    for shape in [*shapes, *mutations(shapes, 8)]:
        check_growth(reader, shape, size)


@pytest.mark.parametrize("reader", READERS)
def test_time_does_not_grow_with_the_square(reader):
    shapes, size = READERS[reader]
    check_seconds(reader, [*shapes, *mutations(shapes, 40, seed=2)], 32 * size)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_nor_do_they_with_many_mutations_of_large_size(reader):
    shapes, size = READERS[reader]
    for seed in range(3, 13):
        some = [*mutations(shapes, 20, seed=seed)]
        check_seconds(reader, some, 64 * size)
        for shape in some:
            check_growth(reader, shape, size)


def test_quadratic_work_is_seen():
    def slow(body):
        match = re.compile(rb"(?:x+)*y").match
        return match(body)

    def memory_hog(body):
        return [body[:n] for n in range(0, len(body), 50)]

    def busy(body):
        return [abs(n) for n in range(len(body) * len(body) // 10_000)]

    shape = Shape("x", b"x")
    assert not seconds_suffice(1, partial(slow, shape.of(KIB)))
    for reader in (memory_hog, busy):
        with pytest.raises(AssertionError):
            check_growth(reader, shape, 8 * KIB)


def patterns():
    for module in (
        collect,
        encoding,
        references,
        robots_meta,
        scan,
        sitemap,
        tokens,
        tree,
        urls,
        coding,
        html,
    ):
        for name, value in vars(module).items():
            pattern = getattr(value, "__self__", value)
            for each in pattern.values() if isinstance(pattern, dict) else [pattern]:
                if isinstance(each, re.Pattern):
                    yield pytest.param(each, id=f"{module.__name__}.{name}")


def repeats_in_repeats(parsed, inside=False):
    """Tell whether something that can be repeated without end, and gone back over, holds another such."""
    for operation, argument in parsed:
        is_repeat = operation in (MAX_REPEAT, MIN_REPEAT) and argument[1] is MAXREPEAT
        if is_repeat and inside:
            return True
        for part in argument if isinstance(argument, tuple) else (argument,):
            for each in part if isinstance(part, list) else (part,):
                if isinstance(each, re._parser.SubPattern) and repeats_in_repeats(
                    each, inside or is_repeat
                ):
                    return True
    return False


@pytest.mark.parametrize("pattern", list(patterns()))
def test_no_pattern_goes_back_over_repeats_in_repeats(pattern):
    parsed = re._parser.parse(
        pattern.pattern,
        pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags,
    )
    assert not repeats_in_repeats(parsed)


def test_such_a_pattern_is_told():
    for pattern in ("(?:x+)*", "(?:(?:x*)y|z)+", "((a)|(b*))*", "(?:x{3,}y)*"):
        assert repeats_in_repeats(re._parser.parse(pattern))
    for pattern in ("(?:x++)*", "(?:x+)*+", "(?:x{3}y)*", "x*y*"):
        assert not repeats_in_repeats(re._parser.parse(pattern))
