from __future__ import annotations

import builtins
from array import array
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from andante.frontier.quality import Found, PageRank
from andante.frontier.quality.graph import Graph
from andante.frontier.quality.pagerank import DAMPING, pagerank


def links(*urls):
    return [Found(url, depth=1) for url in urls]


def power_iteration(pages, nodes):
    """Brin and Page's iteration, as plainly as it can be written; 1 in the mean."""
    rank = [1.0] * nodes
    for _ in range(300):
        new = [1 - DAMPING] * nodes
        for node in range(nodes):
            targets = set(pages.get(node, ())) - {node} or range(nodes)
            for target in targets:
                new[target] += DAMPING * rank[node] / len(targets)
        rank = new
    return rank


def graph_of(pages, nodes):
    graph = Graph()
    for node in range(nodes):
        graph.number(f"http://h/{node}")
    for page, targets in pages.items():
        graph.add(page, targets)
    return graph


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        # a ring: all alike
        ({0: [1], 1: [2], 2: [0]}, [1, 1, 1]),
        # all that 1 and 2 have goes to 0, which shares it among them
        ({0: [1, 2], 1: [0], 2: [0]}, [1.4594594, 0.7702703, 0.7702703]),
        # two pages that give nothing on, but to all
        ({0: [1, 2]}, [0.7792208, 1.1103896, 1.1103896]),
    ],
)
def test_ranks_of_small_graphs(pages, expected):
    ranks = pagerank(graph_of(pages, 3), array("d", [1.0] * 3))
    assert list(ranks) == pytest.approx(expected, rel=1e-3)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.dictionaries(st.integers(0, 7), st.lists(st.integers(0, 7), max_size=8)))
def test_agrees_with_plain_power_iteration_from_any_start(pages):
    graph = graph_of(pages, 8)
    for start in ([1.0] * 8, [float(n + 1) for n in range(8)]):
        ranks = pagerank(graph, array("d", start))
        assert sum(ranks) == pytest.approx(8)
        assert list(ranks) == pytest.approx(power_iteration(pages, 8), abs=5e-3)


def test_between_computations_a_page_adds_what_it_would_give():
    quality = PageRank()
    assert quality.seeds(["http://h/"]) == [1.0]
    assert (
        quality.page("http://h/", links("http://h/a", "http://h/b", "http://h/a"))
        == [pytest.approx(0.15 + 0.85 / 2)] * 3
    )
    assert quality.page("http://h/a", links("http://h/b")) == [pytest.approx(0.575 + 0.85 * 0.575)]


def test_ranks_are_due_when_the_graph_has_grown_by_a_fifth():
    quality = PageRank()
    quality.seeds(["http://h/0"])
    rounds = []
    for n in range(400):
        targets = [f"http://h/{m}" for m in (0, n + 1, 2 * n + 1)]
        quality.page(f"http://h/{n}", links(*targets))
        if (changed := quality.due()) is not None:
            rounds.append(n)
            scores = dict(changed)
            assert all(score > 0 for score in scores.values())
            assert not {f"http://h/{m}" for m in range(n + 1)} & scores.keys(), "read already"
    assert len(rounds) == 4
    assert all(1.1 < after / before < 1.3 for before, after in pairwise(rounds))


def test_without_scipy_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("scipy"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match=r"needs scipy; install it with: pip install 'scipy>="):
        PageRank()
