"""What is emitted is checked against the schemas of Kubernetes and of Compose, and read by a YAML parser that is not ours."""

import json
import tomllib

import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose

from andante.plan.emit import Setting, compose, kubernetes
from andante.plan.model import CPU, Problem, Resources, Task
from andante.plan.yaml import dump
from support.planning import node, planned

SETTING = Setting(image="registry.example/andante:1", redis="redis://r:6379/0", zookeeper="z:2181")
NAMES = ["a.example", 'q"uo$te', "c"]


@pytest.fixture(scope="module")
def plan():
    tasks = tuple(
        Task(
            name=name,
            need=Resources(CPU, 2**30, 10**7),
            copies=2,
            servers=(f"https://{at}.example",),
        )
        for at, name in enumerate(NAMES)
    )
    nodes = (
        node("small", 2, (2 * CPU, 4 * 2**30, 10**8), "1 2 5"),
        node("large", 3, (4 * CPU, 8 * 2**30, 10**9), "3 4 12"),
    )
    found = planned(Problem(nodes=nodes, tasks=tasks), (2, 0))
    assert all(found.used)
    return found


def test_manifests_follow_the_schemas(plan):
    text = "---\n".join(map(dump, kubernetes(plan, SETTING)))
    found = list(yaml.safe_load_all(text))
    assert found == kubernetes(plan, SETTING)
    for each in found:
        assert kubernetes_validate.validate(each, "1.33", strict=True)
    assert [each["kind"] for each in found] == [
        "ConfigMap",
        *["Service", "StatefulSet"] * 2,
    ]


def test_pods_are_called_as_the_nodes(plan):
    for each in kubernetes(plan, SETTING):
        if each["kind"] == "StatefulSet":
            spec = each["spec"]
            first = spec["ordinals"]["start"]
            pods = {
                f"{each['metadata']['name']}-{at}" for at in range(first, first + spec["replicas"])
            }
            assert pods <= {plan.name(node) for node in plan.nodes}
            (container,) = spec["template"]["spec"]["containers"]
            assert container["resources"]["limits"].keys() == {"cpu", "memory"}
            assert container["args"][-2:] == ["--node", "$(ANDANTE_NODE)"]


def test_settings_and_owners_are_in_the_config_map(plan):
    data = kubernetes(plan, SETTING)[0]["data"]
    assert data["ANDANTE_REDIS"] == "redis://r:6379/0"
    assert data["ANDANTE_ZOOKEEPER"] == "z:2181"
    assert tomllib.loads(data["crawl.toml"])["seeds"] == [
        f"https://{at}.example/" for at in range(3)
    ]
    owned = json.loads(data["owners.json"])
    assert owned.keys() == {plan.name(node) for node in plan.nodes}
    assert {server for each in owned.values() for server in each} == {
        f"https://{at}.example" for at in range(3)
    }


def test_the_compose_file_follows_the_specification(plan):
    text = dump(compose(plan, SETTING))
    found = yaml.safe_load(text)
    assert found == compose(plan, SETTING)
    spec = PyCompose.from_yaml(text).to_spec()
    assert set(spec.services) == {plan.name(node) for node in plan.nodes}
    for name, service in found["services"].items():
        assert service["command"][-2:] == ["--node", name]
        limits = service["deploy"]["resources"]["limits"]
        assert float(limits["cpus"]) in (2, 4)


def test_a_node_runs_a_process_for_each_of_its_processors(plan):
    for name, service in compose(plan, SETTING)["services"].items():
        at = service["command"].index("--workers")
        assert service["command"][at + 1] == ("2" if name.startswith("small") else "4")
    one = planned(
        Problem(
            nodes=(node("n", 1, (CPU // 2, 2**30, 10**8)),),
            tasks=(Task(name="t", need=Resources(1, 1, 1)),),
        ),
        None,
    )
    assert list(compose(one, SETTING)["services"]) == ["n-1"]
    assert "--workers" not in str(compose(one, SETTING))


def test_a_config_map_has_a_limit(plan):
    servers = tuple(f"https://{number}.a-long-name.example" for number in range(20_000))
    task = Task(name="many", need=Resources(1, 1, 1), servers=servers)
    many = planned(Problem(nodes=plan.problem.nodes, tasks=(task,)), None)
    with pytest.raises(ValueError, match=r"a ConfigMap holds 1,047,552: take --owners FILE"):
        kubernetes(many, SETTING)


def test_without_zookeeper(plan):
    setting = Setting(image="andante", redis="redis://r", zookeeper="")
    assert "--zookeeper" not in str(compose(plan, setting))


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, True, None, "yes", "null", "1", "", "a b", "ä", "x: y", "#", "-", "~"]},
        {"empty": {}, "none": [], "deep": [[{"a": 1, "b": [2]}], []]},
        {"block": "a\n\n  b: c\n", "short": "a\nb", "tail": "a \nb\n", "lead": "\n a\n"},
        [{"on": "off"}, {"1.0": "0x1f", "n": "y"}],
        "text",
        [],
    ],
)
def test_yaml_is_read_as_it_was_meant(value):
    assert yaml.safe_load(dump(value)) == value
