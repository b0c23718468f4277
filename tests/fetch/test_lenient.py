"""Leniency as browsers have it: what llhttp refuses, and what is refused all the same."""

from __future__ import annotations

import asyncio
import re
from re._constants import MAX_REPEAT, MAXREPEAT, MIN_REPEAT, POSSESSIVE_REPEAT, SUBPATTERN

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.fetch import Failure, Limits, Outcome, Response, lenient
from support.wire import PLAIN, answer, answers, bare

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = (b"Content-Length", b"2")
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
X = (b"X", b"a b")

HEADERS = {
    # What is sent, and the fields that are read. Chromium takes each so; where curl differs it is said.
    "a folded line": (b"X: a\r\n  b\r\nContent-Length: 2\r\n", [X, LENGTH]),
    "a line folded with a tab, by bare line feeds": (
        b"X: a\n\tb\nContent-Length: 2\n",
        [X, LENGTH],
    ),
    "a folded Content-Length": (b"Content-Length:\r\n 2\r\n", [LENGTH]),
    "the first line begins with a space": (
        b" X: a b\r\nContent-Length: 2\r\n",
        [X, LENGTH],
    ),  # curl refuses it
    "two equal lengths": (b"Content-Length: 2\r\nContent-Length: 2\r\n", [LENGTH, LENGTH]),
    "equal lengths in one": (
        b"Content-Length: 2, 2\r\n",
        [(b"Content-Length", b"2, 2")],
    ),  # curl takes the first
    "equal lengths, one with a zero": (
        b"Content-Length: 2\r\nContent-Length: 02\r\n",
        [LENGTH, (b"Content-Length", b"02")],
    ),
    "an empty length, and one": (
        b"Content-Length: \r\nContent-Length: 2\r\n",
        [(b"Content-Length", b""), LENGTH],
    ),
    "no colon": (b"nonsense\r\nContent-Length: 2\r\n", [LENGTH]),  # curl refuses it
    "no colon, with spaces": (b"utter nonsense\r\nContent-Length: 2\r\n", [LENGTH]),
    "no name": (b": value\r\nContent-Length: 2\r\n", [LENGTH]),
    "a space before the colon": (b"Content-Length : 2\r\n", [LENGTH]),
    "a space in the name": (b"X Y: a b\r\nContent-Length: 2\r\n", [LENGTH]),
    "a name that is no token": (b"X(\xe9): a b\r\nContent-Length: 2\r\n", [LENGTH]),
    "control characters in a value": (
        b"X: a\x01\x7f\r\nContent-Length: 2\r\n",
        [(b"X", b"a\x01\x7f"), LENGTH],
    ),
    "a carriage return in a value": (b"X: a\rb\r\nContent-Length: 2\r\n", [X, LENGTH]),
    "a transfer coding that is none, and a length": (
        b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n",
        [(b"Transfer-Encoding", b"identity"), LENGTH],
    ),
    "xchunked and a length": (
        b"Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n",
        [(b"Transfer-Encoding", b"xchunked"), LENGTH],
    ),
}

BODIES = {
    # All of a response, whether it ends with the connection, and the body.
    "chunks ended by bare line feeds": (CHUNKED + b"2\nhi\n0\n\n", False, b"hi"),
    "sizes ended by LF, data by CRLF": (CHUNKED + b"2\nhi\r\n0\n\r\n", False, b"hi"),
    "an odd extension": (CHUNKED + b'2 ; a(b)="x\r\nhi\r\n0;\r\n\r\n', False, b"hi"),
    "an odd trailer": (CHUNKED + b"2\r\nhi\r\n0\r\nnonsense\r\n\r\n", False, b"hi"),
    "a header that is odd, then chunks": (
        OK
        + b"X\r\nTransfer-Encoding: gzip,\r\n CHUNKED\r\nContent-Length: 9\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        False,
        b"hi",
    ),
    "chunked beats lengths that differ": (
        OK
        + b"Content-Length: 1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        False,
        b"hi",
    ),
    "xchunked is not chunked": (
        OK + b"Transfer-Encoding: xchunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        True,
        b"2\r\nhi\r\n0\r\n\r\n",
    ),
    "nor is chunked before another coding": (
        OK + b"Transfer-Encoding: chunked, gzip\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        True,
        b"2\r\nhi\r\n0\r\n\r\n",
    ),
    "an odd header, until the end": (OK + b"X\r\n\r\nhi", True, b"hi"),
    "an odd header, until the end, empty": (OK + b"X\r\n\r\n", True, b""),
    "an odd header and an empty length": (OK + b"X\r\nContent-Length:\r\n\r\nhi", True, b"hi"),
    "an odd header and no body": (b"HTTP/1.1 204 No\r\nX\r\n\r\n", False, b""),
    "an odd interim response": (
        b"HTTP/1.1 103 Early Hints\r\nX\r\n\r\n" + PLAIN,
        False,
        b"hello",
    ),
    "an odd response after an interim one": (
        b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" + OK + b"X\r\nContent-Length: 2\r\n\r\nhi",
        False,
        b"hi",
    ),
    "two spaces in the status line": (
        b"HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nhi",
        False,
        b"hi",
    ),
    "lower case": (b"http/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", False, b"hi"),
}

