"""Facts of a release that are lost between two passes: pods of a step, a stable revision, a ControllerRevision."""

from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import StepState
from controller.domain.decision import DeleteObject
from controller.domain.observation import Observation
from controller.domain.rollout.moving.nodes import deleted_node_by_node
from controller.domain.rollout.words.release_value import as_stored
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    inner_of,
    make_set_world,
    make_world,
    ours_of,
    release,
    release_set,
    revision_of,
    sizes_of,
    template,
)
from tests.unit.domain.rollout.scenes import history, started
from tests.unit.worlds import World


def test_a_workload_that_is_admitted_again_without_its_pods_is_upgraded_again() -> None:
    world = started(watched=False)
    before = sizes_of(world)
    assert before["v2"] == 2
    lost = revision_of(world, "v2")
    states = history(world, lambda: inner_of(world).current_step_state)
    world.people.edit(KEY, template=template("v1"))
    world.people.edit(KEY, template=template("v2"))
    world.cluster.replica_sets.delete(Key(NAMESPACE, f"{KEY.name}-{lost}"))
    world.rest()
    assert StepState.STEP_UPGRADE in states
    assert sizes_of(world) == before
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED


def test_new_pods_serve_where_the_only_old_revision_is_gone_before_the_first_look() -> None:
    world = make_world()
    lost = revision_of(world, "v1")
    release(world)
    world.cluster.replica_sets.delete(Key(NAMESPACE, f"{KEY.name}-{lost}"))
    world.rest()
    assert (ours_of(world).stable_revision, sizes_of(world)) == ("", {"v2": 10})


def deletions(seen: Observation, world: World) -> list[DeleteObject]:
    """The pods of a DaemonSet that step 1 deletes next."""
    going = deleted_node_by_node(as_stored(seen, world.cluster.now), 1)
    return [action for action in going if isinstance(action, DeleteObject)]


def test_no_pod_of_a_daemonset_goes_while_its_new_revision_is_not_known() -> None:
    world = make_set_world("DaemonSet")
    release_set(world)
    looks: list[Observation] = []

    def look() -> bool:
        seen = world.observe(KEY)
        assert seen is not None
        looks.append(seen)
        return bool(inner_of(world).current_step_state and deletions(seen, world))

    world.run_until(look)
    seen = looks[-1]
    assert seen.workload is not None
    unknown = structs.replace(seen.workload, revisions=())
    assert deletions(structs.replace(seen, workload=unknown), world) == []
