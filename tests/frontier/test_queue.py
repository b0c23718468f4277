from itertools import count
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from andante.frontier.block import Link
from andante.frontier.queue import UrlQueue, grade, worth


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.0, -160),
        (1e-13, -160),
        (0.5, -4),
        (0.84, -2),
        (0.85, -1),
        (1.0, 0),
        (1.19, 1),
        (2.0, 4),
        (1e30, 160),
        (inf, 160),
    ],
)
def test_grades(score, expected):
    assert grade(score) == expected


@given(st.floats(2**-39.7, 2**40))
def test_what_a_grade_is_worth_is_within_a_tenth_of_the_score(score):
    assert worth(grade(score)) == pytest.approx(score, rel=0.1)


@given(st.floats(0, inf, exclude_max=True), st.floats(0, inf, exclude_max=True))
def test_grades_keep_the_order(a, b):
    assert grade(min(a, b)) <= grade(max(a, b))


@pytest.mark.parametrize("score", [0.0, -1.0, nan, -inf])
def test_what_is_no_score_is_worth_nothing(score):
    assert worth(grade(score)) == 0.0


def queue(*grades):
    """Return a queue with a URL of each grade, and what numbers its blocks."""
    numbers, made = count(1), UrlQueue()
    for at, each in enumerate(grades):
        made.append(Link(f"/{at}", 0), each, lambda: next(numbers))
    return made


def drain(queue):
    found = []
    while taken := queue.take(lambda _: pytest.fail("all is in memory")):
        found.append(taken[2].target)
    return found


def test_the_best_grade_first_and_in_order_within_it():
    assert drain(queue(0, 4, -4, 4, 0)) == ["/1", "/3", "/0", "/4", "/2"]


def test_what_the_best_are_worth():
    some = queue(0, 4, -4)
    assert some.best == pytest.approx(worth(4))
    assert some.worth(2) == pytest.approx(worth(4) + worth(0))
    assert some.worth(9) == pytest.approx(worth(4) + worth(0) + worth(-4))
    assert UrlQueue().worth(3) == 0.0


def test_a_url_to_be_tried_again_counts_by_its_grade():
    some = queue(0, 4)
    block, index, link = some.take(lambda _: [])
    some.put_retry(5.0, block, index, link, 1)
    assert some.queued == 2
    assert some.best == pytest.approx(worth(4))
    assert some.take_retry(4.0) is None
    assert some.take_retry(5.0) == (block, index, link, 1)


def test_blocks_hold_one_grade():
    numbers, some = count(1), UrlQueue()
    blocks = [some.append(Link("/", 0), each, lambda: next(numbers)) for each in (0, 4, 0)]
    assert [block.number for block in blocks] == [1, 2, 1]
    assert [block.grade for block in blocks] == [0, 4, 0]


def test_nothing_is_added_to_a_block_that_is_done():
    numbers, some = count(1), UrlQueue()

    def number():
        return next(numbers)

    block = some.append(Link("/0", 0), 0, number)
    _, index, _ = some.take(lambda _: [])
    block.finish(index)
    some.close(block)
    assert some.append(Link("/1", 0), 0, number).number == 2
    assert drain(some) == ["/1"]


class QueueMachine(RuleBasedStateMachine):
    """URLs change their grades in any order: each is taken once, the best grade first."""

    def __init__(self):
        super().__init__()
        self.queue, self.numbers = UrlQueue(), count(1)
        self.where, self.grades = {}, {}

    @rule(grade=st.integers(-2, 2))
    def append(self, grade):
        target = f"/{len(self.where)}"
        block = self.queue.append(Link(target, 0), grade, lambda: next(self.numbers))
        self.where[target] = block, block.size - 1
        self.grades[target] = grade

    @precondition(lambda self: self.grades)
    @rule(data=st.data(), grade=st.integers(-2, 2))
    def move(self, data, grade):
        target = data.draw(st.sampled_from(sorted(self.grades)))
        self.queue.move(*self.where[target], old=self.grades[target], new=grade)
        self.grades[target] = grade

    @rule()
    def take(self):
        taken = self.queue.take(lambda _: pytest.fail("all is in memory"))
        if not self.grades:
            assert taken is None
            return
        block, index, link = taken
        assert self.where[link.target] == (block, index)
        assert self.grades[link.target] == max(self.grades.values())
        del self.grades[link.target]

    @invariant()
    def it_knows_what_waits(self):
        assert self.queue.queued == len(self.grades)
        expected = sum(map(worth, self.grades.values()))
        assert self.queue.worth(10**6) == pytest.approx(expected)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
