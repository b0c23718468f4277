import zlib
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.cluster import packing
from andante.cluster.packing import SIZE_MAX, pack, unpack
from andante.frontier.block import Link

texts = st.text(st.characters(exclude_characters="\0\t\n", exclude_categories=["Cs"]), max_size=40)
links = st.builds(
    Link,
    target=texts,
    depth=st.integers(0, 10**18 - 1),
    referrer=texts | st.sampled_from(["", "https://example.org/"]),
    asked=texts | st.just(""),
    hops=st.integers(0, 20),
    sitemap=st.booleans(),
)
graded = st.lists(st.tuples(links, st.integers(0, 255)), max_size=50)


@settings(max_examples=50)
@given(graded)
def test_what_is_packed_comes_out(some):
    entry = [link for link, _ in some], bytes(grade for _, grade in some)
    assert unpack(pack(*entry)) == entry


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda data: packing._VERSION + data))
def test_bad_bytes_are_an_error(data):
    try:
        found, grades = unpack(data)
    except ValueError:
        return
    assert len(found) == len(grades)


@settings(max_examples=50)
@given(graded.filter(bool), st.data())
def test_a_part_of_an_entry_is_an_error(some, data):
    packed = pack([link for link, _ in some], bytes(grade for _, grade in some))
    cut = data.draw(st.integers(0, len(packed) - 1))
    with pytest.raises(ValueError, match="entry"):
        unpack(packed[:cut])
    with pytest.raises(ValueError, match="entry"):
        unpack(packed + b"\0")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"/a\0\x80",
        b"\tone\t\n/a\0\x80",
        b"\t-1\t\n/a\0\x80",
        "\t\N{SUPERSCRIPT TWO}\t\n/a\0\x80".encode(),
        b"\t1\n/a\0\x80",
        b"\t1\t\t\t1\t2\n/a\0\x80",
        b"\t1\t\n/a\n/b\n/c\0\x80\x80",
        b"\t1\t\n/a",
        b"\t1\t\n/\xff\0\x80",
        b"\t" + b"9" * 19 + b"\t\n/a\0\x80",
    ],
)
def test_an_entry_of_nonsense_is_an_error(body):
    with pytest.raises(ValueError, match=r"."):
        unpack(packing._VERSION + packing._deflate(body))


def test_another_version_is_an_error():
    with pytest.raises(ValueError, match="version"):
        unpack(b"\2" + pack([Link("/", 0)], b"\x80")[1:])


def test_a_small_entry_cannot_fill_the_memory():
    bomb = packing._VERSION + packing._deflate(b"\t1\t\n/" + b"a" * SIZE_MAX + b"\0\x80")
    assert len(bomb) < 10_000
    with pytest.raises(ValueError, match="too large"):
        unpack(bomb)
    with pytest.raises(ValueError, match="too much"):
        pack([Link("/" + "a" * SIZE_MAX, 0)], b"\x80")


@pytest.mark.parametrize(
    "link",
    [Link("/a\nb", 0), Link("/", 0, "\n"), Link("\t", 0), Link("/", 0, "a\tb"), Link("\0", 0)],
)
def test_what_is_no_url_is_not_packed(link):
    with pytest.raises(ValueError, match="no URL"):
        pack([link], b"\x80")


def test_the_dictionary_is_part_of_the_format():
    """Who changes it gives the format another version, and keeps the old one."""
    assert (packing._VERSION, zlib.crc32(packing._DICTIONARY)) == (b"\1", 1612628111)


def test_a_grade_that_all_have_is_said_once():
    links = [Link("/a", 1)] * 40
    assert packing._inflate(pack(links, b"\x83" * 40)[1:]).endswith(b"/a\0\x83")


def test_ten_links_of_ten_pages_need_few_bytes():
    """Each with a referrer of its own, on another host: the most there is to say."""
    rng = Random(1)

    def page():
        return rng.randrange(10_000)

    sizes = []
    for _ in range(100):
        found = [
            Link(
                f"/page/{page()}.html",
                3,
                f"http://h{rng.randrange(40):02}.site.test/page/{page()}.html",
            )
            for _ in range(10)
        ]
        packed = pack(found, bytes(rng.choice(b"\x80\x83\x86") for _ in found))
        assert unpack(packed)[0] == found
        sizes.append(len(packed) / 10)
    assert sum(sizes) / 100 < 20


def test_ten_links_of_one_page_need_fewer():
    stems = ("package-summary", "package-tree", "class-use/Formatter", "TemporalAdjusters", "Clock")
    found = [
        Link(
            f"/api/java.base/java/time/{part}/{stem}.html",
            2,
            "https://docs.example.org/api/index.html",
        )
        for part in ("format", "zone")
        for stem in stems
    ]
    assert len(pack(found, b"\x80" * 10)) < 150
