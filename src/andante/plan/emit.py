"""A plan for an orchestrator: manifests for Kubernetes, and a Compose file.

Names of nodes are those of the plan: pod ``small-1`` is the node ``small-1``, so the owners of servers hold from the first start.
"""

from __future__ import annotations

from typing import Any

import msgspec

from andante.plan.model import CPU, NOTHING, NodeType, Plan, Resources
from andante.plan.report import owners

_LABEL = "app.kubernetes.io/name"
_CONFIG = "/etc/andante"
_DATA = "/data"

CONFIG_MAX = 2**20 - 2**10
"""Bytes of the seeds, owners and settings of a plan, at most: a mebibyte, the limit of Kubernetes, less what is around them."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan does not say."""

    image: str
    redis: str
    """URL."""
    zookeeper: str
    """Host and port; empty: without."""


def kubernetes(plan: Plan, setting: Setting) -> list[dict[str, Any]]:
    """Return manifests: a ConfigMap, and for each type of nodes in use a headless Service and a StatefulSet (Kubernetes 1.27 or later).

    Raises:
        ValueError: seeds and owners are larger than a ConfigMap may be.
    """
    found = [_config_map(plan, setting)]
    size = sum(len(text.encode()) for text in found[0]["data"].values())
    if size > CONFIG_MAX:
        raise ValueError(
            f"seeds and owners are {size:,} bytes, and a ConfigMap holds {CONFIG_MAX:,}: take --owners FILE, and give the nodes that file and the seeds on a volume"
        )
    for at, kind in enumerate(plan.problem.nodes):
        if plan.used[at]:
            found += [_service(kind.name), _stateful_set(plan, at, setting)]
    return found


def compose(plan: Plan, setting: Setting) -> dict[str, Any]:
    """Return a Compose file: a service and a volume for each node in use."""
    services = {}
    for node in plan.nodes:
        name = plan.name(node)
        kind = plan.problem.nodes[node.kind]
        services[name] = {
            "image": setting.image,
            "command": _command(name, kind, setting),
            "configs": [
                {"source": "crawl", "target": f"{_CONFIG}/crawl.toml"},
                {"source": "owners", "target": f"{_CONFIG}/owners.json"},
            ],
            "volumes": [f"{name}:{_DATA}"],
            "restart": "on-failure",
            "deploy": {
                "resources": {
                    "limits": _compose_resources(_whole(kind.size, kind)),
                    "reservations": _compose_resources(_whole(plan.load(node), kind)),
                }
            },
        }
    return {
        "services": services,
        "volumes": {plan.name(node): {} for node in plan.nodes},
        "configs": {
            "crawl": {"content": _escaped(_seeds(plan))},
            "owners": {"content": _escaped(_owners(plan))},
        },
    }


def _whole(found: Resources, kind: NodeType) -> Resources:
    """Return resources with what the processes of a node take."""
    return found._replace(memory=found.memory + kind.taken)


def _escaped(text: str) -> str:
    """Return a text in which Compose finds no variables."""
    return text.replace("$", "$$")


def _compose_resources(found: Resources) -> dict[str, str]:
    return {
        "cpus": f"{max(found.cpu, 1000) / CPU:.6g}",
        "memory": f"{max(found.memory, 6 * 2**20)}b",
    }


def _command(name: str, kind: NodeType, setting: Setting) -> list[str]:
    """Return the arguments of a node's crawl: a process for each of its processors."""
    processes = -(-kind.size.cpu // CPU)
    return [
        "crawl",
        "--job",
        f"{_DATA}/job",
        "--config",
        f"{_CONFIG}/crawl.toml",
        "--cluster",
        setting.redis,
        *(["--zookeeper", setting.zookeeper] if setting.zookeeper else []),
        "--owners",
        f"{_CONFIG}/owners.json",
        *(["--workers", str(processes)] if processes > 1 else []),
        "--node",
        name,
    ]


def _seeds(plan: Plan) -> str:
    servers = dict.fromkeys(server for task in plan.problem.tasks for server in task.servers)
    quoted = [f"    {msgspec.json.encode(f'{server}/').decode()},\n" for server in servers]
    return f"seeds = [\n{''.join(quoted)}]\n"


def _owners(plan: Plan) -> str:
    return msgspec.json.format(msgspec.json.encode(owners(plan)), indent=2).decode() + "\n"


# Kubernetes


def _config_map(plan: Plan, setting: Setting) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "andante", "labels": {_LABEL: "andante"}},
        "data": {
            "ANDANTE_REDIS": setting.redis,
            "ANDANTE_ZOOKEEPER": setting.zookeeper,
            "crawl.toml": _seeds(plan),
            "owners.json": _owners(plan),
        },
    }


def _service(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"andante-{name}", "labels": {_LABEL: "andante"}},
        "spec": {"clusterIP": "None", "selector": _selector(name)},
    }


def _selector(name: str) -> dict[str, str]:
    return {_LABEL: "andante", "andante.node-type": name}


def _stateful_set(plan: Plan, at: int, setting: Setting) -> dict[str, Any]:
    kind = plan.problem.nodes[at]
    most = NOTHING  # what the fullest of its nodes needs, resource by resource
    for node in plan.nodes:
        if node.kind == at:
            most = Resources(*map(max, most, plan.load(node)))
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": kind.name, "labels": _selector(kind.name)},
        "spec": {
            "replicas": plan.used[at],
            "ordinals": {"start": 1},
            "serviceName": f"andante-{kind.name}",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": _selector(kind.name)},
            "template": {
                "metadata": {
                    "labels": _selector(kind.name),
                    "annotations": {
                        "kubernetes.io/ingress-bandwidth": str(kind.size.bandwidth),
                    },
                },
                "spec": {
                    "containers": [
                        _container(
                            kind,
                            setting,
                            requests=_whole(most, kind),
                            limits=_whole(kind.size, kind),
                        )
                    ],
                    "volumes": [{"name": "config", "configMap": {"name": "andante"}}],
                },
            },
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "data"},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "20Gi"}},
                    },
                }
            ],
        },
    }


def _container(
    kind: NodeType, setting: Setting, *, requests: Resources, limits: Resources
) -> dict[str, Any]:
    asked = Setting(
        image=setting.image,
        redis="$(ANDANTE_REDIS)",
        zookeeper="$(ANDANTE_ZOOKEEPER)" if setting.zookeeper else "",
    )
    return {
        "name": "andante",
        "image": setting.image,
        "args": _command("$(ANDANTE_NODE)", kind, asked),
        "env": [
            {"name": "ANDANTE_NODE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            _from_config("ANDANTE_REDIS"),
            _from_config("ANDANTE_ZOOKEEPER"),
        ],
        "resources": {"requests": _quantities(requests), "limits": _quantities(limits)},
        "volumeMounts": [
            {"name": "config", "mountPath": _CONFIG, "readOnly": True},
            {"name": "data", "mountPath": _DATA},
        ],
    }


def _from_config(key: str) -> dict[str, Any]:
    return {"name": key, "valueFrom": {"configMapKeyRef": {"name": "andante", "key": key}}}


def _quantities(found: Resources) -> dict[str, str]:
    return {"cpu": f"{-(-found.cpu // 1000)}m", "memory": str(found.memory)}
