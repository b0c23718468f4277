"""The reader of the servers' log, by lines such as nginx writes."""

from bed.log import read

LOG = """\
100.000	0.000	a	10.78.0.1	n1	1	200	7	/
100.050	0.030	a	10.78.0.1	n1	1	200	7	/1
100.060	0.020	a	10.78.0.1	n2	2	200	7	/2
100.200	0.000	b	10.78.0.1	n1	3	404	7	/
100.300	0.100	b	10.78.0.1	n2	4	200	7	/
100.500	0.100	b	10.78.0.1	n1	3	200	7	/
100.600	0.0"""


def test_what_a_log_says():
    log = read(LOG.splitlines(keepends=True))
    assert len(log.visits) == 6
    assert log.statuses() == {200: 5, 404: 1}
    assert log.urls() == {"http://a/", "http://a/1", "http://a/2", "http://b/"}
    assert log.repeated() == {"http://b/": 2}
    assert log.by_client() == {"n1": 4, "n2": 2}
    assert log.moves() == 3
    assert round(log.seconds, 3) == 0.5
    assert [round(log.last(client), 3) for client in ("n1", "n2")] == [0.5, 0.3]


def test_two_clients_at_once():
    log = read(LOG.splitlines(keepends=True))
    met = [(one.host, one.client, other.client) for one, other in log.at_once()]
    assert met == [("a", "n1", "n2"), ("b", "n2", "n1")]
    assert [one.host for one, _ in log.at_once(slack=0.011)] == ["b"]
    assert log.most_at_once() == 2


def test_an_early_stay_that_lasts_meets_all_later_ones():
    lines = (
        "1.000\t0.000\ta\tx\tn1\t1\t200\t1\t/1\n",
        "9.000\t0.000\ta\tx\tn1\t1\t200\t1\t/5\n",
        "4.000\t1.000\ta\tx\tn1\t2\t200\t1\t/2\n",
        "6.000\t0.000\ta\tx\tn2\t3\t200\t1\t/3\n",
        "6.000\t0.000\tb\tx\tn2\t4\t200\t1\t/4\n",
    )
    met = read(lines).at_once()
    assert [(one.visits, one.ended, other.client) for one, other in met] == [(2, 9.0, "n2")]
    assert read(lines).most_at_once() == 1


def test_gaps_pauses_and_windows():
    log = read(LOG.splitlines(keepends=True))
    assert round(log.least_gap(), 3) == 0.0  # b: both at 100.200
    assert round(log.window(0.25).least_gap(), 3) == 0.2
    assert round(log.window(0.0, 0.15).least_gap(handed_over=True), 3) == 0.02
    assert round(log.least_pause(), 3) == -0.01
    assert round(log.window(0.0, 0.055).least_pause("address"), 3) == 0.02
    assert len(log.window(0.1, 0.35).visits) == 2


def test_an_empty_log():
    log = read([])
    assert not log.urls()
    assert not log.window(1.0).visits
    assert log.least_gap() == log.least_pause() == float("inf")
    assert log.most_at_once() == log.moves() == 0
