"""Traffic of a step: shared Services, several Services, late endpoints, edited routes, lost routes."""

import msgspec
import pytest
from msgspec import structs

from controller.api import names
from controller.api.networking import Endpoint, TargetRef
from controller.api.rollout import (
    CanaryStrategy,
    FinalisingStep,
    MoonshiftStatus,
    NetworkRef,
    PatchMetadata,
    Phase,
    StepState,
)
from controller.domain import reasons
from controller.domain.availability import NotServed
from controller.domain.decision import (
    Decision,
    EnsureCanaryService,
    EnsureRoutes,
    RestoreRoutes,
)
from controller.domain.observation import (
    Observation,
    RoutePresent,
    RouteState,
    RouteUnreadable,
)
from controller.domain.rollout.phases import decide
from controller.domain.rollout.routes.services import made_for
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    GRACE,
    KEY,
    NAMESPACE,
    VIRTUAL_SERVICE,
    inner_of,
    make_deployment,
    make_rollout,
    make_routing,
    make_service,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    revision_of,
    sizes_of,
    status_of,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.routing_scenes import decided, observed
from tests.unit.domain.rollout.scenes import approve, first_instants, pin_of, seconds, started
from tests.unit.worlds import World

RULE = NetworkRef("networking.istio.io/v1", "DestinationRule", "web")


def virtual_service(subset: str = "") -> bytes:
    destination = {"host": "web", **({"subset": subset} if subset else {})}
    return msgspec.json.encode(
        {
            "metadata": {"name": "web", "namespace": NAMESPACE},
            "spec": {"hosts": ["web"], "http": [{"route": [{"destination": destination}]}]},
        }
    )


def destination_rule(labels: dict[str, str]) -> bytes:
    return msgspec.json.encode(
        {
            "metadata": {"name": "web", "namespace": NAMESPACE},
            "spec": {"host": "web", "subsets": [{"name": "stable", "labels": labels}]},
        }
    )


def shared_world(style: str, subset: str = "stable") -> World:
    """One Service for both revisions, separated by a subset (or not)."""
    strategy = CanaryStrategy(
        steps=make_steps("20%", "50%"),
        traffic_routings=(make_routing("web", VIRTUAL_SERVICE, RULE),),
        enable_extra_workload_for_canary=style == "canary",
        disable_generate_canary_service=True,
        patch_pod_template_metadata=PatchMetadata(labels={"lane": "new"}),
    )
    world = make_world(make_rollout(strategy=strategy), raw=virtual_service(subset))
    world.put_route(
        NAMESPACE,
        "DestinationRule",
        "web",
        destination_rule({"lane": "old"}),
    )
    return world


def with_routes(seen: Observation, state: RouteState) -> Observation:
    return structs.replace(
        seen, routes=tuple(structs.replace(route, state=state) for route in seen.routes)
    )


@pytest.mark.parametrize("appends", [True, False])
def test_the_gate_says_whether_the_canary_service_selects_by_labels_that_are_added(
    appends: bool,
) -> None:
    world = make_world()
    release(world)
    world.run_until(lambda: bool(sizes_of(world).get("v2")))
    seen = structs.replace(observed(world), appends_pod_labels=appends)
    made = [a for a in decided(world, seen).actions if isinstance(a, EnsureCanaryService)]
    assert [action.appends for action in made] == [appends]


def restores(decision: Decision) -> bool:
    return any(isinstance(action, RestoreRoutes) for action in decision.actions)


def with_slices(seen: Observation, *keep: str) -> Observation:
    """Only the slices of these Services have caught up."""
    slices = tuple(
        part if part.service in keep else structs.replace(part, endpoints=None)
        for part in seen.slices
    )
    return structs.replace(seen, slices=slices)


@pytest.mark.parametrize("style", ["partition", "canary"])
def test_a_shared_service_is_neither_pinned_nor_copied(style: str) -> None:
    world = shared_world(style)
    release(world)
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert (pin_of(world), pin_of(world, "web-canary")) == ("", "gone")
    assert weight_of(world) == 20
    approve(world)
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert weight_of(world) is None


