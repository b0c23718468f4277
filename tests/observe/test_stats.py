from collections import Counter

import msgspec

from andante.observe.stats import Speed, Stats


def test_pages_are_those_with_2xx():
    stats = Stats(fetched=Counter({"200": 5, "206": 1, "404": 3}))
    assert stats.pages == 6


def test_all_states_are_counted():
    stats = Stats(
        fetched=Counter({"200": 5}),
        redirected=2,
        failed=Counter(reset=1),
        excluded=Counter(robots=4),
    )
    assert stats.ended == 12


def test_counts_survive_the_store():
    stats = Stats(fetched=Counter({"200": 5}), failed=Counter(reset=1), seconds=1.5)
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(stats.to_dict()))
    restored = Stats.from_dict(stored)
    assert restored == stats
    restored.fetched["404"] += 1


def test_speed_is_that_of_the_last_ten_seconds():
    speed = Speed(100)
    assert speed.read(110, 1.0) == 10.0
    for second in range(2, 30):
        last = speed.read(110 + 3 * (second - 1), float(second))
    assert last == 3.0
