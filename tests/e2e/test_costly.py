"""Pages and sitemaps that are made to take time or memory: whoever else is crawled sees nothing of them."""

from __future__ import annotations

import pytest
import uvloop

from support.hostile_pair import crawl_pair, html
from support.web import page, robots

MIB = 2**20
PAUSE_MAX = 1.0
"""Seconds; the loop is held for a fourth of that at most, the rest is for the machine."""
MEMORY_MAX = 320 * MIB
"""Of both processes: 60 and 45 MB without pages, 50 MiB of a body, 64 MiB to read it, and what the outputs hold."""

LARGE = 48 * MIB


def many(item, size=LARGE):
    return item * (size // len(item))


PAGES = {
    "refresh of zeros": html(b"<meta http-equiv=refresh content='" + b"0" * 300_000 + b"'>"),
    "many refreshes of zeros": html(
        (b"<meta http-equiv=refresh content='" + b"0" * 8_000 + b"'>") * 120
    ),
    "attributes": html(b"<iframe " + many(b"a ") + b">", packed=True),
    "many frames with attributes": html(many(b"<iframe " + b"a " * 3_000 + b">"), packed=True),
    "rel": html(b"<link href=1 rel='" + many(b"x ") + b"'>", packed=True),
    "rel of words in a small page": html(b"<link href=1 rel='" + many(b"x ", MIB) + b"'>"),
    "title": html(b"<title>" + many(b"x ") + b"</title>", packed=True),
    "title of references": html(b"<title>" + many(b"&amp;") + b"</title>", packed=True),
    "title of digits": html(b"<title>&#" + b"1" * 10_000 + b";</title>"),
    "long hrefs": html(
        b"".join(b"<a href=/%d%b></a>" % (n, b"x" * 8_000) for n in range(6_000)), packed=True
    ),
    "copies": html(
        b"<xmp></xmp><p>" + b"".join(b"<font a=%d>" % n for n in range(600)) + b"<p>x" * 800
    ),
    "nested": html(b"<xmp></xmp>" + b"<div>" * 19_000),
    "deep": html(many(b"<div>"), packed=True),
    "tags": html(many(b"<"), packed=True),
    "scripts": html(b"<xmp></xmp>" + many(b"<script><!--<script"), packed=True),
    "hosts": html(
        b"".join(
            b"<a href=//%b></a>" % "".join(map(chr, range(0x4E00 + n, 0x5600 + n))).encode()
            for n in range(80)
        )
    ),
    "a large file": html(bytes(9 * MIB), kind="image/png"),
}


@pytest.mark.slow
def test_costly_pages(tmp_path):
    answers = {f"/{n}": reply for n, reply in enumerate(PAGES.values())} | {
        "/": page(*(f"/{n}" for n in range(len(PAGES))))
    }
    pair = uvloop.run(crawl_pair(tmp_path, answers, good=400))
    assert pair.done.status == 0, pair.done.err
    print(pair)
    assert pair.good == 400
    assert pair.longest_pause < PAUSE_MAX
    assert pair.done.family < MEMORY_MAX
    assert pair.longest_line < MIB
    ended = {name: pair.outcomes[f"/{n}"] for n, name in enumerate(PAGES)}
    assert ended == dict.fromkeys(PAGES, "fetched") | {"copies": "too-costly"}


SITEMAPS = {
    "long attribute": b"<urlset><url a='" + b"x" * LARGE,
    "long comment": b"<urlset><!--" + b"x" * LARGE,
    "entries without a URL": b"<urlset>" + b"<url/>" * 8_000_000,
    "other elements": b"<urlset>" + b"<x/>" * 10_000_000,
    "long text": b"<urlset><url><loc>http://h/" + b"x" * LARGE,
    "empty lines": b"http://h/\n" + b"\n" * LARGE,
    "many URLs": b"<urlset>"
    + b"".join(b"<url><loc>http://h/%d</loc></url>" % n for n in range(50_000))
    + b"</urlset>",
}


@pytest.mark.slow
def test_costly_sitemaps(tmp_path):
    answers = {f"/{n}.xml": html(body, packed=True) for n, body in enumerate(SITEMAPS.values())}
    named = "".join(f"Sitemap: /{n}.xml\n" for n in range(len(SITEMAPS)))

    pair = uvloop.run(
        crawl_pair(
            tmp_path, answers | {"/": page(), "/robots.txt": robots(named)}, "--sitemaps", good=400
        )
    )
    assert pair.done.status == 0, pair.done.err
    print(pair)
    assert pair.good == 400
    assert pair.longest_pause < PAUSE_MAX
    assert pair.done.family < MEMORY_MAX
    ended = {name: pair.outcomes[f"/{n}.xml"] for n, name in enumerate(SITEMAPS)}
    assert ended == dict.fromkeys(SITEMAPS, "bad-sitemap") | {
        "empty lines": "sitemap",
        "many URLs": "sitemap",
    }


@pytest.mark.slow
def test_a_page_that_is_too_costly_is_not_read_again(tmp_path):
    answers = {"/": PAGES["copies"]}

    async def main():
        first = await crawl_pair(tmp_path, answers, "--max-pages", "30")
        return first, await crawl_pair(tmp_path, answers, "--max-pages", "60")

    for pair in uvloop.run(main()):
        assert pair.outcomes["/"] == "too-costly"