def test_a_shared_service_whose_routes_mix_revisions_is_refused_before_a_pod_is_made() -> None:
    world = shared_world("canary", subset="")
    release(world)
    world.rest()
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", reasons.SHARED_SERVICE_MIXES_REVISIONS)
    assert sizes_of(world) == {"v1": 10}


def test_a_rollback_of_few_stable_pods_behind_a_shared_service_needs_no_wider_canary_service() -> (
    None
):
    world = shared_world("partition")
    world.people.edit(KEY, replicas=4)
    release(world)
    world.rest()
    approve(world)
    assert sizes_of(world) == {"v1": 2, "v2": 2}
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": 4}


def test_a_step_of_all_replicas_behind_a_shared_service_unpins_nothing() -> None:
    world = shared_world("partition")
    rollout = world.cluster.rollouts[KEY]
    canary = rollout.spec.strategy.canary
    assert canary is not None
    everything = structs.replace(canary, steps=make_steps("100%"))
    strategy = structs.replace(rollout.spec.strategy, canary=everything)
    world.people.change(KEY, lambda spec: structs.replace(spec, strategy=strategy))
    release(world)
    world.rest()
    assert sizes_of(world) == {"v2": 10}
    assert status_of(world).phase == Phase.HEALTHY


def test_a_third_revision_behind_a_shared_service_keeps_the_grace_period_too() -> None:
    world = shared_world("partition")
    release(world)
    world.rest()
    seen = first_instants(
        world,
        restored=lambda: weight_of(world) is None,
        gone=lambda: "v2" not in sizes_of(world),
    )
    release(world, "v3")
    world.rest()
    assert list(seen) == ["restored", "gone"]
    assert seen["gone"] - seen["restored"] >= seconds(GRACE)


def test_every_service_and_every_gateway_object_is_led() -> None:
    api = NetworkRef("networking.istio.io/v1", "VirtualService", "api")
    strategy = CanaryStrategy(
        steps=make_steps("20%", "50%"),
        traffic_routings=(make_routing("web"), make_routing("api", api, grace=9)),
    )
    world = make_world(make_rollout(strategy=strategy), services=("web", "api"))
    world.put_route(NAMESPACE, "VirtualService", "api")
    release(world)
    seen = first_instants(
        world,
        ready=lambda: inner_of(world).canary_ready_replicas == 2,
        routed=lambda: weight_of(world) == 20,
    )
    world.rest()
    assert seen["routed"] - seen["ready"] == seconds(9)
    assert [route.plan is not None for route in world.routes] == [True, True]
    v1, v2 = revision_of(world, "v1"), revision_of(world, "v2")
    pins = [pin_of(world, name) for name in ("web", "api", "web-canary", "api-canary")]
    assert pins == [v1, v1, v2, v2]


def test_no_route_before_every_ready_new_pod_is_an_endpoint() -> None:
    world = make_world()
    release(world)
    world.run_until(lambda: ours_of(world).state == StepState.STEP_TRAFFIC_ROUTING)
    wait(world, GRACE - 0.5)
    late = with_slices(observed(world), "web")
    decision = decide(late, world.cluster.now + seconds(60))
    assert decision.actions == ()
    assert decision.wake_at is None


def without_timers(world: World) -> Observation:
    """The world as it is, with the instants at which endpoints were seen forgotten."""
    rollout = world.cluster.rollouts[KEY]
    ours = structs.replace(ours_of(world), endpoints_ready_since={})
    status = structs.replace(rollout.status, moonshift=ours)
    return structs.replace(observed(world), rollout=structs.replace(rollout, status=status))


def test_the_grace_period_starts_when_endpoints_are_seen_and_not_when_pods_are_ready() -> None:
    world = make_world()
    release(world)
    world.run_until(lambda: ours_of(world).state == StepState.STEP_TRAFFIC_ROUTING)
    status = decided(world, with_slices(without_timers(world), "web")).status
    assert isinstance(status.moonshift, MoonshiftStatus)
    assert status.moonshift.endpoints_ready_since == {}


