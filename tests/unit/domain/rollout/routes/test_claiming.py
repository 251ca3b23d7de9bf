"""A Rollout is made again during a release, with another UID and no status: a backup was restored, or the finalizer was
removed by hand.

Claimed invariant: no object of the former Rollout stays, and no pod is created twice.
"""

import pytest
from msgspec import structs

from controller.api.meta import ObjectMeta
from controller.api.names import ROLLOUT_UID
from controller.api.rollout import RolloutStatus, StepState
from tests.unit.builders import KEY, make_deployment, sizes_of, status_of, weight_of
from tests.unit.domain.rollout.scenes import approve, pin_of, started
from tests.unit.worlds import World


def made_again(world: World) -> None:
    """Replace the Rollout by another object of the same name."""
    found = world.cluster.rollouts[KEY]
    again = structs.replace(found.metadata, uid="", finalizers=())
    world.cluster.rollouts.remove(KEY)
    world.cluster.rollouts.put(structs.replace(found, metadata=again, status=RolloutStatus()))
    world.rest()
    assert world.cluster.rollouts[KEY].metadata.uid != found.metadata.uid


@pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])
def test_the_objects_of_a_former_rollout_go_with_the_release(style: str) -> None:
    world = started(style, watched=False)
    before = sizes_of(world)
    made_again(world)
    assert sizes_of(world) == before, "no pod came twice, and none went"
    while status_of(world).current_step_state == StepState.STEP_PAUSED:
        approve(world)
    assert status_of(world).phase == "Healthy"
    assert set(sizes_of(world)) == {"v2"}
    assert [found.metadata.name for found in world.cluster.deployments] == [KEY.name]
    assert [found.metadata.name for found in world.cluster.services] == ["web"]


@pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])
def test_the_objects_of_a_copied_namespace_are_claimed_while_the_first_rollout_lives(
    style: str,
) -> None:
    world = started(style, watched=False)
    found = world.cluster.rollouts[KEY]
    world.cluster.rollouts.put(
        structs.replace(found, metadata=structs.replace(found.metadata, namespace="first"))
    )
    made_again(world)
    while status_of(world).current_step_state == StepState.STEP_PAUSED:
        approve(world)
    assert status_of(world).phase == "Healthy"
    assert [found.metadata.name for found in world.cluster.deployments] == [KEY.name]
    assert [found.metadata.name for found in world.cluster.services] == ["web"]


@pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])
def test_objects_left_beside_a_recreated_workload_are_restored(style: str) -> None:
    world = started(style, watched=False)
    found = world.cluster.rollouts[KEY]
    world.cluster.rollouts.remove(KEY)
    world.cluster.deployments.delete(KEY)
    world.rest()
    assert pin_of(world), "nobody has un-pinned it"
    world.cluster.deployments.put(make_deployment(version="v3"))
    world.cluster.rollouts.put(
        structs.replace(
            found,
            metadata=structs.replace(found.metadata, uid="", finalizers=()),
            status=RolloutStatus(),
        )
    )
    world.rest()
    assert (status_of(world).phase, pin_of(world)) == ("Healthy", "")
    assert weight_of(world) is None, "the gateway object is its owner's again"
    assert [found.metadata.name for found in world.cluster.deployments] == [KEY.name]
    assert [found.metadata.name for found in world.cluster.services] == ["web"]


def test_an_object_of_another_rollout_that_exists_is_left_alone() -> None:
    world = started("canary", watched=False)
    found = world.cluster.rollouts[KEY]
    other = structs.replace(found.metadata, name="other", uid="other")
    spec = structs.replace(
        found.spec, workload_ref=structs.replace(found.spec.workload_ref, name="other")
    )
    world.cluster.rollouts.put(
        structs.replace(found, metadata=other, spec=spec, status=RolloutStatus())
    )
    world.rest()
    makers = {
        found.metadata.annotations.get(ROLLOUT_UID)
        for found in world.cluster.services
        if found.metadata.name != "web"
    }
    assert makers == {found.metadata.uid}


def test_an_extra_deployment_of_another_namespace_belongs_to_no_release_here() -> None:
    """A copied namespace, or somebody who writes the label: nothing there is counted, deleted or waited for."""
    world = started("canary", watched=False)
    extra = next(found for found in world.cluster.deployments if found.metadata.name != KEY.name)
    away = structs.replace(
        extra.metadata, namespace="elsewhere", uid="", resource_version="", finalizers=("theirs",)
    )
    world.cluster.deployments.put(structs.replace(extra, metadata=away))
    world.cluster.deployments.delete(extra.metadata.key)
    world.rest()
    assert sizes_of(world)["+v2"] == 2, "it was made again here"
    while status_of(world).current_step_state == StepState.STEP_PAUSED:
        approve(world)
    assert status_of(world).phase == "Healthy"
    left = world.cluster.deployments[away.key]
    assert not left.metadata.deleting


def elsewhere(meta: ObjectMeta) -> ObjectMeta:
    return structs.replace(meta, namespace="elsewhere", uid="", finalizers=())


def test_an_object_that_names_an_owner_in_another_namespace_belongs_to_nobody_there() -> None:
    """Anybody may write an ownerReference; Kubernetes ignores it, and its garbage collector deletes the object."""
    world = started("partition", watched=False)
    for replica_set in tuple(world.cluster.replica_sets):
        meta = elsewhere(replica_set.metadata)
        world.cluster.replica_sets.put(structs.replace(replica_set, metadata=meta))
    for pod in tuple(world.cluster.pods):
        world.cluster.pods.put(structs.replace(pod, metadata=elsewhere(pod.metadata)))
    seen = world.observe(KEY)
    assert seen is not None
    assert seen.workload is not None
    namespaces = {rs.metadata.namespace for rs, _ in seen.workload.replica_sets}
    assert namespaces | {pod.metadata.namespace for pod in seen.workload.pods} == {KEY.namespace}
    assert len(seen.workload.pods) == 10
