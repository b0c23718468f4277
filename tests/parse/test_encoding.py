from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.parse.encoding import _CODECS, codec_for, is_ascii_extension, sniff_encoding


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"\xef\xbb\xbfx", "text/html; charset=latin1", "utf-8"),
        (b"\xff\xfex\0", "", "utf-16-le"),
        (b"\xfe\xff\0x", "", "utf-16-be"),
        (b"<meta charset=koi8-r>", "text/html; Charset = 'ISO-8859-2'", "iso8859-2"),
        (b"<meta charset=koi8-r>", "text/html; charset=nonsense", "koi8-r"),
        (b"<meta charset='shift_jis'>", "", "cp932"),
        (b"<META http-equiv=Content-Type content='text/html; charset=GBK'>", "", "gb18030"),
        (b"<meta name=x content='text/html; charset=GBK'>", "", "utf-8"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=big5>", "", "big5hkscs"),
        (b"<a title='<meta charset=koi8-r>'>", "", "utf-8"),
        (b"<meta charset=utf-16>", "", "utf-8"),
        (b" " * 1024 + b"<meta charset=koi8-r>", "", "utf-8"),
        ("é".encode(), "", "utf-8"),
        ("é".encode()[:-1], "", "cp1252"),
        (b"x" + "é".encode()[:-1], "", "utf-8"),
        (b"caf\xe9 au lait", "", "cp1252"),
        (b"", "", "utf-8"),
    ],
)
def test_sniffing(body, content_type, expected):
    assert sniff_encoding(body, content_type) == expected


@pytest.mark.parametrize(
    "label",
    ["", "utf-7", "base64", "rot13", "idna", "unicode_escape", "x" * 9999, "\0", "hz-gb-2312"],
)
def test_labels_that_are_no_web_encodings(label):
    assert codec_for(label) is None


def test_labels_are_trimmed_and_fold_case():
    assert codec_for(" Latin1\n") == "cp1252"


@pytest.mark.parametrize("codec", _CODECS)
def test_each_codec_exists_and_its_class_is_right(codec):
    codecs.lookup(codec)
    if is_ascii_extension(codec):
        ascii_bytes = bytes(range(128))
        assert ascii_bytes.decode(codec) == ascii_bytes.decode("ascii")
        for byte in range(128, 256):  # no lead byte takes an ASCII byte with it
            assert (bytes([byte]) + b"<").decode(codec, "replace").endswith("<")


@given(st.binary(max_size=200), st.text(max_size=50))
def test_never_raises(body, content_type):
    assert sniff_encoding(b"<meta " + body, content_type) in _CODECS
