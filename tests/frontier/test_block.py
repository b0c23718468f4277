import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.frontier.block import Block, Link, decode_done, decode_links, encode_done, encode_links

links = st.builds(
    Link,
    target=st.text(min_size=1),
    depth=st.integers(0, 1000),
    referrer=st.text(),
    asked=st.text(),
    hops=st.integers(0, 10),
    sitemap=st.booleans(),
)


@given(st.lists(links, max_size=20))
def test_links_survive_the_store(some):
    assert decode_links(encode_links(some)) == some


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


def test_a_sealed_block_takes_no_more():
    block = Block(1)
    block.sealed = True
    with pytest.raises(AssertionError):
        block.append(Link("/a", 0))


def test_repr_says_what_it_is():
    stored = Block.from_disk(7, grade=0, size=3, done=0b101)
    assert repr(stored) == "<Block 7: 2 of 3 done, on disk>"
