"""The memory of an object in a cache does not grow unnoticed: bytes of Python's allocator, for objects of a usual size.

Why bytes: resident memory of a process depends on the machine and on earlier work; the allocator's figure does
not. The limits are one and a half times the counted bytes, so a field that only fills the caches exceeds them.
"""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from controller.api.networking import EndpointSlice
from controller.api.workloads import (
    Deployment,
    Pod,
    ReplicaSet,
    slimmed_deployment,
    slimmed_pod,
    slimmed_replica_set,
)
from controller.kube.store import HasMetadata, Store
from tests.component.kube.faulty_server import FaultyServer, listing, silent, thing
from tests.component.kube.reflecting import reflecting, settled
from tests.component.runtime.virtual_time import virtual_time

MANY = 500
"""Objects in the cache; the memory of the cache itself is divided among them."""

Json = dict[str, Any]


def metadata(number: int, kind: str) -> Json:
    """Metadata as they come from an API server, with fields that the product does not read."""
    manager = {
        "manager": "kubelet",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {f"f:field-{one}": {"f:value": {}} for one in range(30)},
    }
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"web-{number}",
        "uid": f"00000000-0000-4000-8000-{number:012d}",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": f"{kind}-{number}",
        "namespace": f"team-{number % 10}",
        "uid": f"10000000-0000-4000-8000-{number:012d}",
        "resourceVersion": str(1_000_000 + number),
        "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": f"web-{number}", "pod-template-hash": f"{number:010d}"},
        "annotations": {"example.com/note": "x" * 200},
        "managedFields": [manager, manager],
        "ownerReferences": [owner],
    }


def template(number: int) -> Json:
    """A pod template of a usual size."""
    container = {
        "name": "main",
        "image": f"registry.example.com/web:{number}",
        "env": [{"name": f"VARIABLE_{one}", "value": "y" * 40} for one in range(20)],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }
    return {"metadata": {"labels": {"app": f"web-{number}"}}, "spec": {"containers": [container]}}


def pod(number: int) -> Json:
    """A pod that is ready."""
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    instant = "2026-01-01T00:00:00Z"
    running = {
        "name": "main",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "image": f"registry.example.com/web:{number}",
        "imageID": f"registry.example.com/web@sha256:{number:064d}",
        "containerID": f"containerd://{number:064d}",
        "state": {"running": {"startedAt": instant}},
    }
    return {
        "metadata": metadata(number, "pod"),
        "spec": template(number)["spec"] | {"nodeName": f"node-{number}"},
        "status": {
            "phase": "Running",
            "podIP": f"10.0.{number // 250}.{number % 250}",
            "conditions": [
                {"type": one, "status": "True", "lastTransitionTime": instant} for one in kinds
            ],
            "containerStatuses": [running],
        },
    }


def replica_set(number: int) -> Json:
    """A ReplicaSet at rest."""
    selector = {"matchLabels": {"app": f"web-{number}"}}
    status = {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "observedGeneration": 3}
    return {
        "metadata": metadata(number, "set"),
        "spec": {"replicas": 3, "selector": selector, "template": template(number)},
        "status": status,
    }


def slice_of(number: int) -> Json:
    """An EndpointSlice of three endpoints."""
    endpoint = {
        "addresses": [f"10.0.0.{number % 250}"],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "nodeName": f"node-{number}",
        "targetRef": {
            "kind": "Pod",
            "name": f"pod-{number}",
            "uid": f"20000000-0000-4000-8000-{number:012d}",
        },
    }
    found = metadata(number, "slice")
    found["labels"] = {"kubernetes.io/service-name": f"web-{number}"}
    return {
        "metadata": found,
        "addressType": "IPv4",
        "endpoints": [endpoint] * 3,
        "ports": [{"port": 80}],
    }


def same(view: Any) -> Any:
    return view


@pytest.mark.parametrize(
    ("view_type", "made", "kept", "limit"),
    [
        (Pod, pod, slimmed_pod, 2_600),
        (ReplicaSet, replica_set, slimmed_replica_set, 5_300),
        (Deployment, replica_set, slimmed_deployment, 5_500),
        (EndpointSlice, slice_of, same, 4_400),
    ],
    ids=["Pod", "ReplicaSet", "Deployment", "EndpointSlice"],
)
def test_an_object_in_a_cache_needs_at_most_the_recorded_number_of_bytes(
    view_type: type[HasMetadata],
    made: Callable[[int], Json],
    kept: Callable[[Any], Any],
    limit: int,
) -> None:
    decoder = msgspec.json.Decoder(view_type)
    store: Store[HasMetadata] = Store()
    tracemalloc.start()
    try:
        for number in range(MANY):
            # Read as from the wire: a view that holds on to its bytes is counted with them.
            store.put(kept(decoder.decode(msgspec.json.encode(made(number)))))
        bytes_each = tracemalloc.get_traced_memory()[0] / MANY
    finally:
        tracemalloc.stop()
    assert len(store) == MANY
    assert bytes_each <= limit, f"{bytes_each:.0f} bytes for each object"


@virtual_time
async def test_a_view_of_one_object_does_not_keep_the_whole_page_of_the_list() -> None:
    filler = "z" * 20_000
    things = [
        {**thing(f"t{number}", "5"), "note": {"n": 1}, "filler": filler} for number in range(100)
    ]
    server = FaultyServer(lists=[listing("10", *things)], watches=[silent()])
    tracemalloc.start()
    try:
        async with reflecting(server) as scene:
            await settled(1)
            assert len(scene.store) == len(things)
            server.lists.clear()
            gc.collect()
            kept = max(trace.size for trace in tracemalloc.take_snapshot().traces)
    finally:
        tracemalloc.stop()
    assert kept < len(filler) * 10, "the page has a hundred times as many"
