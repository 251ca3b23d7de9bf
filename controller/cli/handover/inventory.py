"""All objects that a takeover or a removal affects, in their present state.

Invariant: reads only. A kind that the cluster does not serve has no objects; a kind that may not be listed is a gap
with a sentence, never an empty list.
"""

from collections.abc import Iterable, Iterator

import msgspec

from controller.api.conversion import Unconvertible, converted
from controller.api.jsontree import JsonObject, child, items, text
from controller.api.names import V1BETA1
from controller.api.workload_kinds import KNOWN_WORKLOADS
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
from controller.scripts.lookup import packaged_kinds

WORKLOADS = (
    DEPLOYMENTS,
    STATEFUL_SETS,
    DAEMON_SETS,
    Resource("apps.kruise.io", "v1alpha1", "clonesets", "CloneSet"),
    Resource("apps.kruise.io", "v1beta1", "statefulsets", "StatefulSet"),
    Resource("apps.kruise.io", "v1alpha1", "daemonsets", "DaemonSet"),
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

    async def of_kind(self, api_version: str, kind: str) -> tuple[JsonObject, ...]:
        """The objects of a kind, in a version that is served."""
        try:
            resource = await served(self._client, api_version, kind)
        except MoonshiftError as failure:
            self.gaps.append(f"{kind} ({api_version}): {explain(failure)}")
            return ()
        return () if resource is None else await self.all(resource)

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


async def take_inventory(
    client: KubeClient, namespace: str | None, *, routes: bool = False
) -> Inventory:
    """All objects of a namespace, or of all of them; with `routes` those of every gateway kind, too."""
    reading = _Reading(client, namespace)
    rollouts, routings = await reading.all(ROLLOUTS), await reading.all(TRAFFIC_ROUTINGS)
    kinds = gateway_kinds((*rollouts, *routings)) if routes else ()
    return Inventory(
        rollouts=rollouts,
        batch_releases=await reading.all(BATCH_RELEASES),
        workloads=(
            *await reading.all(*WORKLOADS),
            *[item for kind in _other_kinds(rollouts) for item in await reading.of_kind(*kind)],
        ),
        autoscalers=await reading.all(HPAS),
        services=await reading.all(SERVICES),
        routes=tuple([item for kind in kinds for item in await reading.of_kind(*kind)]),
        traffic_routings=routings,
        gaps=tuple(reading.gaps),
    )


def _other_kinds(rollouts: Iterable[JsonObject]) -> tuple[tuple[str, str], ...]:
    """Version and kind of workloads that are known by their label alone."""
    named = (child(rollout, "spec", "workloadRef") for rollout in rollouts)
    kinds = {(text(one, "apiVersion"), text(one, "kind")) for one in named}
    return tuple(sorted(one for one in kinds if _group_kind(*one) not in KNOWN_WORKLOADS))


def _group_kind(api_version: str, kind: str) -> tuple[str, str]:
    return api_version.partition("/")[0], kind


def gateway_kinds(users: Iterable[JsonObject]) -> tuple[tuple[str, str], ...]:
    """Version and kind of all gateway objects that may have our content: kinds with a packaged script, and kinds that
    these Rollouts and TrafficRoutings name.
    """
    found = {("networking.k8s.io", "Ingress"): "v1"}
    for group, kind in packaged_kinds():
        found.setdefault((group, kind), "v1")
    for user in users:
        for reference in _references(child(user, "spec")):
            group, _, version = text(reference, "apiVersion").partition("/")
            found[group, text(reference, "kind")] = version
    return tuple((f"{group}/{version}", kind) for (group, kind), version in sorted(found.items()))


def _references(spec: JsonObject) -> Iterator[JsonObject]:
    plans = (child(spec, "strategy", style) for style in ("canary", "blueGreen"))
    entries = [entry for plan in plans for entry in items(plan, "trafficRoutings")]
    for entry in (*entries, *items(spec, "objectRef")):
        yield from map(child, items(entry, "customNetworkRefs"))


def finalizers_of(obj: JsonObject) -> tuple[str, ...]:
    """The finalizers of an object."""
    return tuple(str(name) for name in items(child(obj, "metadata"), "finalizers"))
