import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante import url as urls
from andante.parse import href_value

CANONICAL = [
    ("HTTP://Example.COM", "http://example.com/"),
    ("http://example.com:80/a/../b/./c", "http://example.com/b/c"),
    ("https://example.com:443", "https://example.com/"),
    ("https://example.com:8443/x", "https://example.com:8443/x"),
    ("http://example.com/a#part", "http://example.com/a"),
    ("http://example.com/?q=a b", "http://example.com/?q=a%20b"),
    ("http://example.com/ä?ü", "http://example.com/%C3%A4?%C3%BC"),
    ("http://bücher.example/", "http://xn--bcher-kva.example/"),
    ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("  http://example.com/\n", "http://example.com/"),
    ("http://exa\tmple.com/", "http://example.com/"),
    ("http:\\\\example.com\\a", "http://example.com/a"),
    ("http://example.com/?", "http://example.com/?"),
    ("http://example.com/%7Euser", "http://example.com/%7Euser"),
]

REFUSED = [
    "",
    "example.com",
    "/path",
    "mailto:a@example.com",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "ftp://example.com/",
    "data:text/html,x",
    "http://",
    "http://[::1",
    "http://exa mple.com/",
    "http://user@example.com/",
    "http://user:secret@example.com/",
    "http://example.com:99999/",
    "http://example.com/" + "a" * 2000,
    "http://a\0b/",
]


@pytest.mark.parametrize(
    ("url", "authority", "name"),
    [
        ("http://a.example/x", "a.example", "a.example"),
        ("https://a.example:8443/", "a.example:8443", "a.example_8443"),
        ("http://[::1]/", "[::1]", "__1"),
        ("http://[::1]:8081/", "[::1]:8081", "__1_8081"),
    ],
)
def test_a_host_has_its_port_where_that_is_not_the_usual_one(url, authority, name):
    assert (urls.authority(url), urls.file_name(url)) == (authority, name)


@pytest.mark.parametrize(("raw", "expected"), CANONICAL)
def test_canonical_form(raw, expected):
    assert urls.canonical(raw) == expected


@pytest.mark.parametrize("raw", REFUSED)
def test_what_cannot_be_fetched_has_no_canonical_form(raw):
    assert urls.canonical(raw) is None


@given(st.text(max_size=60), st.sampled_from(["http://a.example/b/c?d", "https://[::1]:81/"]))
def test_canonical_form_is_a_fixed_point(raw, base):
    url = urls.canonical(raw, base)
    if url is not None:
        assert urls.canonical(url) == url
        assert "#" not in url
        parts = urls.parts(url)
        assert url == urls.origin(url) + parts.target
        assert 0 <= parts.port < 65536


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.com/", ("http", "example.com", 80, "/")),
        ("https://example.com/a?b", ("https", "example.com", 443, "/a?b")),
        ("http://example.com:81/", ("http", "example.com", 81, "/")),
        ("https://[::1]/", ("https", "::1", 443, "/")),
        ("https://[::1]:8443/x", ("https", "::1", 8443, "/x")),
    ],
)
def test_parts(url, expected):
    assert urls.parts(url) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("www.example.co.uk", "example.co.uk"),
        ("a.b.example.com", "example.com"),
        ("example.com", "example.com"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("co.uk", "co.uk"),
        ("example.com.", "example.com"),
        # Below private suffixes
        ("alice.github.io", "alice.github.io"),
        ("www.alice.github.io", "alice.github.io"),
        ("mallory.github.io", "mallory.github.io"),
        ("github.io", "github.io"),
        ("bucket.s3.amazonaws.com", "bucket.s3.amazonaws.com"),
        # Wildcards and their exceptions
        ("a.b.kawasaki.jp", "a.b.kawasaki.jp"),
        ("a.city.kawasaki.jp", "city.kawasaki.jp"),
        # Top-level domains that are not listed
        ("a.wiki.corp", "wiki.corp"),
        ("a.b.localhost", "b.localhost"),
        # IP addresses have no labels
        ("1.2.3.4", "1.2.3.4"),
        ("fd00::1:2.3.4.5", "fd00::1:2.3.4.5"),
        ("fd00::cafe", "fd00::cafe"),
    ],
)
def test_site_is_the_registrable_domain(host, expected):
    assert urls.site(host) == expected


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("com", True),
        ("co.uk", True),
        ("github.io", True),
        ("foo.ck", True),
        ("corp", True),
        ("example.com", False),
        ("www.example.com", False),
        ("alice.github.io", False),
        ("city.kawasaki.jp", False),
        ("wiki.corp", False),
    ],
)
def test_public_suffixes_are_known(domain, expected):
    assert urls.is_public_suffix(domain) is expected


