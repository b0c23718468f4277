"""URLs: canonical form, origin, fingerprint, scope, and links resolved against their page.

A URL is a ``str`` in the canonical form of the WHATWG URL Standard, without fragment, http or https, without
credentials. Everything past this module may compare and slice URLs as strings.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote, quote_from_bytes

import ada_url
import xxhash

if TYPE_CHECKING:
    from tldextract import TLDExtract

URL_LENGTH_MAX = 2_000
"""Default limit on the length of a URL, characters. Longer ones come from traps more often than from people."""

HOST_LENGTH_MAX = 253
"""Most characters of a host name (RFC 1035): no longer one has an address."""
_AUTHORITY_LENGTH_MAX = 2 * HOST_LENGTH_MAX
"""Most characters of a host as written. Its canonical form takes time with the square of its length."""
_ORIGIN_LENGTH_MAX = len("https://:65535") + HOST_LENGTH_MAX


class Parts(NamedTuple):
    """A URL taken apart for a request."""

    scheme: str
    host: str
    """Host name or IP literal; an IPv6 address without its brackets."""
    port: int
    target: str
    """Path and query as they stand in the request line."""


def canonical(
    raw: str,
    base: str | None = None,
    *,
    length_max: int = URL_LENGTH_MAX,
    encoding: str = "utf-8",
) -> str | None:
    """Return the canonical form of ``raw``, resolved against ``base`` where given, or None.

    None means that no request can be made for it: it does not parse, is neither http nor https, carries credentials, has too long a
    host, or is longer than ``length_max`` characters. ``encoding`` is the codec of the document in which it stands; queries are in it.
    """
    if len(raw) > _AUTHORITY_LENGTH_MAX and (len(raw) > 4 * length_max or _LONG_HOST(raw)):
        return None
    if encoding not in _AS_UTF_8 and not raw.isascii():
        raw = _with_query_in(encoding, raw)
    try:
        url = ada_url.normalize_url(raw) if base is None else ada_url.join_url(base, raw)
    except (ValueError, UnicodeError):
        return None
    url = url.partition("#")[0]
    if not url.startswith(("http://", "https://")) or len(url) > length_max:
        return None
    server = origin(url)
    return None if "@" in server or len(server) > _ORIGIN_LENGTH_MAX else url


_LONG_HOST = re.compile(
    rf"""(?:[\0-\x20]*+[a-zA-Z][a-zA-Z0-9+.\-\t\n\r]*+:[/\\\t\n\r]*+|[\0-\x20]*+[/\\][\t\n\r]*+[/\\][/\\\t\n\r]*+)
    [^/\\?\#]{{{_AUTHORITY_LENGTH_MAX + 1}}}""",
    re.VERBOSE,
).match


def from_header(value: bytes) -> str:
    """Return the URL, absolute or not, that a header field such as Location has.

    Bytes beyond ASCII are percent-encoded one by one, as browsers do: the server gets back the bytes that it wrote, in whatever
    encoding they are.
    """
    return quote_from_bytes(value, _ASCII)


_ASCII = bytes(range(0x80))

_AS_UTF_8 = frozenset({"utf-8", "utf-16-be", "utf-16-le"})
"""Codecs of documents whose queries are UTF-8 ("get an output encoding" of the Encoding Standard)."""

_NOT_ESCAPED_IN_QUERY = "!$%&()*+,/:;=?@[\\]^`{|}~"
"""ASCII besides letters, digits and ``-._~`` that is not in the URL Standard's special-query percent-encode set."""


def _with_query_in(encoding: str, raw: str) -> str:
    """Percent-encode the query of an http URL after encoding it, as the URL Standard does; the fragment is dropped."""
    cleaned, fragment, _ = raw.strip(_STRIPPED).translate(_NOT_IN_URLS).partition("#")
    rest, mark, query = cleaned.partition("?")
    return rest + mark + quote(query, _NOT_ESCAPED_IN_QUERY, encoding, "andante.query") + fragment


def _reference(error: UnicodeError) -> tuple[str, int]:
    """Write characters that an encoding lacks as the URL Standard asks: ``&#8224;``, percent-encoded."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(character)}%3B" for character in lacking), error.end


codecs.register_error("andante.query", _reference)


def origin(url: str) -> str:
    """Return ``scheme://host[:port]``, the key of the server of a canonical URL."""
    return url[: url.index("/", 8)]


def parts(url: str) -> Parts:
    """Take a canonical URL apart."""
    end = url.index("/", 8)
    scheme, _, authority = url[:end].partition("://")
    host, _, port = (
        authority.rpartition(":") if not authority.endswith("]") else (authority, "", "")
    )
    if not host:
        host, port = port, ""
    return Parts(
        scheme, host.strip("[]"), int(port or (443 if scheme == "https" else 80)), url[end:]
    )


