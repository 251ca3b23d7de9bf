"""A small workload whose step is every pod by rounding is scaled up: stable pods return beside the new ones.

Why: the Deployment's controller had marked the empty stable ReplicaSet with the size of that time. When it got its
first pods, the controller scaled it in proportion to that size: 200 pods for a workload of 40, and none of the new
version, which was the one that answered.
"""

import pytest

from controller.api.rollout import StepState
from tests.unit.builders import (
    KEY,
    inner_of,
    make_deployment,
    make_rollout,
    make_step,
    make_world,
    release,
    sizes_of,
    wait,
)
from tests.unit.domain.rollout.scenes import approve, history
from tests.unit.worlds import World


def all_new(*, routed: bool, replicas: int = 4) -> World:
    """A release of a small workload that waits at a step of 80 %, which is every pod."""
    traffic = ("50%", "80%") if routed else (None, None)
    steps = (make_step("50%", traffic[0]), make_step("80%", traffic[1]), make_step("100%"))
    world = make_world(
        make_rollout(style="partition", steps=steps), make_deployment(replicas=replicas)
    )
    release(world)
    world.rest()
    approve(world)
    assert sizes_of(world) == {"v2": replicas}
    return world


def ready(world: World) -> int:
    return sum(
        pod.ready_since is not None and not pod.metadata.deleting for pod in world.cluster.pods
    )


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("replicas", [8, 16, 40])
def test_the_ready_pods_stay_and_no_more_than_half_is_added(replicas: int, routed: bool) -> None:
    world = all_new(routed=routed)
    seen = history(world, lambda: (ready(world), len(list(world.cluster.pods))))
    world.people.edit(KEY, replicas=replicas)
    world.rest()
    wait(world, 60)
    assert min(count for count, _ in seen) >= 4
    assert max(pods for _, pods in seen) <= replicas + replicas // 2
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert sizes_of(world) == {"v1": replicas // 2, "v2": replicas // 2}
