from collections import Counter

import pytest

from andante.cli.fruitless import why_nothing
from andante.observe import Stats
from andante.store import Ended

HTTP, HTTPS = "http://a.example/", "https://a.example/"


def failed(reason, detail=""):
    return Stats(failed=Counter([reason])), [Ended(HTTP, "failed", reason, detail)]


@pytest.mark.parametrize(
    ("stats", "ended", "seed", "said"),
    [
        (*failed("no-such-host"), HTTP, "no-such-host"),
        (*failed("tls", "certificate has expired"), HTTPS, "tls (certificate has expired)"),
        (*failed("tls", "self-signed certificate"), HTTPS, "tls (self-signed certificate)"),
        (
            *failed("tls", "wrong version number"),
            HTTPS,
            "tls (wrong version number); the server does not speak TLS there: give http://",
        ),
        (*failed("closed"), HTTPS, "closed"),
        (*failed("closed"), HTTP, "closed; if the server speaks TLS, give https://"),
        (Stats(fetched=Counter({"404": 1})), [], HTTP, "status 404"),
        (Stats(fetched=Counter({"401": 1})), [], HTTP, "status 401"),
        (
            Stats(fetched=Counter({"400": 1})),
            [],
            HTTP,
            "status 400; if the server speaks TLS, give https://",
        ),
        (
            Stats(excluded=Counter(robots=2)),
            [Ended(HTTP, "excluded", "robots")],
            HTTP,
            "robots (robots.txt does not allow it)",
        ),
        (
            Stats(excluded=Counter({"robots-unreachable": 1})),
            [Ended(HTTP, "excluded", "robots-unreachable", "503")],
            HTTP,
            "robots-unreachable (503)",
        ),
        (
            Stats(fetched=Counter({"404": 3, "500": 2}), failed=Counter(reset=4, dns=1)),
            [Ended(HTTP, "failed", "reset", "\x1b[2J")],
            HTTPS,
            "reset (\ufffd[2J); status 404; status 500; and other reasons",
        ),
    ],
)
def test_the_reasons_are_told_the_most_frequent_first(stats, ended, seed, said):
    assert why_nothing(stats, ended, [seed]) == f"nothing could be fetched: {said}"


def test_a_limit_may_come_before_the_first_page():
    assert why_nothing(Stats(), [], [HTTP]) == "no page was fetched before the crawl ended"
