"""Blue-green: all new pods beside all old ones, the switch, the removal of the old ones, and the autoscalers in that
time."""

import msgspec
import pytest
from msgspec import UNSET, structs

from controller.api import names
from controller.api.autoscaling import Autoscaler, AutoscalerSpec, ScaleTarget
from controller.api.meta import Key, ObjectMeta
from controller.api.names import ORIGINAL_BEHAVIOR
from controller.api.rollout import (
    BlueGreenStatus,
    BlueGreenStrategy,
    CanaryStatus,
    Phase,
    RolloutStatus,
    Step,
    StepState,
    Strategy,
)
from controller.domain.decision import RestoreRoutes
from controller.domain.observation import Observation
from controller.domain.rollout.phases import decide
from controller.domain.rollout.styles.blue_green import BlueGreenDeployment
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    make_deployment,
    make_rollout,
    make_routing,
    make_step,
    make_world,
    original_name,
    ours_of,
    release,
    revision_of,
    sizes_of,
    status_of,
    wait,
    weight_of,
    with_spec,
    workload_of,
)
from tests.unit.domain.rollout.scenes import approve, history, pin_of
from tests.unit.worlds import World

PLAN = (make_step("50%", "0%"), make_step("100%", "0%"), make_step("100%", "50%"))
HPA = Key(NAMESPACE, "web")


def blue_green(*steps: Step, replicas: int = 4, traffic: bool = True) -> World:
    """A world at rest under a blue-green Rollout."""
    routings = (make_routing(),) if traffic else ()
    plan = BlueGreenStrategy(steps=steps or PLAN, traffic_routings=routings)
    rollout = with_spec(make_rollout(), strategy=Strategy(blue_green=plan))
    return make_world(rollout, make_deployment(replicas=replicas))


def inner(world: World) -> BlueGreenStatus:
    """The sub-status clients read."""
    found = status_of(world).blue_green_status
    assert isinstance(found, BlueGreenStatus)
    return found


def autoscaled(world: World, behavior: str | None = None, name: str = "web") -> None:
    """An autoscaler of the workload."""
    raw = UNSET if behavior is None else msgspec.Raw(behavior.encode())
    world.cluster.autoscalers.put(
        Autoscaler(
            metadata=ObjectMeta(name=name, namespace=NAMESPACE),
            spec=AutoscalerSpec(ScaleTarget("apps/v1", "Deployment", "web"), raw),
        )
    )


def test_new_pods_come_beside_the_old_ones_and_the_traffic_follows_the_steps() -> None:
    world = blue_green()
    release(world)
    seen = history(world, lambda: (sizes_of(world), weight_of(world)))
    world.rest()
    assert seen[-1] == ({"v1": 4, "v2": 2}, 0)
    approve(world)
    assert seen[-1] == ({"v1": 4, "v2": 4}, 0)
    approve(world)
    assert seen[-1] == ({"v1": 4, "v2": 4}, 50)
    assert inner(world).current_step_state == StepState.STEP_PAUSED
    assert pin_of(world) == revision_of(world, "v1")
    assert pin_of(world, "web-canary") == revision_of(world, "v2")
    before = len(seen)
    approve(world)
    assert next(entry[1] for entry in seen[before:]) == 100
    assert seen[-1] == ({"v2": 4}, None)
    assert all(entry[0].get("v1", 0) == 4 for entry in seen if entry[1] in (0, 50))


def test_the_old_pods_go_no_sooner_than_the_grace_period_after_the_last_switch() -> None:
    world = blue_green()
    release(world)
    for _ in range(2):
        world.rest()
        approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: weight_of(world) == 100)
    switched = world.cluster.now
    world.run_until(lambda: sizes_of(world).get("v1", 0) < 4)
    assert (world.cluster.now - switched).total_seconds() >= 3


def test_a_restore_that_stopped_half_way_goes_on_and_gives_no_share_again() -> None:
    world = blue_green()
    release(world)
    world.rest()
    for _ in PLAN[1:]:
        approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    restoring: list[Observation] = []

    def look() -> bool:
        seen = world.observe(KEY)
        actions = decide(seen, world.cluster.now).actions if seen is not None else ()
        if seen is not None and any(isinstance(action, RestoreRoutes) for action in actions):
            restoring.append(seen)
        return bool(restoring)

    world.run_until(look)
    (seen,) = restoring
    # The object has its owner's content again, and our marks still: the second write was refused.
    half = tuple(
        structs.replace(route, state=structs.replace(route.state, touched=True))
        for route in seen.routes
    )
    actions = decide(structs.replace(seen, routes=half), world.cluster.now).actions
    assert [type(action) for action in actions] == [RestoreRoutes]


