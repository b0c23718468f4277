import xxhash
from hypothesis import given
from hypothesis import strategies as st

from andante.frontier.seen import Seen, unpack

fingerprints = st.binary(min_size=8, max_size=8) | st.sampled_from(
    [b"\0" * 8, b"\0" * 7 + b"\1", b"\1" + b"\0" * 7]
)


@given(st.lists(fingerprints, max_size=400))
def test_it_is_a_set(added):
    seen, model = Seen(), set()
    for fingerprint in added:
        assert seen.add(fingerprint) is (fingerprint not in model)
        model.add(fingerprint)
        assert fingerprint in seen
        assert len(seen) == len(model)


def test_it_stays_exact_while_it_grows():
    seen = Seen()
    first, second = (
        [xxhash.xxh3_64_digest(b"%d" % n) for n in range(start, start + 50_000)]
        for start in (0, 50_000)
    )
    assert all(seen.add(fingerprint) for fingerprint in first)
    assert not any(seen.add(fingerprint) for fingerprint in first)
    assert not any(fingerprint in seen for fingerprint in second)


def test_a_match_across_two_neighbours_is_none():
    seen = Seen(b"abcdefgh" + b"ijklmnop")
    assert b"efghijkl" not in seen
    assert seen.add(b"efghijkl")
    assert b"efghijkl" in seen


def test_it_needs_few_bytes_each():
    seen = Seen()
    for number in range(100_000):
        seen.add(xxhash.xxh3_64_digest(b"%d" % number))
    held = sum(bucket.__sizeof__() for bucket in seen._buckets) + seen._buckets.__sizeof__()
    assert held < 12 * len(seen)


def test_unpack_undoes_joining():
    assert list(unpack(b"abcdefghijklmnop")) == [b"abcdefgh", b"ijklmnop"]
