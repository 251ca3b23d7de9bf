"""A release keeps its template where only the controller writes: a forged status gets nothing into the workload."""

import msgspec
import pytest
from msgspec import structs

from controller.api import names
from controller.api.jsontree import JsonObject
from controller.api.rollout import MoonshiftStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.trouble.kept import corrected
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    inner_of,
    make_deployment,
    make_rollout,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    release_set,
    set_of,
    status_of,
    template,
    versions_of,
    wait,
    workload_of,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, pin_of
from tests.unit.domain.rollout.test_another_template_at_the_end import delete
from tests.unit.worlds import World

FORGED: JsonObject = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "hostPID": True,
        "serviceAccountName": "admin",
        "containers": [{"name": "web", "image": "evil", "securityContext": {"privileged": True}}],
    },
}


def forge(world: World, **fields: object) -> None:
    """A person who may patch `rollouts/status`, and nothing else, writes these fields into `status.moonshift`."""
    rollout = world.cluster.rollouts[KEY]
    ours: MoonshiftStatus = structs.replace(ours_of(world), **fields)
    status = structs.replace(rollout.status, moonshift=ours)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))


def impatient(style: str) -> World:
    """A world at rest whose plan takes a step back that has taken a minute."""
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%"), style=style),
        progress_deadline_seconds=60,
        on_deadline_exceeded="Rollback",
    )
    return make_world(make_rollout(strategy=strategy), make_deployment())


def written(world: World) -> str:
    """The template of the workload, as text."""
    return bytes(workload_of(world).spec.template).decode()


@BOTH
def test_a_forged_template_is_never_written_into_the_workload(style: str) -> None:
    world = impatient(style)
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))
    release(world)
    world.run_until(lambda: ours_of(world).state == StepState.STEP_UPGRADE)
    world.watchers.append(lambda: _never(world))
    forge(
        world,
        kept_template=msgspec.json.encode(FORGED).decode(),
        stable_revision="nowhere",
    )
    wait(world, 500)
    assert "privileged" not in written(world)


def _never(world: World) -> None:
    assert "privileged" not in written(world)


@BOTH
def test_a_replica_set_whose_template_was_changed_is_no_way_back(style: str) -> None:
    """A person who may write ReplicaSets need not be allowed to write the Deployment."""
    world = impatient(style)
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))
    release(world)
    world.run_until(lambda: ours_of(world).state == StepState.STEP_UPGRADE)
    stable = ours_of(world).stable_revision
    (found,) = [rs for rs in world.cluster.replica_sets if rs.revision == stable]
    changed = msgspec.Raw(msgspec.json.encode(FORGED))
    spec = structs.replace(found.spec, template=changed)
    world.cluster.replica_sets.put(structs.replace(found, spec=spec))
    world.watchers.append(lambda: _never(world))
    wait(world, 500)
    assert world.cluster.hash_of(workload_of(world).spec.template) == world.cluster.hash_of(
        template("v1")
    )


@BOTH
def test_a_forged_stable_revision_is_corrected_from_what_the_release_keeps(style: str) -> None:
    world = impatient(style)
    release(world)
    world.rest()
    stable, pinned = ours_of(world).stable_revision, pin_of(world)
    new = world.cluster.hash_of(template("v2"))
    world.watchers.append(lambda: _pinned(world, pinned))
    forge(world, stable_revision="forged", stable_template=new)
    world.rest()
    assert ours_of(world).stable_revision == stable
    assert inner_of(world).stable_revision == stable
    assert reasons.STATUS_MENDED in {note.reason for note in world.passes.notes}


def _pinned(world: World, wanted: str) -> None:
    assert pin_of(world) == wanted


@BOTH
def test_forged_owners_values_are_never_written_into_the_workload(style: str) -> None:
    world = impatient(style)
    own = workload_of(world).spec.strategy
    release(world)
    world.rest()
    found = workload_of(world)
    lost = structs.replace(found.metadata, annotations={})
    world.cluster.deployments.put(structs.replace(found, metadata=lost))
    forged = '{"release":"x","strategy":{"type":"Recreate"},"paused":true}'
    forge(world, owners_record=forged)
    world.rest()
    release(world, "v1")
    world.rest()
    wait(world, 60)
    assert workload_of(world).spec.strategy == own
    assert not workload_of(world).spec.paused
    assert ours_of(world).owners_record == ""


@BOTH
def test_forged_owners_values_are_not_taken_at_admission(style: str) -> None:
    """The workload loses its record, and its template changes back before the controller has seen that."""
    world = impatient(style)
    own = workload_of(world).spec.strategy
    release(world)
    world.rest()
    found = workload_of(world)
    kept = {k: v for k, v in found.metadata.annotations.items() if k != names.ORIGINAL_STRATEGY}
    lost = structs.replace(found.metadata, annotations=kept)
    world.cluster.deployments.put(structs.replace(found, metadata=lost))
    forge(world, owners_record='{"release":"x","strategy":{"type":"Recreate"},"paused":true}')
    world.people.edit(KEY, template=template("v1"))
    world.rest()
    wait(world, 60)
    assert workload_of(world).spec.strategy == own
    assert not workload_of(world).spec.paused


