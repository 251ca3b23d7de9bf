"""No copy has a mark by which a tool would claim it, and delete it because its source does not contain it."""

import json
from typing import Any

import pytest

from controller.api.meta import Key
from controller.domain.decision import EnsureCanaryService, Reference
from controller.domain.traffic.companions.canary_service import canary_service_body
from controller.domain.traffic.companions.claims_of_tools import inherited
from controller.domain.traffic.validation.ingress import canary_ingress
from tests.unit.builders import KEY, make_deployment, make_rollout, make_world, release

CLAIMS = (
    "app.kubernetes.io/instance",
    "addonmanager.kubernetes.io/mode",
    "applyset.kubernetes.io/part-of",
    "argocd.argoproj.io/tracking-id",
    "config.k8s.io/owning-inventory",
    "configmanagement.gke.io/managed",
    "configsync.gke.io/declared-version",
    "helm.toolkit.fluxcd.io/name",
    "hnc.x-k8s.io/inherited-from",
    "internal.config.kubernetes.io/index",
    "kapp.k14s.io/app",
    "kubectl.kubernetes.io/last-applied-configuration",
    "kustomize.toolkit.fluxcd.io/namespace",
    "meta.helm.sh/release-name",
    "objectset.rio.cattle.io/hash",
    "work.karmada.io/name",
)
SELECTED = {"app": "web", "team": "shop", "app.kubernetes.io/name": "web"}
"""Labels by which a ServiceMonitor or a person may select both."""
INGRESS: Any = {
    "rules": [{"http": {"paths": [{"backend": {"service": {"name": "web"}}, "path": "/"}]}}]
}


def _of_service(marks: dict[str, str]) -> Any:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    metadata = {"name": "web", "namespace": "demo", "labels": marks, "annotations": marks}
    wish = EnsureCanaryService(
        stable=Key("demo", "web"),
        name="web-canary",
        label="pod-template-hash",
        revision="new",
        rollout_uid="uid",
    )
    made = canary_service_body(wish, json.dumps({"metadata": metadata, "spec": spec}).encode())
    assert isinstance(made, bytes)
    return json.loads(made)["metadata"]


def _of_ingress(marks: dict[str, str]) -> Any:
    reference = Reference("networking.k8s.io/v1", "Ingress", "web", "web", "web-canary", "nginx")
    content: Any = {"spec": INGRESS, "labels": marks, "annotations": marks}
    made: Any = canary_ingress(content, reference, "demo")
    return made["metadata"]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("copy", [_of_service, _of_ingress])
def test_no_tool_claims_a_copy(copy: Any, claim: str) -> None:
    metadata = copy({**SELECTED, claim: "shop"})
    assert metadata["labels"] == SELECTED
    assert claim not in metadata["annotations"]


def test_what_is_made_for_an_owner_has_its_labels_but_none_of_one_object() -> None:
    of_one = {
        "app.kubernetes.io/instance": "shop",
        "app.kubernetes.io/managed-by": "Helm",
        "kustomize.toolkit.fluxcd.io/name": "shop",
        "rollouts.kruise.io/workload-type": "deployment",
        "moonshift.dev/rollout-uid": "u",
    }
    assert inherited({"team": "shop", "app": "web", **of_one}) == {"team": "shop", "app": "web"}


def test_the_extra_deployment_inherits_the_labels_of_its_workload() -> None:
    labels = {"team": "shop", "argocd.argoproj.io/instance": "shop"}
    world = make_world(make_rollout(style="canary"), make_deployment(labels=labels))
    release(world)
    world.rest()
    extra = next(one for one in world.cluster.deployments if one.metadata.key != KEY)
    assert extra.metadata.labels["team"] == "shop"
    assert not labels.keys() - {"team"} & extra.metadata.labels.keys()
