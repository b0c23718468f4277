import json
import sys
import tomllib

import pytest

from andante.cli import main
from andante.sim.checks import Verdict
from andante.sim.scenario import load
from support.demo import EXAMPLES

SMALL = """
seed = 3
[web]
servers = 5
pages = 60
size = "2kB"
[servers]
rtt = "20ms"
bandwidth = "1MB/s"
errors = 0.05
[machine]
cpu_per_page = "1ms"
[crawl]
rate = "2/s"
retries = 0
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_it_says_how_long_the_crawl_takes(small, capsys):
    assert main(["simulate", str(small)]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("Simulating 60 pages on 5 servers, seed 3 ...\n")
    lines = {line[:17].strip(): line[17:].strip() for line in printed.out.splitlines()}
    assert lines["virtual time"]
    assert " of 60, " in lines["pages"]
    assert lines["other status"].startswith("500 ")
    assert lines["50% of the pages"].startswith("after ")
    assert lines["done last"].startswith("http://s")


def test_json_is_the_same_for_the_same_seed(small, capsys):
    def run(*flags):
        assert main(["simulate", str(small), "--json", *flags]) == 0
        return json.loads(capsys.readouterr().out)

    found = run()
    assert found == run() == run("--seed", "3") != run("--seed", "4")
    assert found["seed"] == 3
    # What only pages that answered 500 link to is not found.
    assert 50 < found["pages"] + sum(found["other"].values()) <= 60
    assert found["after"]["50%"] <= found["after"]["80%"] <= found["after"]["95%"]
    assert found["after"]["95%"] <= found["seconds"]
    assert found["processor_seconds"] == pytest.approx(found["requests"] * 0.001)
    assert len(found["slowest"]) == 5
    ends = [server["seconds"] for server in found["slowest"]]
    assert ends == sorted(ends, reverse=True)


def test_the_example_loads_and_units_are_read():
    scenario = load(EXAMPLES / "simulate.toml")
    assert scenario.web.size == 14_000
    assert scenario.servers.rtt == 0.05
    assert scenario.servers.bandwidth == 2_000_000
    assert scenario.machine.cpu_per_page == 0.0005
    assert scenario.crawl.rate == 60
    assert scenario.crawl.scope == "any"


def test_an_empty_file_is_the_default_web(tmp_path):
    path = tmp_path / "empty.toml"
    path.write_text("")
    scenario = load(path)
    assert (scenario.web.servers, scenario.web.pages, scenario.seed) == (500, 30_000, 1)
    assert load(path, seed=9).seed == 9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[web", "is not TOML"),
        ("sead = 1", "sead: there is no such key; did you mean 'seed'?"),
        ("seed = 1.5", "seed: 1.5 is not a whole number"),
        ("web = 3", "web: a table is wanted: [web], and its keys below"),
        ("[wep]\npages = 1", "wep: there is no such key; did you mean 'web'?"),
        ("[web]\npage = 9", "web.page: there is no such key; did you mean 'pages'?"),
        ("[web]\npages = 100", "web.pages: 100 are too few: each of the 500 servers has at least one"),
        ("[web]\npages = -1", "web.pages: -1 is out of range: it must be at least 1"),
        ("[web]\npages = 1.5", "web.pages: 1.5 is not a whole number"),
        ('[web]\npages = "many"', "web.pages: 'many' is not a whole number"),
        ("[web]\nlocality = 1.5", "web.locality: 1.5 is out of range: it must be from 0 to 1"),
        ("[web]\nlocality = nan", "web.locality: nan is out of range: it must be from 0 to 1"),
        ("[web]\nlinks = inf", "web.links: inf is out of range: it must be from 0 to 1000"),
        ("[web]\npopularity = 1.0", "web.popularity: 1 is out of range: it must be from 0 and below 1"),
        ("[web]\nseeds = 501", "web.seeds: 501 are too many: each is on a server of its own, of 500"),
        ("[web]\nquality = 'best'", "web.quality: 'best' is not one of pagerank, zipf"),
        ("[web]\nsize = '14 pounds'", "web.size: '14 pounds' is not a size such as 500kB, 64MiB or 1GB"),
        ("[web]\ntarpits = 1", "web.tarpits: they never end: give crawl.max_pages or crawl.max_time, too"),
        ("[servers]\nrtt = '-5ms'", "servers.rtt: '-5ms' is not a duration such as 500ms, 10s, 10m, 2h or 1d"),
        ("[servers]\nrtt = 0", "servers.rtt: 0 is out of range: it must be above 0"),
        ("[servers]\nworkers = 0", "servers.workers: 0 is out of range: it must be at least 1"),
        ("[servers]\nworkers = true", "servers.workers: True is not a whole number"),
        ("[servers]\nerrors = -0.1", "servers.errors: -0.1 is out of range: it must be from 0 to 1"),
        (
            "[servers]\nerrors = 0.6\nresets = 0.6",
            "servers.errors: together with resets and silences it makes 1.2: shares of one whole must not be more than 1",
        ),
        (
            "[servers]\none_request = 0.5",
            "servers.one_request: together with hundred_requests it makes 1.16: shares of one whole must not be more than 1",
        ),
        ("[servers]\nbandwidth = '2MB'", "servers.bandwidth: '2MB' is not a speed such as 500kB/s or 2MB/s, or max"),
        ("[servers]\nretry_after = 'yes'", "servers.retry_after: 'yes' is not true or false"),
        ("[servers]\nmeter_requests = 0", "servers.meter_requests: 0 is out of range: it must be at least 1"),
        ("[machine]\ndownlink = 0", "machine.downlink: 0 is out of range: it must be above 0"),
        ("[machine]\ncpu_per_page = '3 hours'", "machine.cpu_per_page: '3 hours' is not a duration such as 500ms, 10s, 10m, 2h or 1d"),
        ("[crawl]\nrates = '1/s'", "crawl.unknown setting 'rates'; did you mean 'rate'?"),
        ("[crawl]\nrate = 'quick'", "crawl.rate: 'quick' is not a rate: write a number above 0 such as 40/min, 2/s or 100/h, or max"),
        ("[crawl]\npolicy = 'capabilty'", "crawl.policy: unknown policy 'capabilty'; did you mean capability?"),
        ("[crawl]\nquality = 'depth'", "crawl.quality: it is of no use with the policy breadth-first"),
        ("[crawl]\npolicy = 'quality'\nquality = 'file:/none'", "crawl.quality: cannot read /none: No such file or directory"),
        ('"a\\nb" = 1', "'a\\nb': there is no such key"),
        ("seed = " + 5_000 * "9", " is not TOML: Exceeds the limit"),
        ("[crawl]\nconnections = 0", "crawl.connections: 0 is below 1"),
        ("[crawl]\njob = 'x'", "crawl.job: a simulation has no use for it: leave it out"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(tmp_path, capsys, text, said):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    assert main(["simulate", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(f"andante: {path}")


def test_a_quality_of_the_users_own(tmp_path, capsys, monkeypatch):
    (tmp_path / "ours_in_simulation.py").write_text("def worth(link):\n    return -1\n")
    path = tmp_path / "own.toml"
    path.write_text(SMALL + "policy = 'quality'\nquality = 'ours_in_simulation:worth'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", sys.path.copy())
    assert main(["simulate", str(path)]) == 0
    assert "andante: quality ours_in_simulation:worth returned -1 for" in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["performance", "capability"])
def test_servers_that_take_no_time(tmp_path, capsys, policy):
    path = tmp_path / "none.toml"
    path.write_text(
        f"""
        [web]
        servers = 5
        pages = 50
        size = 0
        [servers]
        rtt = 1e-300
        connect_rounds = 0
        service_time = 0
        [crawl]
        rate = "max"
        policy = "{policy}"
        """
    )
    assert main(["simulate", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pages"] > 0


def test_a_file_that_is_not_there(tmp_path, capsys):
    assert main(["simulate", str(tmp_path / "none.toml")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_the_example_says_what_it_shows():
    """Each key of the example is one of the file's."""
    tables = tomllib.loads((EXAMPLES / "simulate.toml").read_text())
    assert set(tables) == {"seed", "web", "servers", "machine", "crawl"}


