"""Applications at rest as etcd has them: Deployment, ReplicaSet, pods, Service, EndpointSlice, VirtualService, Rollout.

Invariant: every object has the status that the controllers of Kubernetes would have written, and a realistic size:
pods with a token's volume, tolerations and the record of who wrote which field. It must do no I/O.
"""

from collections.abc import Iterator

from localcluster.api import JsonObject
from tests.bench import objects
from tests.bench.objects import Style
from tests.bench.scale.storage import Stored, metadata

REVISION = "6b7c8d9f5d"
NOW = "2026-01-01T00:00:00Z"
ADDRESS = "198.18.0.1"


def application(namespace: str, name: str, pods: int) -> Iterator[Stored]:
    """All objects of an application, the Rollout last."""
    deployment = _deployment(namespace, name, pods)
    replica_set = _replica_set(deployment, pods)
    yield Stored("deployments", deployment)
    yield Stored("replicasets", replica_set)
    for number in range(pods):
        yield Stored("pods", _pod(replica_set, number))
    yield Stored("services/specs", _service(namespace, name))
    yield Stored("endpointslices", _slice(namespace, name, pods))
    yield Stored(
        "networking.istio.io/virtualservices", _made(objects.virtual_service(name), namespace)
    )
    rollout = objects.rollout(name, Style.PARTITION, approvals=True)
    yield Stored("rollouts.kruise.io/rollouts", _made(rollout, namespace))


def _made(body: JsonObject, namespace: str) -> JsonObject:
    return body | {"metadata": metadata(namespace, body["metadata"]["name"])}


def _counts(pods: int) -> JsonObject:
    ready = {"replicas": pods, "readyReplicas": pods, "availableReplicas": pods}
    return ready | {"observedGeneration": 1}


def _deployment(namespace: str, name: str, pods: int) -> JsonObject:
    body = _made(objects.deployment(name, pods), namespace)
    body["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
    return body | {"status": _counts(pods) | {"updatedReplicas": pods}}


def _replica_set(deployment: JsonObject, pods: int) -> JsonObject:
    spec, owner = deployment["spec"], deployment["metadata"]
    template = spec["template"]
    labels = template["metadata"]["labels"] | {"pod-template-hash": REVISION}
    about = metadata(
        owner["namespace"],
        f"{owner['name']}-{REVISION}",
        labels=labels,
        annotations={"deployment.kubernetes.io/revision": "1"},
        ownerReferences=[_owner(deployment)],
    )
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": about,
        "spec": {
            "replicas": pods,
            "selector": {"matchLabels": labels},
            "template": template | {"metadata": template["metadata"] | {"labels": labels}},
        },
        "status": _counts(pods) | {"fullyLabeledReplicas": pods},
    }


def _owner(owner: JsonObject) -> JsonObject:
    known = {"apiVersion": "apps/v1", "kind": owner["kind"], "controller": True}
    about = owner["metadata"]
    return known | {"name": about["name"], "uid": about["uid"], "blockOwnerDeletion": True}


def _pod(replica_set: JsonObject, number: int) -> JsonObject:
    owner, template = replica_set["metadata"], replica_set["spec"]["template"]
    about = metadata(
        owner["namespace"],
        f"{owner['name']}-{number:05}",
        **template["metadata"],
        generateName=f"{owner['name']}-",
        ownerReferences=[_owner(replica_set)],
        managedFields=WRITERS,
    )
    spec = {
        "containers": [CONTAINER],
        "volumes": [TOKEN],
        "tolerations": TOLERATIONS,
        "nodeName": "node-a",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": about,
        "spec": spec | {"restartPolicy": "Always", "schedulerName": "default-scheduler"},
        "status": POD_STATUS,
    }


def _service(namespace: str, name: str) -> JsonObject:
    body = objects.service(name)
    spec = body["spec"] | {"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]}
    return _made(body, namespace) | {"spec": spec}


def _slice(namespace: str, name: str, pods: int) -> JsonObject:
    labels = {"kubernetes.io/service-name": name}
    endpoints = [
        {
            "addresses": [ADDRESS],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": "node-a",
            "targetRef": {
                "kind": "Pod",
                "namespace": namespace,
                "name": f"{name}-{REVISION}-{number:05}",
            },
        }
        for number in range(pods)
    ]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata(namespace, f"{name}-abcde", labels=labels),
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
    }


CONTAINER: JsonObject = {
    "name": "main",
    "image": "registry.example/app:1",
    "env": [{"name": f"SETTING_{number}", "value": "of an application"} for number in range(8)],
    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
    "volumeMounts": [
        {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    ],
}
TOKEN: JsonObject = {"name": "token", "emptyDir": {}}
TOLERATIONS: list[JsonObject] = [
    {
        "key": f"node.kubernetes.io/{trouble}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for trouble in ("not-ready", "unreachable")
]
POD_STATUS: JsonObject = {
    "phase": "Running",
    "podIP": ADDRESS,
    "podIPs": [{"ip": ADDRESS}],
    "startTime": NOW,
    "qosClass": "Burstable",
    "conditions": [
        {"type": kind, "status": "True", "lastTransitionTime": NOW}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ],
    "containerStatuses": [
        {
            "name": "main",
            "image": "registry.example/app:1",
            "imageID": "registry.example/app@sha256:" + "0" * 64,
            "containerID": "containerd://" + "0" * 64,
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": NOW}},
        }
    ],
}
WRITERS: list[JsonObject] = [
    {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": NOW,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {f"f:{name}": {".": {}, "f:type": {}} for name in "abcdefghij"}},
    }
    for manager in ("kube-controller-manager", "kubelet")
]