def test_the_public_suffix_list_is_the_bundled_one(monkeypatch):
    """Neither the network nor a cache of another run is asked for it."""
    extract = urls._suffixes()
    assert extract.suffix_list_urls == ()
    assert not extract._cache.enabled


def test_a_host_is_looked_up_in_the_public_suffix_list_once():
    before = urls.site.cache_info().misses
    for _ in range(10):
        urls.site("www.once.example.org")
    assert urls.site.cache_info().misses == before + 1


def test_fingerprints_are_stable():
    """They are stored: another value would forget every known URL."""
    assert urls.fingerprint("http://example.com/").hex() == "b97a010e03af1e2b"


SCOPES = [
    ("host", "http://www.example.com/x", True),
    ("host", "https://www.example.com:8443/", True),
    ("host", "http://example.com/", False),
    ("host", "http://www.example.com.evil.test/", False),
    ("site", "http://example.com/", True),
    ("site", "http://a.b.example.com/", True),
    ("site", "http://example.org/", False),
    ("site", "http://example.github.io/", False),
    ("any", "http://example.org/", True),
]


@pytest.mark.parametrize(("kind", "url", "expected"), SCOPES)
def test_scope(kind, url, expected):
    scope = urls.Scope(kind)
    scope.add("http://www.example.com/")
    assert scope.admits(url) is expected


def test_hosts_of_other_sites_are_known_without_the_list():
    scope = urls.Scope("site")
    scope.add("http://www.alice.github.io/")
    urls.site.cache_clear()
    for host in ("example.org", "xn--4ba.xn--p1ai", "bob.github.io", "io", "192.0.2.1", "[::1]"):
        assert not scope.admits(f"http://{host}/")
    assert urls.site.cache_info().misses == 0
    for host in ("alice.github.io", "a.b.alice.github.io", "alice.github.io."):
        assert scope.admits(f"http://{host}/")
    for seed in ("http://co.uk./", "http://[::1]/", "http://192.0.2.1/"):
        scope.add(seed)
        assert scope.admits(seed)


def test_scope_grows_with_its_seeds():
    scope = urls.Scope("host")
    scope.add("http://a.example/")
    assert not scope.admits("http://b.example/")
    scope.add("http://b.example/")
    assert scope.admits("http://b.example/")


@pytest.mark.parametrize(
    ("include", "exclude", "url", "expected"),
    [
        (["/docs/"], [], "http://a.example/docs/x", True),
        (["/docs/"], [], "http://a.example/blog/", False),
        (["/docs/", r"\.pdf$"], [], "http://a.example/x.pdf", True),
        ([], [r"\?"], "http://a.example/x?y", False),
        (["/docs/"], ["old"], "http://a.example/docs/old", False),
    ],
)
def test_include_and_exclude(include, exclude, url, expected):
    scope = urls.Scope("any", include=include, exclude=exclude)
    assert scope.admits(url) is expected


def decode(href, encoding):
    return href if isinstance(href, str) else href.decode(encoding)


HREFS = [
    b"x",
    b"#part",
    b"",
    b"?q",
    b"../y",
    b"x#part",
    b"mailto:a",
    b"//h.example/p",
    b" #z",
    b"x",
    b"http://[",
]
RESOLVED = [
    "http://a.example/b/x",
    "http://a.example/b/c?d",
    "http://a.example/b/c?q",
    "http://a.example/y",
    "http://h.example/p",
]


def test_links_are_resolved_in_order_each_once():
    resolver = urls.LinkResolver(decode)
    assert resolver.resolve("http://a.example/b/c?d", HREFS, "utf-8") == RESOLVED
    assert resolver.resolve("http://a.example/b/c?d", HREFS, "utf-8") == RESOLVED, "from the memo"


