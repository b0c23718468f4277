import json
import sys

import pytest
import yaml

from andante.cli import main
from andante.crawl.settings import Settings
from andante.extras import how_to_install
from andante.sim.machine import MachineTraits
from andante.sim.population import Population
from andante.sim.simulation import Simulation
from andante.sim.web import Web, WebTraits
from support.demo import EXAMPLES

NODE = """
[[node]]
name = "small"
count = 20
cpu = 2
memory = "4GiB"
bandwidth = "100Mbit/s"
reserve = 0.010
use = 0.020
extra = 0.050
"""
TASK = """
[[task]]
name = "docs"
cpu = 0.5
memory = "1GiB"
bandwidth = "20Mbit/s"
copies = 1
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "plan.toml"
        path.write_text(text)
        return str(path)

    return write


def tasks(count):
    return "".join(TASK.replace("docs", f"docs{at}") for at in range(count))


def planned(capsys, *arguments):
    assert main(["plan", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json(write, capsys):
    found = planned(capsys, write(NODE + tasks(6)), "--reserved", "1")
    assert found["lower_bound"] == pytest.approx(0.08)
    assert found.pop("lower_bound")
    assert sorted(each["task"] for each in found.pop("assignments")) == [
        f"docs{at}" for at in range(6)
    ]
    assert found == {
        "total_cost": 0.08,
        "reservation_cost": 0.01,
        "usage_cost": 0.02,
        "additional_cost": 0.05,
        "gap": 0.0,
        "waiting": [],
        "reserved": {"small": 1},
    }


def test_assignments_name_nodes_and_types(write, capsys):
    found = planned(capsys, write(NODE + TASK))
    assert found["assignments"] == [{"task": "docs", "node": "small-1", "node_type": "small"}]
    assert found["reserved"] == {"small": 1}
    assert found["total_cost"] == 0.03


def test_copies_and_what_waits(write, capsys):
    text = NODE.replace("count = 20", "count = 1") + TASK.replace("copies = 1", "copies = 6")
    found = planned(capsys, write(text))
    assert len(found["assignments"]) == 4
    assert found["waiting"] == [{"task": "docs", "reason": "no node has room for it"}] * 2
    assert main(["plan", write(text)]) == 0
    assert "docs   no node has room for it" in capsys.readouterr().out


def test_the_table(capsys):
    assert main(["plan", str(EXAMPLES / "plan.toml")]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "large-1  " in printed.out
    for line in ("reservation ", "usage ", "additional ", "total ", "at least "):
        assert f"\n{line}" in printed.out
    assert "% could be saved" in printed.out


LARGE = NODE.replace("small", "large").replace("count = 20", "count = 3")


@pytest.mark.parametrize(
    ("written", "held"),
    [
        (["0"], (0, 0)),
        (["21"], (20, 1)),
        (["small=2"], (2, 0)),
        (["small=2,large=1"], (2, 1)),
        (["small=2", "large = 3"], (2, 3)),
    ],
)
def test_reserved(write, capsys, written, held):
    flags = [part for each in written for part in ("--reserved", each)]
    found = planned(capsys, write(NODE + LARGE + TASK), *flags)
    assert tuple(found["reserved"].values()) == held


@pytest.mark.parametrize("method", ["matching", "best-fit-dominant", "first-fit-weighted"])
def test_methods(write, capsys, method):
    assert planned(capsys, write(NODE + tasks(6)), "--method", method)["total_cost"] == 0.06


def test_the_optimum(write, capsys):
    found = planned(capsys, write(NODE + tasks(9)), "--optimum", "10s")
    assert found["total_cost"] == pytest.approx(0.09)
    assert found["gap"] == 0


def test_the_optimum_without_scipy(write, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    assert main(["plan", write(NODE + TASK), "--optimum", "1s"]) == 2
    assert (
        capsys.readouterr().err
        == f"andante: --optimum: the optimum needs scipy; {how_to_install('plan')}\n"
    )


def test_hours(write, capsys):
    assert planned(capsys, write("hours = 10\n" + NODE + TASK))["total_cost"] == 0.3
    found = planned(capsys, write("hours = 10\n" + NODE + TASK), "--hours", "2")
    assert found["total_cost"] == 0.06


def test_demand(write, capsys):
    text = NODE + tasks(16) + "\n[demand]\nsamples = [0.5, 1, 1.5, 2, 2.5]\n"
    found = planned(capsys, write(text))
    assert [each["name"] for each in found["demand"]] == ["best", "mean", "maximum", "nothing"]
    # 4 nodes are needed at 1; the quantile is 1 - 0.010 / (0.050 - 0.020).
    assert found["demand"][0]["reserved"] == found["reserved"] == {"small": 8}
    assert main(["plan", write(text)]) == 0
    assert "best: enough reserved nodes in so many of the cases: small 67 %" in (
        capsys.readouterr().out
    )


def test_owners(write, capsys, tmp_path):
    path = tmp_path / "owners.json"
    text = NODE + TASK.replace('"docs"', '"docs.example.org"') + TASK
    text += 'servers = ["http://x.example:8080/", "y.example"]\n'
    assert main(["plan", write(text), "--owners", str(path)]) == 0
    assert json.loads(path.read_text()) == {
        "small-1": ["https://docs.example.org", "http://x.example:8080", "https://y.example"]
    }
    assert main(["plan", write(NODE + TASK), "--owners", str(path)]) == 2
    assert "task 'docs' names no servers" in capsys.readouterr().err


@pytest.mark.parametrize("format_", ["kubernetes", "compose"])
def test_emit(capsys, format_):
    assert main(["plan", str(EXAMPLES / "plan.toml"), "--emit", format_, "--image", "i:1"]) == 0
    found = list(yaml.safe_load_all(capsys.readouterr().out))
    assert "i:1" in str(found)
    assert "redis://redis:6379" in str(found)


def test_a_price_that_makes_reserving_senseless_is_said(write, capsys):
    assert main(["plan", write(NODE.replace("0.050", "0.025") + TASK)]) == 0
    assert capsys.readouterr().err == (
        "andante: node 'small': adding one costs less than reserving and using it, so none is worth reserving\n"
    )


def changed(old, new):
    assert old in NODE + TASK
    return (NODE + TASK).replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[node", "is not TOML"),
        (NODE, "there are no tasks: give at least one [[task]]"),
        (TASK, "there are no nodes: give at least one [[node]]"),
        (changed("count = 20", "count = 0"), "there are no nodes: every count is 0"),
        (changed("cpu = 0.5", "cpu = 3"), "task 'docs' is larger than any node: no type has all of its cpu, memory and bandwidth"),
        (changed("cpu = 0.5", "cpu = -1"), "task 'docs': cpu: -1 is out of range: it must be at least 0, and at most 1e+15"),
        (changed("cpu = 2", "cpu = 0"), "node 'small': cpu: 0 is out of range: it must be above 0, and at most 1e+15"),
        (changed("cpu = 2", "cpu = nan"), "node 'small': cpu: nan is out of range"),
        (changed("cpu = 2", "cpu = '2'"), "node 'small': cpu: '2' is not a number"),
        (changed("cpu = 2", "cpu = true"), "node 'small': cpu: True is not a number"),
        (changed("cpu = 2\n", ""), "node 'small': cpu is missing"),
        (changed("extra = 0.050", ""), "node 'small': extra is missing"),
        (changed("extra = 0.050", "extra = -1"), "node 'small': extra: -1 is out of range"),
        (changed("extra = 0.050", "extra = inf"), "node 'small': extra: inf is out of range"),
        (changed("count = 20", "count = 2.5"), "node 'small': count: 2.5 is not a whole number"),
        (changed("count = 20", "count = -2"), "node 'small': count: -2 is out of range"),
        (changed("4GiB", "4 gigs"), "node 'small': memory: '4 gigs' is not a size such as 500kB, 64MiB or 1GB"),
        (changed('"4GiB"', "4"), "node 'small': memory: 4 is not a size in quotes, such as '4GiB' or '500MB'"),
        (changed("100Mbit/s", "100Mbps"), "node 'small': bandwidth: '100Mbps' is not a bandwidth such as 100Mbit/s, 1Gbit/s or 12MB/s"),
        (changed('"small"', '"Small"'), "node 'Small': 'Small' is not a name"),
        (changed('name = "small"\n', ""), "node 1: name is missing"),
        (changed('"small"', "3"), "node 1: name: 3 is not a name"),
        (changed("copies = 1", "copies = 0"), "task 'docs': copies: 0 is below 1"),
        (changed("copies = 1", "copys = 1"), "task 'docs': copys: there is no such key; did you mean 'copies'?"),
        (changed("copies = 1", "servers = ['a/b']"), "task 'docs': 'a/b' is not a server: write its origin, as https://docs.example.org"),
        (NODE + TASK + TASK, "task 'docs': there are two of that name"),
        (NODE + NODE + TASK, "node 'small': there are two of that name"),
        ("nodes = 3\n" + NODE + TASK, "nodes: there is no such key; did you mean 'node'?"),
        ("node = 3\n" + TASK, "node: a list of tables is wanted: [[node]], and its keys below"),
        ("hours = 0\n" + NODE + TASK, "hours: 0 is out of range: it must be above 0, and at most 1e+15"),
        ("hours = '1h'\n" + NODE + TASK, "hours: '1h' is not a number"),
        (NODE + TASK + "[demand]\n", "demand: give samples, or mean and deviation"),
        (NODE + TASK + "[demand]\nsamples=[1]\nmean=2", "demand: give samples, or mean and deviation, not both"),
        (NODE + TASK + "[demand]\nsamples=[-1]", "demand: samples: -1 is out of range"),
        (NODE + TASK + "[demand]\nmean=1e-300\ndeviation=1", "demand: deviation: 1 is more than 1,000 times the mean"),
        ("a = " + 9999 * "[" + 9999 * "]", "is not TOML"),
        (changed('"docs"', '"\\u001b[2J"'), "task 1: name: '\\x1b[2J' is not a name"),
        (changed("cpu = 2", "cpu = 1e300"), "node 'small': cpu: 1e+300 is out of range: it must be above 0, and at most 1e+15"),
        (NODE + TASK + "[demand]\nsamples=['x']", "demand: samples: ['x'] is not a number"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(write, capsys, text, said):
    path = write(text)
    assert main(["plan", path]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(f"andante: {path}")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--reserved", "many"], "--reserved: 'many' is not a number of nodes: write a whole number, or best"),
        (["--reserved", "-1"], "--reserved: '-1' is not a number of nodes"),
        (["--reserved", "21"], "--reserved: 21 nodes cannot be reserved: there are 20"),
        (["--reserved", "small=21"], "--reserved: small=21: there are 20 such nodes"),
        (["--reserved", "big=1"], "--reserved: 'big=1' is no number of nodes of a type: write best, a number, or small=N; there are small"),
        (["--pages", "5"], "--pages: it is of use only with --from-job"),
    ],
)  # fmt: skip
def test_wrong_flags(write, capsys, flags, said):
    assert main(["plan", write(NODE + TASK), *flags]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    "flags", [["--hours", "0"], ["--hours", "x"], ["--pages", "-1"], ["--optimum", "soon"], ["--method", "x"], ["--emit", "x"]]
)  # fmt: skip
def test_flags_that_do_not_parse(write, capsys, flags):
    with pytest.raises(SystemExit) as exit_:
        main(["plan", write(NODE + TASK), *flags])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_nothing_to_plan(capsys):
    assert main(["plan"]) == 2
    assert "give a file of nodes and tasks, or --from-job DIR" in capsys.readouterr().err
    assert main(["plan", "--from-job", "none"]) == 2
    assert "none holds no job" in capsys.readouterr().err
    assert main(["plan", "none.toml"]) == 2
    assert "No such file" in capsys.readouterr().err


# From a job


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A crawl of ten servers at one page a second each: a page costs 2 ms of processor."""
    directory = tmp_path_factory.mktemp("plan") / "job"
    web = Web(WebTraits(servers=10, pages=400), Population().draw(10, seed=2, alive=1), seed=2)
    settings = Settings(scope="any", rate=60.0)
    machine = MachineTraits(cpu_per_page=0.002)
    Simulation(web, settings, store=directory, machine=machine).run()
    return str(directory)


