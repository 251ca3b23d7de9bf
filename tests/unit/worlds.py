"""A simulated cluster whose gateway objects are changed by plain scripts, and functions that read these objects."""

from datetime import datetime
from typing import Any

import msgspec

from controller.api.jsontree import JsonObject, changed, child, text
from controller.api.meta import Key
from controller.api.names import ORIGINAL_SPEC
from controller.domain.availability import Unavailable
from controller.domain.decision import Reference
from controller.domain.observation import RoutePresent
from controller.domain.traffic.drift.object_state import see_route
from controller.simulation.cluster import SimulatedCluster
from controller.simulation.state import Delays, resource_of_kind
from tests.unit.scripts import PlainScripts

API_VERSIONS = {
    "VirtualService": "networking.istio.io/v1",
    "DestinationRule": "networking.istio.io/v1",
    "Backend": "networking.istio.io/v1",
    "Gateway": "networking.istio.io/v1",
    "HTTPRoute": "gateway.networking.k8s.io/v1",
    "Ingress": "networking.k8s.io/v1",
}


class Led(msgspec.Struct, frozen=True):
    """The plan that was written into a gateway object."""

    identity: str
    release: str
    weight: float | None
    announces: bool
    stable_service: str
    canary_service: str
    pod_labels: dict[str, str] = {}
    matches: list[Any] = []
    left_out: bool = False
    """The plan leaves this object as it was."""


class Route(msgspec.Struct, frozen=True):
    """A gateway object, and the plan that it follows (None: the original)."""

    kind: str
    plan: Led | None = None
    touched: bool = False
    depth: int = 0


class World(SimulatedCluster):
    """One cluster, its scripts and its gateway objects."""

    def __init__(self, now: datetime, delays: Delays | None = None) -> None:
        self.scripts = PlainScripts()
        super().__init__(now, self.scripts, self.scripts, delays)
        self.cluster.keep_pod_sets("db.example/v1", "Cluster")
        self._routes: dict[tuple[str, str, str], tuple[JsonObject, Route] | None] = {}
        """The owners' gateway objects, and how each was seen last."""

    def put_route(
        self,
        namespace: str,
        kind: str,
        name: str,
        raw: bytes = b"{}",
        *,
        depth: int = 0,
        announces: bool = False,
    ) -> None:
        """An owner's gateway object; `depth` and `announces` come from its kind's script."""
        self.scripts.depths[kind] = depth
        (self.scripts.announcing.add if announces else self.scripts.announcing.discard)(kind)
        body = msgspec.json.decode(raw, type=JsonObject)
        api_version = API_VERSIONS[kind]
        metadata = {"uid": f"given-{kind}-{name}", **child(body, "metadata")}
        resource = resource_of_kind(api_version, kind)
        self.cluster.server.storage.put(
            (resource.group, resource.plural),
            Key(namespace, name),
            {
                "apiVersion": api_version,
                "kind": kind,
                "spec": {},
                **body,
                "metadata": {**metadata, "name": name, "namespace": namespace},
            },
        )
        self._routes[namespace, kind, name] = None

    def cannot_be_read(self, kind: str, why: Unavailable) -> None:
        """Objects of a kind are not known."""
        self.passes.kinds.unreadable[API_VERSIONS[kind], kind] = why
        self.passes.wake_all()

    def can_be_read(self, kind: str) -> None:
        """Objects of a kind are known again."""
        self.passes.kinds.unreadable.pop((API_VERSIONS[kind], kind), None)
        self.passes.wake_all()

    def raw_route(self, namespace: str, kind: str, name: str) -> JsonObject | None:
        """A whole gateway object."""
        resource = resource_of_kind(API_VERSIONS[kind], kind)
        place = (resource.group, resource.plural)
        return self.cluster.server.storage.get(place, Key(namespace, name))

    def remove_route(self, namespace: str, kind: str, name: str) -> None:
        """A gateway object is deleted."""
        resource = resource_of_kind(API_VERSIONS[kind], kind)
        place = (resource.group, resource.plural)
        self.cluster.server.storage.remove(place, Key(namespace, name))

    def touch_routes(self) -> None:
        """Somebody overwrites our content in every gateway object in use."""
        for namespace, kind, name in self._routes:
            found = self.raw_route(namespace, kind, name)
            if found is None or "plan" not in child(found, "spec"):
                continue
            resource = resource_of_kind(API_VERSIONS[kind], kind)
            is_led = "canaryWeight" in child(found, "spec", "plan")
            field, value = ("canaryWeight", 99.5) if is_led else ("canaryService", "elsewhere")
            self.cluster.server.storage.put(
                (resource.group, resource.plural),
                Key(namespace, name),
                changed(found, ("spec", "plan", field), value),
            )

    def replace_routes(self) -> None:
        """Somebody replaces every gateway object in use by its owner's manifest: our content and record are lost."""
        for namespace, kind, name in self._routes:
            found = self.raw_route(namespace, kind, name)
            original = text(found or {}, "metadata", "annotations", ORIGINAL_SPEC)
            if not original:
                continue
            bare = changed(found or {}, ("metadata", "annotations"), None)
            spec = msgspec.json.decode(original)["spec"]
            resource = resource_of_kind(API_VERSIONS[kind], kind)
            self.cluster.server.storage.put(
                (resource.group, resource.plural), Key(namespace, name), {**bare, "spec": spec}
            )

    def route(self, namespace: str, reference: Reference) -> Route | None:
        """A gateway object, or None."""
        return self._route(namespace, reference.kind, reference.name)

    @property
    def routes(self) -> tuple[Route, ...]:
        """All gateway objects."""
        found = (self._route(*place) for place in self._routes)
        return tuple(route for route in found if route is not None)

    def _route(self, namespace: str, kind: str, name: str) -> Route | None:
        found = self.raw_route(namespace, kind, name)
        if found is None:
            return None
        last = self._routes.get((namespace, kind, name))
        if last is None or last[0] is not found:
            last = self._routes[namespace, kind, name] = (found, self._seen(kind, name, found))
        return last[1]

    def _seen(self, kind: str, name: str, found: JsonObject) -> Route:
        named = Reference(API_VERSIONS[kind], kind, name, "", "")
        state = see_route(named, msgspec.json.encode(found))
        assert isinstance(state, RoutePresent), state
        plan: dict[str, Any] = child(found, "spec", "plan")
        if not state.in_use:
            return Route(kind)
        weight = plan.get("canaryWeight")
        return Route(
            kind,
            Led(
                identity=state.plan,
                release=state.release,
                weight=None if weight == -1 else weight,
                announces=plan.get("announce", False),
                stable_service=plan.get("stableService", ""),
                canary_service=plan.get("canaryService", ""),
                pod_labels=plan.get("patchPodMetadata", {}).get("labels", {}),
                matches=plan.get("matches", []),
                left_out=not plan,
            ),
            state.touched,
            state.depth,
        )
