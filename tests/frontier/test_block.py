import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.frontier.block import (
    BLOCK_SIZE,
    Block,
    Link,
    decode_done,
    decode_links,
    encode_done,
    encode_links,
)

links = st.builds(
    Link,
    target=st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1),
    depth=st.integers(0, 1000),
    referrer=st.text(),
    asked=st.text(),
    hops=st.integers(0, 10),
    sitemap=st.booleans(),
)


@given(st.lists(links, max_size=20))
def test_links_survive_the_store(some):
    assert decode_links(encode_links(some)) == some


@given(
    st.lists(links, max_size=5), st.lists(links, max_size=5), st.integers(0, 9), st.integers(0, 9)
)
def test_some_links_can_be_unpacked_of_parts_put_together(one, other, start, stop):
    packed = encode_links(one) + encode_links(other)
    assert decode_links(packed, start, stop) == (one + other)[start:stop]


@given(st.integers(0, 2**1000))
def test_done_masks_survive_the_store(done):
    assert decode_done(encode_done(done)) == done


def test_a_block_is_done_when_all_its_urls_have_ended():
    block = Block(1)
    assert [block.append(Link(target, 0)) for target in ("/a", "/b")] == [0, 1]
    block.finish(1)
    assert not block.is_done
    block.finish(0)
    assert block.is_done


def test_a_full_block_takes_no_more():
    block = Block(1)
    for _ in range(BLOCK_SIZE):
        assert not block.is_full
        block.append(Link("/a", 0))
    with pytest.raises(AssertionError):
        block.append(Link("/a", 0))


def test_links_are_on_disk_in_memory_or_both():
    """Three are stored and let go of; two come; all are read again."""
    block = Block(1)
    links = [Link(f"/{n}", n) for n in range(5)]
    for link in links[:3]:
        block.append(link)
    stored = encode_links(block.unstored())
    block.stored = 3
    assert block.unload() == 3
    assert block.links is None
    for link in links[3:]:
        block.append(link)
    assert block.unstored() == links[3:]
    stored += encode_links(block.unstored())
    block.stored = 5
    assert block.peek(lambda _, *which: decode_links(stored, *which)) == links
    assert block.link(4, lambda *_: pytest.fail("it is in memory")) == links[4]
    assert block.link(2, lambda _, index: links[index]) == links[2]


def test_repr_says_what_it_is():
    stored = Block.from_disk(7, grades=b"\x80", size=3, done=0b101)
    assert repr(stored) == "<Block 7: 2 of 3 done, on disk>"


@pytest.mark.parametrize("target", ["/é", "/ ", "/\r\nX: y", "/\0", "/\x7f"])
def test_what_is_stored_and_no_url_is_refused(target):
    """It would be another request than the one that is meant."""
    links = [Link("/", 0), Link(target, 0)]
    with pytest.raises(ValueError, match="no URLs"):
        decode_links(encode_links(links))


def test_links_that_are_damaged_are_never_others():
    links = [Link(f"/{n}", n) for n in range(5)]
    whole, refused = encode_links(links), 0
    for bit in range(len(whole) * 8):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            assert decode_links(bytes(damaged)) == links  # of the bits of a header some say nothing
        except ValueError:
            refused += 1
    assert refused > len(whole) * 7
