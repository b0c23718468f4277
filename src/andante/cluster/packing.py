r"""Links of one server packed into few bytes, as the entries of a log hold them.

An entry is a version (a byte), then deflated with a dictionary: records, a zero, and grades. A record is a target, or, where what was said of the targets before does not
hold for the next ones, a tab and what does: ``\t<depth>\t<referrer>``, and for what redirects led to, or sitemaps, ``\t<asked>\t<hops>\t<sitemap>`` besides. Between records is a
newline. There is a grade for each target, or one for all.

So links of one page share what is said of it, and deflate does the rest. Coding the common beginnings of neighbours first made entries larger, not smaller.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from andante.frontier.block import Link

SIZE_MAX = 8_000_000
"""Most bytes in an entry before it is compressed: a thousand links of the longest kind."""

LINKS_MAX = 1_000
"""Most links in an entry."""

VERSION = 1
"""Of the form of entries; all nodes of a crawl must have the same."""

_VERSION = bytes([VERSION])

# What is common in URLs, the most common last. It is part of the format: another one is another version.
_DICTIONARY = (
    b"/wp-content/uploads/2025/2024/index.php?title=Special:/viewtopic.php?f=&t=/showthread.php?&action=edit&lang=en&order=desc&sort=asc"
    b"?utm_source=/robots.txt/sitemap.xml/feed/archive/author/collections/products/package-summary/class-use/article/about/contact"
    b"/login?next=/user/forum/thread/topic/questions/reference/library/tutorial/download/images/static/assets/pages/page/news/blog/posts/tag"
    b"/category/search?q=/item?id=/view?id=/wiki/api/docs/doc/latest/stable/en/de/fr/us.json.pdf.xml.asp.aspx.jsp.php?id=&page=1&p=2.htm"
    b".github.io/.co.uk/.de/.net/.org/.com/.html\n/index.html\n\t0\t\n/\n\t3\thttp://\t2\thttp://www.\t1\thttps://docs.\n\t3\thttps://\n\t2\thttps://www.\n\t1\thttps://www.\0\x80"
)


def pack(links: Sequence[Link], grades: bytes) -> bytes:
    """Pack links, and a grade for each.

    Raises:
        ValueError: a text has a zero, a tab or a newline in it, which no URL has; or there is too much.
    """
    records = []
    said = ""
    for link in links:
        if (says := _about(link)) != said:
            records.append(says)
            said = says
        records.append(link.target)
    text = "\n".join(records)
    if "\0" in text or text.count("\n") != len(records) - (1 if records else 0):
        raise ValueError("a link that is no URL")
    if len(set(grades)) == 1:
        grades = grades[:1]
    body = text.encode() + b"\0" + grades
    if len(body) > SIZE_MAX:
        raise ValueError("too much for an entry")
    return _VERSION + _deflate(body)


def unpack(data: bytes) -> tuple[list[Link], bytes]:
    """Undo `pack`.

    Raises:
        ValueError: it was not packed so.
    """
    if data[:1] != _VERSION:
        raise ValueError("an entry of another version")
    text, zero, grades = _inflate(data[1:]).partition(b"\0")
    if text.count(b"\n") >= 2 * LINKS_MAX:  # of each link itself, and what is said of it
        raise ValueError("an entry of too many links")
    links: list[Link] = []
    about: tuple[int, str, str, int, bool] | None = None
    for record in text.decode().split("\n") if text else ():
        if record[:1] == "\t":
            about = _read_about(record)
            continue
        if about is None:
            raise ValueError("a link of which nothing is said")
        links.append(Link(record, *about))
    if len(grades) == 1:
        grades *= len(links)
    if not zero or len(grades) != len(links):
        raise ValueError("grades that do not fit the links")
    return links, grades


def _about(link: Link) -> str:
    """Return what an entry says of a link besides its target."""
    fields = [link.referrer]
    if link.asked or link.hops or link.sitemap:
        fields += [link.asked, str(link.hops), str(int(link.sitemap))]
    if link.target[:1] == "\t" or any("\t" in field for field in fields):
        raise ValueError("a link that is no URL")
    return "\t".join(("", str(link.depth), *fields))


def _read_about(record: str) -> tuple[int, str, str, int, bool]:
    """Undo `_about`."""
    match record.split("\t"):
        case ["", depth, referrer]:
            return _number(depth), referrer, "", 0, False
        case ["", depth, referrer, asked, hops, ("0" | "1") as sitemap]:
            return _number(depth), referrer, asked, _number(hops), sitemap == "1"
    raise ValueError("a record that is none")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise ValueError("a number that is none")
    return int(text)


def _deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15, 8, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY)
    return packer.compress(body) + packer.flush()


def _inflate(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(-15, _DICTIONARY)
    try:
        body = unpacker.decompress(data, SIZE_MAX)
    except zlib.error as error:
        raise ValueError("an entry that is none") from error
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("an entry that is cut off, too large, or followed by something")
    return body
