"""robots.txt of random lines, and random damage, against a slow reading of RFC 9309."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.parse.robots import parse
from andante.parse.robots_rules import Matcher, check

# The oracle: lines, groups, then one regular expression a rule


def normal(text: str, *, is_rule: bool, shows_query: bool = True) -> str:
    octets = text.encode("latin-1")
    out, at, in_query = "", 0, False
    while at < len(octets):
        code = octets[at]
        escaped = re.fullmatch(rb"%[0-9a-fA-F]{2}", octets[at : at + 3])
        if escaped:
            code = int(octets[at + 1 : at + 3], 16)
        character = chr(code)
        is_plain = character.isascii() and (character.isalnum() or character in "-._~")
        if escaped:
            stays = is_plain or character in ":@[]!&'()+,;=" or (in_query and character in "/?")
        else:
            stays = is_plain or character in ":/?#[]@!&'()+,;=" or (is_rule and character == "*")
        out += character if stays else f"%{code:02X}"
        in_query |= character == "?" and not escaped and shows_query
        at += 3 if escaped else 1
    return out


def rule_matches(value: str, target: str) -> bool:
    anchored = value.endswith("$")
    literal = normal(value[:-1] if anchored else value, is_rule=True)
    source = "".join(".*" if c == "*" else re.escape(c) for c in literal)
    return re.match(source + (r"\Z" if anchored else ""), target, re.DOTALL) is not None


def octets(value: str) -> int:
    anchored = value.endswith("$")
    return (
        len(re.sub(r"\*+", "*", normal(value[: -1 if anchored else None], is_rule=True))) + anchored
    )


def oracle(text: str, target: str) -> bool:
    ours: list[tuple[str, bool]] = []
    everyones: list[tuple[str, bool]] = []
    names: list[str] = []
    named_us = rules_began = False
    for line in re.split("\r\n|\r|\n", text):
        key, colon, value = line.split("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            names = [value] if rules_began else [*names, value]
            rules_began = False
            named_us |= re.match("[A-Za-z_-]*", value)[0].lower() == "andante"  # type: ignore[index]
        elif key in ("allow", "disallow"):
            rules_began = True
            if any(re.match("[A-Za-z_-]*", name)[0].lower() == "andante" for name in names):  # type: ignore[index]
                ours.append((value, key == "allow"))
            if "*" in names:
                everyones.append((value, key == "allow"))
    if target == "/robots.txt":
        return True
    best = (0, True)
    # A rule that does not show what is in the query may mean its escapes as they are.
    forms = {normal(target, is_rule=False, shows_query=shows) for shows in (True, False)}
    for value, allows in ours if named_us else everyones:
        if value[:1] in ("/", "*") and any(rule_matches(value, form) for form in forms):
            best = max(best, (octets(value), allows))
    return best[1]


ALPHABET = "/ab?*$%2Fc3A.=~:;[ "
PATH = st.text(ALPHABET, max_size=8).map(lambda text: "/" + text.strip())
TARGET = st.text(ALPHABET.replace(" ", "") + "*$", max_size=10).map("/".__add__)
VALUE = PATH | st.sampled_from(
    ["", "*", "/", "*a", "/*", "a", "/*.c$", "/a/", "/*?", "/%2f", "/?a=%3A"]
)
NAME = st.sampled_from(["andante", "Andante/1", "andante x", "and", "other", "*", "andante-x", ""])
LINE = st.one_of(
    VALUE.map("Disallow: ".__add__),
    VALUE.map("Allow:".__add__),
    NAME.map("User-agent: ".__add__),
    st.sampled_from(["", "# x", "Noindex: /", "Crawl-delay: 2", "Sitemap: /s", ":", " "]),
)
FILE = st.lists(LINE, max_size=14).map("\n".join).map("User-agent: *\n".__add__)


@settings(max_examples=300, deadline=None)
@given(FILE, st.lists(TARGET, min_size=1, max_size=6))
def test_it_is_read_as_the_rfc_says(text, targets):
    rules = Matcher(parse(text.encode(), "andante").rules)
    for target in targets:
        assert rules.allows(target) is oracle(text, target), target


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUE.map("Disallow: ".__add__) | VALUE.map("Allow: ".__add__), min_size=20, max_size=60), st.lists(TARGET, max_size=6))  # fmt: skip
def test_many_rules_mean_the_same_as_few(lines, targets):
    text = "User-agent: *\n" + "\n".join(lines)
    more = "".join(f"\nDisallow: /!{n}\nDisallow: /!{n}*x\nDisallow: /*!{n}" for n in range(70))
    few, many = (Matcher(parse(each.encode(), "x").rules) for each in (text, text + more))
    for target in targets:
        assert few.allows(target) is many.allows(target) is oracle(text, target), target


@settings(deadline=None)
@given(st.binary(max_size=400), st.text(max_size=30))
def test_whatever_comes_is_read(body, target):
    for text in (body, b"User-agent: *\nDisallow: /" + body, b"User-agent: andante\n" + body):
        found = parse(text, "andante")
        check(found.rules)
        assert Matcher(found.rules).allows(target) in (True, False)
        assert found.crawl_delay is None or found.crawl_delay >= 0


SEED = b"""\xef\xbb\xbf# robots
User-agent: *
Crawl-delay: 2.5
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php
Disallow: /*?s=
Disallow: /*/feed/$
User-agent: andante
Disallow: /caf%C3%A9*x
Allow: /$
Sitemap: https://a.example/s.xml
"""


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_read(seed):
    chance = random.Random(seed)
    pieces = [
        b"\0",
        b"\r",
        b"\n",
        b"*",
        b"$",
        b"%",
        b"#",
        b":",
        b"\xff",
        b"User-agent:",
        b"Disallow: /",
        b"%2",
        b" ",
    ]
    for _ in range(500):
        body = bytearray(SEED)
        for _ in range(chance.randrange(1, 12)):
            at = chance.randrange(len(body))
            body[at : at + chance.randrange(4)] = chance.choice(pieces)
        found = parse(bytes(body), "andante")
        check(found.rules)
        compiled = Matcher(found.rules)
        for target in ("/", "/wp-admin/x?s=1", "/a/feed/", "/caf%C3%A9/x", "/%", "/%zz?*$"):
            assert compiled.allows(target) in (True, False)
