"""What pages and links say, where it is wanted."""

from __future__ import annotations

import pytest

from andante.parse import href_value, parse_html, tree
from andante.parse.tree import MAX_TREE_TAGS
from support.pages import site_pages


def read(markup, **options):
    return parse_html(markup.encode(), encoding="utf-8", want_text=True, **options)


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("<a href=x> one\n <b>two</b> </a>", "one two"),
        ("<a href=x>a<br>b</a>", "a b"),
        ("<a href=x>&lt;&nbsp;&eacute;</a>", "< é"),
        ("<a href=x><img alt='a  picture'></a>", "a picture"),
        ("<a href=x><img alt='a picture'> and text</a>", "and text"),
        ("<a href=x></a>", ""),
        ("<a href=x></a><a href=x>second</a><a href=x>third</a>", "second"),
        ("<map><area href=x alt='a zone'></map>", "a zone"),
        ("<a href=x>a<script>no</script><style>no</style></a>", "a"),
        ("<link rel=next href=x>", ""),
        ("<iframe src=x>no</iframe>", ""),
        ("<a href=x>outer<table><td><a href=y>inner</table>", "outer inner"),
    ],
)
def test_what_a_link_says(link, says):
    document = read(link)
    assert document.hrefs[0] == "x"
    assert document.anchors[0] == says


def test_what_a_page_says():
    document = read(
        "<title> A  title</title><style>no</style><p>one</p><p>t<b>w</b>o<script>no</script><td>3<!-- no -->"
    )
    assert document.text == "A title one t w o 3"


def test_texts_are_cut(monkeypatch):
    monkeypatch.setattr(tree, "ANCHOR_MAX", 3)
    monkeypatch.setattr(tree, "TEXT_MAX", 5)
    document = read("<title>t</title><a href=1>abcdef</a>")
    assert (document.anchors, document.text) == (["abc"], "t abc")


def test_links_are_the_same_whether_texts_are_wanted_or_not():
    for page in site_pages("postgresql", every=97):
        plain = parse_html(page.read_bytes(), encoding="utf-8")
        document = parse_html(page.read_bytes(), encoding="utf-8", want_text=True)
        assert (plain.anchors, plain.text, plain.way) == ([], "", "scan")
        assert document.title == plain.title
        assert document.hrefs == list(
            dict.fromkeys(href_value(href, plain.encoding) for href in plain.hrefs)
        )
        assert len(document.anchors) == len(document.hrefs)
        assert any(document.anchors)


def test_other_encodings_and_limits():
    body = '<meta charset=cp1251><a href="1">Ж</a><a href="2">Я</a>'.encode("cp1251")
    document = parse_html(body, encoding="cp1251", want_text=True, links_max=1)
    assert (document.hrefs, document.anchors, document.text) == (["1"], ["Ж"], "Ж Я")


def test_a_page_too_costly_for_a_tree_has_links_but_no_texts():
    document = read("<a href=1>one</a>" + "<p>" * MAX_TREE_TAGS)
    assert (document.way, document.hrefs, document.anchors, document.text) == (
        "tokens",
        ["1"],
        [""],
        "",
    )
