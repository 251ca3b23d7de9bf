"""A Deployment is scaled to zero and back while no pass runs, and gets another template: the stable revision stays
stable.

Why: from zero its own controller gives every pod to the newest ReplicaSet, paused or not. Emptied by us, an abandoned
ReplicaSet is filled up again for ever while the stable one wants no pod; and an unapproved revision must not become the
way back.
"""

import pytest

from controller.api.rollout import BlueGreenStrategy, Step, Strategy
from tests.unit.builders import (
    KEY,
    make_deployment,
    make_rollout,
    make_routing,
    make_steps,
    make_world,
    ours_of,
    release,
    revision_of,
    sizes_of,
    with_spec,
)
from tests.unit.domain.rollout.moving.test_from_zero import finish
from tests.unit.domain.rollout.scenes import approve, history, seconds
from tests.unit.domain.rollout.test_behind import is_behind, size
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "blueGreen", "canary"])
SIZES = pytest.mark.parametrize("replicas", [1, 2, 3, 10])
PLAN = make_steps("20%", "50%")


def a_world(style: str, replicas: int, steps: tuple[Step, ...] = PLAN) -> World:
    """Nothing is released yet."""
    if style == "blueGreen":
        plan = BlueGreenStrategy(steps=steps, traffic_routings=(make_routing(),))
        rollout = with_spec(make_rollout(), strategy=Strategy(blue_green=plan))
    else:
        rollout = make_rollout(style=style, steps=steps)
    return make_world(rollout, make_deployment(replicas=replicas))


def at_step_1(style: str, replicas: int, steps: tuple[Step, ...] = PLAN) -> World:
    """A release of v2 that waits at its first step."""
    world = a_world(style, replicas, steps)
    release(world)
    world.rest()
    return world


def resized_unseen(world: World, *sizes: int) -> None:
    """Sizes are written one after the other, and the workload's own controllers alone are at work."""
    for replicas in sizes:
        world.people.edit(KEY, replicas=replicas)
        for _ in range(20):
            world.tick()
            world.cluster.set_clock(world.cluster.now + seconds(0.5))