REFUSED = {
    "lengths that differ": OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
    "lengths that differ in one": OK + b"Content-Length: 2, 3\r\n\r\nhi",
    "a length with a sign": OK + b"Content-Length: +2\r\n\r\nhi",
    "a length with more behind it": OK + b"Content-Length: 2;x\r\n\r\nhi",
    "a length of 23 digits": OK + b"Content-Length: 99999999999999999999999\r\n\r\nhi",
    "a NUL in the header": OK + b"X: a\0b\r\nContent-Length: 2\r\n\r\nhi",
    "a size with a sign": CHUNKED + b"-2\nhi\n0\n\n",
    "a size with a prefix": CHUNKED + b"0x2\nhi\n0\n\n",
    "a size too large": CHUNKED + b"f" * 16 + b"\nhi\n0\n\n",
    "no size": CHUNKED + b"\nhi\n0\n\n",
    "a chunk that is longer than its size": CHUNKED + b"2\nhi you\n0\n\n",
    "carriage returns alone": b"HTTP/1.1 200 OK\rContent-Length: 2\r\rhi\r\n\r\n",
    "an odd header that switches protocols": b"HTTP/1.1 101 Switching\r\nX\r\n\r\n",
    "an odd header, status below 100": b"HTTP/1.1 099 Low\r\nX\r\n\r\n",
    "a line without end between odd chunks": CHUNKED + b"2\nhi\n2;" + b"x" * 20_000,
    "a status line that is none": b"HTTP/1.1 OK\r\n\r\n",
    "a carriage return behind spaces in a status line": b"HTTP/1.1 200"
    + b" " * 300
    + b"\rX\r\n\r\n",
}


def everywhere(data: bytes, *, eof: bool, trailing: bytes = b"") -> list:
    """Return the results of a response that comes whole, in bytes, with what follows, and in halves."""
    ways = [[data + trailing], [data], [data[i : i + 1] for i in range(len(data))]]
    ways += [[data[:at], data[at:]] for at in range(1, min(len(data), 300), 7)]
    results = []
    for reads in ways:
        [result], reusable = asyncio.run(answers(*reads, eof=eof))
        assert not reusable
        results.append(result)
    return results


@pytest.mark.parametrize("name", HEADERS)
def test_odd_headers(name):
    sent, fields = HEADERS[name]
    end = b"\n" if sent.endswith(b"2\n") and b"\r" not in sent else b"\r\n"
    data = OK + sent + end + b"hi"
    for result in everywhere(data, eof=False, trailing=b"and more"):
        assert isinstance(result, Response), result
        assert (result.status, result.reason, result.payload) == (200, "OK", b"hi")
        assert [(field, value.strip()) for field, value in result.headers] == fields


@pytest.mark.parametrize("name", BODIES)
def test_odd_bodies(name):
    data, eof, body = BODIES[name]
    for result in everywhere(data, eof=eof, trailing=b"" if eof else PLAIN):
        assert isinstance(result, Response), result
        assert (result.payload, result.truncated) == (body, "")


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    for result in everywhere(REFUSED[name], eof=True):
        assert isinstance(result, Failure)
        assert result.outcome is Outcome.BAD_RESPONSE, result


@pytest.mark.parametrize("name", ["chunks ended by bare line feeds", "an odd interim response"])
def test_closed_in_the_middle(name):
    data = BODIES[name][0]
    for at in range(1, len(data)):
        failure = answer(data[:at], eof=True)
        assert isinstance(failure, Failure)
        assert failure.outcome is Outcome.CLOSED


