from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from isal import isal_zlib

from andante.fetch import Failure, Outcome, content_encoding, decode

LIMIT = 10**6


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


ENCODERS = {
    b"gzip": lambda data: gzip.compress(data, mtime=0),
    b"x-gzip": lambda data: gzip.compress(data, mtime=0),
    b"deflate": zlib.compress,
    b"DEFLATE ": raw_deflate,
    b"br": lambda data: brotli.compress(data, quality=1),
    b"zstd": zstandard.compress,
}
each = pytest.mark.parametrize("coding", ENCODERS)
TEXT = b"<p>The quick brown fox jumps over the lazy dog. " * 500


def outcome(result: bytes | Failure) -> Outcome:
    assert isinstance(result, Failure), result[:100]
    return result.outcome


@each
@settings(max_examples=25, deadline=None)
@given(data=st.binary(max_size=3000), factor=st.integers(1, 50))
def test_what_was_encoded_comes_back(coding, data, factor):
    data *= factor
    assert decode(ENCODERS[coding](data), coding, limit=LIMIT) == data


@each
def test_the_limit_is_exact(coding):
    encoded = ENCODERS[coding](TEXT)
    assert decode(encoded, coding, limit=len(TEXT)) == TEXT
    assert outcome(decode(encoded, coding, limit=len(TEXT) - 1)) is Outcome.DECODED_TOO_LARGE
    assert decode(encoded, coding, limit=len(TEXT) - 1, cut=True) == TEXT[:-1]


@each
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_the_limit_holds_for_damaged_streams_too(coding, data):
    encoded = bytearray(ENCODERS[coding](bytes(20_000)))
    for _ in range(data.draw(st.integers(0, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    result = decode(bytes(encoded), coding, limit=1000, cut=True)
    assert isinstance(result, Failure) or len(result) <= 1000 or result == encoded


@each
def test_a_bomb_costs_no_more_than_the_limit(coding):
    bomb = ENCODERS[coding](bytes(50 * 2**20))
    tracemalloc.start()
    try:
        assert outcome(decode(bomb, coding, limit=LIMIT)) is Outcome.DECODED_TOO_LARGE
        assert tracemalloc.get_traced_memory()[1] < 4 * LIMIT
    finally:
        tracemalloc.stop()


@each
def test_a_stream_cut_short_gives_what_it_held(coding):
    whole = bytes(random.Random(1).choices(range(32), k=600_000))
    encoded = ENCODERS[coding](whole)
    for size in (1, 5, 17, len(encoded) // 2, len(encoded) - 1):
        part = decode(encoded[:size], coding, limit=LIMIT)
        assert isinstance(part, bytes)
        assert whole.startswith(part)
    assert len(decode(encoded[: len(encoded) // 2], coding, limit=LIMIT)) > 100_000


@each
def test_text_that_is_not_in_its_coding_is_an_error(coding):
    assert (
        outcome(decode(b"plain text, no coding at all", coding, limit=LIMIT))
        is Outcome.BAD_ENCODING
    )


@each
def test_html_that_is_not_in_its_coding_is_taken_as_it_is(coding):
    page = b"\r\n<!doctype html><p>A page."
    assert decode(page, coding, limit=LIMIT) == page


def test_a_damaged_stream_is_an_error():
    encoded = bytearray(gzip.compress(TEXT, mtime=0))
    encoded[-6] ^= 1  # in the checksum
    assert outcome(decode(bytes(encoded), b"gzip", limit=LIMIT)) is Outcome.BAD_ENCODING


def test_codings_are_undone_in_reverse_order():
    body = brotli.compress(gzip.compress(TEXT))
    assert decode(body, b"gzip, br", limit=LIMIT) == TEXT
    assert decode(body, b"gzip,identity,,br", limit=LIMIT) == TEXT
    assert outcome(decode(body, b"br, gzip", limit=LIMIT)) is Outcome.BAD_ENCODING
    assert outcome(decode(body, b"gzip, gzip, gzip, br", limit=LIMIT)) is Outcome.BAD_ENCODING


def test_gzip_members_and_zstd_frames_belong_together():
    assert decode(gzip.compress(b"one ") + gzip.compress(b"two"), b"gzip", limit=100) == b"one two"
    assert (
        decode(zstandard.compress(b"one ") + zstandard.compress(b"two"), b"zstd", limit=100)
        == b"one two"
    )


def test_members_without_end_are_an_error_and_take_no_time():
    body = gzip.compress(b"", mtime=0) * 200_000
    assert outcome(decode(body, b"gzip", limit=LIMIT)) is Outcome.BAD_ENCODING


@pytest.mark.parametrize("coding", [b"gzip", b"deflate"])
def test_what_follows_a_stream_is_dropped(coding):
    assert decode(ENCODERS[coding](TEXT) + b"\0\0 and so on", coding, limit=LIMIT) == TEXT


def test_a_zstd_window_beyond_the_standard_is_refused():
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    body = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    encoded = body.compress(bytes(10)) + body.flush()
    assert outcome(decode(encoded, b"zstd", limit=LIMIT)) is Outcome.BAD_ENCODING


@pytest.mark.parametrize("coding", [b"", b"identity", b"utf-8", b"none", b"x-unknown"])
def test_names_that_are_no_codings_are_passed_over(coding):
    assert decode(TEXT, coding, limit=10) is TEXT


def test_known_codings_that_we_do_not_speak_are_an_error():
    assert outcome(decode(TEXT, b"compress", limit=LIMIT)) is Outcome.BAD_ENCODING


def test_an_empty_body_has_no_coding():
    assert decode(b"", b"gzip", limit=LIMIT) == b""


def test_content_encoding_is_read_from_all_its_fields():
    assert content_encoding([(b"Content-Type", b"text/html")]) == b""
    fields = [(b"content-encoding", b"gzip"), (b"X", b"y"), (b"Content-Encoding", b"br")]
    assert content_encoding(fields) == b"gzip,br"


def test_many_members_before_a_long_one_are_not_copied_with_it_each_time(monkeypatch):
    class Counting:
        """A real decompressor; what it leaves over is what it has copied."""

        def __init__(self, wbits):
            self._stream = real(wbits)

        def decompress(self, data, limit):
            return self._stream.decompress(data, limit)

        @property
        def eof(self):
            return self._stream.eof

        @property
        def unused_data(self):
            copied.append(len(self._stream.unused_data))
            return self._stream.unused_data

    copied, real = [], isal_zlib.decompressobj
    monkeypatch.setattr(isal_zlib, "decompressobj", Counting)
    long = random.Random(1).randbytes(2**21)
    body = gzip.compress(b"x") * 99 + gzip.compress(long, 0)
    assert decode(body, b"gzip", limit=2**22) == b"x" * 99 + long
    assert sum(copied) < 100 * 2**16
