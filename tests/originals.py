"""The same release as the original controller would have left it: objects of ours, rewritten into its form.

Why: the original does not run here, so a state of it during a release is made from one of ours with the same pods,
Services and routes. The forms follow the recordings of the original: they have the fields that the original writes,
and no field that only Moonshift writes.
Invariant: pure; every function takes an object and answers the object in the original's form.
"""

import json
from typing import Any

from controller.api.jsontree import JsonObject, changed, child, text

CONTROL_INFO = "batchrelease.rollouts.kruise.io/control-info"
STRATEGY = "rollouts.kruise.io/deployment-strategy"
EXTRA_STATUS = "rollouts.kruise.io/deployment-extra-status"
CONTROLLED = "rollouts.kruise.io/controlled-by-advanced-deployment-controller"
DAEMON = "rollouts.kruise.io/daemonset-"
ORIGINAL = "rollouts.kruise.io/original-deployment-strategy"
CANARY_OF = "rollouts.kruise.io/canary-deployment"
FINALIZER = "rollouts.kruise.io/batch-release-finalizer"
CANARY_FINALIZER = "finalizer.rollouts.kruise.io/batch-release"
BATCH_RELEASE_UID = "11111111-2222-3333-4444-555555555555"


def control_info(name: str, uid: str = BATCH_RELEASE_UID) -> str:
    """Which BatchRelease moves a workload."""
    fields = {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "BatchRelease",
        "name": name,
        "uid": uid,
    }
    return json.dumps({**fields, "controller": True, "blockOwnerDeletion": True})


def batch_release(rollout: JsonObject) -> JsonObject:
    """The object that the original's two controllers talk by, with its finalizer."""
    meta: Any = child(rollout, "metadata")
    owner = {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "BatchRelease",
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "finalizers": [FINALIZER],
            "ownerReferences": [owner],
        },
        "spec": {"releasePlan": {"enableExtraWorkloadForCanary": False}},
    }


def without_ours(obj: JsonObject) -> JsonObject:
    """No annotation and no label that only Moonshift knows."""
    for part in ("annotations", "labels"):
        for key in tuple(child(obj, "metadata", part)):
            if key.startswith("moonshift.dev/"):
                obj = changed(obj, ("metadata", part, key), None)
    return obj


def workload(obj: JsonObject, style: str, uid: str = BATCH_RELEASE_UID) -> JsonObject:
    """A workload under release; `style` is partition, canary or blueGreen."""
    record = json.loads(text(obj, "metadata", "annotations", ORIGINAL))
    name = text(obj, "metadata", "name")
    obj = changed(without_ours(obj), ("metadata", "annotations", ORIGINAL), None)
    obj = changed(obj, ("metadata", "annotations", EXTRA_STATUS), None)
    obj = changed(obj, ("metadata", "annotations", CONTROL_INFO), control_info(name, uid))
    match obj["kind"], style:
        case "Deployment", "blueGreen":
            return _blue_green(obj, record)
        case "CloneSet", "blueGreen":
            return changed(_blue_green(obj, record), ("spec", "updateStrategy", "paused"), False)
        case "Deployment", "partition":
            return _advanced(_with_times(obj, record), record)
        case "Deployment", _:
            return changed(_with_times(obj, record), ("spec", "strategy"), record["strategy"])
        case "DaemonSet", _ if obj["apiVersion"] == "apps/v1":
            for key, item in (("original-update-strategy", "RollingUpdate"), ("revision", "{}")):
                obj = changed(obj, ("metadata", "annotations", DAEMON + key), item)
            return obj
        case _:
            return obj


def _with_times(obj: JsonObject, record: dict[str, Any]) -> JsonObject:
    seconds, deadline = record["minReadySeconds"], record.get("progressDeadlineSeconds")
    obj = changed(obj, ("spec", "minReadySeconds"), seconds)
    obj = changed(obj, ("spec", "progressDeadlineSeconds"), deadline)
    return changed(obj, ("spec", "paused"), True)


def _advanced(obj: JsonObject, record: dict[str, Any]) -> JsonObject:
    """Paused and `Recreate`: the original's own controller moves the pods."""
    fields = {
        "rollingStyle": "Partition",
        "rollingUpdate": record["strategy"].get("rollingUpdate"),
        "partition": "20%",
    }
    obj = changed(obj, ("metadata", "annotations", STRATEGY), json.dumps(fields))
    obj = changed(obj, ("metadata", "annotations", EXTRA_STATUS), '{"updatedReadyReplicas":1}')
    obj = changed(obj, ("metadata", "labels", CONTROLLED), "true")
    return changed(obj, ("spec", "strategy"), {"type": "Recreate"})


def _blue_green(obj: JsonObject, record: dict[str, Any]) -> JsonObject:
    limits = {**record.get("strategy", {}), **record.get("strategy", {}).get("rollingUpdate", {})}
    kept = {key: limits[key] for key in ("maxUnavailable", "maxSurge") if key in limits}
    for key in ("minReadySeconds", "progressDeadlineSeconds"):
        if record.get(key):
            kept[key] = record[key]
    return changed(obj, ("metadata", "annotations", ORIGINAL), json.dumps(kept))


def canary_deployment(obj: JsonObject, rollout: str, uid: str = BATCH_RELEASE_UID) -> JsonObject:
    """The extra Deployment: owned by the BatchRelease, and held by a finalizer."""
    obj = changed(
        without_ours(obj), ("metadata", "annotations", CONTROL_INFO), control_info(rollout, uid)
    )
    owner = json.loads(control_info(rollout, uid))
    obj = changed(obj, ("metadata", "ownerReferences"), [owner])
    return changed(obj, ("metadata", "finalizers"), [CANARY_FINALIZER])


def canary_service(obj: JsonObject, rollout: JsonObject) -> JsonObject:
    """The canary Service: owned by the Rollout."""
    owner = {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "name": text(rollout, "metadata", "name"),
        "uid": text(rollout, "metadata", "uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return changed(without_ours(obj), ("metadata", "ownerReferences"), [owner])


def autoscaler(obj: JsonObject) -> JsonObject:
    """An autoscaler under blue-green: its target has another name."""
    target = text(obj, "spec", "scaleTargetRef", "name")
    obj = changed(without_ours(obj), ("spec", "behavior"), None)
    return changed(obj, ("spec", "scaleTargetRef", "name"), f"{target}-DisableByRollout")


def status(obj: JsonObject) -> JsonObject:
    """The Rollout: its status without our part, and without conditions that only we write."""
    status: Any = {key: value for key, value in child(obj, "status").items() if key != "moonshift"}
    known = ("Progressing", "Succeeded", "Terminating")
    status["conditions"] = [c for c in status.get("conditions", []) if c["type"] in known]
    return {**without_ours(obj), "status": status}
