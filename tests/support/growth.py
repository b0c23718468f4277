"""How the cost of reading grows with what is read: shapes that attackers like, and what is counted of a reader."""

from __future__ import annotations

import gc
import os
import random
import resource
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Shape(NamedTuple):
    """Bytes of any length: a beginning, a unit that is repeated, an end."""

    name: str
    unit: bytes
    before: bytes = b""
    after: bytes = b""

    def of(self, size: int) -> bytes:
        """Return about so many bytes. In the unit ``%d`` stands for a number that is another each time."""
        if b"%d" not in self.unit:
            return self.before + self.unit * (size // len(self.unit)) + self.after
        units = (self.unit.replace(b"%d", b"%d" % n) for n in range(size // (len(self.unit) + 3)))
        return self.before + b"".join(units) + self.after


PAGES = [
    Shape("text", b"x"),
    Shape("less-than signs", b"<"),
    Shape("tags without end", b"<a "),
    Shape("end tags without end", b"</a "),
    Shape("nested blocks", b"<div>"),
    Shape("nested links", b"<a href=%d><b><i>"),
    Shape("formatting", b"<p><b a=%d>"),
    Shape("links", b"<a href=%d></a>"),
    Shape("the same link", b"<a href=1></a>"),
    Shape("areas", b"<area href=%d>"),
    Shape("unclosed double quotes", b'<a href="'),
    Shape("unclosed single quotes", b"<a href='"),
    Shape("quotes in turn", b"=\"='"),
    Shape("equals and quotes", b'="'),
    Shape("attributes", b"a ", b"<iframe ", b">"),
    Shape("attributes with names of their own", b"a%d ", b"<a ", b">"),
    Shape("attributes that are read", b"href ", b"<area ", b">"),
    Shape("attributes with values", b"a='>' ", b"<link ", b">"),
    Shape("slashes in a tag", b"/", b"<meta ", b">"),
    Shape("white space in a tag", b" ", b"<base ", b">"),
    Shape("white space after equals", b"= ", b"<a href", b">"),
    Shape("long href", b"x", b"<a href=", b"></a>"),
    Shape("long hrefs", b"<a href=%d" + b"x" * 8_000 + b"></a>"),
    Shape("references in an href", b"&amp;", b"<a href='", b"'></a>"),
    Shape("ampersands in hrefs", b"<a href='" + b"&" * 1_000 + b"%d'></a>"),
    Shape("names that are no references", b"<a href='&" + b"a" * 1_000 + b"=%d'></a>"),
    Shape("digits of a reference", b"1", b"<area href='&#", b"'>"),
    Shape("number signs", b"#", b"<a href='&", b"'></a>"),
    Shape("rel of words", b"x ", b"<link href=1 rel='", b"'>"),
    Shape("links with rel", b"<link rel='next x' href=%d>"),
    Shape("frames without src", b"<iframe>x</iframe>"),
    Shape("frames without end", b"<iframe src=%d>"),
    Shape("bases", b"<base href=%d>"),
    Shape("long base", b"x/", b"<base href=http://h/", b"><a href=1></a>"),
    Shape("refresh of digits", b"0", b"<meta http-equiv=refresh content='", b"'>"),
    Shape("refresh of points", b".", b"<meta http-equiv=refresh content='", b"'>"),
    Shape("refresh of spaces", b" ", b"<meta http-equiv=refresh content='0;", b"'>"),
    Shape("refreshes", b"<meta http-equiv=refresh content='" + b"0" * 1_000 + b";%d'>"),
    Shape("robots", b"x,", b"<meta name=robots content='", b"'>"),
    Shape("robots in many elements", b"<meta name=robots content='x,y'>"),
    Shape("charsets", b"charset= ", b"<meta http-equiv=content-type content='", b"'>"),
    Shape("comments", b"<!-- -- > -->"),
    Shape("comments without end", b"<!--"),
    Shape("dashes", b"-", b"<!--"),
    Shape("scripts", b"<script><!--<script"),
    Shape("scripts in scripts", b"<!-- <script> </script> -->", b"<script>"),
    Shape("scripts without end", b"<script>x"),
    Shape("titles", b"<title>x</title>"),
    Shape("long title", b"x", b"<title>", b"</title>"),
    Shape("title of references", b"&notit;&#65;", b"<title>", b"</title>"),
    Shape("titles of drawings", b"<svg><title>x</title></svg>"),
    Shape("drawings", b"<svg><g>"),
    Shape("templates", b"<template><a href=%d></template>"),
    Shape("selects", b"<select><option>x</select>"),
    Shape("tables", b"<table><tr><td><a href=%d>"),
    Shape("raw text", b"<textarea></textarea><style></style><xmp></xmp>"),
    Shape("framesets", b"<frameset><frame src=%d>"),
    Shape("zeros", b"\0"),
    Shape("bytes that are no UTF-8", b"\xe2"),
    Shape("plain text", b"x", b"<plaintext>"),
]

SITEMAPS = [
    Shape("entries without URL", b"<url/>", b"<urlset>", b"</urlset>"),
    Shape("entries", b"<url><loc>http://h/%d</loc></url>", b"<urlset>", b"</urlset>"),
    Shape("other elements", b"<x/>", b"<urlset>", b"</urlset>"),
    Shape("other elements with names of their own", b"<x%d/>", b"<urlset>", b"</urlset>"),
    Shape("URLs in one entry", b"<loc>http://h/%d</loc>", b"<urlset><url>", b"</url></urlset>"),
    Shape("nested elements", b"<x>", b"<urlset>"),
    Shape("long URL", b"x", b"<urlset><url><loc>http://h/", b"</loc></url></urlset>"),
    Shape("references in a URL", b"&amp;", b"<urlset><url><loc>", b"</loc></url></urlset>"),
    Shape("sections", b"<![CDATA[x]]>", b"<urlset><url><loc>", b"</loc></url></urlset>"),
    Shape("long attribute", b"x", b"<urlset><url a='", b"'/></urlset>"),
    Shape("attributes", b" a%d=''", b"<urlset><url", b"/></urlset>"),
    Shape("long comment", b"x", b"<urlset><!--", b"--></urlset>"),
    Shape("comments", b"<!--x-->", b"<urlset>", b"</urlset>"),
    Shape("white space", b" ", b"<urlset>", b"</urlset>"),
    Shape("byte order marks", b"\xef\xbb\xbf"),
    Shape("wide white space", b" \0", b"\xff\xfe"),
    Shape("long namespace", b"x", b"<urlset xmlns='http://", b"'/>"),
    Shape("long date", b"1", b"<urlset><url><lastmod>", b"</lastmod></url></urlset>"),
    Shape("long number", b"1", b"<urlset><url><priority>", b"</priority></url></urlset>"),
    Shape("lines", b"http://h/%d\n"),
    Shape("empty lines", b"\n", b"http://h/\n"),
    Shape("spaces before a line", b" ", b"\n"),
]

HEADERS = [
    Shape("directives", b"x,"),
    Shape("directives for others", b"a:b,"),
    Shape("colons", b":"),
    Shape("spaces", b" "),
    Shape("letters", b"a"),
    Shape("letters and spaces", b"a ", b"", b","),
    Shape("charsets", b"charset= "),
    Shape("charset in quotes", b'charset="'),
    Shape("semicolons", b";"),
]

URLS = [
    Shape("path", b"x/"),
    Shape("steps up", b"../"),
    Shape("dots", b"."),
    Shape("percent signs", b"%"),
    Shape("escapes", b"%2e/"),
    Shape("query", b"a b&", b"?"),
    Shape("spaces", b" "),
    Shape("tabs", b"\t"),
    Shape("host", b"x.", b"http://"),
    Shape("host of other letters", "\u4e00".encode(), b"http://"),
    Shape("host of marks", "\u0300".encode(), b"//a"),
    Shape("host of escapes", b"%E4%B8%80", b"http:"),
    Shape("port", b"1", b"http://h:"),
    Shape("credentials", b"a@", b"http://"),
    Shape("scheme", b"a", b"", b":"),
    Shape("backslashes", b"\\"),
    Shape("fragments", b"#"),
]


def mutations(shapes: list[Shape], number: int, *, seed: int = 1) -> Iterator[Shape]:
    """Return shapes that were cut and joined."""
    chance = random.Random(seed)

    def cut(text: bytes) -> bytes:
        start, end = sorted(chance.choices(range(min(len(text), 60) + 1), k=2))
        return text[start:end]

    for count in range(number):
        first, second, third = chance.choices(shapes, k=3)
        unit = cut(first.unit) + cut(second.before + second.unit) + cut(third.unit) or b"x"
        yield Shape(f"mutation {count}: {unit!r}", unit, first.before, third.after)


def calls(function: Callable[[], object]) -> int:
    """Return how many functions are called, Python's and C's."""
    count = 0

    def profile(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def memory(function: Callable[[], object]) -> int:
    """Return the most bytes that Python has at a time, besides those it has before."""
    gc.collect()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def seconds_suffice(seconds: int, function: Callable[[], object]) -> bool:
    """Tell whether so many seconds of the processor are enough for a function; it runs in a process of its own, which is killed then."""
    child = os.fork()
    if not child:
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            function()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0