def share_of(style: str, version: str, replicas: int) -> dict[str, int]:
    """The pods of each revision at a first step of 20 %."""
    new = -(-replicas * 20 // 100)
    if style == "canary":
        return {"v1": replicas, f"+{version}": new}
    old = replicas if style == "blueGreen" else replicas - new
    return {"v1": old, version: new} if old else {version: new}


def released(world: World, *versions: str) -> None:
    """Releases that came to their ends."""
    for version in versions:
        release(world, version)
        world.rest()
        finish(world)


def alive(world: World) -> dict[str, int]:
    """The sizes of all revisions that have pods."""
    return {name: pods for name, pods in sizes_of(world).items() if pods}


@STYLES
@SIZES
def test_a_template_that_comes_after_an_unseen_zero_is_released_over_the_stable_revision(
    style: str, replicas: int
) -> None:
    world = at_step_1(style, replicas)
    resized_unseen(world, 0, replicas)
    release(world, "v3")
    world.rest()
    assert ours_of(world).stable_revision == revision_of(world, "v1")
    assert alive(world) == share_of(style, "v3", replicas)
    release(world, "v1")
    world.rest()
    assert alive(world) == {"v1": replicas}


@STYLES
@SIZES
def test_a_template_that_came_at_zero_is_released_over_the_stable_revision(
    style: str, replicas: int
) -> None:
    """The release of v3 has begun without a pod when v2 is filled up."""
    world = at_step_1(style, replicas)
    resized_unseen(world, 0)
    release(world, "v3")
    resized_unseen(world, replicas)
    world.rest()
    assert ours_of(world).stable_revision == revision_of(world, "v1")
    assert alive(world) == share_of(style, "v3", replicas)
    approve(world)
    finish(world)
    assert alive(world) == {"v3": replicas}


@pytest.mark.parametrize("replicas", [1, 2, 10])
def test_serving_pods_are_removed_only_after_stable_pods_are_ready(replicas: int) -> None:
    """The unapproved pods are the only ones that answer: at no instant does nobody."""
    world = at_step_1("partition", replicas)
    resized_unseen(world, 0, replicas)
    serving = history(world, lambda: any(p.ready_since for p in world.cluster.pods))
    release(world, "v3")
    world.rest()
    assert serving == [True]


def test_one_pod_is_replaced_by_a_third_revision_over_the_stable_one() -> None:
    """Of one pod every step is all, so the step says nothing about v2; nothing was scaled."""
    world = at_step_1("partition", 1)
    assert alive(world) == {"v2": 1}
    seen = history(world, lambda: alive(world))
    serving = history(world, lambda: any(p.ready_since for p in world.cluster.pods))
    release(world, "v3")
    world.rest()
    assert {"v1": 1} in seen
    assert serving == [True]
    assert alive(world) == {"v3": 1}
    assert ours_of(world).stable_revision == revision_of(world, "v1")


@pytest.mark.parametrize("replicas", [1, 10])
def test_stable_pods_return_although_the_workloads_controller_lags(replicas: int) -> None:
    """A size that it did not see has no mark of its own: it would take it for a scale event for ever."""
    world = at_step_1("partition", 10)
    resized_unseen(world, 0, replicas)
    release(world, "v3")
    is_behind(world)
    world.rest()
    assert alive(world) == share_of("partition", "v3", replicas)
    assert ours_of(world).stable_revision == revision_of(world, "v1")


def test_a_single_pod_makes_way_if_no_second_pod_is_allowed() -> None:
    """v3 was admitted over two versions, so the limits are those of the step: no surge."""
    world = at_step_1("partition", 10)
    release(world, "v3")
    resized_unseen(world, 0, 1)
    assert alive(world) == {"v2": 1}
    world.rest()
    assert alive(world) == {"v3": 1}
    assert ours_of(world).stable_revision == revision_of(world, "v1")


@pytest.mark.parametrize("replicas", [1, 10])
def test_an_older_revision_that_was_released_again_makes_way_too(replicas: int) -> None:
    """Its ReplicaSet was made before the stable one, and is still filled from zero: it is of the template."""
    world = a_world("partition", 10)
    released(world, "v2", "v3")
    release(world, "v1")
    world.rest()
    resized_unseen(world, 0, replicas)
    assert alive(world) == {"v1": replicas}
    release(world, "v4")
    world.rest()
    assert ours_of(world).stable_revision == revision_of(world, "v3")
    assert sum(alive(world).values()) == replicas
    assert alive(world)["v4"] == -(-replicas * 20 // 100)
    assert "v1" not in alive(world)


@STYLES
def test_a_release_of_long_ago_that_is_filled_from_zero_makes_way(style: str) -> None:
    """v2 was undone. Nothing of v3 was made, or nothing in the workload itself, so v2 is its newest revision."""
    world = a_world(style, 10)
    released(world, "v2", "v1")
    release(world, "v3")
    resized_unseen(world, 0, 10)
    assert alive(world) == {"v2": 10}
    world.rest()
    assert alive(world) == share_of(style, "v3", 10)
    assert ours_of(world).stable_revision == revision_of(world, "v1")


def test_under_blue_green_no_step_takes_the_stable_pods() -> None:
    """All new pods beside all old ones: from zero the old ones return first here, too."""
    world = at_step_1("blueGreen", 3, make_steps("100%"))
    resized_unseen(world, 0, 3)
    assert alive(world) == {"v2": 3}
    world.rest()
    assert alive(world) == {"v1": 3, "v2": 3}
    assert ours_of(world).stable_revision == revision_of(world, "v1")


def test_a_revision_that_took_all_pods_becomes_the_stable_one_of_the_next_release() -> None:
    """People let it have all pods and all requests, so the old version would have to be grown from nothing."""
    world = at_step_1("partition", 10, (*PLAN, *make_steps("100%"), *make_steps("100%")))
    approve(world)
    approve(world)
    assert alive(world) == {"v2": 10}
    release(world, "v3")
    world.rest()
    assert ours_of(world).stable_revision == revision_of(world, "v2")
    assert alive(world) == {"v2": 8, "v3": 2}


@pytest.mark.parametrize("replicas", [1, 10])
def test_a_template_that_comes_on_the_way_to_zero_again_is_released_over_the_stable_revision(
    replicas: int,
) -> None:
    """No pod is asked for any more, and the unapproved ones have not gone yet when we look."""
    world = at_step_1("partition", 10)
    resized_unseen(world, 0, replicas)
    world.people.edit(KEY, replicas=0)
    release(world, "v3")
    for _ in range(3):
        world.pass_over(KEY)
    assert size(world, "v2") == replicas
    assert ours_of(world).stable_revision == revision_of(world, "v1")
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert alive(world) == {"v1": 8, "v3": 2}


def test_a_template_that_comes_while_stable_pods_return_waits_for_them() -> None:
    """The unapproved pods serve until then."""
    world = at_step_1("partition", 10)
    resized_unseen(world, 0, 10)
    world.run_until(lambda: alive(world).get("v1", 0) == 5)
    serving = history(world, lambda: any(p.ready_since for p in world.cluster.pods))
    release(world, "v3")
    world.rest()
    assert serving == [True]
    assert alive(world) == {"v1": 8, "v3": 2}
    assert ours_of(world).stable_revision == revision_of(world, "v1")


@pytest.mark.parametrize("replicas", [1, 10])
def test_a_revision_that_cannot_be_replaced_at_once_is_replaced_step_by_step(replicas: int) -> None:
    """The stable ReplicaSet is gone: emptied by us, the other one would be filled again for ever."""
    world = at_step_1("partition", 10)
    stable = revision_of(world, "v1")
    release(world, "v3")
    world.run_until(lambda: size(world, "v2") == 0)
    is_behind(world)
    assert alive(world) == {"v1": 8}
    resized_unseen(world, 0)
    (gone,) = [rs for rs in world.cluster.replica_sets if rs.revision == stable]
    world.cluster.replica_sets.remove(gone.metadata.key)
    resized_unseen(world, replicas)
    assert alive(world) == {"v2": replicas}
    world.rest()
    assert ours_of(world).stable_revision == stable
    assert alive(world)["v3"] == -(-replicas * 20 // 100)
    finish(world)
    assert alive(world) == {"v3": replicas}
