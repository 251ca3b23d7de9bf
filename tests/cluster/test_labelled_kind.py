"""A kind that is known only by its label is released by default, with the settings that documents and messages advise.

Its definition and its controller are the test's own; rights and webhook entries are those of the example in
`deploy/kustomize/other-kinds`, as it is.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from demo.stage import Product, served
from localcluster.api import JsonObject
from localcluster.history import Key
from localcluster.record import Recorder
from tests.cluster.kinds import PODS, ROLLOUTS, SERVICES, VIRTUAL_SERVICES, collection, path_of
from tests.cluster.small_controller import APPS, DEFINITION, REVISION, controlled

EXAMPLE = Path(__file__).parents[2] / "deploy" / "kustomize" / "other-kinds"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}


@pytest.fixture
async def recorder_of_apps(product: Product) -> AsyncIterator[Recorder]:
    """The kind is served, the example is applied, and all that its release touches is recorded."""
    plane = product.plane
    await plane.apply(yaml.safe_dump(DEFINITION))
    await served(plane, [APPS])
    await plane.kubectl("apply", "-f", str(EXAMPLE / "role.yaml"))
    (patch,) = yaml.safe_load((EXAMPLE / "kustomization.yaml").read_text())["patches"]
    await plane.kubectl(
        "patch", patch["target"]["kind"], patch["target"]["name"],
        "--type=json", f"--patch={patch['patch']}",
    )  # fmt: skip
    kinds = (APPS, PODS, ROLLOUTS, SERVICES, VIRTUAL_SERVICES)
    async with plane.recorder(*kinds) as recorder, controlled(plane, recorder):
        yield recorder


def app(namespace: str) -> JsonObject:
    """The manifest of the owner."""
    labels = {"app": "board"}
    return {
        "apiVersion": "apps.example.com/v1",
        "kind": "StatefulApp",
        "metadata": {
            "name": "board",
            "namespace": namespace,
            "labels": {"rollouts.kruise.io/workload-type": "statefulset"},
        },
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": labels},
            "updateStrategy": STRATEGY,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "board:v1"}]},
            },
        },
    }


def gateway(namespace: str) -> list[JsonObject]:
    """A Service and a VirtualService over it."""
    meta = {"name": "board", "namespace": namespace}
    route = {"route": [{"destination": {"host": "board"}}]}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": {"app": "board"}, "ports": [{"port": 80}]},
        },
        {
            "apiVersion": "networking.istio.io/v1",
            "kind": "VirtualService",
            "metadata": meta,
            "spec": {"hosts": ["board"], "http": [route]},
        },
    ]


def rollout(namespace: str) -> JsonObject:
    """One pod and a quarter of the requests, then everything."""
    reference = {
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "name": "board",
    }
    steps = [{"replicas": 1, "traffic": "25%"}, {"replicas": "100%"}]
    routing = {"service": "board", "gracePeriodSeconds": 1, "customNetworkRefs": [reference]}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "board", "namespace": namespace},
        "spec": {
            "workloadRef": {
                "apiVersion": "apps.example.com/v1",
                "kind": "StatefulApp",
                "name": "board",
            },
            "strategy": {"canary": {"steps": steps, "trafficRoutings": [routing]}},
        },
    }


def revisions(recorder: Recorder, namespace: str) -> list[str]:
    """Revisions of the pods, by ordinal."""
    pods = {
        key.name: pod["metadata"]["labels"][REVISION]
        for key, pod in recorder.state().items()
        if key.kind == PODS and key.namespace == namespace
    }
    return [pods[name] for name in sorted(pods)]


def has_succeeded(status: JsonObject) -> bool:
    """A release has succeeded."""
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    return status["phase"] == "Healthy" and conditions.get("Succeeded") == "True"


async def test_a_kind_that_is_labelled_is_accepted_by_default_and_its_release_goes_through(
    product: Product, recorder_of_apps: Recorder, namespace_of_product: str
) -> None:
    namespace, recorder, client = namespace_of_product, recorder_of_apps, product.plane.client()
    workload, release = Key(APPS, namespace, "board"), Key(ROLLOUTS, namespace, "board")
    await product.plane.apply(yaml.safe_dump_all([app(namespace), *gateway(namespace)]))
    await recorder.until(
        lambda c: c.key == workload and c.object.get("status", {}).get("readyReplicas") == 4
    )
    await product.plane.client("developer").create(
        collection(ROLLOUTS, namespace), rollout(namespace)
    )
    await recorder.until(
        lambda c: c.key == release and c.object.get("status", {}).get("phase") == "Healthy"
    )
    before = dict(recorder.state())
    template = {"spec": {"containers": [{"name": "main", "image": "board:v2"}]}}
    await product.plane.client("developer").patch(
        path_of(workload), {"spec": {"template": template}}
    )
    await recorder.until_state(
        lambda state: (
            state[release]["status"].get("currentStepState") == "StepPaused"
            and state[release]["status"]["currentStepIndex"] == 1
        )
    )
    old, *same, new = revisions(recorder, namespace)
    assert same == [old, old]
    assert new != old
    selector = recorder.state()[Key(SERVICES, namespace, "board")]["spec"]["selector"]
    assert selector == {"app": "board", REVISION: old}
    route = recorder.state()[Key(VIRTUAL_SERVICES, namespace, "board")]["spec"]["http"][0]["route"]
    assert [part["weight"] for part in route] == [75, 25]
    approval = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}
    await client.patch(f"{path_of(release)}/status", approval)
    await recorder.until_state(lambda state: has_succeeded(state[release]["status"]), timeout=60)
    await recorder.caught_up()
    assert revisions(recorder, namespace) == [new] * 4
    for key in (Key(SERVICES, namespace, "board"), Key(VIRTUAL_SERVICES, namespace, "board")):
        assert recorder.state()[key]["spec"] == before[key]["spec"]
    left = recorder.state()[workload]
    assert left["spec"]["updateStrategy"] == STRATEGY
    for marks in ("labels", "annotations"):
        assert left["metadata"][marks] == before[workload]["metadata"][marks]
