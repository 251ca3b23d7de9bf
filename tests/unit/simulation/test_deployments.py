"""The simulated Deployment controller does what the real one was seen to do (Kubernetes 1.35, by hand-written patches).

Sizes are pods of v1, v2, v3. The hold keeps new pods from ever counting as available, the admission pause is `paused`.
"""

import pytest
from msgspec import structs

from controller.api import names
from controller.api.quantity import IntOrPercent
from controller.api.workloads import Deployment, DeploymentStrategy, RollingUpdate
from tests.unit.builders import KEY, NOW, make_deployment, revision_of, sizes_of, template
from tests.unit.worlds import World

Knob = IntOrPercent


def running(replicas: int = 10) -> World:
    """v1 runs, and nobody governs it."""
    world = World(NOW)
    world.cluster.deployments.put(make_deployment(replicas=replicas))
    world.rest()
    return world


def patch(world: World, **spec: object) -> None:
    """Patch the Deployment's spec, and let its controller and all others work until the world rests."""
    write(world, **spec)
    world.rest()


def write(world: World, **spec: object) -> None:
    """A patch that the Deployment controller has not acted on yet."""
    found: Deployment = world.cluster.deployments[KEY]
    world.cluster.deployments.put(structs.replace(found, spec=structs.replace(found.spec, **spec)))


def hold() -> dict[str, object]:
    return {
        "min_ready_seconds": names.FREEZE_MIN_READY_SECONDS,
        "progress_deadline_seconds": names.FREEZE_PROGRESS_DEADLINE_SECONDS,
    }


def rolling_limits(surge: Knob, unavailable: Knob) -> dict[str, object]:
    return {"strategy": DeploymentStrategy("RollingUpdate", RollingUpdate(surge, unavailable))}


def batch(replicas: int, surge: Knob, unavailable: Knob) -> World:
    """v2 held at these limits."""
    world = running(replicas)
    patch(world, template=template("v2"), **hold(), **rolling_limits(surge, unavailable))
    return world


def sizes(world: World) -> tuple[int, ...]:
    found = sizes_of(world)
    return tuple(found.get(version, 0) for version in ("v1", "v2", "v3"))


@pytest.mark.parametrize(
    ("surge", "unavailable", "expected"),
    [(2, 0, (10, 2, 0)), (0, 2, (8, 2, 0)), (3, 2, (8, 5, 0)), (0, 5, (5, 5, 0))],
)
def test_held_pods_settle_at_surge_and_unavailable(
    surge: int, unavailable: int, expected: tuple[int, ...]
) -> None:
    assert sizes(batch(10, surge, unavailable)) == expected


def test_an_admission_paused_template_creates_no_pod_and_an_unpause_by_hand_creates_one() -> None:
    world = running()
    patch(world, template=template("v2"), paused=True, **hold(), **rolling_limits(1, 0))
    assert sizes(world) == (10, 0, 0)
    patch(world, paused=False)
    assert sizes(world) == (10, 1, 0)


@pytest.mark.parametrize(
    ("replicas", "before", "after", "expected"),
    [
        pytest.param(10, (0, 5), 20, (10, 10, 0), id="up is spread by share"),
        pytest.param(10, (0, 5), 6, (1, 5, 0), id="down with integers eats the stable revision"),
        pytest.param(10, (0, 2), 2, (0, 2, 0), id="down with integers leaves none of it"),
        pytest.param(10, (0, "50%"), 6, (3, 3, 0), id="down with percentages keeps the shares"),
        pytest.param(10, (0, "50%"), 2, (1, 1, 0), id="down to one each"),
        pytest.param(10, (0, "50%"), 20, (10, 10, 0), id="up with percentages"),
        pytest.param(10, (0, "50%"), 1, (0, 1, 0), id="a last single pod is the new one"),
    ],
)
def test_a_scale_event_is_spread_and_then_the_rolling_limits_hold_again(
    replicas: int, before: tuple[Knob, Knob], after: int, expected: tuple[int, ...]
) -> None:
    world = batch(replicas, *before)
    patch(world, replicas=after)
    assert sizes(world) == expected


def test_integers_eat_the_stable_revision_step_by_step() -> None:
    world = batch(10, 0, 5)
    patch(world, replicas=6)
    patch(world, replicas=5)
    assert sizes(world) == (0, 5, 0)


def test_a_single_spare_keeps_one_of_each() -> None:
    world = batch(10, 1, "40%")
    patch(world, replicas=1)
    assert sizes(world) == (1, 1, 0)


