"""If a workload loses admission's marks and freeze while no webhook answers, they are restored before any other
action."""

import pytest
from msgspec import structs

from controller.api import names
from controller.api.jsontree import JsonObject
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.pods.marks import hold_on
from controller.domain.pods.partition import with_pause_field
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    SETS,
    lose_kept,
    make_deployment,
    make_pod_set,
    make_set_world,
    ours_of,
    release,
    release_set,
    revision_of,
    set_of,
    sizes_of,
    status_of,
    strategy_of,
    template,
    versions_of,
    weight_of,
    workload_of,
)
from tests.unit.domain.rollout.moving.test_from_zero import at_half, finish
from tests.unit.domain.rollout.scenes import approve, reason_of
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])
EVERY = pytest.mark.parametrize("which", [name for name in SETS if "labelled" not in name])


def marks_of(world: World) -> set[str]:
    """Which marks of ours the Deployment carries."""
    return set(workload_of(world).metadata.annotations) & {*names.OURS_ON_WORKLOAD}


@STYLES
def test_a_manifest_that_replaces_the_workload_unseen_loses_nothing(style: str) -> None:
    world = at_half(style)
    before = sizes_of(world)
    world.people.unheard = True
    world.people.replace(KEY, make_deployment(version="v2", min_ready_seconds=3).spec)
    world.rest()
    assert sizes_of(world) == before
    workload = workload_of(world)
    assert {names.IN_PROGRESSING, names.ORIGINAL_STRATEGY} <= marks_of(world)
    assert workload.metadata.labels[names.WORKLOAD_TYPE] == "deployment"
    assert workload.metadata.labels[names.STABLE_REVISION] == revision_of(world, "v1")
    assert workload.spec.min_ready_seconds == names.FREEZE_MIN_READY_SECONDS
    assert workload.spec.paused is (style == "canary")
    assert weight_of(world) == 50
    world.people.unheard = False
    finish(world)
    assert sizes_of(world) == {"v2": 10}
    assert workload_of(world).spec.min_ready_seconds == 3
    assert marks_of(world) == set()


@STYLES
def test_an_annotation_that_is_taken_off_comes_back_from_status(style: str) -> None:
    world = at_half(style)
    found = workload_of(world)
    kept = {k: v for k, v in found.metadata.annotations.items() if k != names.ORIGINAL_STRATEGY}
    meta = structs.replace(found.metadata, annotations=kept)
    world.cluster.deployments.put(structs.replace(found, metadata=meta))
    world.rest()
    record = hold_on(workload_of(world)).record
    assert record is not None
    assert b'"25%"' in bytes(record.values.strategy or b"")
    finish(world)
    assert sizes_of(world) == {"v2": 10}
    assert (
        workload_of(world).spec.strategy.rolling_update
        == make_deployment().spec.strategy.rolling_update
    )


def test_a_hold_that_is_edited_away_is_back_before_a_pod_counts() -> None:
    world = at_half("partition")
    world.people.unheard = True
    world.people.edit(KEY, min_ready_seconds=0)
    world.pass_over(KEY)
    world.rest()
    assert sizes_of(world) == {"v1": 5, "v2": 5}
    assert workload_of(world).spec.min_ready_seconds == names.FREEZE_MIN_READY_SECONDS


def test_a_pause_that_its_owner_removed_unseen_is_not_written_again_at_the_end() -> None:
    world = at_half("partition")
    world.people.edit(KEY, paused=True)
    world.people.unheard = True
    found = workload_of(world)
    world.people.label(
        KEY, {k: v for k, v in found.metadata.labels.items() if k != names.WORKLOAD_TYPE}
    )
    world.people.edit(KEY, paused=False)
    world.people.unheard = False
    world.rest()
    assert sizes_of(world) == {"v1": 5, "v2": 5}
    finish(world)
    assert sizes_of(world) == {"v2": 10}
    assert not workload_of(world).spec.paused


def test_an_undo_that_no_webhook_saw_leaves_no_freeze_behind() -> None:
    """`kubectl rollout undo` drops all annotations, the record among them."""
    world = at_half("partition")
    world.people.unheard = True
    found = workload_of(world)
    kept = {k: v for k, v in found.metadata.labels.items() if k != names.WORKLOAD_TYPE}
    world.people.label(KEY, kept)
    world.people.undo(KEY, template("v1"))
    world.people.unheard = False
    world.rest()
    workload = workload_of(world)
    assert sizes_of(world) == {"v1": 10}
    assert workload.spec.min_ready_seconds == 0
    assert not workload.spec.paused
    assert marks_of(world) == set()
    assert names.STABLE_REVISION not in workload.metadata.labels


def test_a_third_revision_that_no_webhook_saw_is_a_release_of_its_own() -> None:
    world = at_half("partition")
    release_before = ours_of(world).release
    world.people.unheard = True
    world.people.replace(KEY, make_deployment(version="v3").spec)
    world.pass_over(KEY)
    world.people.unheard = False
    world.rest()
    assert ours_of(world).release not in ("", release_before)
    assert sizes_of(world) == {"v1": 8, "v3": 2}


def test_a_pause_of_the_strategy_does_not_keep_the_freeze_away() -> None:
    world = at_half("partition")
    world.people.pause(KEY)
    world.rest()
    world.people.unheard = True
    world.people.replace(KEY, make_deployment(version="v2").spec)
    world.rest()
    assert names.ADMISSION_PAUSE in workload_of(world).metadata.annotations
    assert workload_of(world).spec.paused


@EVERY
def test_a_set_that_is_replaced_unseen_is_held_again(which: str) -> None:
    world = make_set_world(which)
    release_set(world)
    world.rest()
    before, strategy = versions_of(world), strategy_of(world)
    bare = make_set_world(which)
    world.people.unheard = True
    spec = structs.replace(set_of(bare).spec, template=set_of(world).spec.template)
    world.people.replace_set(KEY, spec)
    world.pass_over(KEY)
    world.rest()
    assert versions_of(world) == before
    assert strategy_of(world) == strategy
    assert names.WORKLOAD_TYPE in set_of(world).metadata.labels
    world.people.unheard = False
    own: JsonObject = strategy_of(bare)
    if which == "Advanced DaemonSet":
        own = with_pause_field(WorkloadKind.ADVANCED_DAEMON_SET, own)
    for _ in range(3):
        approve(world)
    assert versions_of(world) == {"v2": 5}
    assert strategy_of(world) == own


def test_nothing_moves_once_the_owners_values_are_lost() -> None:
    world = at_half("partition")
    found = workload_of(world)
    bare = structs.replace(found.metadata, annotations={})
    world.cluster.deployments.put(structs.replace(found, metadata=bare))
    lose_kept(world)
    world.rest()
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert stalled.reason == reasons.OWNERS_VALUES_LOST
    assert names.ORIGINAL_STRATEGY in stalled.message
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": 10}


@pytest.mark.parametrize("which", ["Advanced DaemonSet", "DaemonSet", "CloneSet", "StatefulSet"])
def test_a_plain_set_that_holds_no_pod_has_its_owners_values_in_its_spec(which: str) -> None:
    world = make_set_world(which)
    release_set(world)
    world.rest()
    lose_kept(world)
    world.people.unheard = True
    world.people.replace_set(KEY, make_pod_set(which, version="v3").spec)
    world.people.unheard = False
    world.rest()
    assert names.ORIGINAL_STRATEGY in set_of(world).metadata.annotations
    assert reason_of(world, "Stalled") == ""
