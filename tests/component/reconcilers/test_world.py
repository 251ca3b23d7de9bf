"""The objects that are watched for a Rollout, and the input of a pass if an object cannot be read."""

from collections.abc import Iterable

import msgspec
import pytest
from msgspec import structs

from controller.api.autoscaling import AUTOSCALER
from controller.api.meta import Key, ObjectMeta
from controller.api.names import WORKLOAD_TYPE
from controller.api.rollout import (
    BlueGreenStrategy,
    MoonshiftStatus,
    NetworkRef,
    Rollout,
    RolloutStatus,
    ScriptRef,
    Strategy,
    WorkloadRef,
)
from controller.domain.availability import (
    Availability,
    Failing,
    Forbidden,
    Loading,
    NotServed,
    Synced,
    Unavailable,
)
from controller.domain.decision import Reference
from controller.domain.observation import Observation, RouteAbsent, RouteUnreadable
from controller.domain.observation import WorkloadUnreadable as Unreadable
from controller.errors import Postponed
from controller.kube.kind_watch import Kind, RawObject
from controller.kube.resources import PODS, Resource
from controller.reconcilers.caches import Caches
from controller.reconcilers.world import World
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    make_rollout,
    make_routing,
    make_step,
    make_strategy,
    with_spec,
)

LANE, BARE = ("gates.example.com/v1", "Lane"), ("gates.example.com/v1", "Bare")
SECRET, POD = ("v1", "Secret"), ("v1", "Pod")
SET = ("apps.kruise.io/v1alpha1", "CloneSet")
FORBIDDEN = Forbidden("you may not")


class Kinds:
    """Kinds in the state that a test sets; nothing exists."""

    def __init__(self) -> None:
        self.held: dict[Key, frozenset[Kind]] = {}
        self.stands: dict[Kind, Availability] = {}
        self.objects: dict[Kind, RawObject] = {}
        self.companions: dict[Kind, tuple[RawObject, ...] | Unavailable] = {}

    def keep_watched(self, owner: Key, kinds: Iterable[Kind]) -> None:
        self.held[owner] = frozenset(kinds)

    def availability(self, kind: Kind) -> Availability:
        return self.stands.get(kind, Synced())

    def unknown(self, kind: Kind) -> Unavailable | None:
        stands = self.availability(kind)
        return None if isinstance(stands, Synced) else stands

    def resource(self, kind: Kind) -> Resource | None:
        return None

    def find(self, kind: Kind, key: Key) -> RawObject | Unavailable | None:
        assert kind in self.held[KEY], "only what is held is read"
        return self.unknown(kind) or self.objects.get(kind)

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Unavailable:
        found = self.objects.get(kind)
        return self.unknown(kind) or (() if found is None else (found,))

    def made_for(
        self, kind: Kind, namespace: str, rollout_uid: str
    ) -> tuple[RawObject, ...] | Unavailable:
        return self.unknown(kind) or self.companions.get(kind, ())


class Sources:
    """Caches in the state that a test sets."""

    def __init__(self) -> None:
        self.stands: dict[str, Unavailable] = {}

    def unavailable(self, kinds: Iterable[Resource]) -> Unavailable | None:
        return next((self.stands[kind.name] for kind in kinds if kind.name in self.stands), None)


def missing(reference: Reference) -> str:
    """Only lanes have a script; somebody wrote one for Secrets, too."""
    has = reference.kind in ("Lane", "Secret")
    return "" if has else f"no script for {reference.kind}"


class Scene:
    """One Rollout and its world."""

    def __init__(self, rollout: Rollout) -> None:
        self.caches, self.kinds, self.sources = Caches(), Kinds(), Sources()
        self.caches.rollouts.put(rollout)
        self.world = World(self.caches, self.kinds, self.sources, missing=missing)

    @property
    def seen(self) -> Observation:
        found = self.world.observe(KEY)
        assert found is not None
        return found

    @property
    def held(self) -> frozenset[Kind]:
        return self.kinds.held[KEY]