def test_the_body_of_an_odd_response_keeps_to_its_limit():
    body = bytes(i % 251 for i in range(300_000))
    head = OK + b"X\r\n"
    chunks = b"".join(b"%x\n%b\n" % (len(each), each) for each in (body[:9], body[9:])) + b"0\n\n"
    for data in (
        head + b"Content-Length: 300000\r\n\r\n" + body,
        head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks,
    ):
        for size in (1000, 65_536, 10**6):
            reads = [data[i : i + size] for i in range(0, len(data), size)]
            whole = answer(*reads, limits=Limits(max_body=300_000))
            assert (whole.payload, whole.truncated) == (body, "")
            cut = answer(*reads, limits=Limits(max_body=299_999))
            assert (cut.payload, cut.truncated) == (body[:-1], "length")


def test_an_odd_header_keeps_to_its_limit():
    head = OK + b"X\r\nContent-Length: 2\r\nY: " + b"y" * 300 + b"\r\n\r\n"
    for size in (1, 50, 10**6):
        data = head + b"hi"
        reads = [data[i : i + size] for i in range(0, len(data), size)]
        assert answer(*reads, limits=Limits(max_header=len(head))).payload == b"hi"
        failure = answer(*reads, limits=Limits(max_header=len(head) - 1))
        assert failure.outcome is Outcome.HEADER_TOO_LARGE


def test_an_odd_response_behind_another_is_to_be_sent_again():
    """Where it begins in what was read cannot be told; alone it is understood."""
    odd = OK + b"X\r\nContent-Length: 2\r\n\r\nhi"
    for reads in ([PLAIN + odd], [PLAIN, odd]):
        results, reusable = asyncio.run(answers(*reads, requests=3))
        assert results[0].payload == b"hello"
        assert [result.outcome for result in results[1:]] == [Outcome.STALE, Outcome.STALE]
        assert not reusable
    results, _ = asyncio.run(answers(odd + PLAIN, requests=2))
    assert results[0].payload == b"hi"
    assert results[1].outcome is Outcome.STALE


PARTS = [
    *(OK, b"HTTP/1.1 ", b"103", b"200", b"204", b" OK", b"\r\n", b"\n", b"\r", b" ", b":", b"\0"),
    *(b"Content-Length: 2", b"Content-Length: 3", b"Transfer-Encoding: chunked", b"X: y", b"X"),
    *(
        b"2",
        b"hi",
        b"0",
        b"ff",
        b";e",
        b"\r\n\r\n",
        b"2\r\nhi\r\n",
        b"0\r\n\r\n",
        b"Connection: close",
    ),
]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_is_sent_ends_in_one_result_however_it_is_split(data):
    stream = b"".join(data.draw(st.lists(st.sampled_from(PARTS), max_size=25)))
    if data.draw(st.booleans()):
        stream = OK + stream
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=6)))
    reads = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    limits = Limits(max_body=30, max_header=256)
    whole = answer(stream, eof=True, limits=limits)
    assert isinstance(whole, Response | Failure)
    assert bare(answer(*reads, eof=True, limits=limits)) == bare(whole)


def repeats_in_a_row(pattern: re.Pattern[bytes] | str) -> bool:
    """Tell whether two repeats without end stand side by side, have a character in common, and the first can be gone back over.

    To match them against a text that does not end as it should takes its length squared.
    """
    text = pattern if isinstance(pattern, str) else pattern.pattern.decode("latin-1")
    before: set[str] = set()
    for operation, argument in flat(re._parser.parse(text, re.DOTALL)):
        characters = set()
        if operation in (MAX_REPEAT, MIN_REPEAT, POSSESSIVE_REPEAT) and argument[1] is MAXREPEAT:
            one = re._compiler.compile(argument[2], re.DOTALL)
            characters = {chr(code) for code in range(256) if one.match(chr(code))}
        if before & characters:
            return True
        before = set() if operation is POSSESSIVE_REPEAT else characters
    return False


def flat(parsed):
    """Give what a pattern consists of, groups and what may be left out opened."""
    for operation, argument in parsed:
        if operation is SUBPATTERN:
            yield from flat(argument[-1])
        elif operation in (MAX_REPEAT, POSSESSIVE_REPEAT) and argument[:2] == (0, 1):
            yield from flat(argument[2])
        else:
            yield operation, argument


def test_no_pattern_of_a_line_goes_back_over_repeats_in_a_row():
    """A status line of 64,000 spaces and a NUL took 25 s."""
    patterns = [value for value in vars(lenient).values() if isinstance(value, re.Pattern)]
    assert len(patterns) > 4
    assert not [pattern.pattern for pattern in patterns if repeats_in_a_row(pattern)]
    for pattern in ("x+x*", "( +([^y]*))?", "x*.*+"):
        assert repeats_in_a_row(pattern)
    for pattern in ("x++x*", "x+y*", "x+yx*"):
        assert not repeats_in_a_row(pattern)
