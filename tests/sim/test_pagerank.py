import pytest

from andante.sim.pagerank import pagerank


@pytest.mark.parametrize(
    ("links", "ranks"),
    [
        ([[1], [0]], [0.5, 0.5]),
        ([[], [0], [0]], [0.574468, 0.212766, 0.212766]),  # b = (0.15 + 0.85 * 2.7 b) / 3
        ([[1, 2], [2], [0]], [0.387790, 0.214811, 0.397399]),
        ([[]], [1.0]),
    ],
)
def test_small_graphs(links, ranks):
    assert pagerank(links) == pytest.approx(ranks, abs=1e-5)


def test_it_solves_its_equation_and_sums_to_one():
    links = [[1, 2, 3], [2], [0], [2, 4], []]
    ranks = pagerank(links, tolerance=1e-12)
    assert sum(ranks) == pytest.approx(1.0)
    base = (0.15 + 0.85 * ranks[4]) / 5
    assert ranks[2] == pytest.approx(base + 0.85 * (ranks[0] / 3 + ranks[1] + ranks[3] / 2))
