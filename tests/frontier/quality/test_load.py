from __future__ import annotations

import sys
from types import ModuleType

import pytest

from andante.frontier.quality import (
    Depth,
    Found,
    Function,
    Given,
    Keywords,
    Opic,
    PageRank,
    SitemapQuality,
    load,
)


def quality(text, lines=()):
    return load(text, read=lambda _: lines, now=0.0, problem=pytest.fail)


@pytest.fixture
def module(monkeypatch):
    made = ModuleType("my.ranks")
    made.worth = lambda link: 2.0
    made.number = 3
    monkeypatch.setitem(sys.modules, "my", ModuleType("my"))
    monkeypatch.setitem(sys.modules, "my.ranks", made)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("depth", Depth),
        ("opic", Opic),
        ("pagerank", PageRank),
        ("sitemap", SitemapQuality),
        ("keywords:solar, heat pump", Keywords),
        ("file:scores.txt", Given),
        ("my.ranks:worth", Function),
    ],
)
@pytest.mark.usefixtures("module")
def test_each_name_loads(text, kind):
    assert isinstance(quality(text), kind)


@pytest.mark.usefixtures("module")
def test_what_is_loaded_works():
    found = [Found("http://h/", anchor="a heat pump")]
    assert quality("keywords:heat pump").page("http://x/", found) == [0.4]
    assert quality("my.ranks:worth").page("http://x/", found) == [2.0]
    assert quality("file:f", ["http://h/ 7"]).page("http://x/", found) == [7.0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dept", "unknown quality 'dept'; did you mean 'depth'?"),
        ("OPIC", "unknown quality 'OPIC'; did you mean 'opic'?"),
        ("", "unknown quality ''"),
        ("depth:3", "unknown quality 'depth:3'; did you mean 'depth'?"),
        ("file", "unknown quality 'file'; did you mean 'file:PATH'?"),
        (
            "zzz",
            r"there are depth, opic, pagerank, keywords:TERM,TERM, sitemap, file:PATH, MODULE:FUNCTION",
        ),
        ("keywords", "needs terms"),
        ("keywords:", "needs terms"),
        ("keyword:a", "did you mean 'keywords:TERM,TERM'?"),
        ("my.ranks:other", "quality 'my.ranks:other' cannot be imported: .*other"),
        ("my.rank:worth", "quality 'my.rank:worth' cannot be imported: .*my.rank"),
        ("my.ranks:number", "quality 'my.ranks:number' is no function of a link, but of type int"),
        ("a b:c", "cannot be imported"),
    ],
)
@pytest.mark.usefixtures("module")
def test_errors_are_one_line_that_says_what_is_allowed(text, problem):
    with pytest.raises(ValueError, match=problem.replace("?", r"\?")) as error:
        quality(text)
    assert "\n" not in str(error.value)


def test_a_bad_line_is_named_with_the_file():
    with pytest.raises(ValueError, match=r"^my/scores\.txt:1: "):
        quality("file:my/scores.txt", ["nonsense"])
