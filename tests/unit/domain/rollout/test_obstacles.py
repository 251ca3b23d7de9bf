"""Obstacles to a release: workloads that go, come or shrink, owners who pause, Services and routes that vanish."""

import pytest
from msgspec import structs

from controller.api import names
from controller.api.meta import Key
from controller.api.networking import ServicePort, ServiceSpec
from controller.api.rollout import MoonshiftStatus, Phase, RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.availability import Forbidden
from controller.domain.rollout.phases import decide
from controller.domain.rollout.steps import decide_step
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition, enter
from controller.domain.rollout.words.transition import Stop
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    inner_of,
    make_deployment,
    make_rollout,
    make_service,
    make_steps,
    make_strategy,
    make_world,
    release,
    revision_of,
    sizes_of,
    status_of,
    template,
    wait,
    weight_of,
    workload_of,
)
from tests.unit.domain.rollout.moving.test_from_zero import finish
from tests.unit.domain.rollout.scenes import (
    BOTH,
    EVERYWHERE,
    approve,
    in_state,
    pin_of,
    reason_of,
    started,
)
from tests.unit.worlds import World

# --- the workload goes, comes, shrinks ----------------------------------------------------------


@BOTH
@EVERYWHERE
def test_a_workload_deleted_during_a_release_leaves_no_route_and_no_pin(
    state: StepState, style: str
) -> None:
    world = in_state(state, style)
    world.cluster.deployments.delete(KEY)
    world.rest()
    status = status_of(world)
    assert status.phase == Phase.INITIAL
    assert status.message == "Workload Not Found: Deployment web"
    assert (pin_of(world), pin_of(world, "web-canary"), weight_of(world)) == ("", "gone", None)
    assert tuple(world.cluster.deployments) == ()
    world.cluster.deployments.put(make_deployment(version="v2"))
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY


def test_a_workload_recreated_during_a_release_starts_from_nothing() -> None:
    world = started(watched=False)
    world.cluster.deployments.delete(KEY)
    world.cluster.deployments.put(make_deployment(version="v2"))
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert weight_of(world) is None
    release(world, "v3")
    world.rest()
    assert pin_of(world) == revision_of(world, "v2")


@BOTH
def test_an_id_that_no_pod_can_have_is_reported_before_the_first_pod(style: str) -> None:
    """As an annotation the rollout-id may be any text, but pods get it as a label."""
    world = make_world(make_rollout(style=style))
    spec = structs.replace(workload_of(world).spec, template=template("v2"))
    world.people.replace(KEY, spec, {names.ROLLOUT_ID: "build 5 / main"})
    world.rest()
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert stalled.reason == reasons.UNSUPPORTED_WORKLOAD
    assert "'build 5 / main' cannot be a label" in stalled.message
    assert sizes_of(world) == {"v1": 10}


def test_a_rollout_before_its_workload_waits_for_it() -> None:
    world = make_world()
    world.cluster.deployments.delete(KEY)
    world.cluster.rollouts.remove(KEY)
    world.cluster.rollouts.put(make_rollout())
    world.rest()
    assert status_of(world).phase == Phase.INITIAL
    ready = condition(status_of(world), "Ready")
    assert ready is not None
    assert ready.status == "False"


@pytest.mark.parametrize("how", ["deleted", "disabled"])
def test_a_rollout_goes_though_its_workload_is_gone(how: str) -> None:
    world = started()
    world.cluster.deployments.delete(KEY)
    if how == "deleted":
        world.cluster.rollouts.delete(KEY)
    else:
        world.people.disable(KEY)
    world.rest()
    assert (pin_of(world), weight_of(world)) == ("", None)
    assert world.cluster.rollouts.get(KEY) is None or status_of(world).phase == Phase.DISABLED


@BOTH
def test_scaled_to_zero_a_release_goes_back_to_its_start(style: str) -> None:
    world = started(style, watched=False)
    approve(world)
    world.people.edit(KEY, replicas=0)
    world.rest()
    inner = inner_of(world)
    assert (inner.current_step_index, inner.next_step_index) == (1, 2)
    assert inner.current_step_state == StepState.BEFORE_STEP_UPGRADE
    assert "scaled to zero replicas" in status_of(world).message
    assert (pin_of(world, "web-canary"), weight_of(world)) == ("gone", None)
    assert pin_of(world) == revision_of(world, "v1")
    world.people.edit(KEY, replicas=4)
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    approve(world)
    approve(world)
    assert sizes_of(world) == {"v2": 4}