@given(
    st.lists(
        st.sampled_from([*HREFS, b"?", b"\t?x", b"/", b".", b"..", b"a/b?c", b"http:d", b"/\\h"]),
        max_size=8,
    ),
    st.sampled_from(
        [
            "http://a.example/",
            "http://a.example/b/",
            "http://a.example/b/c",
            "http://a.example/b/d?e/f",
            "https://a.example/b/",
        ]
    ),
)
def test_the_memo_changes_nothing(hrefs, base):
    warm = urls.LinkResolver(decode)
    for other in ("http://a.example/", "http://a.example/b/c", "http://a.example/b/x?y", base):
        result = warm.resolve(other, hrefs, "utf-8")
    fresh = dict.fromkeys(urls.canonical(href.decode(), base) for href in hrefs)
    assert result == [url for url in fresh if url]


def test_the_memo_is_bounded():
    resolver = urls.LinkResolver(decode, size_max=100)
    for number in range(1000):
        resolver.resolve("http://a.example/", [b"%d" % number], "utf-8")
        assert sum(len(each.memo) for each in resolver._directories.values()) <= 102


def test_directories_whose_pages_have_no_links_count_too():
    resolver = urls.LinkResolver(decode, size_max=100)
    for number in range(1000):
        resolver.resolve(f"http://a.example/{number}/", [], "utf-8")
        assert len(resolver._directories) <= 102


@pytest.mark.parametrize(
    ("encoding", "href", "expected"),
    [
        ("utf-8", "?q=\u00e9", "?q=%C3%A9"),
        ("cp1252", "?q=\u00e9", "?q=%E9"),
        ("cp1252", "\u00e9?q=\u00e9#\u00e9", "%C3%A9?q=%E9"),
        ("cp1252", "?a=1&b=\u2020 '<\"%20;", "?a=1&b=%86%20%27%3C%22%20;"),
        ("cp1252", "?q=\u4e2d\u6587&c", "?q=%26%2320013%3B%26%2325991%3B&c"),
        ("cp1252", "?q=caf\u00e9\n", "?q=caf%E9"),
        ("cp1252", " http://b.\u00e9xample/?a\tb\u00e9 c ", "http://b.xn--xample-9ua/?ab%E9%20c"),
        ("cp1251", "?q=\u0436", "?q=%E6"),
        ("big5hkscs", "?\u2020", "?%26%238224%3B"),
        ("cp949", "?\u2020", "?%A2%D3"),
        ("cp932", "?\u8868", "?%95\\"),
        ("gb18030", "?\u4e2d", "?%D6%D0"),
        ("iso2022-jp", "?\u6f22", "?%1B$B4A%1B(B"),
        ("iso2022-jp", "?\u3063", "?%1B$B$C%1B(B"),
        ("euc-jp", "?\u00e9t\u00e9", "?%8F%AB%B1t%8F%AB%B1"),
        ("utf-16-le", "?q=\u00e9", "?q=%C3%A9"),
        ("cp1252", "mailto:a?\u00e9", None),
    ],
)
def test_queries_are_in_the_encoding_of_their_document(encoding, href, expected):
    """As the URL Standard percent-encodes after encoding; but for the query all is UTF-8."""
    base = "http://a.example/d/"
    url = urls.canonical(expected, base) if expected else None
    assert url is None or url.endswith(expected)
    assert urls.canonical(href, base, encoding=encoding) == url
    resolver = urls.LinkResolver(decode)
    for _ in range(2):
        assert resolver.resolve(base, [href], encoding) == ([url] if url else [])
    other = urls.canonical(href, base)
    assert resolver.resolve(base, [href], "utf-8") == ([other] if other else [])


segments = st.lists(
    st.sampled_from(["..", "a", "b-c", "d.html", "_", "1", ".", "x.y.z", "", "%2e", "e:f"]),
    min_size=1,
    max_size=7,
)


@given(segments.map("/".join), segments.map("/".join), st.sampled_from(["", "?q/r", "?"]))
def test_plain_relative_paths_are_joined_as_the_standard_says(href, path, query):
    base = urls.canonical(f"http://a.example/{path}{query}")
    expected = urls.canonical(href, base)
    assert urls.LinkResolver(decode).resolve(base, [href.encode()], "utf-8") == (
        [expected] if expected else []
    )


