"""A Rollout's objects are read from caches, else live within a bound. No Rollout is refused, none delayed for long."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from controller.api.conversion import to_v1alpha1
from controller.api.meta import Key, ObjectMeta
from controller.api.names import IN_PROGRESSING
from controller.api.networking import Service
from controller.api.trafficrouting import TrafficRouting
from controller.api.workloads import Deployment
from controller.domain.admission.named import TRAFFIC_ROUTING_KIND, Named
from controller.domain.admission.surroundings import Absent, Exists, Template, Unknown
from controller.domain.availability import Failing, NotServed, Unavailable
from controller.domain.traffic.plan.header import ScriptHeader
from controller.kube.kind_watch import Kind, RawObject
from controller.kube.resources import DEPLOYMENTS, SERVICES, TRAFFIC_ROUTINGS, Resource
from controller.kube.served import served
from controller.kube.store import Store
from controller.kube.watch import read_page
from controller.runtime.clock import SystemClock
from controller.simulation.api_server.server import MemoryApi
from controller.webhook import admission
from controller.webhook.admission import Admission
from controller.webhook.named_objects import NamedCaches, Surroundings
from controller.webhook.readers import LIVE_BURST, LIVE_PER_SECOND
from controller.webhook.review import AdmissionRequest, Answer
from tests.component.webhook.asking import Reads
from tests.unit.domain.admission.objects import deployment
from tests.unit.domain.admission.test_rollout import edited, raw

ISTIO = "networking.istio.io/v1"
VIRTUAL_SERVICES = Resource("networking.istio.io", "v1", "virtualservices", "VirtualService")
CLONE_SETS = Resource("apps.kruise.io", "v1alpha1", "clonesets", "CloneSet")
GATEWAY_CLASSES = Resource("mesh.io", "v1", "meshclasses", "MeshClass", namespaced=False)
Object = dict[str, Any]

WEB = Named("spec.workloadRef", "apps/v1", "Deployment", "web")
FRONT = Named("front", "v1", "Service", "web")
ROUTE = Named("route", ISTIO, "VirtualService", "web")
CLONES = Named("clones", "apps.kruise.io/v1alpha1", "CloneSet", "web")
SHARED = Named("lane", *TRAFFIC_ROUTING_KIND, "web")
EVERY = (WEB, FRONT, ROUTE, CLONES, SHARED)
PLAN: dict[str, Any] = {
    "steps": [{"replicas": 1, "traffic": "20%"}],
    "trafficRoutings": [
        {
            "service": "web",
            "customNetworkRefs": [{"apiVersion": ISTIO, "kind": "VirtualService", "name": "web"}],
        }
    ],
}


class World:
    """A cluster, its cached objects, and the requests to its API server."""

    def __init__(self, *, synced: bool, held: bool = True) -> None:
        self.api = MemoryApi(
            lambda: datetime(2026, 1, 1, tzinfo=UTC),
            served=(VIRTUAL_SERVICES, CLONE_SETS, GATEWAY_CLASSES),
        )
        self.asked = 0
        self.hang = False
        self.held: dict[Kind, dict[Key, RawObject]] = {}
        self.unheld: Unavailable = Failing("not watched")
        if held:
            self.held = {(one.api_version, one.kind): {} for one in (ROUTE, CLONES)}
        self.deployments: Store[Deployment] = Store()
        self.services: Store[Service] = Store()
        self.lanes: Store[TrafficRouting] = Store()
        caches = NamedCaches(
            self.deployments, self.services, self.lanes, self, lambda resource: synced
        )
        self.reader = Surroundings(caches, self)

    def find(self, kind: Kind, key: Key) -> RawObject | Unavailable | None:
        return self.held[kind].get(key) if kind in self.held else self.unheld

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        self.asked += 1
        if self.hang:
            await asyncio.Event().wait()
        return await self.api.get(resource, namespace, name)

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Unavailable:
        return tuple(self.held[kind].values()) if kind in self.held else self.unheld

    async def first_page(self, resource: Resource, namespace: str) -> tuple[bytes, ...]:
        self.asked += 1
        async for page in self.api.list_pages(resource, namespace):
            return tuple(map(bytes, read_page(page).items or ()))
        return ()

    async def served(self, api_version: str, kind: str) -> Resource | None:
        self.asked += 1
        return await served(self.api, api_version, kind)

    def apply(self, resource: Resource, body: Object) -> None:
        """On the server."""
        key = Key("shop", body["metadata"]["name"])
        self.api.storage.put((resource.group, resource.plural), key, body)

    def cache(self, resource: Resource, body: Object) -> None:
        """The objects that a watch delivered."""
        text = json.dumps(body)
        if resource is DEPLOYMENTS:
            self.deployments.put(msgspec.json.decode(text, type=Deployment))
        elif resource is SERVICES:
            self.services.put(msgspec.json.decode(text, type=Service))
        elif resource is TRAFFIC_ROUTINGS:
            self.lanes.put(msgspec.json.decode(text, type=TrafficRouting))
        else:
            name = body["metadata"]["name"]
            found = RawObject(ObjectMeta(name=name, namespace="shop"), msgspec.Raw(text.encode()))
            self.held[(resource.api_version, resource.kind)][Key("shop", name)] = found

    async def warnings_about(self, obj: Object) -> tuple[str, ...]:
        """Admission's warnings about a Rollout; admission always accepts it."""
        answer = await self.answer_about(obj)
        assert answer.allowed
        return answer.warnings

    async def answer_about(self, obj: Object, before: Object | None = None) -> Answer:
        """Admission's answer about a Rollout that is created, or changed from `before`."""
        judge = Admission(
            Reads(), Reads(), SystemClock(), is_own=lambda *who: False, named=self.reader,
            headers=lambda reference: ScriptHeader(),
        )  # fmt: skip
        texts = [msgspec.Raw(json.dumps(each).encode()) for each in (obj, before)]
        verb = "CREATE" if before is None else "UPDATE"
        asked = AdmissionRequest(
            uid="r", operation=verb, namespace="shop", object=texts[0], old_object=texts[1]
        )
        return await judge.rollout(asked)


