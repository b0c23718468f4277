from collections import OrderedDict
from random import Random

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from andante.cluster.recent import Recent

edges = [b"\0" * 8, b"\xff" * 8, b"\0" * 7 + b"\1", b"\1" + b"\0" * 7, b"\0" * 4 + b"\xff" * 4]
fingerprints = st.binary(min_size=8, max_size=8) | st.sampled_from(edges)


def digest(number):
    return xxhash.xxh3_64_digest(b"%d" % number)


@given(st.lists(fingerprints, max_size=300), st.integers(1, 200))
def test_nothing_new_is_taken_for_known(added, capacity):
    recent, model = Recent(capacity), set()
    for fingerprint in added:
        assert fingerprint in model or fingerprint not in recent
        is_new = recent.add(fingerprint)
        assert is_new or fingerprint in model
        model.add(fingerprint)
        assert fingerprint in recent
        assert not recent.add(fingerprint)


@pytest.mark.parametrize("fingerprint", edges)
@pytest.mark.parametrize("capacity", [1, 64, 65, 10_000])
def test_an_empty_place_is_no_fingerprint(fingerprint, capacity):
    recent = Recent(capacity)
    assert fingerprint not in recent
    assert recent.add(fingerprint)


def test_a_match_across_two_neighbours_is_none():
    recent = Recent(64)
    recent.add(b"\0bcdefgh")
    recent.add(b"\0jklmnop")
    assert b"klmnop\0b" not in recent
    assert recent.add(b"\0mnop\0bc")
    assert not recent.add(b"\0bcdefgh")


def test_it_forgets_those_longest_not_met():
    """With one of its sets full, the oldest goes, and one that was met again stays."""
    recent = Recent(1)
    first_set = [bytes((0, n)) + b"......" for n in range(33)]
    for fingerprint in first_set[:32]:
        recent.add(fingerprint)
    assert not recent.add(first_set[0])
    assert recent.add(first_set[32])
    assert [f in recent for f in first_set] == [True, False] + [True] * 31


def test_it_remembers_as_well_as_one_large_set_would():
    """On links of which few are common and most rare (Zipf)."""
    rng = Random(1)
    numbers = [int(rng.paretovariate(0.6)) for _ in range(40_000)]
    recent, model = Recent(4_096), OrderedDict()
    known = remembered = 0
    for number in numbers:
        remembered += number in model
        model[number] = None
        model.move_to_end(number)
        if len(model) > 4_096:
            model.popitem(last=False)
        known += not recent.add(digest(number))
    assert remembered > 20_000
    assert known == pytest.approx(remembered, rel=0.01)


def test_it_needs_eight_bytes_each_and_grows_no_further():
    recent = Recent(10_000)
    size = recent._table.__sizeof__()
    for number in range(50_000):
        recent.add(digest(number))
    assert recent._table.__sizeof__() == size < 8.1 * 10_016
    assert repr(recent) == "<Recent: 10016 places>"
