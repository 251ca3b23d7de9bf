"""The objects of the story, as the API would serve them."""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from demo.expectations import (
    BASE_PAGE,
    CANARY_PAGE,
    CANARY_SUBSETS,
    DEPLOYMENT,
    DESTINATION_RULE,
    HEADER_HTTP,
    MARK_OF_A_ROLLOUT,
    VIRTUAL_SERVICE,
    WEIGHTED_HTTP,
)
from demo.place import NAMESPACE
from demo.snapshot import Snapshot
from demo.world import (
    DEPLOYMENTS,
    DESTINATION_RULES,
    PODS,
    ROLLOUTS,
    SERVICES,
    VIRTUAL_SERVICES,
)
from localcluster.api import JsonObject
from localcluster.history import Change, Key, Kind

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "istio-canary"


def manifests(name: str) -> list[JsonObject]:
    """The documents of one file of the example."""
    return [doc for doc in yaml.safe_load_all((EXAMPLE / name).read_text()) if doc]


def applied() -> dict[str, JsonObject]:
    """The objects of app.yaml, by kind and name."""
    return {f"{doc['kind']} {doc['metadata']['name']}": doc for doc in manifests("app.yaml")}


def pod(
    name: str,
    page: str,
    version: str,
    *,
    ready: bool = True,
    leaving: bool = False,
    batch: str = "",
) -> JsonObject:
    """A pod of the application."""
    metadata: JsonObject = {
        "name": name,
        "uid": f"uid of {name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "nginx", "version": version},
    }
    if batch:
        metadata["labels"]["rollouts.kruise.io/rollout-batch-id"] = batch
    if leaving:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:01Z"
    conditions = [{"type": "Ready", "status": str(ready)}]
    spec = {"volumes": [{"name": "html-volume", "configMap": {"name": page}}]}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}


OLD = pod("old", BASE_PAGE, "base")
NEW = pod("new", CANARY_PAGE, "canary", batch="1")
UPGRADED = pod("upgraded", CANARY_PAGE, "base")


def rollout(step: int = 0, state: str = "", phase: str = "Progressing") -> JsonObject:
    """The Rollout with a status."""
    canary = {"currentStepIndex": step, "currentStepState": state}
    status: JsonObject = {"phase": phase, "observedGeneration": 1, "canaryStatus": canary}
    return {"metadata": {"name": "rollouts-demo", "generation": 1}, "status": status}


def before() -> Snapshot:
    """The application as it was applied."""
    return Snapshot(applied(), (OLD,), ("nginx-deployment",), ("nginx-service",))


def under_a_rollout() -> Snapshot:
    """The same, with a Rollout."""
    seen = before()
    seen.objects[DEPLOYMENT]["metadata"]["labels"] = MARK_OF_A_ROLLOUT
    return seen


def at_step(http: list[Any]) -> Snapshot:
    """A step as it should be."""
    seen = under_a_rollout()
    seen.objects[VIRTUAL_SERVICE]["spec"]["http"] = http
    seen.objects[DESTINATION_RULE]["spec"]["subsets"] = CANARY_SUBSETS
    both = ("nginx-deployment", "nginx-deployment-xxxxx")
    return Snapshot(seen.objects, (OLD, NEW), both, seen.services)


def at_step_one() -> Snapshot:
    """Step 1 as it should be."""
    return at_step(WEIGHTED_HTTP)


def at_step_two() -> Snapshot:
    """Step 2 as it should be."""
    return at_step(HEADER_HTTP)


def at_the_end() -> Snapshot:
    """The end as it should be."""
    seen = under_a_rollout()
    [changed] = manifests("change.yaml")
    seen.objects[DEPLOYMENT]["spec"] = changed["spec"]
    return Snapshot(seen.objects, (UPGRADED,), seen.deployments, seen.services)


def history(steps: Iterable[tuple[Kind, JsonObject, str]]) -> list[Change]:
    """A recording, one revision after the other."""
    numbers = itertools.count(1)
    return [
        Change(next(numbers), kind_of_change, _key(kind, body), body)
        for kind, body, kind_of_change in steps
    ]


def virtual_service(http: list[Any]) -> tuple[Kind, JsonObject, str]:
    """A revision of the VirtualService."""
    return VIRTUAL_SERVICES, {"metadata": {"name": "nginx-vs"}, "spec": {"http": http}}, "MODIFIED"


def destination_rule(subsets: list[Any]) -> tuple[Kind, JsonObject, str]:
    """A revision of the DestinationRule."""
    body = {"metadata": {"name": "nginx-dr"}, "spec": {"subsets": subsets}}
    return DESTINATION_RULES, body, "MODIFIED"


def of_pod(body: JsonObject, change: str = "MODIFIED") -> tuple[Kind, JsonObject, str]:
    """A revision of a pod."""
    return PODS, body, change


def of_service() -> tuple[Kind, JsonObject, str]:
    """The Service, as it is made."""
    return SERVICES, applied()["Service nginx-service"], "ADDED"


def of_rollout(body: JsonObject) -> tuple[Kind, JsonObject, str]:
    """A revision of the Rollout."""
    return ROLLOUTS, body, "MODIFIED"


def of_deployment(name: str, change: str) -> tuple[Kind, JsonObject, str]:
    """A Deployment that comes or goes."""
    return DEPLOYMENTS, {"metadata": {"name": name}}, change


def state_of(changes: Iterable[Change]) -> dict[Key, JsonObject]:
    """The state that a history leads to."""
    return {change.key: change.object for change in changes}


def _key(kind: Kind, body: JsonObject) -> Key:
    return Key(kind, NAMESPACE, body["metadata"]["name"])
