"""The objects of a scenario: Deployment, Service, route, Rollout.

Invariant: pods take half a second to become ready, and answer for seconds once they are told to stop, as well-behaved
ones do (Kubernetes decides how soon a gateway learns that a pod stops; two seconds were too few on two busy
processors); the route names the stable Service only. It must not talk to a cluster.
"""

from demo.traffic.scenarios import HEADER, OLD, Scenario, Step, Style
from localcluster.api import JsonObject
from localcluster.traffic.gateway import GATEWAY
from localcluster.traffic.gateway import NAMESPACE as GATEWAY_NAMESPACE
from localcluster.traffic.istio import GATEWAY as ISTIO_GATEWAY
from localcluster.traffic.pods import PORT
from localcluster.traffic.traefik import ENTRY_POINT

NAME = "shop"
ROUTE_VERSIONS = {
    "HTTPRoute": "gateway.networking.k8s.io/v1",
    "HTTPProxy": "projectcontour.io/v1",
    "IngressRoute": "traefik.io/v1alpha1",
    "TraefikService": "traefik.io/v1alpha1",
    "VirtualService": "networking.istio.io/v1",
    "DestinationRule": "networking.istio.io/v1",
}
BASE, CANARY = {"version": "base"}, {"version": "canary"}
"""Labels of the pods behind one shared Service."""
SUBSET = "version-base"


def objects(scenario: Scenario, host: str) -> list[JsonObject]:
    """Return everything but the Rollout; `host` is that of its requests, of this one application."""
    routes = {
        "HTTPRoute": lambda: [http_route(host)],
        "HTTPProxy": lambda: [http_proxy(host)],
        "IngressRoute": lambda: [ingress_route(host, {"name": NAME, "port": 80})],
        "TraefikService": lambda: [
            ingress_route(host, {"name": NAME, "kind": "TraefikService"}),
            traefik_service(),
        ],
        "VirtualService": lambda: [
            virtual_service(scenario, host),
            *([destination_rule()] if scenario.shared else []),
        ],
    }
    return [deployment(scenario), service(), *routes[scenario.kind]()]


def deployment(scenario: Scenario) -> JsonObject:
    """Return the workload."""
    times = {
        "sim.moonshift.dev/ready-ms": "500",
        "sim.moonshift.dev/term-ms": str(scenario.stopping * 1000),
    }
    template = {
        "metadata": {
            "labels": {"app": NAME, **(BASE if scenario.shared else {})},
            "annotations": times,
        },
        "spec": {"containers": [{"name": "main", "image": OLD}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME},
        "spec": {
            "replicas": scenario.replicas,
            "selector": {"matchLabels": {"app": NAME}},
            "template": template,
        },
    }


def service() -> JsonObject:
    """Return the stable Service."""
    ports = [{"name": "http", "port": 80, "targetPort": PORT}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME},
        "spec": {"selector": {"app": NAME}, "ports": ports},
    }


def http_route(host: str) -> JsonObject:
    """Return a route of the Gateway API."""
    return {
        "apiVersion": ROUTE_VERSIONS["HTTPRoute"],
        "kind": "HTTPRoute",
        "metadata": {"name": NAME},
        "spec": {
            "parentRefs": [{"name": GATEWAY, "namespace": GATEWAY_NAMESPACE}],
            "hostnames": [host],
            "rules": [{"backendRefs": [{"name": NAME, "port": 80}]}],
        },
    }


def virtual_service(scenario: Scenario, host: str) -> JsonObject:
    """Return a route of Istio; to the subset of the stable pods if both revisions share the Service."""
    subset = {"subset": SUBSET} if scenario.shared else {}
    rule = {"route": [{"destination": {"host": NAME, **subset}}]}
    return {
        "apiVersion": ROUTE_VERSIONS["VirtualService"],
        "kind": "VirtualService",
        "metadata": {"name": NAME},
        "spec": {"hosts": [host], "gateways": [ISTIO_GATEWAY], "http": [rule]},
    }