@pytest.mark.parametrize(
    ("replicas", "sizes"),
    [(20, {"v1": 10, "v2": 10}), (6, {"v1": 3, "v2": 3}), (2, {"v1": 1, "v2": 1})],
)
def test_a_scaled_partition_release_keeps_its_shares(replicas: int, sizes: dict[str, int]) -> None:
    world = started(watched=False)
    approve(world)
    world.people.edit(KEY, replicas=replicas)
    world.rest()
    assert sizes_of(world) == sizes
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED


def test_a_scaled_canary_release_grows_and_never_shrinks() -> None:
    world = started("canary", watched=False)
    world.people.edit(KEY, replicas=20)
    world.rest()
    assert sizes_of(world) == {"v1": 20, "+v2": 4}
    world.people.edit(KEY, replicas=5)
    world.rest()
    assert sizes_of(world) == {"v1": 5, "+v2": 4}


def test_one_pod_scaled_up_after_the_step_took_it_is_the_steps_share_again() -> None:
    world = started(replicas=1, watched=False)
    world.people.edit(KEY, replicas=2)
    world.rest()
    assert sizes_of(world) == {"v1": 1, "v2": 1}
    assert inner_of(world).stable_revision == revision_of(world, "v1")
    assert pin_of(world) == revision_of(world, "v1")


# --- owner and world get in the way -------------------------------------------------------------


def test_a_missing_service_is_reported_and_nothing_moves() -> None:
    world = make_world(services=())
    release(world)
    world.rest()
    assert reason_of(world, "Stalled") == reasons.SERVICE_NOT_FOUND
    assert "Service shop/web does not exist" in status_of(world).message
    assert sizes_of(world) == {"v1": 10}
    assert workload_of(world).spec.paused


@pytest.mark.parametrize("unreadable", ["", "Forbidden"])
def test_a_missing_or_unreadable_gateway_object_is_reported_and_nothing_moves(
    unreadable: str,
) -> None:
    world = make_world()
    world.remove_route("shop", "VirtualService", "web")
    if unreadable:
        world.cannot_be_read("VirtualService", Forbidden("no right"))
    release(world)
    world.rest()
    expected = unreadable or reasons.GATEWAY_OBJECT_NOT_FOUND
    assert reason_of(world, "Stalled") == expected
    assert sizes_of(world) == {"v1": 10}
    assert pin_of(world) == ""


def test_a_release_goes_on_once_the_missing_object_exists() -> None:
    world = make_world()
    world.remove_route("shop", "VirtualService", "web")
    release(world)
    world.rest()
    world.put_route("shop", "VirtualService", "web")
    world.rest()
    assert weight_of(world) == 20
    assert reason_of(world, "Stalled") == ""


def test_a_service_that_vanishes_during_a_release_is_reported() -> None:
    world = started(watched=False)
    world.cluster.services.delete(KEY)
    approve(world)
    assert reason_of(world, "Stalled") == reasons.SERVICE_NOT_FOUND


def test_touched_routes_are_put_back_while_a_step_waits() -> None:
    world = started()
    world.touch_routes()
    world.rest()
    assert not world.routes[0].touched
    assert weight_of(world) == 20


def test_a_release_waits_for_a_workload_that_its_owner_pauses_and_reports_it() -> None:
    world = started()
    world.people.edit(KEY, paused=True)
    approve(world)
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER
    assert inner_of(world).current_step_state == StepState.STEP_UPGRADE
    assert sizes_of(world) == {"v1": 8, "v2": 2}
    world.people.edit(KEY, paused=False)
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert sizes_of(world) == {"v1": 5, "v2": 5}


def test_a_canary_deployment_deleted_by_hand_is_made_again() -> None:
    world = started("canary", watched=False)
    extra = next(d for d in world.cluster.deployments if d.metadata.name != "web")
    world.cluster.deployments.delete(extra.metadata.key)
    world.rest()
    assert sizes_of(world) == {"v1": 10, "+v2": 2}


def test_a_canary_deployment_deleted_before_its_route_is_made_again_before_it() -> None:
    world = in_state(StepState.STEP_TRAFFIC_ROUTING, "canary")
    extra = next(d for d in world.cluster.deployments if d.metadata.name != "web")
    world.cluster.deployments.delete(extra.metadata.key)
    lost = {pod.metadata.uid for pod in world.cluster.pods}
    world.run_until(lambda: weight_of(world) == 20)
    made = [pod for pod in world.cluster.pods if pod.metadata.uid not in lost]
    assert [pod.ready_since is not None for pod in made] == [True, True]
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED


def test_a_crash_before_the_status_leaves_nothing_pinned_for_a_vanished_workload() -> None:
    world = make_world()
    release(world)
    world.pass_over(KEY)
    world.pass_over(KEY, crash_after=1)
    world.restart()
    world.cluster.deployments.delete(KEY)
    world.rest()
    assert pin_of(world) == ""


def test_a_foreign_canary_service_is_reported_and_left_alone() -> None:
    world = make_world(services=("web", "web-canary"))
    release(world)
    world.rest()
    assert reason_of(world, "Stalled") == reasons.SERVICE_NOT_OURS
    assert pin_of(world, "web-canary") == ""
    assert weight_of(world) is None
    release(world, "v1")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert pin_of(world, "web-canary") == ""


@BOTH
def test_a_canary_service_gets_the_new_ports_of_the_stable_one_during_a_release(
    style: str,
) -> None:
    world = started(style)
    wanted = (ServicePort(80, "http", target_port=8080), ServicePort(90, "grpc"))
    stable = world.cluster.services[Key(NAMESPACE, "web")]
    world.cluster.services.put(
        structs.replace(stable, spec=structs.replace(stable.spec, ports=wanted))
    )
    world.rest()
    assert world.cluster.services[Key(NAMESPACE, "web-canary")].spec.ports == wanted
    assert pin_of(world, "web-canary") == revision_of(world, "v2")


@BOTH
def test_a_service_that_another_release_has_pinned_is_left_to_it(style: str) -> None:
    world = make_world(make_rollout(style=style), services=("web", "web-canary"))
    pin_for_another(world, another_rollout(world))
    release(world)
    world.rest()
    assert reason_of(world, "Stalled") == reasons.SERVICE_IN_USE
    assert "another Rollout" in status_of(world).message
    assert (pin_of(world), pin_of(world, "web-canary")) == ("theirs", "theirs")
    assert (sizes_of(world), weight_of(world)) == ({"v1": 10}, None)
    release(world, "v1")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert (pin_of(world), pin_of(world, "web-canary")) == ("theirs", "theirs")


@BOTH
def test_only_one_of_two_simultaneous_releases_pins_the_service(style: str) -> None:
    world = started(style, watched=False)
    pin_for_another(world, another_rollout(world))
    wait(world, 60)
    assert (pin_of(world), pin_of(world, "web-canary")) == ("theirs", "theirs")


def another_rollout(world: World) -> str:
    """The UID of a Rollout of another workload, with the same Service."""
    ours = world.cluster.rollouts[KEY]
    ref = structs.replace(ours.spec.workload_ref, name="other")
    other = structs.replace(
        ours,
        metadata=structs.replace(ours.metadata, name="other", uid=""),
        spec=structs.replace(ours.spec, workload_ref=ref),
        status=RolloutStatus(),
    )
    return world.cluster.rollouts.put(other).metadata.uid


def pin_for_another(world: World, uid: str) -> None:
    """The other Rollout is being released."""
    for name, labels, annotations in (
        ("web", {names.PINNED: "true"}, {}),
        ("web-canary", {}, {names.ROLLOUT_UID: uid}),
    ):
        found = world.cluster.services[Key(NAMESPACE, name)]
        metadata = structs.replace(found.metadata, labels=labels, annotations=annotations)
        selector = {**found.spec.selector, "pod-template-hash": "theirs"}
        spec = structs.replace(found.spec, selector=selector)
        world.cluster.services.put(structs.replace(found, metadata=metadata, spec=spec))


@BOTH
def test_without_traffic_every_disturbance_ends_too(style: str) -> None:
    strategy = make_strategy(steps=make_steps(3, "50%"), traffic=False, style=style)
    world = make_world(make_rollout(strategy=strategy))
    release(world)
    world.rest()
    release(world, "v3")
    world.rest()
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": 10}
    assert status_of(world).phase == Phase.HEALTHY


# --- corners ------------------------------------------------------------------------------------


def position_of(status: RolloutStatus) -> MoonshiftStatus:
    assert isinstance(status.moonshift, MoonshiftStatus)
    return status.moonshift


def test_without_its_label_the_running_revision_other_than_the_new_template_is_stable() -> None:
    world = make_world()
    release(world)
    workload = workload_of(world)
    labels = {names.WORKLOAD_TYPE: "deployment"}
    unlabelled = structs.replace(workload.metadata, labels=labels)
    world.cluster.deployments.put(structs.replace(workload, metadata=unlabelled))
    world.pass_over(KEY)
    assert position_of(status_of(world)).stable_revision == revision_of(world, "v1")