def test_clients_read_blue_green_fields_under_their_own_names() -> None:
    world = blue_green()
    release(world)
    world.rest()
    status = status_of(world)
    assert status.canary_status is UNSET
    body = msgspec.to_builtins(inner(world))
    assert body["updatedReplicas"] == body["updatedReadyReplicas"] == 2
    assert body["updatedRevision"] == original_name("v2")
    assert "canaryRevision" not in body
    assert status.current_step_index == 1
    assert status.current_step_state == "StepPaused"


def over(world: World) -> None:
    """Nothing of ours is left."""
    meta = workload_of(world).metadata
    assert status_of(world).phase == Phase.HEALTHY
    assert not {*names.OURS_ON_WORKLOAD} & meta.annotations.keys()
    assert workload_of(world).spec.min_ready_seconds == 0
    assert pin_of(world) == ""
    assert weight_of(world) is None
    for found in world.cluster.autoscalers:
        assert ORIGINAL_BEHAVIOR not in found.metadata.annotations


@pytest.mark.parametrize(("small", "large"), [(1, 20), (3, 30), (7, 8), (4, 1)])
def test_the_stable_revision_has_its_whole_size_after_scaling(small: int, large: int) -> None:
    steps = (make_step("10%", "10%"), make_step("100%", "100%"))
    world = blue_green(*steps, replicas=small)
    release(world)
    world.rest()
    world.people.edit(KEY, replicas=large)
    world.rest()
    assert sizes_of(world)["v1"] == large
    assert sizes_of(world)["v2"] >= max(1, large // 10)
    approve(world)
    assert sizes_of(world) == {"v1": large, "v2": large}
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": large}
    over(world)


def test_the_stable_revision_of_a_paused_deployment_is_not_enlarged() -> None:
    world = blue_green(make_step("10%", "10%"), replicas=4)
    release(world)
    world.rest()
    world.people.edit(KEY, paused=True, replicas=20)
    seen = world.observe(KEY)
    assert seen is not None
    context = as_stored(seen, world.cluster.now)
    assert BlueGreenDeployment().regrow(context, 1) == ()


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_rollback_is_a_switch(step: int) -> None:
    world = blue_green()
    autoscaled(world)
    release(world)
    world.rest()
    for _ in range(step - 1):
        approve(world)
    release(world, "v1")
    seen = history(world, lambda: (sizes_of(world), weight_of(world)))
    world.rest()
    assert all(sizes["v1"] == 4 for sizes, _ in seen)
    assert all(
        sizes.get("v2", 0) == seen[0][0]["v2"] for sizes, weight in seen if weight is not None
    )
    assert seen[-1] == ({"v1": 4}, None)
    over(world)
    succeeded = condition(status_of(world), "Succeeded")
    assert succeeded is not None
    assert succeeded.status == "False"


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_third_revision_takes_the_place_of_the_second(step: int) -> None:
    world = blue_green()
    autoscaled(world)
    release(world)
    world.rest()
    for _ in range(step - 1):
        approve(world)
    release(world, "v3")
    seen = history(world, lambda: sizes_of(world))
    world.rest()
    assert all(sizes["v1"] == 4 for sizes in seen)
    assert sizes_of(world) == {"v1": 4, "v3": 2}
    assert inner(world).current_step_index == 1
    for _ in range(3):
        approve(world)
    assert sizes_of(world) == {"v3": 4}
    over(world)


@pytest.mark.parametrize("how", ["disable", "delete"])
def test_disabling_or_deleting_during_a_release_leaves_nothing_held(how: str) -> None:
    world = blue_green()
    autoscaled(world, '{"scaleUp":{"selectPolicy":"Min"}}')
    release(world)
    world.rest()
    if how == "disable":
        world.people.disable(KEY)
    else:
        world.cluster.rollouts.delete(KEY)
    world.rest()
    assert sizes_of(world) == {"v2": 4}
    assert workload_of(world).spec.min_ready_seconds == 0
    found = world.cluster.autoscalers[HPA]
    assert found.metadata.annotations == {}
    assert found.spec.behavior == msgspec.Raw(b'{"scaleUp":{"selectPolicy":"Min"}}')


def test_traffic_goes_back_to_stable_pods_however_few_of_them_are_ready() -> None:
    world = blue_green()
    release(world)
    world.rest()
    for _ in range(2):
        approve(world)
    assert weight_of(world) == 50
    stable = [pod for pod in world.cluster.pods if pod.revision == revision_of(world, "v1")]
    world.people.fail_pods(frozenset(pod.metadata.uid for pod in stable[:2]))
    world.rest()
    release(world, "v1")
    world.rest()
    assert weight_of(world) is None
    world.people.heal()
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert sizes_of(world) == {"v1": 4}


# --- odds and ends ------------------------------------------------------------------------------


def test_a_hand_edit_of_the_rolling_limits_is_corrected() -> None:
    world = blue_green()
    release(world)
    world.rest()
    before = workload_of(world)
    spec = structs.replace(before.spec, strategy=make_deployment().spec.strategy)
    world.cluster.deployments.put(structs.replace(before, spec=spec))
    world.rest()
    assert workload_of(world).spec.strategy == before.spec.strategy


def test_without_traffic_the_old_pods_go_after_the_last_approval() -> None:
    world = blue_green(make_step("50%"), make_step("100%"), traffic=False)
    release(world)
    world.rest()
    assert sizes_of(world) == {"v1": 4, "v2": 2}
    approve(world)
    assert sizes_of(world) == {"v1": 4, "v2": 4}
    approve(world)
    assert sizes_of(world) == {"v2": 4}
    over(world)


def test_both_revisions_keep_their_share_when_scaled_during_a_release() -> None:
    world = blue_green(make_step("100%", "0%"))
    release(world)
    world.rest()
    world.people.edit(KEY, replicas=6)
    world.rest()
    assert sizes_of(world) == {"v1": 6, "v2": 6}
    world.people.edit(KEY, replicas=3)
    world.rest()
    assert sizes_of(world) == {"v1": 3, "v2": 3}


@pytest.mark.parametrize(("asked", "sizes"), [("50%", (6, 7, 8, 4, 5)), (2, (6, 7, 8, 4, 5))])
def test_the_share_is_the_steps_of_every_size_a_scaled_workload_has(
    asked: str | int, sizes: tuple[int, ...]
) -> None:
    world = blue_green(make_step(asked, "0%"), replicas=5)
    release(world)
    world.rest()
    for size in sizes:
        world.people.edit(KEY, replicas=size)
        world.rest()
        wanted = -(-size // 2) if asked == "50%" else min(size, 2)
        assert sizes_of(world) == {"v1": size, "v2": wanted}, size


def test_a_step_back_takes_no_new_pod_away() -> None:
    world = blue_green(replicas=4)
    release(world)
    world.rest()
    approve(world)
    assert sizes_of(world) == {"v1": 4, "v2": 4}
    world.people.jump(KEY, 1)
    world.rest()
    assert sizes_of(world) == {"v1": 4, "v2": 4}


def test_a_workload_that_was_paused_by_its_owner_is_waited_for() -> None:
    world = blue_green()
    release(world)
    record = workload_of(world).metadata.annotations
    bare = {name: value for name, value in record.items() if name != names.ORIGINAL_STRATEGY}
    meta = structs.replace(workload_of(world).metadata, annotations=bare)
    world.cluster.deployments.put(structs.replace(workload_of(world), metadata=meta))
    world.rest()
    assert sizes_of(world) == {"v1": 4}
    assert ours_of(world).step == 1


def test_the_sub_status_of_the_other_style_goes() -> None:
    status = RolloutStatus(canary_status=CanaryStatus())
    changed = status.with_release(BlueGreenStatus(canary_revision="x"))
    assert changed.canary_status is UNSET
    assert changed.of_release == BlueGreenStatus(canary_revision="x")
    assert RolloutStatus().of_release is None


def test_going_back_does_not_wait_for_a_stable_revision_that_never_shrank() -> None:
    world = blue_green()
    release(world)
    world.rest()
    stable = [p for p in world.cluster.pods if p.revision == revision_of(world, "v1")]
    world.people.fail_pods(frozenset(pod.metadata.uid for pod in stable[:3]))
    world.rest()
    release(world, "v1")
    world.rest()
    assert weight_of(world) is None
    # With three of four stable pods broken the Deployment's own limits keep the others.
    assert sizes_of(world)["v1"] == 4