@pytest.mark.parametrize(
    ("value", "url"),
    [
        (b"/caf\xe9?q=\xff#\xe9", "http://a/caf%E9?q=%FF"),  # bytes as they are, whatever they mean
        ("/café?q=é".encode(), "http://a/caf%C3%A9?q=%C3%A9"),
        (b"/%e9%E9\xe9", "http://a/%e9%E9%E9"),  # what is encoded stays so
        ("//bücher.example/".encode(), "http://xn--bcher-kva.example/"),
        (b"//b\xfccher.example/", None),  # a host has to be UTF-8
        (b"/a b", "http://a/a%20b"),
    ],
)
def test_urls_of_header_fields_are_read_as_browsers_do(value, url):
    assert urls.canonical(urls.from_header(value), "http://a/x") == url


@pytest.mark.parametrize(
    "href", ["http:?q=1", "HTTP:#x", "http:", "h\tttp:?q", " http: ", "\n?q", "?q"]
)
def test_what_depends_on_the_whole_base_is_not_taken_from_the_page_before(href):
    resolver = urls.LinkResolver(href_value)
    for base in ("http://h/d/1", "http://h/d/2"):
        expected = [urls.canonical(href, base)]
        assert resolver.resolve(base, [href], "utf-8") == expected
        assert resolver.resolve(base, [href.encode()], "utf-8") == expected


@pytest.mark.parametrize("encoding", ["utf-8", "cp1251"])
@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("?q=a #x", "http://h/d/1?q=a%20"),
        ("?q=Ж #x", None),
        ("a #x", "http://h/d/a%20"),
        ("a\x01#x", "http://h/d/a%01"),
        ("a\t#x", "http://h/d/a"),
        ("a #", "http://h/d/a%20"),
        ("a ", "http://h/d/a"),
        (" #x", "http://h/d/1"),
        ("#x", "http://h/d/1"),
    ],
)
def test_a_space_before_a_fragment_belongs_to_the_url(href, url, encoding):
    base = "http://h/d/1"
    expected = [url or urls.canonical(href, base, encoding=encoding)]
    assert expected[0].endswith("%20") == (" #" in href and href != " #x")
    for raw in (href, href.encode(encoding)):
        assert urls.LinkResolver(href_value).resolve(base, [raw], encoding) == expected


def test_the_memo_of_links_is_bounded_by_what_it_holds():
    resolver = urls.LinkResolver(href_value)

    def held():
        return sum(
            len(key) + len(url or "")
            for directory in resolver._directories.values()
            for key, url in directory.memo.items()
        )

    for page in range(40):
        hrefs = [b"%d/%s" % (page * 1000 + n, b"x" * 1_900) for n in range(1_000)]
        assert len(resolver.resolve("http://h/", hrefs, "utf-8")) == 1_000
        assert held() < urls.MEMO_MAX + 1_000 * 4_000
    deep = "/".join("x" for _ in range(900))
    tracemalloc.start()
    for page in range(2_000):
        resolver.resolve(f"http://h/{page}/{deep}/", [b"../a"], "utf-8")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20


def test_steps_up_from_a_directory():
    resolver = urls.LinkResolver(href_value)
    for up in range(6):
        href = "../" * up + "x/"
        expected = [urls.canonical(href, "http://h/a/b/c/d")]
        assert resolver.resolve("http://h/a/b/c/d", [href.encode()], "utf-8") == expected


@pytest.mark.parametrize("scheme", ["http://", "//", "\\\\", "HTTP:", " \n/\n/", "ht\ntp:////"])
def test_a_host_that_is_too_long_is_no_host(scheme):
    for host in ("x" * 270, "\u4e00" * 1_000, "a\u0300" * 1_000, "%E4%B8%80" * 200, "é." * 300):
        assert urls.canonical(scheme + host + "/", "https://h/", length_max=20_000) is None
    assert urls.canonical("http://" + "x" * 253 + ":65535/") is not None
    assert urls.canonical("/" + "\u4e00" * 1_000, "http://h/", length_max=20_000) is not None
    assert urls.canonical("a/" + "\u4e00" * 1_000, "http://h/", length_max=20_000) is not None


def test_the_work_for_a_long_host_is_bounded(monkeypatch):
    asked = []
    monkeypatch.setattr(urls.ada_url, "join_url", lambda base, raw: asked.append(raw) or base)
    urls.canonical("http://" + "\u4e00" * 3_000, "http://h/", length_max=20_000)
    assert asked == []
