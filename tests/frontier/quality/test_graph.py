from __future__ import annotations

from andante.frontier.quality.graph import Graph


def test_links_count_once_and_those_of_a_page_to_itself_not():
    graph = Graph()
    a, b, c = (graph.number(url) for url in ("http://h/a", "http://h/b", "http://h/c"))
    assert graph.number("http://h/b") == b
    graph.add(b, [c, b, a, c])
    graph.add(a, [])
    graph.add(b, [a])
    assert (list(graph.links(b)), list(graph.links(a))) == ([c, a], [])
    assert [graph.is_read(number) for number in (a, b, c)] == [True, True, False]
    assert len(graph) == 3


def test_only_what_waits_and_has_changed_by_a_tenth_is_told_again():
    graph = Graph()
    a, b, c = (graph.number(url) for url in ("http://h/a", "http://h/b", "http://h/c"))
    assert graph.tell([a, b, c], [1.0, 2.0, 3.0]) == [1.0, 2.0, 3.0]
    graph.add(a, [])
    assert dict(graph.changed([9.0, 2.1, 2.6])) == {"http://h/c": 2.6}
    assert dict(graph.changed([9.0, 2.3, 2.6], [a, b, c])) == {"http://h/b": 2.3}
    assert dict(graph.changed([9.0, 2.3, 2.6])) == {}