def test_a_plan_from_a_job(job, write, capsys):
    found = planned(capsys, write(NODE), "--from-job", job, "--pages", "100000", "--hours", "48")
    told = found["forecast"]
    assert told["pages"] == 100_000
    assert told["hours"] == 48
    assert told["cpu_per_page"] == pytest.approx(0.002, rel=0.2)
    assert 5_000 < told["bytes_per_page"] < 50_000
    assert len(told["slowest"]) == 5
    assert told["slowest"][0]["hours"] == pytest.approx(told["polite_hours"])
    assert told["billion_pages"]["cost"] == pytest.approx(
        1e9 * told["cpu_per_page"] / 0.8 / 3600 * 0.015
    )
    assert not found["waiting"]
    assert len(found["assignments"]) >= 10


def test_when_no_number_of_nodes_helps(job, capsys):
    assert main(["plan", "--from-job", job, "--pages", "1000000", "--hours", "1"]) == 0
    lines = {line[:15].strip(): line[15:] for line in capsys.readouterr().out.splitlines()}
    assert "no number of nodes helps" in lines["politeness"]
    assert lines["limit"].strip() == "politeness: more nodes make it no quicker"
    assert " at 60/min, " in lines["done last"]
    assert "processor hours at 0.0944" in lines["a billion pages"]


def test_a_job_and_tasks_are_too_much(job, write, capsys):
    assert main(["plan", write(NODE + TASK), "--from-job", job]) == 2
    assert "it has tasks, and --from-job measures them" in capsys.readouterr().err
