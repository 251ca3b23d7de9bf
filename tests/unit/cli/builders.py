"""A release halfway, as small as a test needs it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from controller.api.networking import EndpointSlice, Service
from controller.api.rollout import Rollout
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Deployment, Pod, ReplicaSet, template_hash
from controller.domain.observation import Observation, RouteSeen, WorkloadSeen
from controller.domain.rollout.words.release_value import Release, as_stored

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
OLD, NEW = "old1", "new1"


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


STEPS: list[dict[str, Any]] = [
    {"replicas": "20%", "traffic": "20%"},
    {"replicas": "50%", "traffic": "50%", "pause": {"duration": 60}},
    {"replicas": "100%"},
]


def make_rollout(
    *,
    name: str = "web",
    phase: str = "Progressing",
    step: int = 1,
    state: str = "StepPaused",
    steps: list[dict[str, Any]] | None = None,
    paused: bool = False,
    conditions: list[dict[str, Any]] | None = None,
    kind: str = "Deployment",
    generation: int = 1,
    canary: dict[str, Any] | None = None,
    routings: list[dict[str, Any]] | None = None,
    **position: Any,
) -> Rollout:
    inner = {
        "currentStepIndex": step,
        "currentStepState": state,
        "stableRevision": OLD,
        "canaryRevision": "hash-new",
        "podTemplateHash": NEW,
        "canaryReplicas": 2,
        "canaryReadyReplicas": 1,
        **(canary or {}),
    }
    strategy = {
        "paused": paused,
        "canary": {
            "steps": STEPS if steps is None else steps,
            "trafficRoutings": routings if routings is not None else [{"service": "web"}],
        },
    }
    body = {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": "uid-rollout",
            "generation": generation,
            "creationTimestamp": ago(3600),
        },
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": kind, "name": "web"},
            "strategy": strategy,
        },
        "status": {
            "observedGeneration": 1,
            "phase": phase,
            "message": "a message",
            "conditions": conditions or [],
            "canaryStatus": inner,
            "moonshift": {
                "step": step,
                "state": state,
                "stateSince": ago(90),
                "stableRevision": OLD,
                "release": "r1",
                **position,
            },
        },
    }
    return msgspec.convert(body, Rollout)


def template(image: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": image}]}}


def make_pod(
    name: str,
    revision: str,
    *,
    ready: bool = True,
    batch: str = "",
    status: dict[str, Any] | None = None,
    **metadata: Any,
) -> Pod:
    labels = {"app": "web", "pod-template-hash": revision}
    if batch:
        labels["rollouts.kruise.io/rollout-batch-id"] = batch
    ready_condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": ago(30)}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "shop",
                "uid": f"uid-{name}",
                "creationTimestamp": ago(60),
                "labels": labels,
                **metadata,
            },
            "status": {"phase": "Running", "conditions": [ready_condition], **(status or {})},
        },
        Pod,
    )


def make_replica_set(revision: str, image: str) -> tuple[ReplicaSet, str]:
    body = {
        "metadata": {
            "name": f"web-{revision}",
            "namespace": "shop",
            "uid": f"uid-{revision}",
            "labels": {"pod-template-hash": revision},
            "ownerReferences": [{"uid": "uid-web", "controller": True}],
        },
        "spec": {"replicas": 1, "template": template(image)},
    }
    read = msgspec.json.decode(msgspec.json.encode(body), type=ReplicaSet)
    return read, template_hash(bytes(read.spec.template))


def make_deployment(*, image: str = "web:2", replicas: int = 10) -> Deployment:
    body = {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "uid-web",
            "generation": 7,
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(image),
        },
    }
    return msgspec.json.decode(msgspec.json.encode(body), type=Deployment)


def make_service(name: str, pinned_to: str = "") -> Service:
    selector = {"app": "web"} | ({"pod-template-hash": pinned_to} if pinned_to else {})
    body = {"metadata": {"name": name, "namespace": "shop"}, "spec": {"selector": selector}}
    return msgspec.convert(body, Service)


def make_slice(service: str, *pods: Pod) -> EndpointSlice:
    body = {
        "metadata": {
            "name": f"{service}-1",
            "namespace": "shop",
            "labels": {"kubernetes.io/service-name": service},
        },
        "endpoints": [{"targetRef": {"kind": "Pod", "uid": pod.metadata.uid}} for pod in pods],
    }
    return msgspec.convert(body, EndpointSlice)


def make_observation(
    rollout: Rollout | None = None,
    *,
    pods: tuple[Pod, ...] = (),
    services: tuple[Service, ...] = (),
    slices: tuple[EndpointSlice, ...] = (),
    routes: tuple[RouteSeen, ...] = (),
    workload: Deployment | None = None,
) -> Observation:
    deployment = workload or make_deployment()
    return Observation(
        rollout=rollout or make_rollout(),
        plan_hash="",
        workload=WorkloadSeen(
            object=deployment,
            kind=WorkloadKind.DEPLOYMENT,
            template_hash=template_hash(bytes(deployment.spec.template)),
            template_labels={"app": "web"},
            replica_sets=(make_replica_set(OLD, "web:1"), make_replica_set(NEW, "web:2")),
            pods=pods,
        ),
        services={service.metadata.name: service for service in services},
        slices=slices,
        routes=routes,
    )


def make_situation(rollout: Rollout | None = None, **parts: Any) -> Release:
    return as_stored(make_observation(rollout, **parts), NOW)
