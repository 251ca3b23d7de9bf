"""The manifests of a workload's owner: Deployment, Service, Istio objects, Rollout.

All objects of one application have its name, so that several can share a namespace. Invariant: builders return fresh
objects; nothing here talks to a cluster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from localcluster.api import JsonObject
from localcluster.history import Kind
from tests.cluster.kinds import WORKLOADS
from tests.cluster.ports import WEB, Port

STABLE_IMAGE = "shop:v1"
NEW_IMAGE = "shop:v2"
THIRD_IMAGE = "shop:v3"
OF_ROUTES = "told-to-nobody-but-the-script"
"""A text in the objects that scripts read: no log may repeat it."""
KEPT = {"owner.example/keep": "me"}
KEPT_IN_ROUTES = {"owner.example/keep": OF_ROUTES}


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step: new pods in all, their share of the traffic in percent, and how it ends.

    `pause` is None for an approval, else seconds.
    """

    pods: int
    traffic: int | None = None
    pause: int | None = None

    def manifest(self, replicas: int) -> JsonObject:
        """The step in a Rollout."""
        step: JsonObject = {"replicas": "100%" if self.pods == replicas else self.pods}
        if self.traffic is not None:
            step["traffic"] = f"{self.traffic}%"
        step["pause"] = {} if self.pause is None else {"duration": self.pause}
        return step


@dataclass(frozen=True, slots=True)
class Application:
    """An application and the way it is released."""

    name: str
    namespace: str
    canary: bool
    steps: tuple[StepPlan, ...]
    virtual_service: bool = False
    other_routes: bool = False
    """The test itself names the gateway objects, which are no VirtualServices."""
    shared: bool = False
    replicas: int = 4
    grace: int = 1
    workload: str = "Deployment"
    """The kind of the workload, by its name in `WORKLOADS`."""
    blue_green: bool = False
    pool: str = "daemons"
    """Label of the nodes that a DaemonSet runs on; there are as many as `replicas`."""
    ports: tuple[Port, ...] = WEB
    """The ports of the stable Service."""

    @property
    def beside(self) -> bool:
        """New pods are created beside all old pods, which stay until the end."""
        return self.canary or self.blue_green

    @property
    def workload_kind(self) -> Kind:
        """The resource of the workload."""
        return WORKLOADS[self.workload]

    @property
    def kind_name(self) -> str:
        """The workload's `kind`."""
        return self.workload.removeprefix("Advanced ")

    @property
    def api_version(self) -> str:
        """The workload's `apiVersion`."""
        return f"{self.workload_kind.group}/{self.workload_kind.version}"

    @property
    def on_nodes(self) -> bool:
        """The workload has a pod on every node of the pool, independent of `replicas`."""
        return self.kind_name == "DaemonSet"

    @property
    def canary_service(self) -> str:
        """The Service that leads to new pods."""
        return self.name if self.shared else f"{self.name}-canary"

    def automatic(self, step: int) -> bool:
        """Whether a step (1-based) ends without a person."""
        plan = self.steps[step - 1]
        whole = step == len(self.steps) and plan.pods == self.replicas and not self.blue_green
        return plan.pause is not None or whole


def deployment(app: Application, image: str = STABLE_IMAGE, **spec: Any) -> JsonObject:
    """The workload."""
    labels = {"app": app.name, "version": "base"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app.name, "namespace": app.namespace, "annotations": KEPT},
        "spec": {
            "replicas": app.replicas,
            "selector": {"matchLabels": {"app": app.name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
            **spec,
        },
    }


def nodes(number: int = 4, pool: str = "daemons", first: int = 0) -> list[JsonObject]:
    """Nodes that DaemonSets of tests run on."""
    labels = {"pool": pool, "kubernetes.io/os": "linux"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"{pool}-{at}", "labels": labels},
        }
        for at in range(first, first + number)
    ]


def workload(app: Application, image: str = STABLE_IMAGE, **spec: Any) -> JsonObject:
    """The workload, of the application's kind."""
    body = deployment(app, image)
    if app.workload == "Deployment":
        return deployment(app, image, **spec)
    body |= {"apiVersion": app.api_version, "kind": app.kind_name}
    if app.on_nodes:
        del body["spec"]["replicas"]
        body["spec"]["template"]["spec"]["nodeSelector"] = {"pool": app.pool}
    elif app.kind_name == "StatefulSet":
        body["spec"]["serviceName"] = app.name
    body["spec"] |= spec
    return body


