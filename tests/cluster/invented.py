"""Invented gateway kinds, installed as an administrator would do it: CRD, right, script."""

import yaml

from localcluster.api import JsonObject
from localcluster.history import Kind
from localcluster.plane import Plane
from tests.cluster.manifests import KEPT_IN_ROUTES

GROUP = "routes.example.dev"
API_VERSION = f"{GROUP}/v1"
SCRIPT_MAP = "kruise-rollout-configuration"
PRODUCT_NAMESPACE = "kruise-rollout"


def kind_of(name: str) -> Kind:
    """The resource of an invented kind."""
    return Kind(GROUP, "v1", f"{name.lower()}s")


def crd(name: str, scope: str = "Namespaced") -> JsonObject:
    """Its definition: any spec is accepted."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name.lower()}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"kind": name, "plural": f"{name.lower()}s", "singular": name.lower()},
            "scope": scope,
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def right(*names: str) -> JsonObject:
    """The controller's right to invented kinds, aggregated into its role."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "invented-routes",
            "labels": {"moonshift.dev/aggregate-to-controller": "true"},
        },
        "rules": [
            {
                "apiGroups": [GROUP],
                "resources": [f"{name.lower()}s" for name in names],
                "verbs": ["get", "list", "watch", "patch", "update"],
            }
        ],
    }


def route(name: str, app: str, namespace: str) -> JsonObject:
    """An object of an invented kind that leads to an application's Service."""
    metadata = {"name": app, "namespace": namespace, "annotations": KEPT_IN_ROUTES}
    spec = {"backends": [{"service": app, "share": 100}], "empty": [], "big": 9007199254740993}
    return {"apiVersion": API_VERSION, "kind": name, "metadata": metadata, "spec": spec}


def scripts(found: dict[str, str], **others: str) -> JsonObject:
    """The ConfigMap of scripts, by invented kind; `others` by complete key."""
    data = {f"lua.traffic.routing.{name}.{GROUP}": text for name, text in found.items()}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": SCRIPT_MAP, "namespace": PRODUCT_NAMESPACE},
        "data": {**data, **others},
    }


async def install(plane: Plane, *objects: JsonObject) -> None:
    """Apply objects as the administrator, and wait until new kinds are served."""
    await plane.apply(yaml.safe_dump_all(objects))
    kinds = [o for o in objects if o["kind"] == "CustomResourceDefinition"]
    if kinds:
        await plane.crds_served(*(o["metadata"]["name"] for o in kinds))
        await plane.kubectl("get", ",".join(o["metadata"]["name"] for o in kinds), "-A")
