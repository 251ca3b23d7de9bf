"""The objects of a scenario: Deployment, Service, route, Rollout.

Invariant: pods take half a second to become ready, and answer for five more seconds once they are told to stop, as
well-behaved ones do (how soon a gateway hears that a pod stops is Kubernetes' business; two seconds were too few on
two busy processors); the route names the stable Service only. It must not talk to a cluster.
"""

from demo.traffic.scenarios import HEADER, OLD, Scenario, Step, Style
from localcluster.api import JsonObject
from localcluster.traffic.gateway import GATEWAY
from localcluster.traffic.gateway import NAMESPACE as GATEWAY_NAMESPACE
from localcluster.traffic.pods import PORT

NAME = "shop"
TIMES = {"sim.moonshift.dev/ready-ms": "500", "sim.moonshift.dev/term-ms": "5000"}
ROUTE_VERSIONS = {"HTTPRoute": "gateway.networking.k8s.io/v1", "HTTPProxy": "projectcontour.io/v1"}


def objects(scenario: Scenario, host: str) -> list[JsonObject]:
    """Return everything but the Rollout; `host` is that of its requests, of this one application."""
    routes = {"HTTPRoute": http_route, "HTTPProxy": http_proxy}
    return [deployment(scenario), service(), routes[scenario.kind](host)]


def deployment(scenario: Scenario) -> JsonObject:
    """Return the workload."""
    template = {
        "metadata": {"labels": {"app": NAME}, "annotations": TIMES},
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


def http_proxy(host: str) -> JsonObject:
    """Return a route of Contour's own kind."""
    route = {"conditions": [{"prefix": "/"}], "services": [{"name": NAME, "port": 80}]}
    return {
        "apiVersion": ROUTE_VERSIONS["HTTPProxy"],
        "kind": "HTTPProxy",
        "metadata": {"name": NAME},
        "spec": {"virtualhost": {"fqdn": host}, "routes": [route]},
    }


def rollout(scenario: Scenario) -> JsonObject:
    """Return the Rollout; every step but one that takes all pods without traffic waits for a person."""
    reference = {"apiVersion": ROUTE_VERSIONS[scenario.kind], "kind": scenario.kind, "name": NAME}
    routing: JsonObject = {"service": NAME, "gracePeriodSeconds": scenario.grace}
    if scenario.kind == "HTTPRoute":
        routing["gateway"] = {"httpRouteName": NAME}
    else:
        routing["customNetworkRefs"] = [reference]
    plan: JsonObject = {
        "steps": [step_manifest(step, scenario.replicas) for step in scenario.steps],
        "trafficRoutings": [routing],
    }
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