def service(selector: dict[str, str] | None = None, **spec: object) -> Object:
    """The stable Service."""
    chosen = {"selector": selector} if selector else {}
    return {"metadata": {"name": "web", "namespace": "shop"}, "spec": {**chosen, **spec}}


NAMED = {"metadata": {"name": "web", "namespace": "shop"}}
WORKLOADS: tuple[tuple[Resource, Object], ...] = (
    (DEPLOYMENTS, deployment()),
    (SERVICES, service({"app": "web"})),
    (VIRTUAL_SERVICES, NAMED),
    (CLONE_SETS, {**NAMED, "spec": {"template": {"metadata": None}}}),
    (TRAFFIC_ROUTINGS, NAMED),
)


async def test_an_object_in_a_synced_cache_costs_no_request() -> None:
    world = World(synced=True)
    for resource, body in WORKLOADS:
        world.cache(resource, body)
    seen = await world.reader.look("shop", EVERY)
    assert seen[WEB] == Template({"app": "web"}, 10)
    assert isinstance(seen[FRONT], Service)
    assert (seen[ROUTE], seen[CLONES], seen[SHARED]) == (Exists(), Template({}), Exists())
    assert await world.warnings_about(raw(**PLAN)) == ()
    assert world.asked == 0


@pytest.mark.parametrize("synced", [True, False])
@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
@pytest.mark.parametrize(("held_for", "allowed"), [("mine", False), ("another", True), ("", True)])
async def test_a_rollout_leaves_no_workload_that_is_held_for_its_release(
    synced: bool, version: str, held_for: str, allowed: bool
) -> None:
    """Its phase is still Healthy until the first status of the release, and nobody else would remove the hold."""
    world = World(synced=synced)
    mark = json.dumps({"rolloutName": held_for})
    held = edited(deployment(), "metadata", "annotations", to={IN_PROGRESSING: mark})
    world.apply(DEPLOYMENTS, held)
    world.cache(DEPLOYMENTS, held)
    before = raw(**PLAN)
    after = edited(before, "spec", "workloadRef", "name", to="other")
    if version == "v1alpha1":
        before, after = (checked_alpha(each) for each in (before, after))
    answer = await world.answer_about(after, before)
    assert answer.allowed is allowed
    assert ("Deployment web is held for a release" in answer.message) is not allowed


def checked_alpha(obj: Object) -> Object:
    converted = to_v1alpha1(obj)
    assert isinstance(converted, dict)
    return converted


@pytest.mark.parametrize("there", [True, False])
async def test_an_object_in_no_cache_is_read(there: bool) -> None:
    world = World(synced=False, held=False)
    for resource, body in WORKLOADS if there else ():
        world.apply(resource, body)
    seen = await world.reader.look("shop", EVERY)
    assert [isinstance(one, Absent) for one in seen.values()] == [not there] * len(EVERY)
    assert Unknown() not in seen.values()


async def test_a_just_applied_object_is_not_reported_as_absent() -> None:
    world = World(synced=True)
    for resource, body in WORKLOADS:
        world.apply(resource, body)
    assert await world.warnings_about(raw(**PLAN)) == ()
    # A Service that was corrected a moment ago, as the cache does not know yet.
    world.cache(DEPLOYMENTS, deployment())
    world.cache(SERVICES, service({"app": "wrong"}))
    assert await world.warnings_about(raw(**PLAN)) == ()


@pytest.mark.parametrize("synced", [True, False])
async def test_absent_objects_are_warnings_in_both_versions(synced: bool) -> None:
    world = World(synced=synced)
    rest = "does not exist: create it, or correct the reference; no release begins without it"
    place = "spec.strategy.canary.trafficRoutings[0]"
    others = (
        f"{place}.service: Service shop/web {rest}",
        f"{place}.customNetworkRefs[0]: VirtualService shop/web {rest}",
    )
    beta, older = raw(**PLAN), to_v1alpha1(raw(**PLAN))
    assert await world.warnings_about(beta) == (
        f"spec.workloadRef: Deployment shop/web {rest}",
        *others,
    )
    older_place = "spec.objectRef.workloadRef"
    assert await world.warnings_about(older) == (
        f"{older_place}: Deployment shop/web {rest}",
        *others,
    )


