from __future__ import annotations

from decimal import Decimal

import pytest

from andante.frontier.quality import Found, Function


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def ask(function, *, times=1, clock=None):
    problems = []
    quality = Function(function, name="mine:worth", problem=problems.append, clock=clock)
    scores = []
    for n in range(times):
        scores += quality.page("http://h/", [Found(f"http://h/{n}", depth=n)])
    return scores, problems


def test_a_function_is_given_links_and_its_answers_count():
    scores, problems = ask(lambda link: 1 / (1 + link.depth), times=3)
    assert scores == [1.0, 1 / 2, 1 / 3]
    assert problems == []


def test_seeds_are_links_too():
    quality = Function(lambda link: len(link.url), name="f", problem=print)
    assert quality.seeds(["http://h/"]) == [9.0]


@pytest.mark.parametrize("value", [0, 0.0, True, Decimal("1.5"), 10**300])
def test_numbers_of_all_kinds(value):
    assert ask(lambda _: value) == ([float(value)], [])


class Unprintable:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (-float("inf"), "-inf"),
        (Decimal("NaN"), "Decimal('NaN')"),
        (-1, "-1"),
        (None, "None"),
        ("3", "'3'"),
        (1j, "1j"),
        (10**400, "1000000"),
        (Unprintable(), "a Unprintable"),
    ],
)
def test_what_is_no_score_counts_0_and_is_told_once(value, shown):
    scores, problems = ask(lambda _: value, times=3)
    assert scores == [0.0] * 3
    assert len(problems) == 1
    assert problems[0].startswith(f"quality mine:worth returned {shown}")
    assert problems[0].endswith(
        "for http://h/0, not a finite number of at least 0; such links count 0"
    )
    assert "\n" not in problems[0]


def test_what_a_function_raises_counts_0_and_is_told_once_a_kind():
    def worth(link):
        raise (KeyError("a\nb") if link.depth % 2 else ValueError("no"))

    scores, problems = ask(worth, times=4)
    assert scores == [0.0] * 4
    assert problems == [
        "quality mine:worth raised ValueError on http://h/0: no; such links count 0",
        r"quality mine:worth raised KeyError on http://h/1: 'a\nb'; such links count 0",
    ]


@pytest.mark.parametrize(("seconds", "told"), [(0.0009, 0), (0.0025, 1)])
def test_a_slow_function_is_told_once(seconds, told):
    clock = Clock()

    def worth(_):
        clock.now += seconds
        return 1.0

    _, problems = ask(worth, times=9, clock=clock)
    assert problems == []
    _, problems = ask(worth, times=300, clock=clock)
    assert len(problems) == told
    assert all("is slow: 2.5 ms a link" in problem for problem in problems)