def led_by(*kinds: Kind, status: RolloutStatus | None = None) -> Rollout:
    refs = (NetworkRef(*kind, name="web") for kind in kinds)
    strategy = structs.replace(make_strategy(), traffic_routings=(make_routing("web", *refs),))
    return make_rollout(strategy=strategy, status=status)


def leading() -> RolloutStatus:
    """The status of a release whose routes are in place."""
    return RolloutStatus(moonshift=MoonshiftStatus(release="r", route_plan="p"))


def test_only_kinds_with_a_script_are_watched_and_secrets_never() -> None:
    scene = Scene(led_by(LANE, BARE, SECRET, POD))
    routes = {route.reference.kind: route.state for route in scene.seen.routes}
    assert scene.held == {LANE}
    assert routes["Lane"] == RouteAbsent()
    text = f"Bare {KEY.namespace}/web: no script for Bare"
    assert routes["Bare"] == RouteUnreadable("ScriptNotFound", text)
    assert isinstance(routes["Pod"], RouteUnreadable)
    secret = routes["Secret"]
    assert isinstance(secret, RouteUnreadable)
    assert "never read" in secret.message


def test_a_route_in_place_is_watched_though_its_script_is_gone_but_a_secret_is_not() -> None:
    scene = Scene(led_by(BARE, SECRET, status=leading()))
    states = [route.state for route in scene.seen.routes]
    assert scene.held == {BARE}
    assert states[0] == RouteAbsent()
    assert isinstance(states[1], RouteUnreadable)


def test_nothing_is_watched_for_a_rollout_that_is_gone() -> None:
    scene = Scene(led_by(LANE))
    assert scene.seen.routes
    scene.caches.rollouts.remove(KEY)
    assert scene.world.observe(KEY) is None
    assert scene.held == frozenset()
    assert scene.world._plans._known == {}


@pytest.mark.parametrize("why", [FORBIDDEN, NotServed("gone"), Failing("503")], ids=str)
def test_a_route_whose_kind_cannot_be_read_says_why_as_a_type(why: Unavailable) -> None:
    scene = Scene(led_by(LANE))
    scene.kinds.stands[LANE] = why
    (route,) = scene.seen.routes
    assert isinstance(route.state, RouteUnreadable)
    assert route.state.why == why
    assert route.state.reason == why.reason
    assert why.message in route.state.message


def test_a_route_with_a_companion_that_cannot_be_read_is_not_one_without_companions() -> None:
    scene = Scene(led_by(LANE))
    scene.kinds.companions[LANE] = why = Failing("Lane shop/web-canary cannot be read")
    (route,) = scene.seen.routes
    assert isinstance(route.state, RouteUnreadable)
    assert (route.state.why, route.state.reason) == (why, "Unreadable")
    assert "Lane shop/web-canary cannot be read" in route.state.message


def blue_green() -> Rollout:
    plan = BlueGreenStrategy(steps=(make_step("100%", "0%"),))
    return with_spec(make_rollout(), strategy=Strategy(blue_green=plan))


def test_unreadable_autoscalers_do_not_count_as_absent() -> None:
    scene = Scene(blue_green())
    known: list[object] = [scene.seen.autoscalers]
    assert scene.held == {AUTOSCALER}
    for stands in (FORBIDDEN, NotServed("an old cluster")):
        scene.kinds.stands[AUTOSCALER] = stands
        known.append(scene.seen.autoscalers)
    assert known == [(), FORBIDDEN, ()]


@pytest.mark.parametrize(
    "text", ['{"spec": {"scaleTargetRef": 5}}', '{"spec": ' + "[" * 3000], ids=["strange", "deep"]
)
def test_an_autoscaler_that_cannot_be_read_may_be_the_workloads(text: str) -> None:
    scene = Scene(blue_green())
    meta = ObjectMeta(name="odd", namespace=NAMESPACE)
    scene.kinds.objects[AUTOSCALER] = RawObject(meta, msgspec.Raw(text))
    known = scene.seen.autoscalers
    assert isinstance(known, Failing)
    assert f"HorizontalPodAutoscaler {NAMESPACE}/odd cannot be read" in known.message


