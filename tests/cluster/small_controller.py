"""A controller of a kind that only its owners know: with ordinals, revisions and a partition, like a StatefulSet.

Why: a kind with the label of a StatefulSet is released without being known by name, and its own controller is not part
of Kubernetes. Invariant: it acts on watch events, makes its own pods and ControllerRevisions, and knows nothing of
Rollouts. It must not do more than such a kind has to: no volumes, no parallel updates.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from localcluster.api import JsonObject
from localcluster.errors import NotReady, RequestRefused
from localcluster.history import Key, Kind
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster.kinds import PODS, collection

APPS = Kind("apps.example.com", "v1", "statefulapps")
REVISIONS = Kind("apps", "v1", "controllerrevisions")
REVISION = "controller-revision-hash"
STALE = (404, 409)

DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "statefulapps.apps.example.com"},
    "spec": {
        "group": "apps.example.com",
        "scope": "Namespaced",
        "names": {"kind": "StatefulApp", "plural": "statefulapps"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


class Seen:
    """The state that was handled last."""

    def __init__(self) -> None:
        self._versions: dict[Key, str] = {}

    def differs(self, state: dict[Key, JsonObject]) -> bool:
        """Something was written after the state that was handled last."""
        return _versions(state) != self._versions

    def note(self, state: dict[Key, JsonObject]) -> None:
        """Record this state as handled."""
        self._versions = _versions(state)


@asynccontextmanager
async def controlled(plane: Plane, recorder: Recorder) -> AsyncIterator[None]:
    """The running controller; it reads its kind and its pods from `recorder`."""
    task = asyncio.create_task(_run(plane, recorder), name="small controller")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _run(plane: Plane, recorder: Recorder) -> None:
    acted_on = Seen()
    while True:
        try:
            await recorder.until_state(acted_on.differs, timeout=600)
        except NotReady:
            continue
        state = recorder.state()
        acted_on.note(state)
        for key, app in state.items():
            if key.kind == APPS and "deletionTimestamp" not in app["metadata"]:
                try:
                    await _reconcile(plane, app, _pods_of(state, app))
                except RequestRefused as refused:
                    if refused.status not in STALE:
                        raise


def _versions(state: dict[Key, JsonObject]) -> dict[Key, str]:
    return {key: found["metadata"]["resourceVersion"] for key, found in state.items()}


def _pods_of(state: dict[Key, JsonObject], app: JsonObject) -> dict[int, JsonObject]:
    uid = app["metadata"]["uid"]
    return {
        int(key.name.rpartition("-")[2]): pod
        for key, pod in state.items()
        if key.kind == PODS
        and any(owner["uid"] == uid for owner in pod["metadata"].get("ownerReferences", ()))
    }


async def _reconcile(plane: Plane, app: JsonObject, pods: dict[int, JsonObject]) -> None:
    status = app.get("status", {})
    update = await _revision(plane, app)
    current = status.get("currentRevision") or update
    rolling = app["spec"].get("updateStrategy", {}).get("rollingUpdate", {})
    partition, replicas = rolling.get("partition", 0), app["spec"]["replicas"]
    for ordinal in range(replicas):
        if ordinal not in pods:
            await _make(plane, app, ordinal, update if ordinal >= partition else current)
    moving = [ordinal for ordinal, pod in pods.items() if not _is_ready(pod)]
    old = [o for o, pod in pods.items() if o >= partition and _revision_of(pod) != update]
    gone = [ordinal for ordinal in pods if ordinal >= replicas] or (
        [] if moving else sorted(old)[-1:]
    )
    for ordinal in gone:
        if "deletionTimestamp" not in pods[ordinal]["metadata"]:
            meta = pods[ordinal]["metadata"]
            await plane.client().delete(f"{collection(PODS, meta['namespace'])}/{meta['name']}")
    new = [pod for pod in pods.values() if _revision_of(pod) == update]
    complete = len(new) == len(pods) == replicas and not moving
    fields = {
        "observedGeneration": app["metadata"]["generation"],
        "replicas": len(pods),
        "readyReplicas": len(pods) - len(moving),
        "updatedReplicas": len(new),
        "currentRevision": update if complete and partition == 0 else current,
        "updateRevision": update,
    }
    if fields != status:
        await plane.client().patch(f"{_path(app)}/status", {"status": fields})


def _path(app: JsonObject) -> str:
    return f"{collection(APPS, app['metadata']['namespace'])}/{app['metadata']['name']}"


def _is_ready(pod: JsonObject) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def _revision_of(pod: JsonObject) -> str:
    return str(pod["metadata"]["labels"][REVISION])


def _owner(app: JsonObject) -> list[JsonObject]:
    named = {"name": app["metadata"]["name"], "uid": app["metadata"]["uid"]}
    return [
        {"apiVersion": "apps.example.com/v1", "kind": "StatefulApp", "controller": True, **named}
    ]


async def _revision(plane: Plane, app: JsonObject) -> str:
    """The name of the ControllerRevision that keeps the present template; it is created if the template is new."""
    template = app["spec"]["template"]
    digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:8]
    name, namespace = f"{app['metadata']['name']}-{digest}", app["metadata"]["namespace"]
    body = {
        "metadata": {
            "name": name,
            "labels": template["metadata"]["labels"],
            "ownerReferences": _owner(app),
        },
        "revision": app["metadata"]["generation"],
        "data": {"spec": {"template": {**template, "$patch": "replace"}}},
    }
    try:
        await plane.client().create(collection(REVISIONS, namespace), body)
    except RequestRefused as refused:
        if refused.status not in STALE:
            raise
    return name


async def _make(plane: Plane, app: JsonObject, ordinal: int, revision: str) -> None:
    """A pod of a revision, by the template that its ControllerRevision keeps."""
    namespace = app["metadata"]["namespace"]
    kept = await plane.client().get(f"{collection(REVISIONS, namespace)}/{revision}")
    template = kept["data"]["spec"]["template"]
    body = {
        "metadata": {
            "name": f"{app['metadata']['name']}-{ordinal}",
            "labels": {**template["metadata"]["labels"], REVISION: revision},
            "ownerReferences": _owner(app),
        },
        "spec": template["spec"],
    }
    await plane.client().create(collection(PODS, namespace), body)