@pytest.mark.parametrize("known", [True, False])
def test_copies_of_older_versions_are_dropped_and_said_where_nothing_else_has_them(
    known: bool,
) -> None:
    world = impatient("partition")
    release(world)
    world.rest()
    record = workload_of(world).metadata.annotations[names.ORIGINAL_STRATEGY]
    forge(
        world,
        kept_template=bytes(template("v1")).decode(),
        owners_record=record if known else '{"release":"of an older version"}',
    )
    world.rest()
    said = [note.message for note in world.passes.notes if note.reason == reasons.STATUS_MENDED]
    assert (ours_of(world).kept_template, ours_of(world).owners_record) == ("", "")
    assert bool(said) is not known


def test_a_forged_exchange_of_templates_changes_nothing() -> None:
    world = impatient("partition")
    before = written(world)
    world.rest()
    forge(world, template_exchange="stable", stable_revision="older", template="older")
    world.rest()
    assert ours_of(world).template_exchange == ""
    assert written(world) == before


@pytest.mark.parametrize("which", ["DaemonSet", "Advanced DaemonSet"])
def test_a_forged_exchange_leaves_a_daemon_set_its_template(which: str) -> None:
    world = make_set_world(which)
    release_set(world)
    world.rest()
    before = bytes(set_of(world).spec.template)
    forge(world, template_exchange="returned", template="forged", stable_template="forged")
    world.rest()
    assert bytes(set_of(world).spec.template) == before
    for _ in range(3):
        approve(world)
        wait(world, 60)
    assert versions_of(world) == {"v2": 5}


@BOTH
def test_pods_get_the_id_of_the_workload_and_not_of_the_status(style: str) -> None:
    world = impatient(style)
    release(world)
    world.rest()
    rollout = world.cluster.rollouts[KEY]
    inner = structs.replace(inner_of(world), observed_rollout_id="forged")
    world.cluster.rollouts.put(structs.replace(rollout, status=rollout.status.with_release(inner)))
    for _ in range(3):
        approve(world)
        wait(world, 60)
    ids = {pod.metadata.labels.get(names.ROLLOUT_ID) for pod in world.cluster.pods}
    assert "forged" not in ids


@BOTH
def test_what_a_release_keeps_goes_with_its_end(style: str) -> None:
    world = impatient(style)
    release(world)
    world.rest()
    (kept,) = [found for found in world.cluster.revisions if found.kept is not None]
    assert kept.kept is not None
    assert kept.kept.workload_uid == workload_of(world).metadata.uid
    assert kept.template_hash == kept.kept.stable_template == ours_of(world).stable_template
    delete(world)
    world.rest()
    wait(world, 60)
    assert list(world.cluster.revisions) == []


def test_owners_values_that_change_during_a_release_are_kept_anew() -> None:
    world = impatient("partition")
    release(world)
    world.rest()
    strategy = structs.replace(
        workload_of(world).spec.strategy, type="Recreate", rolling_update=None
    )
    world.people.edit(KEY, strategy=strategy)
    world.rest()
    (kept,) = [found for found in world.cluster.revisions if found.kept is not None]
    assert kept.kept is not None
    assert "Recreate" in kept.kept.owners
    assert kept.revision == 2


@BOTH
def test_no_step_and_no_rollback_waits_for_what_cannot_be_kept(style: str) -> None:
    world = impatient(style)
    world.cluster.refusals["KeepRelease"] = Refusal("Forbidden", "may not create")
    release(world)
    world.rest()
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.message) == ("True", "may not create")
    assert ours_of(world).state == StepState.STEP_PAUSED
    release(world, "v1")
    world.rest()
    wait(world, 60)
    assert status_of(world).phase == "Healthy"


def test_a_rollout_goes_although_what_it_keeps_cannot_be_deleted() -> None:
    world = impatient("partition")
    release(world)
    world.rest()
    world.cluster.refusals["DeleteObject ControllerRevision"] = Refusal(
        "Forbidden", "may not delete"
    )
    delete(world)
    world.rest()
    wait(world, 60)
    assert KEY not in {rollout.metadata.key for rollout in world.cluster.rollouts}


def test_a_copy_of_the_owners_values_is_dropped_while_there_is_no_workload() -> None:
    world = impatient("canary")
    release(world)
    world.rest()
    forge(world, owners_record='{"paused":true}')
    world.cluster.deployments.remove(KEY)
    seen = world.observe(KEY)
    assert seen is not None
    context, notes = corrected(as_stored(seen, world.cluster.now))
    assert moonshift_status(context.seen.rollout.status).owners_record == ""
    assert [note.reason for note in notes] == [reasons.STATUS_MENDED]