def destination_rule() -> JsonObject:
    """Return the subset of the stable pods, which a VirtualService names."""
    return {
        "apiVersion": ROUTE_VERSIONS["DestinationRule"],
        "kind": "DestinationRule",
        "metadata": {"name": NAME},
        "spec": {"host": NAME, "subsets": [{"name": SUBSET, "labels": BASE}]},
    }


def http_proxy(host: str) -> JsonObject:
    """Return a route of Contour's own kind."""
    route = {"conditions": [{"prefix": "/"}], "services": [{"name": NAME, "port": 80}]}
    return {
        "apiVersion": ROUTE_VERSIONS["HTTPProxy"],
        "kind": "HTTPProxy",
        "metadata": {"name": NAME},
        "spec": {"virtualhost": {"fqdn": host}, "routes": [route]},
    }


def ingress_route(host: str, leads_to: JsonObject) -> JsonObject:
    """Return a route of Traefik's own kind."""
    route = {"kind": "Rule", "match": f"Host(`{host}`)", "services": [leads_to]}
    return {
        "apiVersion": ROUTE_VERSIONS["IngressRoute"],
        "kind": "IngressRoute",
        "metadata": {"name": NAME},
        "spec": {"entryPoints": [ENTRY_POINT], "routes": [route]},
    }


def traefik_service() -> JsonObject:
    """Return a list of Services with weights, which a route of Traefik names."""
    return {
        "apiVersion": ROUTE_VERSIONS["TraefikService"],
        "kind": "TraefikService",
        "metadata": {"name": NAME},
        "spec": {"weighted": {"services": [{"name": NAME, "port": 80}]}},
    }


def routing(scenario: Scenario) -> JsonObject:
    """Return the Service and the gateway objects that the release leads."""
    kinds = (scenario.kind, *(["DestinationRule"] if scenario.shared else []))
    objects: JsonObject = {
        "customNetworkRefs": [
            {"apiVersion": ROUTE_VERSIONS[kind], "kind": kind, "name": NAME} for kind in kinds
        ]
    }
    if scenario.kind == "HTTPRoute":
        objects = {"gateway": {"httpRouteName": NAME}}
    return {"service": NAME, "gracePeriodSeconds": scenario.grace, **objects}


def traffic_routing(scenario: Scenario) -> JsonObject:
    """Return the routes of a scenario that are not those of its Rollout: others could share them."""
    return {
        "apiVersion": "rollouts.kruise.io/v1alpha1",
        "kind": "TrafficRouting",
        "metadata": {"name": NAME},
        "spec": {
            "objectRef": [routing(scenario)],
            "strategy": {"weight": scenario.steps[0].traffic},
        },
    }


def rollout(scenario: Scenario) -> JsonObject:
    """Return the Rollout; every step but one that takes all pods without traffic waits for a person."""
    steps = [step_manifest(step, scenario.replicas) for step in scenario.steps]
    plan: JsonObject = {"steps": steps, "trafficRoutings": [routing(scenario)]}
    if scenario.lane:
        plan = {"steps": steps, "trafficRoutingRef": NAME}
        for step in steps:
            del step["traffic"]
    if scenario.shared and not scenario.lane:
        plan["disableGenerateCanaryService"] = True
    if scenario.shared:
        plan["patchPodTemplateMetadata"] = {"labels": CANARY}
    if scenario.style is Style.CANARY:
        plan["enableExtraWorkloadForCanary"] = True
    style = "blueGreen" if scenario.style is Style.BLUE_GREEN else "canary"
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": NAME},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME},
            "strategy": {style: plan},
        },
    }


def step_manifest(step: Step, replicas: int) -> JsonObject:
    """Return a step as the Rollout spells it."""
    manifest: JsonObject = {"replicas": "100%" if step.pods == replicas else step.pods}
    if step.traffic is not None:
        manifest["traffic"] = f"{step.traffic}%"
    if step.marked:
        name, value = HEADER
        header = {"type": "Exact", "name": name, "value": value}
        manifest["matches"] = [{"headers": [header]}]
    return {**manifest, "pause": {}}