def test_a_cluster_is_tried_and_told(capsys):
    assert main(["simulate", "--cluster", "--seed", "30", "--seeds", "2", "--nodes", "2"]) == 0
    printed = capsys.readouterr().out
    assert "seed 30: 2 nodes " in printed
    assert (
        printed.count(
            "  right: one node a server and IP address, pauses and rates kept, nothing lost, "
        )
        == 2
    )
    assert printed.endswith("2 seeds, none failed\n")


def test_a_broken_rule_ends_with_1_and_says_how_to_have_it_again(capsys, tmp_path, monkeypatch):
    here, temporary, traces = (tmp_path / name for name in ("here", "temporary", "traces"))
    for directory in (here, temporary, traces):
        directory.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr("andante.sim.trial.check", lambda *_, **__: Verdict(["one is lost"]))
    assert main(["simulate", "--cluster", "--seed", "30", "--nodes", "2"]) == 1
    printed = capsys.readouterr().out
    assert "  WRONG: one is lost\n" in printed
    assert "again: andante simulate --cluster --seed 30 --nodes 2\n" in printed
    (file,) = temporary.iterdir()
    assert file.match("andante-cluster-30-*.trace")
    assert f"  all that happened is in {file}; to have it again: " in printed
    assert file.read_text().startswith("0.000000 a.1 starts")
    again = ["simulate", "--cluster", "--seed", "30", "--nodes", "2", "--traces"]
    assert main([*again, str(traces)]) == 1
    assert f" {next(traces.iterdir())};" in capsys.readouterr().out
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cluster", "--seeds", "0"], "--seeds: 0 is not 1 or more"),
        (["--cluster", "--nodes", "27"], "--nodes: 27 is not 1 to 26"),
        (["--cluster", "some.toml"], "FILE: --cluster makes its own webs: leave it out"),
        (["--cluster", "--traces", "none"], "--traces: none is not a directory"),
        (["--cluster", "--json"], "--json: it is of no use with --cluster"),
        (
            ["some.toml", "--nodes", "3"],
            "--nodes, --seeds and --traces are of use with --cluster only",
        ),
        ([], "give a FILE that says what is crawled, or --cluster"),
    ],
)
def test_what_a_cluster_cannot_be_tried_with_is_said_in_one_line(arguments, message, capsys):
    assert main(["simulate", *arguments]) == 2
    assert capsys.readouterr().err == f"andante: {message}\n"