async def test_a_service_that_leads_nowhere_is_a_warning() -> None:
    world = World(synced=True)
    for resource, body in WORKLOADS:
        world.apply(resource, body)
    world.apply(SERVICES, service(type="ExternalName"))
    (warning,) = await world.warnings_about(raw(**PLAN))
    assert "trafficRoutings[0].service: Service shop/web is of type ExternalName" in warning
    world.apply(SERVICES, service({"app": "other"}))
    (warning,) = await world.warnings_about(raw(**PLAN))
    assert "its selector app=other matches no pod of Deployment shop/web" in warning


async def test_a_forbidden_or_unserved_kind_causes_no_warning() -> None:
    world = World(synced=False, held=False)
    world.api.served.clear()
    world.api.forbidden = {("get", "services"), ("get", "deployments")}
    assert await world.warnings_about(raw(**PLAN)) == ()
    world.unheld = NotServed("no such kind")
    before = world.asked
    assert await world.reader.look("shop", (ROUTE,)) == {ROUTE: Unknown()}
    assert world.asked == before


async def test_objects_outside_of_namespaces_are_not_looked_for() -> None:
    world = World(synced=True)
    outside = Named("class", "mesh.io/v1", "MeshClass", "web")
    assert await world.reader.look("shop", (outside,)) == {outside: Unknown()}


async def test_forged_reviews_spend_a_bounded_number_of_requests() -> None:
    world = World(synced=False, held=False)
    loop = asyncio.get_running_loop()
    started = loop.time()
    for _ in range(200):
        await world.warnings_about(raw(**PLAN))
    refilled = LIVE_PER_SECOND * (loop.time() - started)
    assert LIVE_BURST // 2 <= world.asked <= LIVE_BURST + refilled


async def test_a_server_that_hangs_delays_nobody_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "LOOK_SECONDS", 0.02)
    world = World(synced=False)
    world.hang = True
    assert await world.warnings_about(raw(**PLAN)) == ()


async def test_a_refused_rollout_names_nothing_that_is_read() -> None:
    world = World(synced=False)
    judge = Admission(
        Reads(), Reads(), SystemClock(), is_own=lambda *who: False, named=world.reader
    )
    body = msgspec.Raw(json.dumps(raw(steps=[])).encode())
    asked = AdmissionRequest(uid="r", operation="CREATE", namespace="shop", object=body)
    answer = await judge.rollout(asked)
    assert not answer.allowed
    assert world.asked == 0


UNREADABLE: tuple[Any, ...] = ([], {"replicas": "3"}, {"template": "x"})


@pytest.mark.parametrize("spec", UNREADABLE)
@pytest.mark.parametrize("synced", [True, False])
async def test_an_object_that_cannot_be_read_causes_no_warning(synced: bool, spec: Any) -> None:
    world = World(synced=synced, held=synced)
    body = {**NAMED, "spec": spec}
    world.apply(CLONE_SETS, body)
    if synced:
        world.cache(CLONE_SETS, body)
    assert await world.reader.look("shop", (CLONES,)) == {CLONES: Unknown()}


EDGE: Object = {
    "metadata": {"name": "edge", "namespace": "shop"},
    "spec": {"http": [{"route": [{"destination": {"host": "web"}}]}]},
}


@pytest.mark.parametrize("held", [True, False], ids=["from the cache", "from the server"])
async def test_another_route_of_the_same_service_is_named(held: bool) -> None:
    world = World(synced=held, held=held)
    for resource, body in WORKLOADS:
        (world.cache if held else world.apply)(resource, body)
    (world.cache if held else world.apply)(VIRTUAL_SERVICES, EDGE)
    (warning,) = await world.warnings_about(raw(**PLAN))
    assert "VirtualService shop/edge leads to Service web, too" in warning


@pytest.mark.parametrize("why", [Failing("not watched"), NotServed("no CRD")])
async def test_a_kind_that_cannot_be_read_is_no_reason(why: Unavailable) -> None:
    world = World(synced=True, held=False)
    world.unheld = why
    one = msgspec.structs.replace(ROUTE, api_version="none/v1", service="web")
    assert await world.reader.beside("shop", (one, FRONT)) == {one: ()}


async def test_a_server_that_refuses_the_list_is_no_reason() -> None:
    world = World(synced=True, held=False)
    world.api.forbidden.add(("list", "virtualservices"))
    one = msgspec.structs.replace(ROUTE, service="web")
    assert await world.reader.beside("shop", (one,)) == {one: ()}


async def test_a_route_that_cannot_be_read_is_no_reason_and_a_kind_is_read_once() -> None:
    world = World(synced=True)
    metadata = ObjectMeta(name="broken", namespace="shop")
    kind = (ROUTE.api_version, ROUTE.kind)
    world.held[kind][metadata.key] = RawObject(metadata, msgspec.Raw(b'"web"'))
    both = tuple(msgspec.structs.replace(ROUTE, path=path, service="web") for path in ("a", "b"))
    assert await world.reader.beside("shop", both) == dict.fromkeys(both, ())