def test_the_freeze_on_the_running_revision_makes_its_pods_unavailable() -> None:
    world = batch(10, 0, 2)
    assert world.cluster.deployments[KEY].status.available_replicas == 8
    patch(world, template=template("v1"), paused=True)
    assert world.cluster.deployments[KEY].status.available_replicas == 0


def test_a_third_revision_by_rolling_limits_alone_is_taken_from_stable_and_from_the_second() -> (
    None
):
    world = batch(10, 0, 5)
    patch(world, template=template("v3"), **rolling_limits(0, 2))
    assert sizes(world) == (5, 3, 2)


def test_an_emptied_abandoned_revision_lets_stable_fill_up_under_the_admission_pause() -> None:
    world = batch(10, 0, 5)
    patch(world, template=template("v3"), paused=True)
    abandoned = next(
        rs for rs in world.cluster.replica_sets if rs.revision == revision_of(world, "v2")
    )
    emptied = structs.replace(abandoned.spec, replicas=0)
    world.cluster.replica_sets.put(structs.replace(abandoned, spec=emptied))
    world.rest()
    assert sizes(world) == (10, 0, 0)
    patch(world, paused=False, **rolling_limits(2, 0))
    assert sizes(world) == (10, 0, 2)


def test_unready_old_pods_of_any_revision_go_first() -> None:
    world = batch(10, 0, 2)
    stable = revision_of(world, "v1")
    unready = sorted(pod.metadata.uid for pod in world.cluster.pods if pod.revision == stable)[:2]
    world.people.fail_pods(frozenset(unready))
    world.rest()
    patch(world, template=template("v3"), **rolling_limits(0, 2))
    assert sizes(world) == (6, 2, 2)
    assert not {pod.metadata.uid for pod in world.cluster.pods} & set(unready)


def test_history_0_deletes_the_empty_stable_revision_under_the_admission_pause() -> None:
    world = batch(10, 0, 10)
    assert sizes(world) == (0, 10, 0)
    patch(world, paused=True, revision_history_limit=0)
    revisions = {rs.revision for rs in world.cluster.replica_sets}
    assert revisions == {revision_of(world, "v2")}


def test_history_keeps_as_many_as_asked_once_a_roll_out_is_complete() -> None:
    world = running()
    write(world, revision_history_limit=1)
    for version in ("v2", "v3", "v4"):
        patch(world, template=template(version))
    revisions = {rs.revision for rs in world.cluster.replica_sets}
    assert revisions == {revision_of(world, "v3"), revision_of(world, "v4")}


def test_from_zero_everything_goes_to_the_newest_revision() -> None:
    world = batch(10, 0, 2)
    patch(world, replicas=0)
    assert sizes(world) == (0, 0, 0)
    patch(world, replicas=10)
    assert sizes(world) == (0, 10, 0)


def test_under_the_admission_pause_a_surplus_is_taken_off_by_share() -> None:
    world = batch(10, 3, 2)
    assert sizes(world) == (8, 5, 0)
    patch(world, paused=True, **rolling_limits(0, 5))
    assert sizes(world) == (6, 4, 0)


def test_an_admission_pause_that_narrows_a_failed_native_rollout_takes_stable_pods() -> None:
    world = running()
    world.people.fail_pods(frozenset({revision_of(world, "v2")}))
    patch(world, template=template("v2"))
    assert sizes(world) == (8, 5, 0)
    patch(world, paused=True, **rolling_limits(1, 0))
    assert sizes(world)[0] == 7


def test_an_ordinary_rolling_update_keeps_to_its_limits() -> None:
    world = running()
    least = [10]
    most = [10]

    def count() -> None:
        alive = [pod for pod in world.cluster.pods if not pod.metadata.deleting]
        least.append(sum(pod.ready_since is not None for pod in alive))
        most.append(len(alive))

    world.watchers.append(count)
    patch(world, template=template("v2"))
    assert sizes(world) == (0, 10, 0)
    assert min(least) >= 8
    assert max(most) == 13


def test_both_limits_rounding_to_zero_allow_one_missing_pod() -> None:
    world = running(3)
    patch(world, template=template("v2"), **rolling_limits(0, "10%"))
    assert sizes(world) == (0, 3, 0)


def test_recreate_knows_no_surge() -> None:
    world = running(3)
    patch(world, paused=True, template=template("v2"), strategy=DeploymentStrategy("Recreate"))
    patch(world, replicas=5)
    assert sizes(world) == (5, 0, 0)
