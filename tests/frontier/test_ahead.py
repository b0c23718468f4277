import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.frontier.ahead import RUN_MAX, RUN_MIN, ReadAhead
from andante.frontier.block import Block, Link


class Disk:
    """Blocks of 1,000 links; it notes what is read of them."""

    def __init__(self):
        self.reads = []

    def load(self, block, start, stop):
        self.reads.append((block.number, start, stop))
        return [Link(f"/{block.number}/{index}", 0) for index in range(start, stop)]


def block(number, size=1_000):
    return Block.from_disk(number, grades=b"\x80", size=size, done=0)


def test_a_block_is_read_by_runs():
    disk = Disk()
    ahead, one = ReadAhead(disk.load, size_max=50_000), block(1)
    found = [ahead.take(one, index).target for index in range(1_000)]
    assert found == [f"/1/{index}" for index in range(1_000)]
    assert len(disk.reads) == -(-1_000 // RUN_MAX)
    assert ahead.size == 0, "what has been taken is let go of"


def test_the_more_blocks_the_shorter_are_the_runs():
    disk = Disk()
    ahead = ReadAhead(disk.load, size_max=1_000)
    blocks = [block(number) for number in range(100)]
    for index in range(100):
        for each in blocks:
            ahead.take(each, index)
            assert ahead.size <= 1_000
    # There is room for 10 of each.
    assert len(disk.reads) < 1_100


def test_with_too_many_blocks_those_read_first_are_read_again():
    disk = Disk()
    ahead = ReadAhead(disk.load, size_max=10 * RUN_MIN)
    blocks = [block(number) for number in range(1, 21)]
    for each in blocks:
        ahead.take(each, 0)
        assert ahead.size <= 10 * RUN_MIN
    ahead.take(blocks[-1], 1)
    assert len(disk.reads) == 20
    ahead.take(blocks[0], 1)
    assert len(disk.reads) == 21


def test_a_short_block_is_read_once_in_whatever_order_it_is_taken():
    disk = Disk()
    ahead, one = ReadAhead(disk.load, size_max=50_000), block(1, size=RUN_MAX)
    for index in (40, 3, 20, 62, 0):
        assert ahead.take(one, index).target == f"/1/{index}"
    assert disk.reads == [(1, 0, RUN_MAX)]


def test_what_of_a_block_is_not_on_disk_is_not_asked_of_it():
    """It has grown since; what came is in memory."""
    disk = Disk()
    ahead, one = ReadAhead(disk.load, size_max=50_000), block(1, size=100)
    one.append(Link("/new", 0))
    ahead.take(one, 90)
    assert disk.reads == [(1, 90, 100)]


@pytest.mark.parametrize("size_max", [0, 1, 100])
@given(taken=st.lists(st.tuples(st.integers(1, 30), st.integers(0, 999))))
def test_any_link_is_found_and_the_bound_kept(size_max, taken):
    ahead = ReadAhead(Disk().load, size_max=size_max)
    for number, index in taken:
        assert ahead.take(block(number), index).target == f"/{number}/{index}"
        assert ahead.size <= max(size_max, RUN_MIN)
    for number in range(1, 31):
        ahead.forget(number)
    assert ahead.size == 0