def host(url: str) -> str:
    """Return the host of a canonical URL, an IPv6 address without brackets."""
    return parts(url).host


def authority(url: str) -> str:
    """Return the host of a canonical URL, with its port where that is not the usual one: ``example.org``, ``example.org:8081``."""
    return origin(url).partition("://")[2]


def file_name(url: str) -> str:
    """Return `authority` in a form for names of files and keys: ``example.org_8081``; a colon has a meaning for `scp` and `tar`."""
    return authority(url).translate({ord("["): None, ord("]"): None, ord(":"): "_"})


_SITES_MAX = 10_000
"""Hosts whose site is remembered: a look into the list takes microseconds, and crawls come back to their hosts."""


@lru_cache(maxsize=_SITES_MAX)
def site(host: str) -> str:
    """Return the registrable domain of a host, or the host itself if it has none, as an IP address or a public suffix.

    By both sections of the bundled public suffix list: who has a name below a private suffix, as ``alice.github.io``, is a site
    of its own. A top-level domain that the list does not know is a public suffix, too.
    """
    if ":" in host or host[-1:].isdigit():  # an IP address: no other canonical host ends in a digit
        return host
    found = _suffixes()(host)
    if found.suffix:
        return found.top_domain_under_public_suffix or host
    return ".".join(host.rstrip(".").rsplit(".", 2)[-2:])


def is_public_suffix(domain: str) -> bool:
    """Tell whether anybody may have names directly below a domain, so that these have nothing in common."""
    below = f"x.{domain.rstrip('.')}"
    return site(below) == below


@cache
def _suffixes() -> TLDExtract:
    from tldextract import TLDExtract  # noqa: PLC0415  # slow to import, and seldom needed

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


def fingerprint(url: str) -> bytes:
    """Return the 8-byte fingerprint of a URL (XXH3): the seen test compares these.

    Among n URLs the chance that any two collide is about n^2 / 2^65: 3 in a million at ten million URLs.
    """
    return xxhash.xxh3_64_digest(url.encode())


