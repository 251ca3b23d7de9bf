"""Scripts are run before the first new pod, so that a refusal comes before anything changes."""

from controller.domain.decision import (
    Action,
    EnsureCanaryDeployment,
    MoveWorkload,
    RehearseRoutes,
)
from tests.unit.builders import (
    KEY,
    inner_of,
    make_rollout,
    make_step,
    make_world,
    release,
    revision_of,
)
from tests.unit.domain.rollout.routing_scenes import decided
from tests.unit.domain.rollout.scenes import BOTH, approve, started
from tests.unit.worlds import World


def until_the_first_new_pod(world: World) -> list[Action]:
    """Every action that is wanted on the way there, each as often as it is wanted again."""
    wanted: list[Action] = []

    def note() -> None:
        seen = world.observe(KEY)
        actions = decided(world, seen).actions if seen is not None else ()
        wanted.extend(action for action in actions if action not in wanted[-len(actions) :])

    world.watchers.append(note)
    release(world)
    new = revision_of(world, "v2")
    world.run_until(
        lambda: any(
            pod.metadata.labels.get("pod-template-hash") == new for pod in world.cluster.pods
        )
    )
    return wanted


@BOTH
def test_scripts_are_rehearsed_before_a_new_pod_exists(style: str) -> None:
    world = make_world(make_rollout(style=style))
    wanted = until_the_first_new_pod(world)
    heard = [place for place, action in enumerate(wanted) if isinstance(action, RehearseRoutes)]
    moved = [
        place
        for place, action in enumerate(wanted)
        if isinstance(action, (MoveWorkload, EnsureCanaryDeployment))
    ]
    assert min(heard) < min(moved)
    first = wanted[heard[0]]
    assert isinstance(first, RehearseRoutes)
    assert (first.plan.weight, first.plan.rollout) == (20, "web")


def test_the_first_step_with_traffic_is_rehearsed() -> None:
    steps = (make_step("10%"), make_step("20%"), make_step("30%", "30%"))
    wanted = until_the_first_new_pod(make_world(make_rollout(steps=steps)))
    assert {a.plan.weight for a in wanted if isinstance(a, RehearseRoutes)} == {30}


def test_a_plan_without_traffic_has_no_rehearsal() -> None:
    steps = (make_step("10%"), make_step("100%"))
    wanted = until_the_first_new_pod(make_world(make_rollout(steps=steps)))
    assert not [action for action in wanted if isinstance(action, RehearseRoutes)]


def test_a_rehearsed_step_is_not_rehearsed_again_while_pods_exist() -> None:
    world = started()
    approve(world)
    assert inner_of(world).current_step_index == 2
    assert not [a for a in decided(world).actions if isinstance(a, RehearseRoutes)]


def test_every_later_step_with_another_plan_is_rehearsed_once() -> None:
    steps = (
        make_step("20%", "20%"),
        make_step("30%", "20%"),
        make_step("40%"),
        make_step("60%", "50%"),
        make_step("100%"),
    )
    wanted = until_the_first_new_pod(make_world(make_rollout(steps=steps)))
    first = next(action for action in wanted if isinstance(action, RehearseRoutes))
    assert first.plan.weight == 20
    assert [(number, plan.weight) for number, plan in first.later] == [(4, 50)]