def service(app: Application, name: str = "") -> JsonObject:
    """The stable Service."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name or app.name,
            "namespace": app.namespace,
            "annotations": KEPT,
            "labels": {"team": "shop"},
        },
        "spec": {
            "selector": {"app": app.name},
            "ports": [port.manifest() for port in app.ports],
        },
    }


def virtual_service(app: Application) -> JsonObject:
    """A VirtualService that also has a rule of somebody else."""
    destination = {"host": app.name, **({"subset": "base"} if app.shared else {})}
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": {"name": app.name, "namespace": app.namespace, "annotations": KEPT_IN_ROUTES},
        "spec": {
            "hosts": ["shop.example"],
            "http": [
                {
                    "match": [{"uri": {"prefix": "/assets"}}],
                    "route": [{"destination": {"host": "assets"}}],
                },
                {"route": [{"destination": destination}]},
            ],
        },
    }


def destination_rule(app: Application) -> JsonObject:
    """A DestinationRule whose subset holds stable pods only."""
    return {
        "apiVersion": "networking.istio.io/v1",
        "kind": "DestinationRule",
        "metadata": {"name": app.name, "namespace": app.namespace, "labels": {"team": "shop"}},
        "spec": {
            "host": app.name,
            "trafficPolicy": {"loadBalancer": {"simple": "ROUND_ROBIN"}},
            "subsets": [{"name": "base", "labels": {"version": "base"}}],
        },
    }


def autoscaler(app: Application) -> JsonObject:
    """An autoscaler that does not change the number of pods."""
    target = {"apiVersion": app.api_version, "kind": app.kind_name, "name": app.name}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 20}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": app.name, "namespace": app.namespace, "annotations": KEPT},
        "spec": spec,
    }


def objects(app: Application) -> list[JsonObject]:
    """Everything the owner has before there is a Rollout."""
    made = [workload(app), service(app)]
    if app.blue_green:
        made.append(autoscaler(app))
    if app.virtual_service:
        made.append(virtual_service(app))
    if app.shared:
        made.append(destination_rule(app))
    return made


def references(app: Application) -> list[JsonObject]:
    """The gateway objects that lead to the application."""
    kinds = ["VirtualService", *(["DestinationRule"] if app.shared else [])]
    return [
        {"apiVersion": "networking.istio.io/v1", "kind": kind, "name": app.name} for kind in kinds
    ]


def rollout(app: Application, steps: Sequence[JsonObject] | None = None) -> JsonObject:
    """The Rollout, in v1beta1."""
    plan: JsonObject = {
        "steps": steps
        if steps is not None
        else [step.manifest(app.replicas) for step in app.steps],
    }
    if app.canary:
        plan["enableExtraWorkloadForCanary"] = True
    if app.virtual_service:
        plan["trafficRoutings"] = [
            {
                "service": app.name,
                "gracePeriodSeconds": app.grace,
                "customNetworkRefs": references(app),
            }
        ]
    if app.shared:
        plan["disableGenerateCanaryService"] = True
        plan["patchPodTemplateMetadata"] = {"labels": {"version": "canary"}}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": app.name, "namespace": app.namespace},
        "spec": {
            "workloadRef": {
                "apiVersion": app.api_version,
                "kind": app.kind_name,
                "name": app.name,
            },
            "strategy": {"blueGreen" if app.blue_green else "canary": plan},
        },
    }


def rollout_v1alpha1(app: Application) -> JsonObject:
    """The Rollout in v1alpha1, with a `rolloutID`."""
    beta = rollout(app)["spec"]["strategy"]["canary"]
    steps = []
    for plan, step in zip(app.steps, beta["steps"], strict=True):
        weight = {} if plan.traffic is None else {"weight": plan.traffic}
        steps.append({"replicas": step["replicas"], "pause": step["pause"], **weight})
    return {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {
            "name": app.name,
            "namespace": app.namespace,
            "annotations": {
                "rollouts.kruise.io/rolling-style": "canary" if app.canary else "partition"
            },
        },
        "spec": {
            "rolloutID": "seventh",
            "objectRef": {
                "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": app.name}
            },
            "strategy": {
                "canary": {"steps": steps, "trafficRoutings": beta.get("trafficRoutings", [])}
            },
        },
    }
