"""Proof that a page is plain: a regular grammar of the pages whose links a simple pattern finds.

To read HTML as browsers do takes a tokenizer of 80 states and a tree builder. Most pages use little of it. This module
describes that little as a regular language, and one pass of a deterministic automaton (RE2) says whether a page is in it.
A page that is not is read by another way, so a grammar that is too narrow costs time and never a link.

A page is cut at its first ``</head>``: *head markup* before it, *body markup* after it, both beginning and ending in the
tokenizer's data state. Why the patterns of ``scan`` then find what a browser finds:

Tokens. Each construct below begins and ends where the tokenizer says it does.

- Data state: text is anything but ``<`` before a letter, ``!``, ``/`` or ``?``.
- Tag, attribute and value states: white space before each attribute, a value in quotes or of harmless characters, then
  ``>`` or ``/>``. A ``>`` in quotes belongs to the value, in the grammar as in the tokenizer.
- Comment states: no ``->`` and no ``-!>`` in the text, so it ends at the first ``-->`` and no sooner (``<!-->``, ``--!>``).
- Doctypes and bogus comments (``<?xml ... ?>``) end at the first ``>``, in quotes or not.
- Raw text states: no ``</script`` or ``</style`` in the text, and no ``<!--`` in a script, which opens states of its own.
- RCDATA states (title, textarea): no ``<`` in the text.
- NUL is nowhere, and what is opened is closed before the end.

Tree. No element of interest is dropped and none made up. What can do that (frameset, template, MathML, select, the old raw
text elements) is not in the grammar; SVG is, with nothing but drawing elements and titles in it. What is left may move or
copy an ``a`` element (tables, misnested tags), but neither loses it nor changes its attributes.

Patterns. In the body of a plain page the text ``href=``, in any case, stands only in an ``a`` start tag, in lower case, as the name
of its one attribute of that name, with a value in double quotes. In a *nearly plain* page the text ``href`` stands only in such a
place or in ``hreflang``, in any case, with any value. In the head ``<link``, ``<meta``, ``<base`` and ``<title`` stand only
where such a tag begins, ``</head`` not at all, and there is no ``a``; such a tag has no ``>`` before its end, and no
character reference in what tells its meaning. Areas and frames are in neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import re2

_SPACE = rb"[ \t\n\f\r]"
_NAME_BYTES = b"abcdefghijklmnopqrstuvwxyz0123456789:_.-"
_NOT_IN_ATTRIBUTE_NAME = b" \t\n\f\r\"'<>/="
_DRAWING = rb"(?:circle|clippath|defs|ellipse|g|line|lineargradient|mask|path|polygon|polyline|radialgradient|rect|stop|symbol|use)"
_NOT_ORDINARY = (
    # Of interest, or with a form of their own below.
    *(
        b"a",
        b"area",
        b"base",
        b"frame",
        b"iframe",
        b"link",
        b"meta",
        b"script",
        b"style",
        b"svg",
        b"textarea",
    ),
    # They change how what follows is read, or what becomes of it.
    *(
        b"frameset",
        b"math",
        b"noembed",
        b"noframes",
        b"plaintext",
        b"select",
        b"template",
        b"title",
        b"xmp",
    ),
)


# ------------------------------------------------------------------------------------------------
# What regular expressions without look-around cannot say directly. Case never counts: the whole
# grammar is compiled without it.


def _branches(words: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """Group words by their first byte: ``{byte: [rest, ...]}``."""
    branches: dict[bytes, list[bytes]] = {}
    for word in words:
        branches.setdefault(word[:1], []).append(word[1:])
    return branches


def _none_of(excluded: bytes) -> bytes:
    """Match one byte that is neither NUL nor excluded."""
    return b"[^%b]" % b"".join(b"\\x%02x" % byte for byte in sorted({0, *excluded}))


def _not_beginning(words: Iterable[bytes], without: bytes) -> bytes:
    """Match bytes that are not in ``without`` and do not begin with one of the words."""
    branches = _branches(words)
    choices = [_none_of(without + b"".join(branches)) + _none_of(without) + b"*"]
    for byte, rests in branches.items():
        if b"" not in rests:
            choices.append(re2.escape(byte) + _not_beginning(rests, without))
    return b"(?:%b)?" % b"|".join(choices)


def _chunks(words: tuple[bytes, ...], without: bytes) -> bytes:
    """Match pieces that each begin as a word does and go on otherwise, up to where the next word may begin."""
    chunks = [
        re2.escape(byte) + _not_beginning(rests, without)
        for byte, rests in _branches(words).items()
    ]
    return b"(?:%b)" % b"|".join(chunks)


def _lacking(*words: bytes, without: bytes = b"", some: bool = False) -> bytes:
    """Match bytes (``some``: at least one) that are not in ``without`` and in which none of the words occurs.

    No word's first byte may be in the rest of a word. So a word can begin only at a first byte, and what
    follows up to the next one decides whether it does.
    """
    firsts = b"".join(_branches(words))
    assert not any(byte in firsts for word in words for byte in word[1:])
    other = _none_of(without + firsts)
    if not words:
        return other + b"*"
    chunk = _chunks(words, without + firsts)
    return b"(?:%b+%b*|%b+)" % (other, chunk, chunk) if some else b"%b*%b*" % (other, chunk)


def _other_than(names: Iterable[bytes]) -> bytes:
    """Match a tag name that is none of these."""
    branches = _branches(names)
    first = _NAME_BYTES.translate(None, b"".join(branches))
    choices = [b"[%b][%b]*" % (first, _NAME_BYTES)]
    for byte, rests in branches.items():
        longer = _other_than(rest for rest in rests if rest)
        choices.append(re2.escape(byte) + longer + (b"" if b"" in rests else b"?"))
    return b"(?:%b)" % b"|".join(choices)


# ------------------------------------------------------------------------------------------------
# The grammar


def _value(*words: bytes, without: bytes = b"") -> bytes:
    """Match the equals sign and the value of an attribute that lacks the words and the bytes of ``without``."""
    return b"%b*=%b*(?:\"%b\"|'%b'|%b+)" % (
        _SPACE,
        _SPACE,
        _lacking(*words, without=b'"' + without),
        _lacking(*words, without=b"'" + without),
        _none_of(b" \t\n\f\r\"'<>=`" + without),
    )


def _attributes(*words: bytes) -> bytes:
    """Match attributes none of which has a name that ends in ``href``, without the words in their values."""
    name = b"(?:%b|hreflang)" % _lacking(b"href", without=_NOT_IN_ATTRIBUTE_NAME, some=True)
    return b"(?:%b+%b(?:%b)?)*" % (_SPACE, name, _value(*words))


def _raw_text(name: bytes, content: bytes, *words: bytes) -> bytes:
    return b"<%b%b%b*>%b</%b%b*>" % (name, _attributes(*words), _SPACE, content, name, _SPACE)


def _comment(*words: bytes) -> bytes:
    ends = (b"->", b"-!>")
    firsts = b"".join(_branches((*ends, *words)))
    first = _not_beginning([end[1:] for end in ends], firsts)  # after the second dash of "<!--"
    return b"<!--%b%b*-->" % (first, _chunks((*ends, *words), firsts))


def _markup(text: bytes, *constructs: bytes) -> bytes:
    return b"%b(?:(?:%b)%b)*" % (text, b"|".join(constructs), text)


def _head() -> bytes:
    words = (b"<link", b"<meta", b"<base", b"<title", b"</head")
    meaning = (b"rel", b"name", b"http-equiv")
    attributes = rb"(?:%b+(?:(?:%b)(?:%b)?|%b%b))*" % (
        _SPACE,
        _other_than(meaning),
        _value(without=b"<>"),
        rb"(?:%b)" % b"|".join(meaning),
        _value(without=b"<>&"),
    )
    return _markup(
        rb"[^\x00<]*",
        _comment(*words),
        rb"<[?][^\x00<>]*>",
        rb"<!doctype[^\x00<>]*>",
        rb"<(?:html|head|noscript)%b%b*>" % (_attributes(*words), _SPACE),
        rb"</noscript>",
        rb"(?-i:<(?:link|meta|base))%b%b*/?>" % (attributes, _SPACE),
        _raw_text(b"title", rb"[^\x00<]*", *words),
        _raw_text(b"style", _lacking(b"</style", *words), *words),
        _raw_text(b"script", _lacking(b"</script", b"<!--", *words), *words),
    )


def _body(word: bytes, href: bytes) -> bytes:
    """Match body markup with the word nowhere but in an ``a`` start tag's attribute ``href``."""
    attributes = _attributes(word)
    tag_end = _SPACE + b"*/?>"
    line = _lacking(word, without=b"<")
    text = rb"%b(?:<+[^\x00<a-z!/?]%b)*<*" % (line, line)
    drawing = rb"</?%b%b%b" % (_DRAWING, attributes, tag_end)
    return _markup(
        text,
        rb"<a%b(?:%b+%b%b)?%b" % (attributes, _SPACE, href, attributes, tag_end),
        rb"<%b%b%b" % (_other_than(_NOT_ORDINARY), attributes, tag_end),
        _END_TAG,
        _comment(word),
        _raw_text(b"textarea", line, word),
        _raw_text(b"style", _lacking(b"</style", word), word),
        _raw_text(b"script", _lacking(b"</script", b"<!--", word), word),
        rb"<svg%b%b*>%b</svg>"
        % (attributes, _SPACE, _markup(line, drawing, _raw_text(b"title", line, word))),
    )