def test_no_route_to_pods_that_failed_since_they_were_counted() -> None:
    world = make_world()
    release(world)
    world.run_until(lambda: bool(ours_of(world).endpoints_ready_since))
    world.people.fail_pods(frozenset({revision_of(world, "v2")}))
    world.rest()
    assert weight_of(world) is None
    world.people.heal()
    world.rest()
    assert weight_of(world) == 20


def test_a_pod_of_another_service_is_no_endpoint_of_ours() -> None:
    world = started()
    seen = observed(world)
    assert not with_slices(seen).slices[0].ready_pod_uids
    assert with_slices(seen, "web").slices


def test_the_grace_period_of_lost_timestamps_starts_again() -> None:
    world = make_world()
    release(world)
    world.run_until(lambda: bool(ours_of(world).endpoints_ready_since))
    decision = decided(world, without_timers(world))
    assert decision.wake_at == world.cluster.now + seconds(GRACE)


def test_the_workload_is_not_promoted_before_the_unpinned_service_leads_to_new_pods() -> None:
    world = started()
    approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: pin_of(world) == "")
    blind = with_slices(observed(world), "web-canary")
    assert decided(world, blind).actions == ()


def test_routes_are_not_restored_while_the_stable_service_leads_to_a_deleted_pod() -> None:
    world = started()
    old = next(pod for pod in world.cluster.pods if pod.revision == revision_of(world, "v1"))
    approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: restores(decided(world)))
    seen = observed(world)
    assert seen.workload is not None
    leaving = structs.replace(
        old, metadata=structs.replace(old.metadata, deletion_timestamp=world.cluster.now)
    )
    with_leaving = structs.replace(
        seen, workload=structs.replace(seen.workload, pods=(*seen.workload.pods, leaving))
    )
    assert restores(decided(world, with_leaving))
    endpoint = Endpoint(target_ref=TargetRef("Pod", old.metadata.name, old.metadata.uid))
    slices = tuple(
        structs.replace(part, endpoints=(*(part.endpoints or ()), endpoint))
        if part.service == "web"
        else part
        for part in seen.slices
    )
    behind = decided(world, structs.replace(with_leaving, slices=slices))
    assert behind.actions == ()
    release_status = behind.status.of_release
    assert release_status is not None
    assert release_status.finalising_step == FinalisingStep.RESUME_WORKLOAD


def test_a_step_of_all_replicas_waits_until_the_unpinned_service_leads_to_new_pods() -> None:
    world = started(steps=make_steps("20%", "100%"))
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: pin_of(world) == "")
    assert sizes_of(world) == {"v1": 8, "v2": 2}
    blind = with_slices(observed(world), "web-canary")
    assert decided(world, blind).actions == ()
    without = structs.replace(blind, services={})
    assert decided(world, without).actions != ()


def test_rollback_widens_the_canary_service_and_waits_until_it_shows() -> None:
    world = started(steps=make_steps("20%", "80%"))
    approve(world)
    release(world, "v1")
    world.run_until(lambda: pin_of(world, "web-canary") == "")
    narrow = with_slices(observed(world), "web")
    decision = decided(world, narrow)
    assert decision.actions == ()
    world.rest()
    assert sizes_of(world) == {"v1": 10}


def test_an_edited_object_is_written_again_so_that_the_edit_is_folded_in() -> None:
    world = started()
    seen = observed(world)
    state = seen.routes[0].state
    assert isinstance(state, RoutePresent)
    decision = decided(world, with_routes(seen, structs.replace(state, edited=True)))
    assert [type(action) for action in decision.actions] == [EnsureRoutes]


