"""The objects a bench puts into the cluster: an application, its VirtualService, its Rollout.

Why it exists: every measurement uses the same workload, so that the figures can be compared. Invariant:
five steps; canary style goes to 20, 40 … 100 % of 5 replicas, partition style to 10, 20 … 50 % of 10, which is as far
as percentages with traffic may go there; the grace period is one second. It must do no I/O.
"""

from enum import StrEnum

from localcluster.api import JsonObject

STEPS = 5
GRACE_SECONDS = 1
ROLLOUTS = "/apis/rollouts.kruise.io/v1beta1"
DEPLOYMENTS = "/apis/apps/v1"
VIRTUAL_SERVICES = "/apis/networking.istio.io/v1"
CORE = "/api/v1"


class Style(StrEnum):
    """How pods of the new revision are made."""

    CANARY = "canary"
    PARTITION = "partition"


REPLICAS = {Style.CANARY: 5, Style.PARTITION: 10}
SHARE = {Style.CANARY: 20, Style.PARTITION: 10}
"""Percent that each step adds."""


def application_name(number: int) -> str:
    """All names have the same length, so that no name is the beginning of another."""
    return f"app-{number:04}"


def canary_service(name: str) -> str:
    """The Service of the new revision."""
    return f"{name}-canary"


def deployment(name: str, replicas: int) -> JsonObject:
    """The workload."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"version": "v1"}},
                "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}]},
            },
        },
    }


NEW_TEMPLATE: JsonObject = {"spec": {"template": {"metadata": {"annotations": {"version": "v2"}}}}}
"""A merge patch of a Deployment that begins a release."""


def service(name: str) -> JsonObject:
    """The stable Service."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 80}]},
    }


def virtual_service(name: str) -> JsonObject:
    """One route, to the stable Service."""
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": {"name": name},
        "spec": {
            "hosts": [f"{name}.example.com"],
            "http": [{"route": [{"destination": {"host": name}}]}],
        },
    }


def rollout(name: str, style: Style, *, approvals: bool, script: str = "") -> JsonObject:
    """Five steps that go on by themselves, or each after an approval."""
    reference = {
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "name": name,
    }
    canary = {
        "enableExtraWorkloadForCanary": style is Style.CANARY,
        "steps": [_step(style, number, approvals) for number in range(1, STEPS + 1)],
        "trafficRoutings": [
            {
                "service": name,
                "gracePeriodSeconds": GRACE_SECONDS,
                "customNetworkRefs": [reference | ({"script": script} if script else {})],
            }
        ],
    }
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": name},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "strategy": {"canary": canary},
        },
    }


def _step(style: Style, number: int, approvals: bool) -> JsonObject:
    percent = f"{SHARE[style] * number}%"
    return {
        "replicas": percent,
        "traffic": percent,
        "pause": {} if approvals else {"duration": 0},
    }
