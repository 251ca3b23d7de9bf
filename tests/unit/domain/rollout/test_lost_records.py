"""A held workload has lost its owner's record, and its template changes before the controller has seen that.

Why: admission took the values of the hold for the owner's own, and the release ended with them: `maxUnavailable: 20%`
instead of the owner's 25 %, or a workload that stayed paused.
"""

from typing import TypeVar

import msgspec
import pytest
from msgspec import structs

from controller.api import names
from controller.api.podsets import PodSet
from controller.api.rollout import Phase, StepState
from controller.api.workloads import Deployment
from tests.unit.builders import (
    KEY,
    make_deployment,
    make_set_world,
    release_set,
    set_of,
    status_of,
    template,
    versions_of,
    wait,
    workload_of,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, in_state

Held = TypeVar("Held", Deployment, PodSet)


def without_the_record(held: Held) -> Held:
    """The workload without the annotation that keeps its owner's values."""
    kept = {k: v for k, v in held.metadata.annotations.items() if k != names.ORIGINAL_STRATEGY}
    return structs.replace(held, metadata=structs.replace(held.metadata, annotations=kept))


@BOTH
@pytest.mark.parametrize("state", [StepState.STEP_UPGRADE, StepState.STEP_PAUSED])
def test_the_owner_gets_its_own_values_after_a_rollback(state: StepState, style: str) -> None:
    own = make_deployment().spec.strategy
    world = in_state(state, style)
    world.cluster.deployments.put(without_the_record(workload_of(world)))
    world.people.edit(KEY, template=template("v1"))
    world.rest()
    wait(world, 60)
    assert status_of(world).phase == Phase.HEALTHY
    spec = workload_of(world).spec
    assert not spec.paused
    assert spec.min_ready_seconds == 0
    assert spec.strategy == own


def strategy_at_the_end(which: str, version: str, *, lost: bool) -> object:
    """Another template comes in the middle of a release; the strategy when that is over."""
    world = make_set_world(which)
    release_set(world)
    world.rest()
    if lost:
        world.cluster.pod_sets.put(without_the_record(set_of(world)))
    release_set(world, version)
    world.rest()
    for _ in range(4):
        approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert set(versions_of(world)) == {version}
    return msgspec.json.decode(bytes(set_of(world).spec.update_strategy))


@pytest.mark.parametrize("which", ["StatefulSet", "CloneSet", "DaemonSet", "Advanced DaemonSet"])
@pytest.mark.parametrize("version", ["v1", "v3"])
def test_the_owner_of_a_set_gets_its_own_strategy_after_another_template(
    which: str, version: str
) -> None:
    own = strategy_at_the_end(which, version, lost=False)
    assert strategy_at_the_end(which, version, lost=True) == own


@BOTH
@pytest.mark.parametrize("passes", [0, 4, 8])
@pytest.mark.parametrize("labelled", [True, False])
def test_a_rollback_ends_with_the_owners_values_if_the_record_is_lost_on_the_way(
    passes: int, labelled: bool, style: str
) -> None:
    """The workload stayed paused, with the mark of a release: `PausedByOwner`, though nobody had paused it."""
    own = make_deployment().spec.strategy
    world = in_state(StepState.STEP_PAUSED, style)
    world.people.edit(KEY, template=template("v1"))
    for _ in range(passes):
        world.advance()
    found = without_the_record(workload_of(world))
    if not labelled:
        labels = {k: v for k, v in found.metadata.labels.items() if k != names.WORKLOAD_TYPE}
        found = structs.replace(found, metadata=structs.replace(found.metadata, labels=labels))
    world.cluster.deployments.put(found)
    world.rest()
    wait(world, 60)
    assert status_of(world).phase == Phase.HEALTHY
    spec = workload_of(world).spec
    assert (spec.paused, spec.min_ready_seconds, spec.strategy) == (False, 0, own)
    assert names.IN_PROGRESSING not in workload_of(world).metadata.annotations


@pytest.mark.parametrize("which", ["StatefulSet", "CloneSet", "DaemonSet", "Advanced DaemonSet"])
@pytest.mark.parametrize("passes", [0, 2, 4, 6])
def test_a_rollback_of_a_set_ends_with_its_owners_strategy_if_the_record_is_lost_on_the_way(
    which: str, passes: int
) -> None:
    own = strategy_at_the_end(which, "v1", lost=False)
    world = make_set_world(which)
    release_set(world)
    world.rest()
    release_set(world, "v1")
    for _ in range(passes):
        world.advance()
    world.cluster.pod_sets.put(without_the_record(set_of(world)))
    world.rest()
    wait(world, 60)
    assert status_of(world).phase == Phase.HEALTHY
    assert msgspec.json.decode(bytes(set_of(world).spec.update_strategy)) == own