def test_a_step_that_a_gateway_cannot_say_is_reported_before_a_pod_is_made() -> None:
    world = make_world(make_rollout(), make_deployment())
    world.scripts.can["VirtualService"] = {"header"}
    world.rest()
    release(world)
    world.rest()
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert stalled.reason == "UnsupportedStep"
    assert "cannot divide requests by weight" in stalled.message
    assert sizes_of(world) == {"v1": 10}


def test_a_rollback_waits_while_an_original_cannot_be_read() -> None:
    world = started()
    release(world, "v1")
    damaged = with_routes(observed(world), RouteUnreadable("OriginalCorrupt", "checksum differs"))
    decision = decided(world, damaged)
    assert decision.actions == ()
    stalled = condition(decision.status, "Stalled")
    assert stalled is not None
    assert (stalled.reason, stalled.message) == ("OriginalCorrupt", "checksum differs")


def test_a_rollback_goes_on_where_the_kind_is_no_longer_served() -> None:
    world = started("canary")
    release(world, "v1")
    gone = with_routes(observed(world), RouteUnreadable("KindNotServed", "why", NotServed("why")))
    decision = decided(world, gone)
    stalled = condition(decision.status, "Stalled")
    assert stalled is not None
    assert stalled.status == "False"
    assert decision.wake_at == world.cluster.now + seconds(GRACE)


def test_a_rollback_goes_on_where_another_rollout_leads_with_the_object() -> None:
    world = started("canary")
    release(world, "v1")
    used = with_routes(
        observed(world), RouteUnreadable(reasons.GATEWAY_OBJECT_IN_USE, "led by another")
    )
    stalled = condition(decided(world, used).status, "Stalled")
    assert stalled is not None
    assert stalled.status == "False"


def test_an_unreadable_object_without_routes_does_not_hold_the_end() -> None:
    world = make_world()
    release(world)
    world.pass_over(KEY)
    release(world, "v1")
    damaged = with_routes(observed(world), RouteUnreadable("OriginalCorrupt", "checksum differs"))
    assert decided(world, damaged).actions != ()


def test_restoring_names_the_rollout_so_that_anothers_objects_are_left_alone() -> None:
    world = started()
    release(world, "v1")
    restores = [a for a in decided(world).actions if isinstance(a, RestoreRoutes)]
    assert [action.rollout for action in restores] == ["web"]


def test_routes_that_differ_among_themselves_start_no_grace_period() -> None:
    api = NetworkRef("networking.istio.io/v1", "VirtualService", "api")
    strategy = structs.replace(
        make_strategy(), traffic_routings=(make_routing("web", VIRTUAL_SERVICE, api),)
    )
    world = make_world(make_rollout(strategy=strategy))
    world.put_route(NAMESPACE, "VirtualService", "api")
    release(world)
    world.rest()
    routed = ours_of(world).routed_at
    seen = observed(world)
    half = structs.replace(
        seen,
        routes=(seen.routes[0], structs.replace(seen.routes[1], state=RoutePresent(seen_raw()))),
    )
    status = decided(world, half).status
    assert isinstance(status.moonshift, MoonshiftStatus)
    assert status.moonshift.routed_at == routed


def seen_raw() -> msgspec.Raw:
    return msgspec.Raw(b"{}")


def test_a_service_is_ours_by_annotation_or_by_the_label_of_an_earlier_version() -> None:
    service = make_service("web-canary")
    marked = structs.replace(
        service, metadata=structs.replace(service.metadata, annotations={names.ROLLOUT_UID: "u"})
    )
    assert made_for(marked, "u")
    assert not made_for(marked, "other")
    labelled = structs.replace(
        service, metadata=structs.replace(service.metadata, labels={names.ROLLOUT_UID: "u"})
    )
    assert made_for(labelled, "u")
    assert not made_for(labelled, "other")
    assert not made_for(service, "u")


def test_a_workload_of_a_rollout_without_min_ready_is_judged_by_its_own_values() -> None:
    world = make_world(make_rollout(traffic=False), make_deployment(min_ready_seconds=7))
    release(world)
    world.rest()
    assert inner_of(world).canary_ready_replicas == 2
