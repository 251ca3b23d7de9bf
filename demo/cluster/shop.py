"""The application that is released on a real node: HTTP servers behind a Gateway API route, and its Rollout.

Invariant: the objects are what a user writes, with real images, probes and ports. It must not talk to a cluster.
"""

from typing import Any

from localcluster.traffic.gateway import GATEWAY
from localcluster.traffic.gateway import NAMESPACE as GATEWAY_NAMESPACE

NAME = "shop"
HOST = "shop.example"
IMAGE = "docker.io/library/greeter"
OLD, NEW = "v1", "v2"
REPLICAS = 4
SHARE = 25
"""Percent of the requests that the first step gives to the new version."""
LABELS = {"app": NAME}


def objects() -> list[dict[str, Any]]:
    """Return Deployment, Service, HTTPRoute and Rollout."""
    return [_deployment(), _service(), _route(), _rollout()]


def _deployment() -> dict[str, Any]:
    ready = {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 1}
    container = {
        "name": "greeter",
        "image": f"{IMAGE}:{OLD}",
        "ports": [{"name": "http", "containerPort": 8080}],
        "readinessProbe": ready,
        # The gateway learns of a pod's end a moment after the pod.
        "lifecycle": {"preStop": {"sleep": {"seconds": 3}}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}},
        },
    }


def _service() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME},
        "spec": {"selector": LABELS, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    }


def _route() -> dict[str, Any]:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": NAME},
        "spec": {
            "parentRefs": [{"name": GATEWAY, "namespace": GATEWAY_NAMESPACE}],
            "hostnames": [HOST],
            "rules": [{"backendRefs": [{"name": NAME, "port": 80}]}],
        },
    }


def _rollout() -> dict[str, Any]:
    steps = [
        {"replicas": 1, "traffic": f"{SHARE}%", "pause": {}},
        {"replicas": "100%", "pause": {"duration": 0}},
    ]
    routing = {"service": NAME, "gracePeriodSeconds": 1, "gateway": {"httpRouteName": NAME}}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": NAME},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME},
            "strategy": {"canary": {"steps": steps, "trafficRoutings": [routing]}},
        },
    }
