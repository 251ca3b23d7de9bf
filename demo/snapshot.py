"""The objects that an onlooker reads from the API server at one moment.

Why it exists: the demo must judge by the objects themselves, not by the controller's own statements. Invariant: every
object is read again, by a client of its own and as another user than the product. It must not write.
"""

from dataclasses import dataclass
from typing import Any

from demo.place import NAMESPACE
from demo.world import name_of
from localcluster.api import ApiClient, JsonObject

CORE = f"/api/v1/namespaces/{NAMESPACE}"
APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
ISTIO = f"/apis/networking.istio.io/v1beta1/namespaces/{NAMESPACE}"
APPLIED = {
    "VirtualService nginx-vs": f"{ISTIO}/virtualservices/nginx-vs",
    "DestinationRule nginx-dr": f"{ISTIO}/destinationrules/nginx-dr",
    "Gateway nginx-gateway": f"{ISTIO}/gateways/nginx-gateway",
    "Service nginx-service": f"{CORE}/services/nginx-service",
    "ConfigMap nginx-configmap-base": f"{CORE}/configmaps/nginx-configmap-base",
    "ConfigMap nginx-configmap-canary": f"{CORE}/configmaps/nginx-configmap-canary",
    "Deployment nginx-deployment": f"{APPS}/deployments/nginx-deployment",
}
"""The paths of the objects in app.yaml, by a name for people."""
KEPT_FIELDS = ("spec", "data")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that the story's expectations are about."""

    objects: dict[str, JsonObject]
    pods: tuple[JsonObject, ...]
    deployments: tuple[str, ...]
    services: tuple[str, ...]

    def spec(self, name: str) -> JsonObject:
        """The spec of an applied object."""
        spec: JsonObject = self.objects[name]["spec"]
        return spec

    def owners_part(self, name: str) -> JsonObject:
        """The fields that the owner wrote into an object: spec or data, labels, annotations."""
        return owners_part(self.objects[name])

    def managers(self) -> set[str]:
        """Field managers that own something of the objects."""
        return {
            entry.get("manager", "")
            for body in self.objects.values()
            for entry in body["metadata"].get("managedFields") or []
        }


async def read_snapshot(client: ApiClient) -> Snapshot:
    """Read everything once."""
    objects = {name: await client.get(path) for name, path in APPLIED.items()}
    return Snapshot(
        objects=objects,
        pods=tuple(await _items(client, f"{CORE}/pods")),
        deployments=tuple(sorted(map(name_of, await _items(client, f"{APPS}/deployments")))),
        services=tuple(sorted(map(name_of, await _items(client, f"{CORE}/services")))),
    )


def owners_part(body: JsonObject) -> JsonObject:
    """The fields of an object that its owner writes, empty and absent ones being the same."""
    metadata = body["metadata"]
    part: dict[str, Any] = {field: body[field] for field in KEPT_FIELDS if field in body}
    part["labels"] = metadata.get("labels") or {}
    part["annotations"] = metadata.get("annotations") or {}
    part["finalizers"] = metadata.get("finalizers") or []
    return part


async def _items(client: ApiClient, path: str) -> list[JsonObject]:
    return list((await client.get(path))["items"])
