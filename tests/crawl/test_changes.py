import pytest

from andante.crawl.changes import told_of_excluded, told_of_seeds

A, B = "http://127.0.0.1:8081/", "http://127.0.0.1:8082/"


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ([], [A], ""),
        ([A], [], ""),
        ([A, B], [B + "more"], ""),
        (["http://a.example/"], ["https://a.example/"], ""),
        ([A], [A, B], "this job is of 127.0.0.1:8081; from now on it crawls 127.0.0.1:8082 too."),
        (
            [f"http://{n}.example/" for n in "abcde"],
            ["http://f.example/"],
            "this job is of a.example, b.example, c.example and 2 more; from now on it crawls f.example too.",
        ),
    ],
)
def test_a_job_that_goes_on_with_another_site_says_so(before, now, said):
    end = " To keep them apart, give another --job directory" if said else ""
    assert told_of_seeds(before, now) == said + end


def test_seeds_that_are_excluded_are_told():
    assert told_of_excluded([A, B], []) == told_of_excluded([A], ["8082"]) == ""
    said = told_of_excluded([A, B], ["nothing", "8082"])
    assert said == f"exclude hits {B}: a seed is fetched all the same; what is left out are links"