class Scope:
    """Decides which URLs belong to a crawl.

    ``host``: the hosts of the seeds, any scheme and port. ``site``: their registrable domains with all subdomains.
    ``any``: everything. Of ``include`` patterns one must be found in the URL (if there are any), of ``exclude`` none.
    """

    def __init__(
        self,
        kind: Literal["host", "site", "any"] = "host",
        *,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> None:
        self._key: Callable[[str], str] = site if kind == "site" else str
        self._hosts: set[str] | None = None if kind == "any" else set()
        self._include = _union(include)
        self._exclude = _union(exclude)
        self._by_host: dict[str, bool] = {}
        self.version = 0
        """Counts up when the scope grows: URLs that were out of it before may be in it now."""

    def add(self, url: str) -> None:
        """Take the host (or site) of a seed into the scope."""
        if self._hosts is not None and (key := self._key(host(url))) not in self._hosts:
            self._hosts.add(key)
            self._by_host.clear()
            self.version += 1

    def admits(self, url: str) -> bool:
        """Tell whether the crawl may fetch a URL."""
        if self._hosts is not None and not self._admits_host(origin(url)):
            return False
        if self._include is not None and not self._include.search(url):
            return False
        return self._exclude is None or not self._exclude.search(url)

    def _admits_host(self, server: str) -> bool:
        admitted = self._by_host.get(server)
        if admitted is None:
            if len(self._by_host) > 50_000:
                self._by_host.clear()
            admitted = self._by_host[server] = self._has(host(server + "/"))
        return admitted

    def _has(self, name: str) -> bool:
        assert self._hosts is not None
        if self._key is site and name not in self._hosts:
            # A host ends with its site: one that ends with none of ours needs no look into the list.
            labels = reversed(name.rstrip(".").split("."))
            ends = accumulate(labels, lambda end, label: f"{label}.{end}")
            if self._hosts.isdisjoint(ends):
                return False
        return self._key(name) in self._hosts


def _union(patterns: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(joined) if joined else None


MEMO_MAX = 16 * 2**20
"""Characters that the memo of links holds."""
_ENTRY_SIZE = 200
"""What an entry of the memo counts for, besides the characters of its href and URL."""


class LinkResolver:
    """Turns the href values of pages into canonical URLs, remembering those it has met.

    Pages of a site repeat their navigation links, so most links are a look-up: each directory has a memo from href to URL. The directories
    and their entries have at most ``size_max`` characters in all, as `_ENTRY_SIZE` has it, and start afresh when they have more.
    """

    def __init__(
        self,
        decode: Callable[[bytes | str, str], str],
        *,
        length_max: int = URL_LENGTH_MAX,
        size_max: int = MEMO_MAX,
    ) -> None:
        self._decode = decode
        self._length_max = length_max
        self._size_max = size_max
        self._size = 0
        self._directories: dict[tuple[str, str], _Directory] = {}

    def resolve(self, base: str, hrefs: Iterable[bytes | str], encoding: str) -> list[str]:
        """Return the URLs that ``hrefs`` of a document at ``base`` lead to: each once, in their order.

        Args:
            base: canonical URL of the page, or its ``<base href>``.
            hrefs: attribute values as the parser gives them; ``decode`` makes text of them.
            encoding: codec name of the document.
        """
        directory = self._directory(base, encoding)
        memo = directory.memo
        found: dict[str | None, None] = {}
        for href in dict.fromkeys(hrefs):
            url = memo.get(href, "")
            if url == "":
                url = self._learn(directory, base, href, encoding)
            found[url] = None
        found.pop(None, None)
        return list(found)  # type: ignore[arg-type]  # None was taken out

    def _directory(self, base: str, encoding: str) -> _Directory:
        if self._size > self._size_max:
            self._directories.clear()
            self._size = 0
        path = base.partition("?")[0]
        key = (path[: path.rindex("/")], encoding)
        directory = self._directories.get(key)
        if directory is None:
            directory = self._directories[key] = _Directory(key[0])
            self._size += len(path) + _ENTRY_SIZE
        return directory

    def _learn(
        self, directory: _Directory, base: str, href: bytes | str, encoding: str
    ) -> str | None:
        bare = _source_without_fragment(href)
        if not bare:
            return base
        if isinstance(bare, str) and bare.isascii() and "&" not in bare:
            bare = bare.encode()  # it was written so in the source, too
        memo = directory.memo
        url = memo.get(bare, "")
        if url != "":
            return url
        if len(bare) > 4 * self._length_max:
            return None
        if isinstance(bare, bytes) and (match := _PLAIN_PATH(bare)):
            url = directory.join(match)
            url = url if len(url) <= self._length_max else None
        else:
            text = self._decode(bare, encoding)
            url = canonical(text, base, length_max=self._length_max, encoding=encoding)
            if _OF_WHOLE_BASE(text):
                return url
        memo[bare] = url
        self._size += len(bare) + len(url or "") + _ENTRY_SIZE
        return url


_OF_WHOLE_BASE = re.compile(
    r"[\0-\x20]*+(?:h[\t\n\r]*t[\t\n\r]*t[\t\n\r]*p[\t\n\r]*s?[\t\n\r]*:[\t\n\r]*+)?+(?:[?#]|[\0-\x20]*+\Z)",
    re.IGNORECASE,
).match
"""What has neither host nor path: it depends on the whole base, not only on its directory."""

_PLAIN_PATH = re.compile(
    rb"((?:\.\./)*+)(?=[A-Za-z0-9_-])((?:[A-Za-z0-9_-][A-Za-z0-9_.-]*+/?+)++)"
).fullmatch
"""Steps up, then segments of harmless characters: neither dot segments nor anything to be escaped, and no scheme."""


class _Directory:
    """The links met on pages of one directory, and the directories above it."""

    __slots__ = ("depth", "memo", "path")

    def __init__(self, path: str) -> None:
        self.memo: dict[bytes | str, str | None] = {}
        self.path = path
        """Without its last slash."""
        self.depth = path.count("/") - len("//")
        """How many directories are above it."""

    def join(self, match: re.Match[bytes]) -> str:
        """Join a plain relative path, as the URL Standard would, at a tenth of the cost."""
        up = min(len(match[1]) // len("../"), self.depth)
        above = self.path.rsplit("/", up)[0] if up else self.path
        return f"{above}/{match[2].decode('ascii')}"


def without_fragment(href: str) -> str:
    """Cut a URL as written at its fragment. The ``#`` stays where a space is before it, as that is not at the end of the URL."""
    before, mark, _ = href.partition("#")
    return before + mark if mark and before[-1:] <= " " and before else before


def _source_without_fragment(href: bytes | str) -> bytes | str:
    """Cut an attribute value at its fragment; one with a character reference like ``&#38;`` is left whole."""
    if isinstance(href, str):
        return without_fragment(href)
    if b"&#" in href:
        return href
    before, mark, _ = href.partition(b"#")
    return before + mark if mark and before[-1:] <= b" " and before else before


_STRIPPED = bytes(range(0x21)).decode("ascii")
"""What the URL Standard strips from both ends of its input: C0 controls and space."""

_NOT_IN_URLS = dict.fromkeys(map(ord, "\t\n\r"))
"""What it removes wherever it stands."""
