import csv
from contextlib import closing
from math import inf

import pytest

from andante.cli import main
from andante.flow import Sample
from andante.store import Job, Rates, RatesFile
from andante.store.journal import Batch, Journal, ServerState
from andante.store.lock import Lock


@pytest.fixture
def job(tmp_path):
    with closing(Job(tmp_path / "job", [], warc_size=10**9, about={})):
        pass
    return tmp_path / "job"


@pytest.fixture
def rate(job, capsys):
    """Run ``andante rate`` on the job; return its exit status and what it said."""

    def run(*arguments):
        try:
            status = main(["rate", str(job), *arguments])
        except SystemExit as end:
            status = end.code
        said = capsys.readouterr()
        return status, said.out.splitlines(), said.err

    return run


def test_it_shows_sets_and_resets(rate):
    shown = ["each server      as the flags say", "the whole crawl  as the flags say"]
    assert rate() == (0, shown, "")
    later = "taken up by the next start"
    assert rate("40/min") == (0, ["each server      40/min", shown[1], later], "")
    rate("max", "--server", "b.example")
    rate("2/s", "--total")
    rate("3/s", "--server", "a.example:8080")
    shown = [
        "each server      40/min",
        "the whole crawl  2/s",
        "a.example:8080   3/s",
        "b.example        max",
    ]
    assert rate() == (0, shown, "")
    rate("reset")
    rate("reset", "--total")
    rate("reset", "--server", "a.example:8080")
    rate("reset", "--server", "never.example")
    shown = ["each server      as the flags say", "the whole crawl  as the flags say", shown[3]]
    assert rate() == (0, shown, "")


def test_a_crawl_that_runs_takes_it_at_once(rate, job):
    lock = Lock(job / "lock")
    assert rate("40/min")[1][-1] == "taken up within a second"
    lock.release()


def test_a_server_that_the_job_does_not_know_is_told_and_kept(rate, job):
    with closing(Journal(job / "journal.sqlite")) as journal:
        states = [("http://a.example:8080", ServerState()), ("https://[::1]", ServerState())]
        journal.commit(Batch(servers=states))
    later = "taken up by the next start"
    for known in ("A.example", "a.example:8080", "http://a.example:8080", "[::1]", "[::1]:443"):
        status, out, err = rate("20/min", "--server", known)
        assert (status, out[-1], err) == (0, later, "")
    for unknown in ("unknown.example", "a.example:80", "https://a.example"):
        status, out, err = rate("20/min", "--server", unknown)
        assert (status, out[-1] != later) == (0, True)
        assert err == f"andante: the job knows no server {unknown}: it holds if one is met\n"
        assert RatesFile(job).read().servers[unknown] == "20/min"


@pytest.mark.parametrize("written", ["MAX", " max ", "Max"])
def test_keywords_may_be_written_in_capitals(rate, job, written):
    assert rate(written)[0] == 0
    assert RatesFile(job).read().rate == "max"
    assert rate(written.upper().replace("MAX", "RESET"))[0] == 0
    assert RatesFile(job).read().rate == ""


@pytest.mark.parametrize("written", ["0", "0/min", "0.0 / s", "pause", " PAUSE"])
@pytest.mark.parametrize("which", [[], ["--total"], ["--server", "a.example"]])
def test_nothing_is_asked_in_a_pause(rate, job, written, which):
    status, out, _ = rate(written, *which)
    assert status == 0
    assert any(line.endswith("  pause") for line in out)
    rates = RatesFile(job).read()
    assert rates.has_paused
    assert 0 in (rates.of("http://a.example", 5.0), rates.total(5.0))
    assert rate("reset", *which)[0] == 0
    assert not RatesFile(job).read().has_paused


