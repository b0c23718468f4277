from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andante.frontier.quality import Found, Keywords

PAGE = "http://h/page"


def worth(terms, *, anchor="", url="http://h/x", text=""):
    return Keywords(terms).page(PAGE, [Found(url, anchor=anchor)], text=text)[0]


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ({}, 0.0),
        # the link: half the worth, 0.8 of it by its text, 0.2 by its URL
        ({"anchor": "Solar power"}, 0.4),
        ({"url": "http://h/solar"}, 0.1),
        ({"anchor": "SOLAR", "url": "http://solar.example/"}, 0.5),
        # what is inherited: the other half, of half the relevance n / (n + 1) of the page
        ({"text": "solar"}, 0.5 * 0.5 * 1 / 2),
        ({"text": "solar, solar; solar"}, 0.5 * 0.5 * 3 / 4),
        ({"text": "solar solar", "anchor": "solar"}, 0.4 + 0.25 * 2 / 3),
    ],
)
def test_worth_of_a_link_for_one_term(says, expected):
    assert worth(["solar"], **says) == pytest.approx(expected)


def test_terms_share_the_worth():
    assert worth(["solar", "wind"], anchor="solar") == pytest.approx(0.2)
    assert worth(["solar", "Solar ", ""], anchor="solar") == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("term", "text", "matches"),
    [
        ("pump", "pumps", False),
        ("pump", "heat-pump!", True),
        ("heat pump", "HEAT\n\tPump", True),
        ("heat pump", "heat a pump", False),
        ("heat-pump", "heat_pump", True),
        ("straße", "STRASSE", True),
        ("c", "c++", True),
        ("2024", "in 2024.", True),
    ],
)
def test_words_and_phrases(term, text, matches):
    assert (worth([term], anchor=text) > 0) is matches


@pytest.mark.parametrize(
    ("url", "matches"),
    [
        ("http://h/heat-pumps/heat_pump.html", True),
        ("http://h/heat%20pump", True),
        ("http://h/?q=heat+pump", True),
        ("http://h/heat/x/pump", False),
    ],
)
def test_words_of_a_url(url, matches):
    assert (worth(["heat pump"], url=url) > 0) is matches


def test_a_trail_goes_cold_by_half_with_each_page_that_says_nothing():
    quality = Keywords(["solar"])
    score = quality.page(PAGE, [Found("http://h/0", anchor="solar")])[0]
    for n in range(4):
        after = quality.page(f"http://h/{n}", [Found(f"http://h/{n + 1}")], text="nothing")[0]
        assert after == pytest.approx(score * 0.25)
        score = after


def test_what_the_user_means_is_worth_1_whatever_it_says():
    quality = Keywords(["solar"])
    assert quality.seeds([PAGE]) == [1.0]
    assert quality.page(PAGE, [Found("http://h/x")], text="nothing") == [0.25]


def test_of_several_links_to_a_url_the_best_counts():
    quality = Keywords(["solar"])
    link, named = Found("http://h/x"), Found("http://h/x", anchor="solar")
    assert quality.page("http://h/1", [link]) == [0.0]
    assert quality.page("http://h/2", [named]) == [0.4]
    assert quality.page("http://h/3", [link]) == [0.4]


def test_terms_without_a_word_are_refused():
    for terms in ([], [""], [" ,-"]):
        with pytest.raises(ValueError, match="needs terms"):
            Keywords(terms)


@given(st.text(), st.text(), st.text())
def test_worth_is_between_0_and_1(anchor, path, text):
    assert 0 <= worth(["a", "b c"], anchor=anchor, url=f"http://h/{path}", text=text) <= 1
