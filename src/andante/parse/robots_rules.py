"""The rules of a robots.txt for one crawler: how paths are compared (RFC 9309, section 2.2.2), and which rule decides.

Rules are kept as one text, and compiled when URLs are asked about. Both sides of a comparison are normalised first:

1. What is neither unreserved nor reserved is percent-encoded, octet by octet; so are ``*`` and ``$`` where they stand for themselves. Escapes have upper-case digits.
2. A percent-encoded unreserved character is decoded.
3. A reserved character is the same with and without its escape: the RFC would have it encoded, here it is decoded. Not so ``/``, ``?`` and ``#`` where they
   delimit: the first two before the first ``?``, the last anywhere.

The end of a target is written ``$``, which no normalised text contains otherwise. So a rule that ends in ``$`` is a prefix like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from sys import maxsize
from typing import NamedTuple

PIECES_MAX = 2_000
"""Texts between wildcards that are looked for to decide about one URL; ordinary files need ten. Beyond it the URL is not allowed."""

LITERALS_FEW = 64
"""Rules without wildcards up to which they are compared one after another."""

STARRED_FEW = 32
"""Rules with wildcards up to which they are tried one after another."""

_KEY_MAX = 16
"""Characters behind the first wildcard by which one of many rules is looked up."""

_ODD = re.compile(r"[^A-Za-z0-9\-._~/?:@!&'()+,;=\[\]#]").search
_ODD_RUNS = re.compile(r"(?:%[0-9A-Fa-f]{2})++|%|[^A-Za-z0-9\-._~/?:@!&'()+,;=\[\]#%]++")
_ODD_RUNS_OF_PATTERN = re.compile(
    r"(?:%[0-9A-Fa-f]{2})++|%|[^A-Za-z0-9\-._~/?:@!&'()+,;=\[\]#%*]++"
)
_STARS = re.compile(r"\*\*++")
_DELIMITERS = re.compile("%(?:2F|3F)")
_PLAIN = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:@!&'()+,;=[]"
)
_ESCAPES = [f"%{octet:02X}" for octet in range(256)]
_DECODED = [chr(octet) if octet in _PLAIN else escape for octet, escape in enumerate(_ESCAPES)]


def _normal(match: re.Match[str]) -> str:
    """Normalise a run of escapes, or of characters that are to be escaped."""
    run = match[0]
    if run[0] == "%" and len(run) > 1:
        return "".join([_DECODED[octet] for octet in bytes.fromhex(run.replace("%", ""))])
    return "".join([_ESCAPES[octet] for octet in run.encode("latin-1")])


def _plain_query(text: str) -> str:
    """Decode delimiters in a normalised text where they delimit nothing."""
    path, mark, query = text.partition("?")
    if "%" not in query:
        return text
    return path + mark + _DELIMITERS.sub(lambda match: chr(int(match[0][1:], 16)), query)


def pattern(value: bytes) -> str:
    """Return the path of a rule normalised; empty if it matches nothing: it begins with neither ``/`` nor a wildcard."""
    if value[:1] not in (b"/", b"*"):
        return ""
    is_anchored = value.endswith(b"$")
    text = (value[:-1] if is_anchored else value).decode("latin-1")
    text = _plain_query(_ODD_RUNS_OF_PATTERN.sub(_normal, text))
    return _STARS.sub("*", text) + ("$" if is_anchored else "")


def _forms(target: str) -> Iterable[str]:
    """Return a target as rules may have it: normalised; and, for rules that do not show what is in the query, with all its escapes."""
    if not target.isascii():
        target = target.encode("utf-8", "surrogatepass").decode("latin-1")
    text = _ODD_RUNS.sub(_normal, target)
    return {_plain_query(text) + "$", text + "$"}


def write(rules: Mapping[str, bool]) -> str:
    """Return rules (pattern, as `pattern` gives it: whether it allows) as one text, the same for the same rules.

    Its first line tells for each of the others whether it allows (``+``) or not (``-``), those with wildcards behind a space. In both parts who comes
    first wins: the longer one, and of two that are equally long the one that allows.
    """
    ordered = sorted(rules, key=lambda each: (-len(each), not rules[each], each))
    literals = [each for each in ordered if "*" not in each]
    starred = [each for each in ordered if "*" in each]
    if not any(not allows for allows in rules.values()):
        return ""  # nothing is forbidden
    signs = ["".join("-+"[rules[each]] for each in part) for part in (literals, starred)]
    return "\n".join([" ".join(signs), *literals, *starred])


def check(text: str) -> None:
    """Look whether a text is one that `write` has made.

    Raises:
        ValueError: it is not.
    """
    head, *patterns = text.split("\n")
    signs = head.replace(" ", "", 1)
    if text and (
        len(signs) != len(patterns)
        or write(dict(zip(patterns, map("+".__eq__, signs), strict=True))) != text
    ):
        raise ValueError("these are no rules of a robots.txt")


class _Starred(NamedTuple):
    """A rule with wildcards."""

    size: int
    """Octets of it, by which the most specific rule is chosen."""
    allows: bool
    prefix: str
    """What stands before the first wildcard."""
    piece: str
    """What stands behind it."""
    pieces: tuple[str, ...]
    """What stands behind each of the others."""


class Matcher:
    """Rules, compiled.

    A URL costs time in proportion to its length, to the number of lengths that rules have, and to the rules with wildcards that may match it; of
    these no more than `PIECES_MAX` counts.

    Args:
        text: as `write` gives it.
    """

    __slots__ = ("_index", "_lengths", "_literals", "_signs", "_starred", "_table", "size", "text")

    def __init__(self, text: str) -> None:
        head, *patterns = text.split("\n")
        signs, _, signs_starred = head.partition(" ")
        count = len(signs)
        self.text = text
        self._signs = signs
        self._literals = tuple(patterns[:count])
        self._table: dict[str, str] | None = None
        self._lengths: Sequence[int] = ()
        if count > LITERALS_FEW:
            self._table = dict(zip(self._literals, signs, strict=True))
            self._lengths = tuple(dict.fromkeys(map(len, self._literals)))
            self._literals = ()
        self._starred = tuple(
            _compiled(pattern, sign)
            for pattern, sign in zip(islice(patterns, count, None), signs_starred, strict=True)
        )
        self._index = None
        if len(self._starred) > STARRED_FEW:
            self._index = _Index(self._starred)
        self.size = 300 + 2 * len(text) + 80 * count + 500 * len(self._starred)
        """Bytes that it takes, about."""

    def allows(self, target: str) -> bool:
        """Tell whether a target (path and query of a URL) may be asked for."""
        if _ODD(target) is None:
            _, allows = self._decide(target + "$")
        else:
            _, allows = max(map(self._decide, _forms(target)))
        return allows or target == "/robots.txt" or target.startswith("/robots.txt?")

    def _decide(self, text: str) -> tuple[int, bool]:
        """Return the octets of the most specific rule that matches, 0 if none does, and whether it allows."""
        size, allows = 0, True
        if self._table is not None:
            size, allows = self._look_up(text, self._table)
        elif text.startswith(self._literals):
            for number, literal in enumerate(self._literals):
                if text.startswith(literal):
                    size, allows = len(literal), self._signs[number] == "+"
                    break
        rules = self._starred if self._index is None else self._index.candidates(text)
        looked = 0
        for rule_size, rule_allows, prefix, piece, pieces in rules:
            if rule_size <= size and (allows or rule_size < size):
                break
            if piece in text and text.startswith(prefix):
                looked += 1 + len(pieces)
                if looked > PIECES_MAX:
                    return maxsize, False
                if _stand_in_order(text, len(prefix), (piece, *pieces)):
                    return rule_size, rule_allows
        return size, allows

    def _look_up(self, text: str, table: Mapping[str, str]) -> tuple[int, bool]:
        """Return the same of many rules without wildcards."""
        for length in self._lengths:
            sign = table.get(start := text[:length])
            if sign is not None:
                return len(start), sign == "+"
        return 0, True


def _stand_in_order(text: str, at: int, pieces: Iterable[str]) -> bool:
    """Tell whether all pieces stand in a text, one behind the other: who takes the first place for each finds room for all if there is any."""
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def _compiled(pattern: str, sign: str) -> _Starred:
    prefix, piece, *pieces = pattern.split("*")
    return _Starred(len(pattern), sign == "+", prefix, piece, tuple(pieces))


class _Index:
    """Finds, of many rules with wildcards, those that may match: by what stands before the first wildcard, and by the beginning of what stands behind it."""

    __slots__ = ("_groups", "_heads", "_piece_lengths", "_prefix_lengths", "_rules")

    def __init__(self, rules: tuple[_Starred, ...]) -> None:
        self._rules = rules
        self._groups: dict[str, dict[str, list[int]]] = {}
        for number, rule in enumerate(rules):
            group = self._groups.setdefault(rule.prefix, {})
            group.setdefault(rule.piece[:_KEY_MAX], []).append(number)
        pieces = {rule.piece[:_KEY_MAX] for rule in rules if rule.piece}
        self._prefix_lengths = tuple(set(map(len, self._groups)))
        self._piece_lengths = tuple(set(map(len, pieces)))
        self._heads = frozenset(piece[0] for piece in pieces)

    def candidates(self, text: str) -> Iterable[_Starred]:
        """Return the rules that may match, in their order."""
        heads, pieces = self._heads, {""}
        for at, head in enumerate(text):
            if head in heads:
                pieces.update([text[at : at + length] for length in self._piece_lengths])
        numbers = []
        for length in self._prefix_lengths:
            if length <= len(text) and (group := self._groups.get(text[:length])):
                for piece in group.keys() & pieces:
                    numbers += group[piece]
        return [self._rules[number] for number in sorted(numbers)]
