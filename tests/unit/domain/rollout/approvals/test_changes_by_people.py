"""Changes by a person, which get urgent turns, are distinguished from the controller's own."""

import pytest
from msgspec import structs

from controller.api import names
from controller.api.meta import ObjectMeta
from controller.api.rollout import Approval, Phase, Rollout
from controller.domain.rollout.approvals.changes_by_people import (
    changed_in_release,
    has_request,
    somebody_changed,
)
from tests.unit.builders import (
    KEY,
    inner_of,
    make_rollout,
    make_set_world,
    ours_of,
    release,
    release_set,
    set_of,
    status_of,
    template,
    wait,
    workload_of,
)
from tests.unit.domain.rollout.scenes import started
from tests.unit.worlds import World


def rollout_of(world: World) -> Rollout:
    return world.cluster.rollouts[KEY]


def with_metadata(rollout: Rollout, **changes: object) -> Rollout:
    return structs.replace(rollout, metadata=structs.replace(rollout.metadata, **changes))


def test_an_approval_is_pending_until_a_pass_has_read_it() -> None:
    world = started()
    assert not has_request(status_of(world))
    world.people.approve(KEY)
    assert has_request(status_of(world))
    world.rest()
    assert not has_request(status_of(world))


@pytest.mark.parametrize("step", [1, 3, 99])
def test_a_jump_is_a_pending_request(step: int) -> None:
    world = started()
    world.people.jump(KEY, step)
    assert has_request(status_of(world))


@pytest.mark.parametrize("change", [{"jump": 2}, {"approval": Approval(step=1)}])
def test_the_command_lines_writes_are_pending_requests(change: dict[str, object]) -> None:
    world = started()
    ours = structs.replace(ours_of(world), **change)
    assert has_request(structs.replace(status_of(world), moonshift=ours))


def test_a_pass_that_answers_one_of_two_requests_is_no_change_of_a_person() -> None:
    world = started()
    quiet = rollout_of(world)
    ours = structs.replace(ours_of(world), approval=Approval(step=1))
    named = structs.replace(quiet, status=structs.replace(quiet.status, moonshift=ours))
    world.cluster.rollouts.put(named)
    world.people.approve(KEY)
    both = rollout_of(world)
    assert somebody_changed(quiet, both)
    assert not somebody_changed(both, named)


@pytest.mark.parametrize("style", ["partition", "canary"])
def test_the_approvals_of_a_release_are_peoples_changes_and_no_write_of_a_pass_is(
    style: str,
) -> None:
    world = started(style)
    changes: list[bool] = []

    def heard(old: Rollout | None, new: Rollout | None) -> None:
        assert new is not None
        changes.append(somebody_changed(old, new))

    world.cluster.caches.rollouts.subscribe(heard)
    steps = 0
    while status_of(world).phase == Phase.PROGRESSING:
        wait(world, 3)
        world.people.approve(KEY)
        world.rest()
        steps += 1
    assert changes.count(True) == steps
    assert len(changes) > 3 * steps


def test_a_request_that_waits_during_a_pause_is_urgent_once() -> None:
    world = started()
    world.people.pause(KEY)
    world.people.approve(KEY)
    kept = rollout_of(world)
    counted = structs.replace(inner_of(world), canary_ready_replicas=1)
    later = structs.replace(kept, status=kept.status.with_release(counted))
    assert has_request(later.status)
    assert not somebody_changed(kept, later)
    assert somebody_changed(None, later)


def test_an_edited_plan_a_deletion_and_an_annotation_are_urgent() -> None:
    before = make_rollout()
    generation = before.metadata.generation + 1
    assert somebody_changed(before, with_metadata(before, generation=generation))
    assert somebody_changed(before, with_metadata(before, annotations={names.TRACK_CONFIG: "true"}))
    deleted = with_metadata(before, deletion_timestamp=started().cluster.now)
    assert somebody_changed(before, deleted)
    assert not somebody_changed(deleted, with_metadata(deleted, finalizers=()))


def test_our_finalizer_our_hash_and_a_first_observation_are_not_urgent() -> None:
    before = make_rollout()
    prepared = with_metadata(
        before, finalizers=(names.ROLLOUT_FINALIZER,), annotations={names.PLAN_HASH: "abc"}
    )
    assert not somebody_changed(before, prepared)
    assert not somebody_changed(None, before)


def test_an_approval_from_a_time_without_a_leader_counts_in_the_first_pass() -> None:
    world = started()
    world.people.approve(KEY)
    assert somebody_changed(None, rollout_of(world))


def test_rollbacks_and_third_revisions_are_urgent_and_the_begin_of_a_release_is_not() -> None:
    world = started()
    begun = workload_of(world)
    assert not changed_in_release(rollout_of(world), begun.metadata)
    world.people.edit(KEY, template=template("v3"))
    assert changed_in_release(rollout_of(world), workload_of(world).metadata)
    world.rest()
    assert not changed_in_release(rollout_of(world), workload_of(world).metadata)
    world.people.undo(KEY, template("v1"))
    assert changed_in_release(rollout_of(world), workload_of(world).metadata)


def test_a_release_that_begins_is_in_no_hurry() -> None:
    world = started()
    world.people.undo(KEY, template("v1"))
    world.rest()
    release(world, "v4")
    assert not changed_in_release(rollout_of(world), workload_of(world).metadata)


def test_another_template_of_a_set_during_a_release_is_urgent_too() -> None:
    world = make_set_world("CloneSet")
    release_set(world)
    assert not changed_in_release(rollout_of(world), set_of(world).metadata)
    world.rest()
    release_set(world, "v3")
    assert changed_in_release(rollout_of(world), set_of(world).metadata)


def test_a_workload_without_the_admission_pause_is_not_urgent() -> None:
    assert not changed_in_release(rollout_of(started()), ObjectMeta(name="web"))
