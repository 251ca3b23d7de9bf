"""Memory at 1 000 idle Rollouts and 10 000 pods.

Why the cluster is frozen: its controllers, scheduler and nodes would take many minutes for 10 000 pods, and the
measured program only reads objects. Invariant: every object has the status that the real controllers would have
written. It runs last, because it leaves the cluster changed.
"""

import asyncio
from datetime import UTC, datetime

from localcluster.api import JsonObject
from tests.bench import objects
from tests.bench.fleet import create, each, healthy, quiet, wait
from tests.bench.follow import Key
from tests.bench.ground import Ground
from tests.bench.objects import CORE, DEPLOYMENTS, ROLLOUTS, VIRTUAL_SERVICES, Style
from tests.bench.registry import Row
from tests.bench.runs import memory

LIMIT = 280.0
MEGABYTE = 1e6
APPLICATIONS = 1000
PODS = 10
WHERE = "large"
FROZEN = ("kube-controller-manager", "kube-scheduler", "kwok")
HEALTHY_SECONDS = 240.0
REVISION = "6b7c8d9f5d"
DISCOVERY = "/apis/discovery.k8s.io/v1"


async def measure(ground: Ground) -> list[Row]:
    """All objects are created, all Rollouts are Healthy, and the controller is at rest."""
    for name in FROZEN:
        await ground.plane.components[name].stop()
    await ground.admin.create(f"{CORE}/namespaces", {"metadata": {"name": WHERE}})
    names = [objects.application_name(number) for number in range(APPLICATIONS)]
    total = f"{APPLICATIONS} Rollouts, {APPLICATIONS * PODS} pods"
    with ground.reporter.phase(f"{WHERE}: {total}", APPLICATIONS) as phase:

        async def one(name: str) -> None:
            await _application(ground, name)
            phase.advance()

        await each(one(name) for name in names)
    before = memory(ground)
    with ground.reporter.phase(f"{WHERE}: until all are Healthy and the controller is quiet"):
        await wait(ground, [Key(WHERE, name) for name in names], healthy, HEALTHY_SECONDS)
        await quiet(ground, WHERE)
    product = ground.product
    controller = product.controller.resource_use().pss_bytes / MEGABYTE
    worker = product.worker.resource_use().pss_bytes / MEGABYTE
    highest = max(before, memory(ground)) / MEGABYTE
    note = f"at rest: controller {controller:.0f}, worker {worker:.0f}; seen at most {highest:.0f}"
    name = f"memory, {APPLICATIONS} idle Rollouts, {APPLICATIONS * PODS} pods"
    return [Row(name, "not measured", LIMIT, controller + worker, unit="MB", note=note)]


async def _application(ground: Ground, name: str) -> None:
    """A Deployment with its ReplicaSet, pods, Service and slice, as they are when all is well, and its Rollout."""
    deployment = objects.deployment(name, PODS)
    made = await create(ground, WHERE, DEPLOYMENTS, "deployments", deployment)
    await _status(ground, DEPLOYMENTS, "deployments", name, _deployment_status())
    body = _replica_set(name, deployment, made)
    replica_set = await create(ground, WHERE, DEPLOYMENTS, "replicasets", body)
    await _status(ground, DEPLOYMENTS, "replicasets", body["metadata"]["name"], _counts())
    async with asyncio.TaskGroup() as group:
        for number in range(PODS):
            group.create_task(_pod(ground, name, number, body, replica_set))
    await create(ground, WHERE, CORE, "services", objects.service(name))
    await create(ground, WHERE, DISCOVERY, "endpointslices", _slice(name))
    await create(ground, WHERE, VIRTUAL_SERVICES, "virtualservices", objects.virtual_service(name))
    rollout = objects.rollout(name, Style.PARTITION, approvals=True)
    await create(ground, WHERE, ROLLOUTS, "rollouts", rollout)


async def _status(ground: Ground, root: str, plural: str, name: str, status: JsonObject) -> None:
    path = f"{root}/namespaces/{WHERE}/{plural}/{name}/status"
    await ground.admin.patch(path, {"status": status})


def _deployment_status() -> JsonObject:
    return _counts() | {"updatedReplicas": PODS}


def _counts() -> JsonObject:
    return {
        "observedGeneration": 1,
        "replicas": PODS,
        "readyReplicas": PODS,
        "availableReplicas": PODS,
    }


def _replica_set(name: str, deployment: JsonObject, made: JsonObject) -> JsonObject:
    spec = deployment["spec"]
    template = spec["template"]
    labels = template["metadata"]["labels"] | {"pod-template-hash": REVISION}
    return {
        "metadata": {
            "name": f"{name}-{REVISION}",
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            "ownerReferences": [_owner("Deployment", made)],
        },
        "spec": {
            "replicas": PODS,
            "selector": {"matchLabels": labels},
            "template": template | {"metadata": template["metadata"] | {"labels": labels}},
        },
    }


def _owner(kind: str, made: JsonObject) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": made["metadata"]["name"],
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


async def _pod(
    ground: Ground, name: str, number: int, body: JsonObject, replica_set: JsonObject
) -> None:
    template = body["spec"]["template"]
    pod = f"{body['metadata']['name']}-{number:05}"
    metadata = template["metadata"] | {
        "name": pod,
        "generateName": f"{body['metadata']['name']}-",
        "ownerReferences": [_owner("ReplicaSet", replica_set)],
    }
    spec = template["spec"] | {"nodeName": "node-a"}
    await create(ground, WHERE, CORE, "pods", {"metadata": metadata, "spec": spec})
    await _status(ground, CORE, "pods", pod, _pod_status(name))


def _pod_status(name: str) -> JsonObject:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    kinds = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    container = {
        "name": "main",
        "image": name,
        "imageID": name,
        "ready": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}},
    }
    return {
        "phase": "Running",
        "podIP": "198.18.0.1",
        "startTime": now,
        "conditions": [{"type": k, "status": "True", "lastTransitionTime": now} for k in kinds],
        "containerStatuses": [container],
    }


def _slice(name: str) -> JsonObject:
    endpoints = [
        {
            "addresses": ["198.18.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": "node-a",
            "targetRef": {"kind": "Pod", "namespace": WHERE, "name": f"{name}-{REVISION}-{n:05}"},
        }
        for n in range(PODS)
    ]
    return {
        "addressType": "IPv4",
        "metadata": {"name": f"{name}-abcde", "labels": {"kubernetes.io/service-name": name}},
        "endpoints": endpoints,
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
    }
