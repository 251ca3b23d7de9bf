"""No share stays for longer than the grace period on a side without ready endpoints while the other side has some."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import (
    BlueGreenStrategy,
    CanaryStrategy,
    EmptySide,
    PatchMetadata,
    StepState,
    Strategy,
)
from controller.domain.decision import Refusal
from controller.domain.rollout.routes.empty_side_routes import with_shares_led_away
from controller.domain.rollout.routes.empty_sides import stable_uids
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition, with_moonshift_status
from controller.domain.rollout.words.transition import Stop
from controller.reconcilers.relevance import SOON_SECONDS
from tests.unit.builders import (
    GRACE,
    KEY,
    NAMESPACE,
    VIRTUAL_SERVICE,
    make_deployment,
    make_rollout,
    make_routing,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    release_set,
    revision_of,
    status_of,
    template,
    wait,
    weight_of,
    with_spec,
)
from tests.unit.domain.rollout.scenes import approve, pin_of, reason_of, started
from tests.unit.simulation.invariants import Watch
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "canary", "blue-green"])


def at_step_1(style: str) -> World:
    """Step 20 % waits for its approval, and the routes say 20 to 80."""
    if style != "blue-green":
        world = started(style, watched=False)
        watch(world)
        return world
    plan = BlueGreenStrategy(steps=make_steps("100%", "100%"), traffic_routings=(make_routing(),))
    steps = tuple(structs.replace(step, traffic="20%") for step in plan.steps)
    strategy = Strategy(blue_green=structs.replace(plan, steps=steps))
    world = make_world(with_spec(make_rollout(), strategy=strategy), make_deployment(replicas=4))
    release(world)
    world.rest()
    watch(world)
    return world


def watch(world: World) -> None:
    """The one invariant this is about."""
    world.watchers[:] = [Watch(world).no_share_stays_on_an_empty_side]


def lose(world: World, version: str) -> None:
    """No pod of this version is ready any more."""
    world.people.fail_pods(frozenset({revision_of(world, version)}))


def lose_new(world: World) -> None:
    revision = status_of(world).of_release.pod_template_hash  # type: ignore[union-attr]
    world.people.fail_pods(frozenset({revision}))


def replace_by_force(world: World) -> None:
    """All pods of the Deployment become the new version, past admission."""
    found = world.cluster.deployments[KEY]
    meta = structs.replace(found.metadata, annotations={}, labels={})
    spec = make_deployment().spec
    world.cluster.deployments.put(
        structs.replace(found, metadata=meta, spec=structs.replace(spec, template=template("v2")))
    )
    for replica_set in world.cluster.replica_sets:
        if replica_set.revision == revision_of(world, "v1"):
            gone = structs.replace(replica_set.spec, replicas=0)
            world.cluster.replica_sets.put(structs.replace(replica_set, spec=gone))


def delete_stable_replica_set(world: World) -> None:
    found = next(rs for rs in world.cluster.replica_sets if rs.revision == revision_of(world, "v1"))
    world.cluster.replica_sets.delete(found.metadata.key)


def stalled(world: World) -> bool:
    return reason_of(world, "Stalled") == "SideWithoutEndpoints"


def stalled_message(world: World) -> str:
    found = condition(status_of(world), "Stalled")
    assert found is not None
    return found.message


def answered(world: World, service: str = "web") -> int:
    found = world.cluster.services[Key(NAMESPACE, service)]
    return sum(pod.ready_since is not None for pod in world.cluster.selected(found))


# --- the old side -------------------------------------------------------------------------------


@STYLES
def test_a_pin_on_lost_pods_comes_off_after_the_grace_period_and_no_sooner(style: str) -> None:
    world = at_step_1(style)
    lose(world, "v1")
    wait(world, GRACE - 0.5)
    assert pin_of(world) == revision_of(world, "v1")
    assert not stalled(world)
    wait(world, 1)
    assert pin_of(world) == ""
    assert answered(world)
    assert stalled(world)
    assert "no pod of the stable revision is ready behind Service shop/web" in stalled_message(
        world
    )
    assert status_of(world).message == stalled_message(world)


@STYLES
def test_a_pin_comes_back_once_its_pods_have_been_ready_for_the_grace_period(style: str) -> None:
    world = at_step_1(style)
    lose(world, "v1")
    wait(world, 2 * GRACE)
    world.people.heal()
    wait(world, GRACE - 0.5)
    assert pin_of(world) == ""
    wait(world, 1)
    assert pin_of(world) == revision_of(world, "v1")
    assert reason_of(world, "Stalled") == ""
    assert weight_of(world) == 20
    assert ours_of(world).empty_sides == {}


@STYLES
def test_a_moment_without_ready_pods_moves_nothing(style: str) -> None:
    world = at_step_1(style)
    versions: list[str] = []
    world.watchers.append(lambda: versions.append(pin_of(world)))
    for _ in range(3):
        lose(world, "v1")
        wait(world, GRACE - 1)
        world.people.heal()
        wait(world, GRACE - 1)
    assert set(versions) == {revision_of(world, "v1")}


@pytest.mark.parametrize("accident", [replace_by_force, delete_stable_replica_set])
@STYLES
def test_the_share_of_lost_stable_pods_goes_to_other_pods(
    style: str, accident: Callable[[World], None]
) -> None:
    world = at_step_1(style)
    accident(world)
    wait(world, 30)
    assert answered(world)


def test_a_step_reports_forced_replacements_besides_its_waiting() -> None:
    world = at_step_1("partition")
    replace_by_force(world)
    wait(world, 30)
    assert pin_of(world) == ""
    assert reason_of(world, "Stalled") == "StableRevisionGone"
    assert "all requests go to the new revision" in status_of(world).message
    assert "approval" not in status_of(world).message.split(": all requests")[0]


@STYLES
def test_a_paused_rollout_guards_its_shares(style: str) -> None:
    world = at_step_1(style)
    world.people.pause(KEY)
    lose(world, "v1")
    wait(world, GRACE + 1)
    assert pin_of(world) == ""
    assert stalled(world)
    world.people.heal()
    wait(world, GRACE + 1)
    assert pin_of(world) == revision_of(world, "v1")
    assert not stalled(world)


@STYLES
def test_a_restart_does_not_forget_since_when(style: str) -> None:
    world = at_step_1(style)
    lose(world, "v1")
    wait(world, GRACE - 1)
    world.restart()
    wait(world, 1.5)
    assert pin_of(world) == ""


def test_a_missing_instant_counts_as_now() -> None:
    world = at_step_1("canary")
    world.watchers.clear()
    lose(world, "v1")
    wait(world, GRACE - 1)
    rollout = world.cluster.rollouts[KEY]
    side = structs.replace(ours_of(world).empty_sides["stable/web"], since=None)
    ours = structs.replace(ours_of(world), empty_sides={"stable/web": side})
    world.cluster.rollouts.put(
        structs.replace(rollout, status=structs.replace(rollout.status, moonshift=ours))
    )
    wait(world, GRACE - 1)
    assert pin_of(world)
    wait(world, SOON_SECONDS + 1.5)
    assert pin_of(world) == ""


def test_a_crash_after_the_pin_came_off_changes_nothing() -> None:
    world = at_step_1("canary")
    lose(world, "v1")
    wait(world, GRACE - 0.5)
    world.cluster.set_clock(world.cluster.now + timedelta(seconds=1))
    world.pass_over(KEY, crash_after=1)
    assert pin_of(world) == ""
    world.restart()
    wait(world, 10)
    assert pin_of(world) == ""
    assert stalled(world)


def test_a_rollback_does_not_send_everybody_to_pods_that_are_gone() -> None:
    world = at_step_1("canary")
    lose(world, "v1")
    world.tick()
    world.people.edit(KEY, template=template("v1"))
    wait(world, 60)
    assert answered(world)
    assert stalled(world)
    world.people.heal()
    wait(world, 60)
    assert status_of(world).phase == "Healthy"


@STYLES
@pytest.mark.parametrize("end", ["delete", "disable"])
def test_a_rollout_that_goes_away_leaves_nobody_at_pods_that_are_gone(style: str, end: str) -> None:
    world = at_step_1(style)
    lose(world, "v1")
    world.tick()
    if end == "delete":
        world.cluster.rollouts.delete(KEY)
    else:
        world.people.disable(KEY)
    wait(world, 1)
    assert answered(world)
    world.people.heal()
    world.rest()
    assert pin_of(world) == ""


def test_a_workload_that_is_deleted_frees_its_service_first() -> None:
    world = at_step_1("canary")
    world.cluster.deployments.delete(KEY)
    world.pass_over(KEY)
    assert pin_of(world) == ""
    assert weight_of(world) == 20


@pytest.mark.parametrize("which", ["StatefulSet", "CloneSet", "DaemonSet", "Advanced StatefulSet"])
def test_sets_of_pods_are_guarded_alike(which: str) -> None:
    world = make_set_world(which)
    watch(world)
    release_set(world)
    world.rest()
    stable = pin_of(world)
    assert stable
    world.people.fail_pods(frozenset({stable}))
    wait(world, GRACE + 0.5)
    assert pin_of(world) == ""
    world.people.heal()
    wait(world, 20)
    assert pin_of(world) == stable


# --- the new side -------------------------------------------------------------------------------


@STYLES
def test_the_new_sides_share_goes_to_stable_after_the_grace_period_and_comes_back(
    style: str,
) -> None:
    world = at_step_1(style)
    lose_new(world)
    wait(world, GRACE - 0.5)
    assert weight_of(world) == 20
    wait(world, 1)
    assert weight_of(world) is None
    assert stalled(world)
    assert "no pod of the new revision" in stalled_message(world)
    world.people.heal()
    wait(world, 30)
    assert weight_of(world) == 20
    assert not stalled(world)
    assert ours_of(world).state == StepState.STEP_PAUSED


@STYLES
def test_a_moment_without_new_pods_moves_nothing(style: str) -> None:
    world = at_step_1(style)
    weights: list[float | None] = []
    world.watchers.append(lambda: weights.append(weight_of(world)))
    lose_new(world)
    wait(world, GRACE - 1)
    world.people.heal()
    wait(world, 30)
    assert set(weights) == {20}
    assert ours_of(world).empty_sides == {}


def test_no_traffic_moves_if_no_pod_is_ready() -> None:
    world = at_step_1("canary")
    lose(world, "v1")
    lose_new(world)
    wait(world, 30)
    assert pin_of(world)
    assert weight_of(world) == 20
    assert not stalled(world)


def test_new_pods_that_are_lost_while_the_release_ends_get_no_share() -> None:
    world = at_step_1("canary")
    approve(world)
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: ours_of(world).goal == "Success")
    lose_new(world)
    lose(world, "v2")
    wait(world, GRACE + 1)
    assert weight_of(world) is None
    world.people.heal()
    world.rest()
    assert status_of(world).phase == "Healthy"


# --- one Service for both -----------------------------------------------------------------------


def shared() -> World:
    """One Service for both revisions; a label tells new pods apart."""
    strategy = CanaryStrategy(
        steps=make_steps("20%", "50%"),
        traffic_routings=(make_routing("web", VIRTUAL_SERVICE),),
        enable_extra_workload_for_canary=True,
        disable_generate_canary_service=True,
        patch_pod_template_metadata=PatchMetadata(labels={"lane": "new"}),
    )
    world = make_world(make_rollout(strategy=strategy))
    release(world)
    world.rest()
    assert weight_of(world) == 20
    return world


def test_routes_to_one_service_give_everything_to_the_side_that_lives() -> None:
    world = shared()
    lose(world, "v1")
    wait(world, GRACE - 0.5)
    assert weight_of(world) == 20
    wait(world, 1)
    assert weight_of(world) == 100
    assert stalled(world)
    world.people.heal()
    wait(world, GRACE - 0.5)
    assert weight_of(world) == 100
    wait(world, 1)
    assert weight_of(world) == 20
    assert not stalled(world)


def test_routes_to_one_service_follow_their_step_again_while_paused() -> None:
    world = shared()
    world.people.pause(KEY)
    lose(world, "v1")
    wait(world, GRACE + 1)
    assert weight_of(world) == 100
    world.people.heal()
    wait(world, GRACE + 1)
    assert weight_of(world) == 20


def test_the_new_side_of_one_service_is_guarded_alike() -> None:
    world = shared()
    lose_new(world)
    wait(world, GRACE + 1)
    assert weight_of(world) is None
    world.people.heal()
    wait(world, 30)
    assert weight_of(world) == 20


def test_where_the_stable_revision_is_not_known_all_ready_pods_but_the_new_ones_count() -> None:
    world = at_step_1("partition")
    seen = world.observe(KEY)
    assert seen is not None
    context = as_stored(seen, world.cluster.now)
    known = stable_uids(context)
    assert known
    assert stable_uids(context.noting(stable_revision="")) == known


def test_a_share_of_0_is_not_moved_from_a_lost_side() -> None:
    plan = tuple(structs.replace(step, traffic="0%") for step in make_steps("20%", "50%"))
    world = make_world(make_rollout(strategy=make_strategy(steps=plan, style="canary")))
    release(world)
    world.rest()
    seen = world.observe(KEY)
    assert seen is not None
    lost = EmptySide(since=world.cluster.now, led_away="routes")
    status = with_moonshift_status(seen.rollout.status, empty_sides={"new/web": lost})
    found = with_shares_led_away(as_stored(seen, world.cluster.now), Stop(status))
    assert found.urgent == found.actions == ()
    assert found.problem is not None
    assert found.problem.reason == "SideWithoutEndpoints"


@pytest.mark.parametrize("action", ["SetMetadata Deployment", "FreezeWorkload"])
def test_a_refused_write_to_the_workload_leaves_no_request_unanswered(action: str) -> None:
    """Replaced while nobody answered: all pods are new ones, and its label and its hold cannot be given back."""
    world = at_step_1("partition")
    world.people.forbid(action, Refusal("Forbidden", f"{action} is refused"))
    replace_by_force(world)
    world.rest()
    assert answered(world) > 0
