"""A template that is applied again while its rollback is under way: its pods must not count as available."""

import msgspec
from msgspec import structs

from controller.api.names import FREEZE_MIN_READY_SECONDS
from controller.domain.decision import MoveWorkload
from controller.domain.rollout.styles.paced_deployment import freeze_takes_effect
from controller.domain.rollout.words.release_value import Release, as_stored
from tests.unit.builders import (
    KEY,
    inner_of,
    make_deployment,
    make_rollout,
    make_steps,
    make_world,
    ours_of,
    release,
    sizes_of,
    workload_of,
)
from tests.unit.domain.rollout.scenes import approve, history
from tests.unit.worlds import World

STEPS = make_steps("10%", "30%", "50%", traffic=False)


def limits_of(action: MoveWorkload) -> tuple[object, object]:
    """The rolling update limits that it writes."""
    (strategy,) = (field.value for field in action.fields if field.name == "strategy")
    assert strategy is not None
    rolling = msgspec.json.decode(strategy)["rollingUpdate"]
    return rolling["maxSurge"], rolling["maxUnavailable"]


def given_back() -> World:
    """Two new pods of five are being rolled back; the owner's own values are in force again."""
    world = make_world(
        make_rollout(steps=STEPS, traffic=False),
        make_deployment(replicas=5, max_surge=0, max_unavailable="50%", min_ready_seconds=4),
    )
    release(world)
    world.rest()
    approve(world)
    assert sizes_of(world) == {"v1": 3, "v2": 2}
    release(world, "v1")
    world.run_until(
        lambda: ours_of(world).goal == "Rollback" and not workload_of(world).spec.paused
    )
    return world


def situation(world: World) -> Release:
    seen = world.observe(KEY)
    assert seen is not None
    return as_stored(seen, world.cluster.now)


def test_no_stable_pod_goes_for_pods_that_were_there_already() -> None:
    world = given_back()
    release(world)
    sizes = history(world, lambda: tuple(sorted(sizes_of(world).items())))
    world.rest()
    assert inner_of(world).current_step_index == 1
    assert all(dict(size).get("v1", 0) >= 3 for size in sizes)
    assert sizes_of(world) == {"v1": 3, "v2": 2}


def test_the_freeze_comes_on_while_the_admission_pause_still_holds() -> None:
    world = given_back()
    release(world)
    world.tick()
    world.tick()
    stop = freeze_takes_effect(situation(world))
    assert stop is not None
    (action,) = stop.actions
    assert isinstance(action, MoveWorkload)
    assert action.admission_pause == ""
    assert limits_of(action) == (0, "50%")
    world.pass_over(KEY)
    assert workload_of(world).spec.paused
    assert workload_of(world).spec.min_ready_seconds == FREEZE_MIN_READY_SECONDS
    waiting = freeze_takes_effect(situation(world))
    assert waiting is not None
    assert waiting.actions == ()
    for _ in range(3):
        world.tick()
    assert freeze_takes_effect(situation(world)) is None


def test_a_strategy_without_rolling_limits_gets_the_apis_own() -> None:
    world = given_back()
    release(world)
    world.tick()
    world.tick()
    context = situation(world)
    spec = context.deployment.spec
    bare = structs.replace(
        context.deployment,
        spec=structs.replace(spec, strategy=structs.replace(spec.strategy, rolling_update=None)),
    )
    workload = structs.replace(context.workload, object=bare)
    seen = structs.replace(context.seen, workload=workload)
    stop = freeze_takes_effect(structs.replace(context, seen=seen))
    assert stop is not None
    (action,) = stop.actions
    assert isinstance(action, MoveWorkload)
    assert limits_of(action) == ("25%", "25%")
