from itertools import count
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from andante.frontier import queue as queue_module
from andante.frontier.block import Block, Link
from andante.frontier.queue import UrlQueue, grade, worth


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.0, 1),
        (1e-13, 1),
        (0.5, 125),
        (0.79, 126),
        (0.8, 127),
        (1.0, 128),
        (1.26, 129),
        (2.0, 131),
        (1e30, 255),
        (inf, 255),
    ],
)
def test_grades(score, expected):
    assert grade(score) == expected


@given(st.floats(2**-42, 2**42))
def test_what_a_grade_is_worth_is_within_an_eighth_of_the_score(score):
    assert worth(grade(score)) == pytest.approx(score, rel=0.13)


@given(st.floats(0, inf, exclude_max=True), st.floats(0, inf, exclude_max=True))
def test_grades_keep_the_order(a, b):
    assert grade(min(a, b)) <= grade(max(a, b))


@pytest.mark.parametrize("score", [0.0, -1.0, nan, -inf])
def test_what_is_no_score_is_worth_nothing(score):
    assert worth(grade(score)) == 0.0


LOW, USUAL, HIGH = 124, 128, 132


def queue(*grades):
    """Return a queue with a URL of each grade."""
    numbers, made = count(1), UrlQueue()
    for at, each in enumerate(grades):
        made.append(Link(f"/{at}", 0), each, lambda: next(numbers))
    return made


def drain(queue):
    found = []
    while taken := queue.take(lambda *_: pytest.fail("all is in memory")):
        found.append(taken[2].target)
    return found


def test_the_best_grade_first_and_in_order_within_it():
    assert drain(queue(USUAL, HIGH, LOW, HIGH, USUAL)) == ["/1", "/3", "/0", "/4", "/2"]


def test_a_long_queue_is_in_order_too():
    """More than share a block, and more than are in one."""
    grades = [(LOW, HIGH, USUAL)[at % 3] for at in range(5_000)]
    expected = sorted(range(5_000), key=lambda at: (-grades[at], at))
    assert drain(queue(*grades)) == [f"/{at}" for at in expected]


def test_what_the_best_are_worth():
    some = queue(USUAL, HIGH, LOW)
    assert some.best == pytest.approx(worth(HIGH))
    assert some.worth(2) == pytest.approx(worth(HIGH) + worth(USUAL))
    assert some.worth(9) == pytest.approx(worth(HIGH) + worth(USUAL) + worth(LOW))
    assert UrlQueue().worth(3) == 0.0


def test_what_the_best_of_many_are_worth():
    some = queue(*[LOW] * 64, *[USUAL] * 5, *[HIGH] * 3)
    assert some.worth(4) == pytest.approx(3 * worth(HIGH) + worth(USUAL))
    assert some.worth(70) == pytest.approx(3 * worth(HIGH) + 5 * worth(USUAL) + 62 * worth(LOW))


def test_a_url_to_be_tried_again_counts_by_its_grade():
    some = queue(USUAL, HIGH)
    block, index, link = some.take(lambda *_: Link("", 0))
    some.put_retry(5.0, block, index, link, 1)
    assert some.queued == 2
    assert some.best == pytest.approx(worth(HIGH))
    assert some.take_retry(4.0) is None
    assert some.take_retry(5.0) == (block, index, link, 1)


def test_the_first_urls_share_a_block_and_the_others_have_one_for_each_grade():
    numbers, some = count(1), UrlQueue()
    grades = [LOW, HIGH] * 32 + [LOW, HIGH, LOW]
    blocks = [some.append(Link("/", 0), each, lambda: next(numbers)) for each in grades]
    assert [block.number for block in blocks] == [1] * 64 + [2, 3, 2]
    assert blocks[0].grades == bytes(grades[:64])
    assert [block.grades for block in blocks[64:]] == [bytes((LOW,)), bytes((HIGH,)), bytes((LOW,))]


@pytest.mark.parametrize("before", [0, 64])
def test_nothing_is_added_to_a_block_that_is_done(before):
    some, number = queue(*[HIGH] * before), count(2).__next__
    for _ in range(before):
        block, index, _ = some.take(lambda *_: Link("", 0))
        block.finish(index)
    block = some.append(Link("/0", 0), USUAL, number)
    _, index, _ = some.take(lambda *_: Link("", 0))
    block.finish(index)
    some.close(block)
    assert some.append(Link("/1", 0), USUAL, number).number == block.number + 1
    assert drain(some) == ["/1"]


def test_a_queue_comes_back_from_its_blocks():
    """Three blocks of several grades, and one of one grade; some URLs of each have ended."""
    links = [[Link(f"/{number}.{at}", 0) for at in range(3)] for number in range(4)]
    grades = [bytes((LOW, HIGH, USUAL))] * 3 + [bytes((USUAL,))]
    some = UrlQueue()
    for number in range(4):
        block = Block.from_disk(number, grades=grades[number], size=3, done=0b001)
        assert some.restore(block) == 2
    found = []
    while taken := some.take(lambda block, index: links[block.number][index]):
        found.append(taken[2].target)
    assert found[:3] == ["/0.1", "/1.1", "/2.1"]
    assert sorted(found[3:]) == ["/0.2", "/1.2", "/2.2", "/3.1", "/3.2"]


class QueueMachine(RuleBasedStateMachine):
    """URLs change their grades in any order: each is taken once, the best grade first."""

    def __init__(self):
        super().__init__()
        self.queue, self.numbers = UrlQueue(), count(1)
        self.mixed, queue_module.MIXED = queue_module.MIXED, 3
        self.where, self.grades = {}, {}

    @rule(grade=st.integers(126, 130))
    def append(self, grade):
        target = f"/{len(self.where)}"
        block = self.queue.append(Link(target, 0), grade, lambda: next(self.numbers))
        self.where[target] = block, block.size - 1
        self.grades[target] = grade

    @precondition(lambda self: self.grades)
    @rule(data=st.data(), grade=st.integers(126, 130))
    def move(self, data, grade):
        target = data.draw(st.sampled_from(sorted(self.grades)))
        self.queue.move(*self.where[target], old=self.grades[target], new=grade)
        self.grades[target] = grade

    @rule()
    def take(self):
        taken = self.queue.take(lambda *_: pytest.fail("all is in memory"))
        if not self.grades:
            assert taken is None
            return
        block, index, link = taken
        assert self.where[link.target] == (block, index)
        assert self.grades[link.target] == max(self.grades.values())
        del self.grades[link.target]

    def teardown(self):
        queue_module.MIXED = self.mixed

    @invariant()
    def it_knows_what_waits(self):
        assert self.queue.queued == len(self.grades)
        expected = sum(map(worth, self.grades.values()))
        assert self.queue.worth(10**6) == pytest.approx(expected)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
