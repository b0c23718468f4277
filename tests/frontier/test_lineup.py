from math import inf

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from andante.frontier.lineup import Lineup


class Item:
    def __init__(self, name, rank=0.0):
        self.name, self.value = name, rank
        self.line, self.entry, self.ready_at, self.order = None, 0, 0.0, None

    def __repr__(self):
        return self.name


def lineup(**options):
    return Lineup(lambda item: item.value, **options)


def names(line, now):
    found = []
    while (item := line.pop(now)) is not None:
        found.append(item.name)
    return found


def test_the_highest_rank_comes_first_and_among_equals_who_was_first_to_be_ready():
    line = lineup()
    for name, rank, ready_at in [
        ("a", 1.0, 3.0),
        ("b", 2.0, 2.0),
        ("c", 1.0, 1.0),
        ("d", 9.0, 4.1),
    ]:
        line.put(Item(name, rank), ready_at)
    assert line.wakeup() == 1.0
    assert names(line, 4.0) == ["b", "c", "a"]
    assert line.wakeup() == 4.1
    assert names(line, 5.0) == ["d"]
    assert line.wakeup() == inf


def test_a_rank_is_that_of_the_moment():
    line = lineup()
    a, b = Item("a", 1.0), Item("b", 2.0)
    for item in (a, b):
        line.put(item, 0.0)
    assert not line.rank_again(a), "not ready yet: it is ranked when it is"
    assert line.first(0.0) is b
    a.value = 3.0
    assert line.rank_again(a)
    assert not line.rank_again(a)
    assert line.first(0.0) is a
    a.value = 0.0
    assert line.rank_again(a)
    assert names(line, 0.0) == ["b", "a"]
    assert not line.rank_again(a), "it does not wait"


def test_who_is_put_again_waits_once():
    line = lineup()
    a = Item("a")
    line.put(a, 5.0)
    line.put(a, 1.0)
    assert len(line) == 1
    assert names(line, 9.0) == ["a"]
    line.put(a, 2.0)
    line.remove(a)
    line.remove(a)
    assert names(line, 9.0) == []
    assert (len(line), line.wakeup()) == (0, inf)


def test_nobody_waits_longer_than_the_patience():
    line = lineup(patience=10.0)
    worst = Item("worst", -1.0)
    line.put(worst, 0.0)
    for now in range(10):
        line.put(Item("best", 5.0), float(now))
        assert line.pop(now).name == "best"
    line.put(Item("best", 5.0), 10.0)
    assert line.pop(10.5) is worst
    assert line.pop(10.5).name == "best"


def test_outdated_entries_are_swept_out():
    line = lineup()
    items = [Item(str(number)) for number in range(10)]
    for turn in range(1_000):
        for item in items:
            item.value = -item.value + turn % 3
            line.put(item, 0.0) if turn % 7 == 0 else line.rank_again(item)
        line.first(0.0)
    assert len(line._ready) + len(line._later) < 200
    assert len(names(line, 0.0)) == 10


def test_what_is_remembered_for_the_patience_is_bounded():
    line, waits = lineup(patience=10.0**9), Item("waits", -1.0)
    line.put(waits, 0.0)
    for turn in range(2_000):
        line.put(Item("a"), float(turn))
        assert line.pop(float(turn)).name == "a"
    assert len(line._longest) < 200
    assert line.first(2.0**31) is waits


def test_what_it_has_left_behind_does_not_bring_it_back():
    """An item that moves to another lineup leaves entries behind; none of them is ever taken for one that counts."""
    a, b, item = lineup(patience=1.0), lineup(patience=1.0), Item("item")
    for line in (a, b, a, b):
        for rank in range(5):
            line.put(item, 0.0, 0.0)
            item.value = rank
            line.rank_again(item)
        assert (len(a), len(b)) == ((1, 0) if line is a else (0, 1))
    assert a.first(9.0) is None
    assert b.first(9.0) is item


def test_those_that_were_ready_first_come_first_though_nobody_has_looked():
    line = lineup(patience=5.0)
    line.put(Item("poor"), 1.0)
    line.put(Item("later", 1.0), 4.0, 4.0)
    line.put(Item("rich", 9.0), 7.0, 7.0)
    assert line.first(6.5).name == "poor"
    assert names(line, 7.0) == ["poor", "rich", "later"]


class LineupMachine(RuleBasedStateMachine):
    """Against a plain list."""

    def __init__(self):
        super().__init__()
        self.line, self.now = lineup(), 0.0
        self.items = [Item(str(number)) for number in range(5)]
        self.waiting = {}

    @rule(n=st.integers(0, 4), wait=st.sampled_from([0.0, 1.0, 5.0]))
    def put(self, n, wait):
        self.line.put(self.items[n], self.now + wait)
        self.waiting[self.items[n]] = self.now + wait

    @rule(n=st.integers(0, 4), rank=st.sampled_from([-1.0, 0.0, 1.0, 2.0]))
    def rank(self, n, rank):
        self.items[n].value = rank
        self.line.rank_again(self.items[n])

    @rule(n=st.integers(0, 4))
    def remove(self, n):
        self.line.remove(self.items[n])
        self.waiting.pop(self.items[n], None)

    @rule(seconds=st.sampled_from([0.5, 2.0]))
    def wait(self, seconds):
        self.now += seconds

    @rule()
    def pop(self):
        ready = [item for item, at in self.waiting.items() if at <= self.now]
        item = self.line.pop(self.now)
        if not ready:
            assert item is None
        else:
            assert item.value == max(item.value for item in ready)
            assert item in ready
            del self.waiting[item]

    @invariant()
    def all_are_there(self):
        assert len(self.line) == len(self.waiting)
        wakeup = min(self.waiting.values(), default=inf)
        assert self.line.wakeup() in (wakeup, -inf)
        assert self.line.wakeup() <= max(wakeup, self.now)


TestLineupMachine = LineupMachine.TestCase
TestLineupMachine.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