_END_TAG = rb"</[a-z]%b*%b*>" % (_none_of(_NOT_IN_ATTRIBUTE_NAME), _SPACE)


def _compile(pattern: bytes) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # one byte, one character
    options.case_sensitive = False
    options.never_capture = True
    return re2.compile(pattern, options)


class Grammar:
    """A language of pages in UTF-8 or a single-byte extension of ASCII."""

    def __init__(self, word: bytes, href: bytes) -> None:
        body = _body(word, href)
        # The automaton is a sixth faster where no state on the way may be the last one. So the page proper
        # ends with the "</" of its last end tag, which only an end of the page can follow.
        self._page = _compile(_head() + b"(?-i:</head>)" + body + b"</")
        self._end = _compile(_END_TAG + body)

    def matches(self, page: bytes) -> bool:
        """Say whether a page is in the language. Linear in its length."""
        last = page.rfind(b"</")
        return (
            self._page.fullmatch(page, 0, last + 2) is not None
            and self._end.fullmatch(page, last) is not None
        )


PLAIN = Grammar(b"href=", rb'(?-i:href="%b")' % _lacking(b"href=", without=b'"'))
"""The pages on which ``href="`` begins each link and nothing else."""
NEARLY_PLAIN = Grammar(b"href", b"href" + _value(b"href"))
"""The pages on which ``href``, an equals sign and a value, however written, are each link and nothing else."""