def test_a_workload_that_never_ran_has_no_stable_revision() -> None:
    world = make_world()
    release(world)
    seen = world.observe(KEY)
    assert seen is not None
    assert seen.workload is not None
    empty = structs.replace(seen.workload, replica_sets=(), pods=())
    decision = decide(structs.replace(seen, workload=empty), world.cluster.now)
    assert position_of(decision.status).stable_revision == ""
    assert "stable is unknown" in decision.notes[0].message


def test_a_release_that_is_completed_has_no_step_left() -> None:
    world = started()
    seen = world.observe(KEY)
    assert seen is not None
    status = enter(seen.rollout.status, StepState.COMPLETED, world.cluster.now)
    turn = decide_step(as_stored(seen, world.cluster.now).at(status))
    assert turn == Stop(status)


def test_a_deployment_controller_that_has_not_caught_up_is_waited_for() -> None:
    world = make_world()
    release(world)
    for _ in range(6):
        world.pass_over(KEY)
    assert pin_of(world) == revision_of(world, "v1")
    assert workload_of(world).spec.paused
    world.tick()
    world.pass_over(KEY)
    assert not workload_of(world).spec.paused


def test_a_batch_without_traffic_waits_until_its_old_share_was_removed() -> None:
    strategy = make_strategy(steps=make_steps("20%", "50%"), traffic=False)
    world = make_world(make_rollout(strategy=strategy))
    release(world)
    world.run_until(lambda: inner_of(world).current_step_state == StepState.STEP_PAUSED)
    assert sizes_of(world) == {"v1": 8, "v2": 2}


def test_a_canary_service_deleted_before_its_route_is_made_again() -> None:
    world = in_state(StepState.STEP_TRAFFIC_ROUTING, "partition")
    world.cluster.services.delete(KEY._replace(name="web-canary"))
    world.rest()
    assert pin_of(world, "web-canary") == revision_of(world, "v2")
    assert weight_of(world) == 20


@pytest.mark.parametrize("kind", ["ClusterIP", "ExternalName"])
@BOTH
def test_a_service_without_selector_is_refused_before_anything_is_written(
    style: str, kind: str
) -> None:
    world = make_world(make_rollout(style=style))
    bare = structs.replace(make_service("web"), spec=ServiceSpec(type=kind))
    world.cluster.services.put(structs.replace(bare, metadata=world.cluster.services[KEY].metadata))
    before = world.cluster.services[KEY]
    release(world)
    wait(world, 100)
    assert reason_of(world, "Stalled") == reasons.SERVICE_WITHOUT_SELECTOR
    assert world.cluster.services[KEY] == before
    assert sizes_of(world) == {"v1": 10}
    assert [found.metadata.name for found in world.cluster.services] == ["web"]
    assert weight_of(world) is None


@BOTH
def test_a_service_that_loses_its_selector_during_a_release_is_not_given_one(style: str) -> None:
    world = started(style, watched=False)
    pinned = world.cluster.services[KEY]
    world.cluster.services.put(structs.replace(pinned, spec=ServiceSpec()))
    wait(world, 30)
    approve(world)
    assert world.cluster.services[KEY].spec.selector == {}
    assert reason_of(world, "Stalled") == reasons.SERVICE_WITHOUT_SELECTOR


@BOTH
@pytest.mark.parametrize("heard", [False, True])
def test_a_service_that_loses_its_selector_is_not_copied_and_its_release_goes_on_with_it(
    style: str, heard: bool
) -> None:
    world = started(style, watched=False)
    release(world, "v3")
    world.people.unheard = not heard
    bare = make_service("web")
    world.people.apply_service(structs.replace(bare, spec=ServiceSpec()))
    world.people.unheard = False
    wait(world, 60)
    assert world.cluster.services[KEY].spec.selector == {}
    assert reason_of(world, "Stalled") == reasons.SERVICE_WITHOUT_SELECTOR
    copies = [found for found in world.cluster.services if found.metadata.name != "web"]
    assert all("app" in found.spec.selector for found in copies)
    world.people.apply_service(make_service("web"))
    world.rest()
    assert reason_of(world, "Stalled") == ""
    assert pin_of(world) == revision_of(world, "v1")
    finish(world)
    assert world.cluster.services[KEY].spec.selector == {"app": "web"}
