"""A cluster of real processes that fails: nothing is lost, little fetched again, nobody disturbed. All ways, large and often: ``benchmarks/cluster_failures.py``."""

import pytest

from bed.failures import FAILURES, SMALL

SHORT = SMALL._replace(hosts=20, pages=30, rate=6, outage=6)


def test_one_killed_and_back():
    assert FAILURES["one killed, back"](2, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("two killed", 1),
        ("hung, ZooKeeper", 3),
        ("Redis killed", 5),
        ("Redis empty", 6),
        ("Redis cut off, little room", 8),
        ("node cut off", 7),
    ],
)
def test_failure(name, seed):
    assert FAILURES[name](seed, SHORT)
