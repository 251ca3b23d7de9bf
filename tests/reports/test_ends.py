"""Reports about ends: a rollback, an abort, a deletion, and what they leave behind."""

import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import MoonshiftStatus, Phase, Step, StepState
from controller.domain import reasons
from tests.reports.played import played
from tests.unit.builders import (
    BLUE_GREEN,
    KEY,
    NAMESPACE,
    inner_of,
    make_deployment,
    make_rollout,
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
    workload_of,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, history, pin_of, reason_of, started
from tests.unit.worlds import World


def broken(world: World, version: str = "v2") -> None:
    """Pods of this version never become ready."""
    world.people.fail_pods(frozenset({revision_of(world, version)}))


def ready_endpoints(world: World, service: str) -> int:
    """Ready pods behind a Service."""
    found = world.cluster.services.get(Key(NAMESPACE, service))
    pods = () if found is None else world.cluster.selected(found)
    return sum(pod.ready_since is not None and not pod.metadata.deleting for pod in pods)


def limited(style: str = "partition", *, on_deadline: str = "") -> World:
    """A world at rest whose plan allows 60 seconds for each step."""
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%"), style=style),
        progress_deadline_seconds=60,
        on_deadline_exceeded=on_deadline,
    )
    return make_world(make_rollout(strategy=strategy))


def retry(world: World) -> None:
    """As `moonshift retry`; then the world runs until it rests."""
    rollout = world.cluster.rollouts[KEY]
    ours: MoonshiftStatus = structs.replace(ours_of(world), failed_template="")
    status = structs.replace(rollout.status, moonshift=ours)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))
    world.rest()


def is_as_before(world: World) -> bool:
    """Only stable pods run, and nothing of the release is left."""
    return (
        sizes_of(world) == {"v1": 10}
        and weight_of(world) is None
        and pin_of(world) == ""
        and pin_of(world, "web-canary") == "gone"
        and status_of(world).phase == Phase.HEALTHY
    )


@played("argoproj/argo-rollouts#1292")
@BOTH
def test_an_approval_or_a_rollback_without_a_release_changes_no_pod(style: str) -> None:
    world = make_world(make_rollout(style=style))
    release(world, "v1")
    world.people.approve(KEY)
    seen = history(world, lambda: sizes_of(world))
    world.rest()
    assert seen == [{"v1": 10}]
    assert is_as_before(world)


@played("argoproj/argo-rollouts#2781", "argoproj/argo-rollouts#2316")
@BOTH
def test_no_service_selects_the_revision_that_was_rolled_back(style: str) -> None:
    world = started(style)
    release(world, "v1")
    world.rest()
    assert is_as_before(world)
    assert ready_endpoints(world, "web") == 10


@played("argoproj/argo-rollouts#3078")
@BOTH
def test_the_canary_service_points_at_one_revision_until_it_goes(style: str) -> None:
    world = started(style)
    release(world, "v1")
    pins = history(world, lambda: pin_of(world, "web-canary"))
    world.rest()
    assert pins == [revision_of(world, "v2"), "gone"]


@played("argoproj/argo-rollouts#2048")
@BOTH
def test_a_mended_version_is_released_after_a_rollback_and_during_one(style: str) -> None:
    for seconds in (1, 600):
        world = started(style)
        release(world, "v1")
        wait(world, seconds)
        release(world, "v3")
        world.rest()
        assert inner_of(world).current_step_state == StepState.STEP_PAUSED
        pods = sizes_of(world)
        assert pods.get("v3", 0) + pods.get("+v3", 0) == 2
        assert "v2" not in pods
        assert "+v2" not in pods


@played("argoproj/argo-rollouts#1337", "argoproj/argo-rollouts#2119")
@pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
def test_a_rollback_from_a_late_step_takes_every_new_pod_and_keeps_enough_ready(style: str) -> None:
    world = make_world(make_rollout(style=style, steps=make_steps("40%", "60%", "80%")))
    release(world)
    world.rest()
    for _ in range(2):
        approve(world)
    ready = history(world, lambda: sum(pod.ready_since is not None for pod in world.cluster.pods))
    release(world, "v1")
    world.rest()
    assert is_as_before(world)
    assert min(ready) >= 8  # The owner's maxUnavailable is 25 %.


@played("argoproj/argo-rollouts#2793")
@pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
def test_after_the_last_approval_no_pod_of_the_former_version_is_left(style: str) -> None:
    world = make_world(make_rollout(style=style, steps=make_steps("10%", "25%", "50%", "75%")))
    release(world)
    world.rest()
    for _ in range(4):
        approve(world)
    assert sizes_of(world) == {"v2": 10}
    assert ready_endpoints(world, "web") == 10
    assert pin_of(world) == ""


@played("argoproj/argo-rollouts#4128")
@BOTH
def test_pods_that_never_start_stall_the_release_at_the_deadline(style: str) -> None:
    world = limited(style)
    broken(world)
    release(world)
    wait(world, 120)
    assert reason_of(world, "Stalled") == reasons.DEADLINE_EXCEEDED
    assert weight_of(world) is None
    release(world, "v1")
    world.rest()
    assert is_as_before(world)


