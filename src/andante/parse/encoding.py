"""The character encoding of a page: byte order mark, Content-Type, meta elements, and else a guess.

Labels are those of the WHATWG Encoding Standard, mapped to Python codecs. A table of our own, because Python's aliases
differ (``latin-1`` on the web means windows-1252) and hold codecs that are no character encodings.
"""

from __future__ import annotations

import re

from andante.parse.tokens import attributes

_PRESCAN_BYTES = 1024
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_TOKEN = re.compile(
    rb"""<(?:!--(?:-?>|.*?(?:-->|\Z))
    | meta[\t\n\f\r />]((?:[^>"']++|"[^"]*+"|'[^']*+'|["'])*+)
    | /?[a-zA-Z](?:[^>"']++|"[^"]*+"|'[^']*+'|["'])*+
    | [!/?][^>]*+)""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_CHARSET = re.compile(r"""charset\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s;"']++))""", re.IGNORECASE)

_CODECS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e "
    "iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
    "iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csiso88598i csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-8859-8-i iso-ir-138 "
    "iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 logical visual",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 "
    "iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
    "windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb18030 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022-jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}
_BY_LABEL = {label: codec for codec, labels in _CODECS.items() for label in labels.split()}
_NOT_ASCII = frozenset(
    {"gb18030", "big5hkscs", "euc-jp", "iso2022-jp", "cp932", "cp949", "utf-16-be", "utf-16-le"}
)


def codec_for(label: str) -> str | None:
    """Return the Python codec for an encoding label, or None for a label the standard does not know."""
    return _BY_LABEL.get(label.strip("\t\n\f\r ").lower())


def is_ascii_extension(codec: str) -> bool:
    """Say whether each ASCII byte always stands for itself in this codec."""
    return codec not in _NOT_ASCII


def sniff_encoding(body: bytes, content_type: str = "") -> str:
    """Return the Python codec of a page; never raises.

    In the order of the HTML Standard: byte order mark, the charset of ``content_type`` (the whole header value), meta
    elements in the first 1024 bytes. Without any of them UTF-8 where the page decodes as that, for chance hardly makes valid UTF-8 of
    another encoding, and else windows-1252, the standard's default for most of the world.
    """
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return codec
    return _header_charset(content_type) or _prescan(body[:_PRESCAN_BYTES]) or _guess(body)


def _header_charset(value: str) -> str | None:
    match = _CHARSET.search(value)
    return codec_for(match[1] or match[2] or match[3] or "") if match else None


def _prescan(start: bytes) -> str | None:
    for match in _TOKEN.finditer(start):  # it seldom takes more than the first few tags
        if not match[1]:
            continue
        found = attributes(match[1], "latin-1")
        codec = codec_for(found.get("charset") or "")
        if codec is None and (found.get("http-equiv") or "").lower() == "content-type":
            codec = _header_charset(found.get("content") or "")
        if codec is not None:
            # Who can read this meta element in single bytes does not read UTF-16.
            return "utf-8" if codec.startswith("utf-16") else codec
    return None


def _guess(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        # A page cut off by a limit may end inside a character.
        return (
            "utf-8"
            if error.start > 0
            and error.start >= len(body) - 3
            and error.reason == "unexpected end of data"
            else "cp1252"
        )
    return "utf-8"
