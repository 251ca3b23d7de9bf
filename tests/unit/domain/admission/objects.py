"""Builders of the objects that admission judges."""

import copy

import msgspec

from controller.api.jsontree import JsonObject, canonical, child
from controller.api.meta import ObjectMeta
from controller.api.names import POD_TEMPLATE_HASH, WORKLOAD_TYPE
from controller.api.rollout import (
    CanaryStrategy,
    Rollout,
    RolloutSpec,
    RolloutStatus,
    Step,
    Strategy,
    TrafficRoutingRef,
    WorkloadRef,
)
from controller.api.workloads import ReplicaSet, ReplicaSetSpec


def template(image: str) -> JsonObject:
    """A pod template."""
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": image}]},
    }


def deployment(image: str = "v1", **spec: object) -> JsonObject:
    """A Deployment under a Rollout, as the API server defaults it."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "u-1",
            "generation": 3,
            "labels": {WORKLOAD_TYPE: "deployment"},
        },
        "spec": {
            "replicas": 10,
            "progressDeadlineSeconds": 600,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            },
            "template": template(image),
            **spec,
        },
    }


def with_image(obj: JsonObject, image: str) -> JsonObject:
    """The same Deployment with another image."""
    copied = copy.deepcopy(obj)
    child(copied, "spec")["template"] = template(image)
    return copied


def replica_set(image: str, revision: int, replicas: int = 10) -> ReplicaSet:
    """A ReplicaSet of the Deployment; its hash label is `h` and the revision."""
    pods = copy.deepcopy(template(image))
    child(pods, "metadata", "labels")[POD_TEMPLATE_HASH] = f"h{revision}"
    return ReplicaSet(
        metadata=ObjectMeta(
            name=f"web-h{revision}",
            labels={POD_TEMPLATE_HASH: f"h{revision}"},
            annotations={"deployment.kubernetes.io/revision": str(revision)},
        ),
        spec=ReplicaSetSpec(replicas=replicas, template=msgspec.Raw(canonical(pods))),
    )


def rollout(phase: str = "Healthy", *, disabled: bool = False, name: str = "r") -> Rollout:
    """A Rollout of the Deployment."""
    return Rollout(
        metadata=ObjectMeta(name=name, namespace="shop"),
        spec=RolloutSpec(
            workload_ref=WorkloadRef("apps/v1", "Deployment", "web"),
            disabled=disabled,
            strategy=Strategy(
                canary=CanaryStrategy(
                    steps=(Step(replicas=1),),
                    traffic_routings=(TrafficRoutingRef(service="web"),),
                )
            ),
        ),
        status=RolloutStatus(phase=phase),
    )
