"""The trait of KubeVela, rendered by CUE and applied: the source article's component is released by its Ingress."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.cue import rendered
from localcluster.errors import CommandFailed
from localcluster.history import Kind
from localcluster.record import Recorder
from tests.cluster.kinds import collection
from tests.cluster.manifests import NEW_IMAGE, Application, StepPlan
from tests.cluster.story import Story

TRAIT = Path(__file__).parents[2] / "deploy" / "kubevela" / "kruise-rollout.yaml"
INGRESSES = Kind("networking.k8s.io", "v1", "ingresses")
ARTICLE = {"canary": {"steps": [{"weight": 20}], "trafficRoutings": [{"type": "nginx"}]}}
"""The properties that the article prints."""
pytestmark = pytest.mark.full


def template() -> str:
    """The trait's CUE."""
    found: Any = yaml.safe_load(TRAIT.read_text())
    return str(found["spec"]["schematic"]["cue"]["template"])


async def rollout_of(
    parameter: JsonObject, name: str = "shop", namespace: str = "default", kind: str = "Deployment"
) -> Any:
    """The Rollout of a component."""
    output = {"apiVersion": "apps/v1", "kind": kind}
    context = {"name": name, "namespace": namespace, "output": output}
    return (await rendered(template(), parameter, context))["rollout"]


async def test_the_articles_component_is_released_through_its_ingress(
    product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    app = Application("shop", namespace_of_product, True, (StepPlan(1, 20),), replicas=5)
    story = Story(product.plane, recorder, app)
    backend = {"service": {"name": "shop", "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "shop", "namespace": app.namespace},
        "spec": {
            "ingressClassName": "nginx",
            "rules": [{"host": "shop.example", "http": {"paths": [path]}}],
        },
    }
    await story.install()
    await product.plane.apply(json.dumps(ingress))
    await product.plane.apply(json.dumps(await rollout_of(ARTICLE, namespace=app.namespace)))
    await story.labelled()
    await story.release(NEW_IMAGE)
    await story.paused_at(1)
    canary = await story.client.get(f"{collection(INGRESSES, app.namespace)}/shop-canary")
    assert canary["metadata"]["annotations"]["nginx.ingress.kubernetes.io/canary-weight"] == "20"
    await story.approve(1)
    await story.completed()
    left = await story.client.get(collection(INGRESSES, app.namespace))
    assert [item["metadata"]["name"] for item in left["items"]] == ["shop"]


async def test_every_type_of_routing_becomes_its_own_reference() -> None:
    custom = [{"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "name": "web"}]
    rollout = await rollout_of(
        {
            "rollingStyle": "partition",
            "canary": {
                "steps": [{"replicas": "20%", "pause": {"duration": 5}}, {"replicas": "100%"}],
                "trafficRoutings": [
                    {"type": "alb", "ingressName": "front", "gracePeriodSeconds": 1},
                    {"type": "gateway", "service": "web"},
                    {"type": "custom", "customNetworkRefs": custom},
                ],
            },
        }
    )
    annotations = rollout["metadata"]["annotations"]
    assert annotations == {"rollouts.kruise.io/rolling-style": "partition"}
    canary = rollout["spec"]["strategy"]["canary"]
    assert canary["steps"] == [
        {"replicas": "20%", "pause": {"duration": 5}},
        {"replicas": "100%"},
    ]
    assert canary["trafficRoutings"] == [
        {
            "service": "shop",
            "gracePeriodSeconds": 1,
            "ingress": {"name": "front", "classType": "alb"},
        },
        {"service": "web", "gracePeriodSeconds": 3, "gateway": {"httpRouteName": "shop"}},
        {"service": "shop", "gracePeriodSeconds": 3, "customNetworkRefs": custom},
    ]


async def test_a_component_whose_workload_has_another_name_says_so() -> None:
    ref = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}
    parameter = {"auto": True, "workloadRef": ref, "canary": {"steps": [{"replicas": 1}]}}
    rollout = await rollout_of(parameter, kind="HelmRelease")
    assert rollout["spec"]["objectRef"]["workloadRef"] == ref
    steps = rollout["spec"]["strategy"]["canary"]["steps"]
    assert steps == [{"replicas": 1, "pause": {"duration": 0}}]


async def test_a_wrong_property_is_refused_by_its_name() -> None:
    with pytest.raises(CommandFailed, match="weight"):
        await rollout_of({"canary": {"steps": [{"weight": "twenty"}]}})