def test_a_kind_that_is_still_being_listed_postpones_the_pass() -> None:
    scene = Scene(led_by(LANE))
    scene.kinds.stands[LANE] = Loading("not yet")
    with pytest.raises(Postponed, match="not yet"):
        scene.world.observe(KEY)


def of(api_version: str, kind: str) -> Rollout:
    return make_rollout(ref=WorkloadRef(api_version, kind, "web"), traffic=False)


def test_a_workload_of_an_unreadable_kind_does_not_count_as_absent() -> None:
    scene = Scene(of(*SET))
    assert scene.seen.workload_problem is None
    scene.kinds.stands[SET] = FORBIDDEN
    assert scene.seen.workload_problem == Unreadable("Forbidden", "you may not", FORBIDDEN)
    assert scene.held == {SET}


@pytest.mark.parametrize("kind", [SECRET, POD])
def test_nothing_of_the_core_group_is_watched_as_a_workload(kind: Kind) -> None:
    scene = Scene(of(*kind))
    problem = scene.seen.workload_problem
    assert problem is not None
    assert problem.reason == "UnsupportedWorkload"
    assert scene.held == frozenset()


def test_pods_that_became_unreadable_do_not_count_as_absent() -> None:
    scene = Scene(make_rollout())
    scene.sources.stands[PODS.name] = FORBIDDEN
    assert scene.seen.workload_problem == Unreadable("Forbidden", "you may not", FORBIDDEN)


class OwnScripts:
    """ConfigMaps of the namespace in the state that a test sets."""

    def __init__(self) -> None:
        self.held: dict[Key, set[Key]] = {}
        self.stands: Availability = Synced()

    def keep_watched(self, owner: Key, config_maps: Iterable[Key]) -> None:
        self.held[owner] = set(config_maps)

    def availability(self, config_map: Key) -> Availability:
        assert config_map in self.held[KEY]
        return self.stands


def test_the_config_maps_of_own_scripts_are_watched_while_they_are_used() -> None:
    script = ScriptRef("scripts", service_account_name="router")
    reference = NetworkRef(*LANE, name="web", script_ref=script)
    strategy = structs.replace(make_strategy(), traffic_routings=(make_routing("web", reference),))
    scene, own = Scene(make_rollout(strategy=strategy)), OwnScripts()
    world = World(scene.caches, scene.kinds, scene.sources, missing=missing, own_scripts=own)
    own.stands = Loading("being listed")
    with pytest.raises(Postponed, match="being listed"):
        world.observe(KEY)
    own.stands = Synced()
    assert world.observe(KEY) is not None
    assert own.held[KEY] == {Key(KEY.namespace, "scripts")}
    scene.caches.rollouts.remove(KEY)
    assert world.observe(KEY) is None
    assert own.held[KEY] == set()


@pytest.mark.parametrize(
    "body",
    [
        b'{"spec":{"replicas":"three"}}',
        b'{"spec":null}',
        b'{"spec":{"template":{"metadata":[]}}}',
        b'{"spec":{"updateStrategy":"RollingUpdate"}}',
        b'{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1.5}}}}',
    ],
)
def test_a_workload_of_which_the_fields_do_not_fit_is_reported(body: bytes) -> None:
    scene = Scene(of(*SET))
    scene.kinds.objects[SET] = RawObject(
        ObjectMeta(name="web", labels={WORKLOAD_TYPE: "statefulset"}), msgspec.Raw(body)
    )
    problem = scene.seen.workload_problem
    assert problem is not None
    assert problem.reason == "UnsupportedWorkload"
    assert "cannot be read" in problem.message