@played("argoproj/argo-rollouts#1259")
def test_the_rollback_of_a_blue_green_release_that_never_started_removes_its_pods() -> None:
    world = make_world(make_rollout(style=BLUE_GREEN, steps=make_steps("100%")))
    broken(world)
    release(world)
    wait(world, 60)
    assert sizes_of(world) == {"v1": 10, "v2": 10}
    release(world, "v1")
    world.rest()
    assert is_as_before(world)


@played("fluxcd/flagger#862", "openkruise/rollouts#257")
@BOTH
def test_the_same_version_is_released_again_after_a_rollback_by_the_former_manifest(
    style: str,
) -> None:
    world = started(style)
    world.people.replace(KEY, make_deployment(version="v1").spec)
    world.rest()
    assert is_as_before(world)
    release(world)
    world.rest()
    assert inner_of(world).current_step_index == 1
    for _ in range(2):
        approve(world)
    assert sizes_of(world) == {"v2": 10}
    assert status_of(world).phase == Phase.HEALTHY


@played("fluxcd/flagger#1163")
@BOTH
def test_a_version_that_was_given_up_is_held_with_a_remedy_and_runs_after_it(style: str) -> None:
    world = limited(style, on_deadline="Rollback")
    broken(world)
    release(world)
    wait(world, 300)
    assert is_as_before(world)
    world.people.heal()
    release(world, "v1")
    world.rest()
    release(world)
    world.rest()
    assert reason_of(world, "Stalled") == reasons.REVISION_FAILED
    assert "kubectl moonshift retry web" in status_of(world).message
    assert sizes_of(world) == {"v1": 10}
    retry(world)
    assert (inner_of(world).current_step_index, weight_of(world)) == (1, 20)


@played("argoproj/argo-rollouts#3855", "fluxcd/flagger#1448", "fluxcd/flagger#1550")
@pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
def test_a_deleted_rollout_leaves_the_owners_number_of_pods_and_takes_none_too_soon(
    style: str,
) -> None:
    world = make_world(make_rollout(style=style, steps=make_steps("20%", "50%")))
    release(world)
    world.rest()
    served = history(world, lambda: ready_endpoints(world, "web"))
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert sizes_of(world) == {"v2": 10}
    assert workload_of(world).spec.replicas == 10
    assert ready_endpoints(world, "web") == 10
    assert min(served) >= 8  # The owner's maxUnavailable is 25 %.


@played("fluxcd/flagger#1534")
@BOTH
def test_a_deleted_rollout_gives_the_services_own_selector_back(style: str) -> None:
    world = started(style)
    before = {"app": "web"}
    assert world.cluster.services[KEY].spec.selector != before
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert world.cluster.services[KEY].spec.selector == before
    assert pin_of(world, "web-canary") == "gone"
    assert weight_of(world) is None


@played("openkruise/rollouts#272")
def test_the_owners_pause_keeps_the_stable_pods_when_the_rollout_is_deleted() -> None:
    world = started("partition", watched=False)
    world.people.edit(KEY, paused=True)
    world.rest()
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert workload_of(world).spec.paused
    assert sizes_of(world)["v1"] >= 8
    assert weight_of(world) is None


@played("openkruise/rollouts#272")
@BOTH
def test_a_deployment_that_nobody_paused_goes_on_when_its_rollout_is_deleted(style: str) -> None:
    """Today's behaviour; the row says what is missing."""
    world = started(style)
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert not workload_of(world).spec.paused
    assert sizes_of(world) == {"v2": 10}


def starting(world: World) -> frozenset[str]:
    """Pods that are not ready yet."""
    return frozenset(pod.metadata.uid for pod in world.cluster.pods if pod.ready_since is None)


@played("fluxcd/flagger#1591", "fluxcd/flagger#1931")
@BOTH
def test_the_last_move_has_a_deadline_and_keeps_ready_pods_in_any_case(style: str) -> None:
    world = limited(style)
    release(world)
    world.rest()
    approve(world)
    served = history(world, lambda: ready_endpoints(world, "web"))
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: bool(starting(world)))
    world.people.fail_pods(starting(world))
    wait(world, 300)
    assert reason_of(world, "Stalled") == reasons.DEADLINE_EXCEEDED
    release(world, "v1")
    world.rest()
    assert is_as_before(world)
    assert min(served) > 0


@played("fluxcd/flagger#1578")
@BOTH
def test_pods_that_become_ready_and_break_again_do_not_hold_the_deadline_up(style: str) -> None:
    world = limited(style, on_deadline="Rollback")
    release(world)
    for _ in range(12):
        broken(world)
        wait(world, 5)
        world.people.heal()
        wait(world, 1)
        broken(world)
        wait(world, 4)
    wait(world, 120)
    assert is_as_before(world)
    assert ours_of(world).failed_template


@played("argoproj/argo-rollouts#3586")
@pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
def test_each_service_has_ready_pods_while_a_route_names_it_up_to_the_last_move(style: str) -> None:
    steps = (Step(replicas="50%", traffic="50%"), Step(replicas="100%", traffic="100%"))
    world = make_world(make_rollout(style=style, steps=steps))
    empty: list[float | None] = []

    def look() -> None:
        weight = weight_of(world)
        sides = {"web"} if weight is None else {"web-canary"} | ({"web"} if weight < 100 else set())
        empty.extend(weight for side in sides if ready_endpoints(world, side) == 0)

    world.watchers.append(look)
    release(world)
    world.rest()
    for _ in range(3):
        approve(world)
    assert sizes_of(world) == {"v2": 10}
    assert empty == []