@pytest.mark.parametrize("flag", [["--server", "a.example"], ["--total"], []])
def test_flags_and_what_else_is_given_stand_in_any_order(job, capsys, flag):
    for order in (
        [str(job), "5/s", *flag],
        [str(job), *flag, "5/s"],
        [*flag, str(job), "5/s"],
    ):
        (job / "rates.json").unlink(missing_ok=True)
        assert main(["rate", *order]) == 0
        assert "5/s" in capsys.readouterr().out
        assert RatesFile(job).read() != Rates()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-5/min"], "'-5/min' is not a rate: write a number above 0"),
        (["-.5/min"], "'-.5/min' is not a rate: write a number above 0"),
        (["--total", "-5/min"], "'-5/min' is not a rate: write a number above 0"),
        (
            ["0.0000000001/min"],
            "is not a rate: it must be from 0.01/h to 1000000/s, or max, pause or reset",
        ),
        (
            ["9" * 400 + "/min"],
            "is not a rate: it must be from 0.01/h to 1000000/s, or max, pause or reset",
        ),
        (
            ["1/s", "--server", "::1"],
            "'::1' is not a server: write IPv6 addresses in brackets, [::1]",
        ),
    ],
)
def test_it_says_what_is_allowed(rate, arguments, message):
    status, out, err = rate(*arguments)
    assert (status, out) == (2, [])
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("written", "name", "origin"),
    [
        ("A.Example", "a.example", "http://a.example:8080"),
        ("a.example:80", "a.example:80", "http://a.example"),
        ("a.example:443", "a.example:443", "https://a.example"),
        ("http://a.example:80/", "http://a.example", "http://a.example"),
        (
            "https://bücher.example",
            "https://xn--bcher-kva.example",
            "https://xn--bcher-kva.example",
        ),
        ("[::1]", "[::1]", "http://[::1]:8080"),
        ("[::1]:8080", "[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_a_server_is_named_as_in_urls(rate, job, written, name, origin):
    assert rate("20/min", "--server", written)[0] == 0
    rates = RatesFile(job).read()
    assert rates.servers == {name: "20/min"}
    assert rates.of(origin, inf) == 20
    assert rate("reset", "--server", written)[0] == 0
    assert RatesFile(job).read().servers == {}


@pytest.mark.parametrize(
    "arguments",
    [
        *([written] for written in ("-1/min", "nan", "40/fortnight", "", "40", "inf/s")),
        *(["1/s", "--server", server] for server in ("", "a b", "::1", "ftp://a", "http://a/page")),
        ["1/s", "--server", "a.example", "--total"],
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_told_in_one_line_and_changes_nothing(rate, job, arguments):
    rate("40/min")
    before = (job / "rates.json").read_bytes()
    status, out, err = rate(*arguments)
    assert (status, out) == (2, [])
    assert err.startswith("andante: ")
    assert err.count("\n") == 1
    assert (job / "rates.json").read_bytes() == before


@pytest.mark.parametrize("command", [["rate"], ["status", "--speed"]])
def test_without_a_job(tmp_path, capsys, command):
    assert main([*command, str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("holds no job: there is no journal.sqlite in it\n")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_told_and_kept(rate, job):
    (job / "rates.json").write_text("{")
    status, out, err = rate("40/min")
    assert (status, out) == (2, [])
    assert "rates.json does not hold rates" in err
    assert (job / "rates.json").read_text() == "{"


def test_the_time_series_is_csv(job, capsys):
    sample = Sample(
        time=1.5,
        server="http://a.example",
        rate=38.0,
        set_point=40.0,
        ceiling=inf,
        delay=1.0,
        limit=2,
        in_flight=1,
        latency=0.25,
        reason="robots",
        requests=6,
    )
    assert main(["status", "--speed", str(job)]) == 0
    header = "time,server,rate,set_point,ceiling,delay,limit,in_flight,latency,reason,requests"
    assert capsys.readouterr().out.splitlines() == [header]
    with closing(Journal(job / "journal.sqlite")) as journal:
        journal.commit(Batch(samples=[sample]))
        journal.commit(Batch(samples=[sample]))
    assert main(["status", "--speed", str(job)]) == 0
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))
    row = ["1.5", "http://a.example", "38.0", "40.0", "inf", "1.0", "2", "1", "0.25", "robots", "6"]
    assert rows == [header.split(","), row, row]
