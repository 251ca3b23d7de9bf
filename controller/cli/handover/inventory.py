"""All objects that a takeover or a removal affects, in their present state.

Invariant: reads only. A kind that the cluster does not serve has no objects; a kind that may not be listed is a gap
with a sentence, never an empty list.
"""

import msgspec

from controller.api.conversion import Unconvertible, converted
from controller.api.jsontree import JsonObject, child, items, text
from controller.api.names import V1BETA1
from controller.cli.failures import explain
from controller.errors import MoonshiftError, NotFound
from controller.kube.client import KubeClient
from controller.kube.resources import (
    BATCH_RELEASES,
    DAEMON_SETS,
    DEPLOYMENTS,
    HPAS,
    ROLLOUTS,
    SERVICES,
    STATEFUL_SETS,
    TRAFFIC_ROUTINGS,
    Resource,
)
from controller.kube.served import served
from controller.kube.watch import read_page

WORKLOADS = (
    DEPLOYMENTS,
    STATEFUL_SETS,
    DAEMON_SETS,
    Resource("apps.kruise.io", "v1alpha1", "clonesets", "CloneSet"),
    Resource("apps.kruise.io", "v1beta1", "statefulsets", "StatefulSet"),
    Resource("apps.kruise.io", "v1alpha1", "daemonsets", "DaemonSet"),
)
ROUTES = (
    Resource("networking.k8s.io", "v1", "ingresses", "Ingress"),
    Resource("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute"),
    Resource("networking.istio.io", "v1", "virtualservices", "VirtualService"),
    Resource("networking.istio.io", "v1", "destinationrules", "DestinationRule"),
)


class Inventory(msgspec.Struct, frozen=True):
    """The objects of each kind, whole."""

    rollouts: tuple[JsonObject, ...] = ()
    batch_releases: tuple[JsonObject, ...] = ()
    workloads: tuple[JsonObject, ...] = ()
    autoscalers: tuple[JsonObject, ...] = ()
    services: tuple[JsonObject, ...] = ()
    routes: tuple[JsonObject, ...] = ()
    traffic_routings: tuple[JsonObject, ...] = ()
    gaps: tuple[str, ...] = ()

    def rollout_of(self, workload: JsonObject) -> JsonObject | None:
        """The Rollout that names this workload; versions are not compared."""
        return next((found for found in self.rollouts if _names(found, workload)), None)


def _names(rollout: JsonObject, workload: JsonObject) -> bool:
    ref = child(rollout, "spec", "workloadRef")
    same_place = text(rollout, "metadata", "namespace") == text(workload, "metadata", "namespace")
    named = (text(ref, "apiVersion").partition("/")[0], text(ref, "kind"), text(ref, "name"))
    found = (
        text(workload, "apiVersion").partition("/")[0],
        text(workload, "kind"),
        text(workload, "metadata", "name"),
    )
    return same_place and named == found


class _Reading:
    def __init__(self, client: KubeClient, namespace: str | None) -> None:
        self._client = client
        self._namespace = namespace
        self.gaps: list[str] = []

    async def all(self, *resources: Resource) -> tuple[JsonObject, ...]:
        found: list[JsonObject] = []
        for resource in resources:
            try:
                found += await self._in_any_version(resource)
            except MoonshiftError as failure:
                self.gaps.append(f"{resource.name}: {explain(failure)}")
        return tuple(found)

    async def _in_any_version(self, resource: Resource) -> list[JsonObject]:
        """The objects; an older cluster serves some kinds (Istio's, OpenKruise's Rollouts) in older versions only."""
        try:
            return await self._of(resource)
        except NotFound:
            other = await served(self._client, resource.api_version, resource.kind)
        if other is None or other.version == resource.version:
            return []
        return [_as_v1beta1(item) for item in await self._of(other)]

    async def _of(self, resource: Resource) -> list[JsonObject]:
        found: list[JsonObject] = []
        async for page in self._client.list_pages(resource, self._namespace):
            decoded = [
                msgspec.json.decode(item, type=JsonObject) for item in read_page(page).items or ()
            ]
            # Items of a list have no apiVersion and kind of their own.
            named: JsonObject = {"apiVersion": resource.api_version, "kind": resource.kind}
            found += [{**named, **item} for item in decoded]
        return found


def _as_v1beta1(obj: JsonObject) -> JsonObject:
    """A Rollout in the version that is judged; any other object as it is."""
    found = converted(obj, V1BETA1)
    return obj if isinstance(found, Unconvertible) else found


async def take_inventory(client: KubeClient, namespace: str | None) -> Inventory:
    """All objects of a namespace, or of all of them."""
    reading = _Reading(client, namespace)
    return Inventory(
        rollouts=await reading.all(ROLLOUTS),
        batch_releases=await reading.all(BATCH_RELEASES),
        workloads=await reading.all(*WORKLOADS),
        autoscalers=await reading.all(HPAS),
        services=await reading.all(SERVICES),
        routes=await reading.all(*ROUTES),
        traffic_routings=await reading.all(TRAFFIC_ROUTINGS),
        gaps=tuple(reading.gaps),
    )


def finalizers_of(obj: JsonObject) -> tuple[str, ...]:
    """The finalizers of an object."""
    return tuple(str(name) for name in items(child(obj, "metadata"), "finalizers"))
