"""The obstacles to a release of a ConfigMap or Secret, and to restoring its old content."""

import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import Phase
from controller.domain import reasons
from controller.domain.config.seen import TRACKING_IS_OFF, ConfigUnwatched
from controller.domain.decision import Severity
from controller.domain.observation import Observation
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words.status import with_moonshift_status
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    SETS,
    make_pod_set,
    make_set_world,
    make_strategy,
    ours_of,
    set_of,
    status_of,
    template,
    wait,
)
from tests.unit.domain.rollout.scenes import reason_of
from tests.unit.domain.rollout.tracking import (
    CONFIG_MAP,
    ON,
    SECRET,
    content,
    copies,
    finish,
    paused_at_first,
    reading,
    record,
    running,
    says,
    stamp,
    tracking,
    tracking_condition,
)
from tests.unit.worlds import World

WRITES = {
    (verb, kind)
    for verb in ("create", "update", "patch", "delete")
    for kind in ("configmaps", "secrets")
}

# --- what is missing ----------------------------------------------------------------------------


def test_an_object_that_is_deleted_is_reported_and_changes_nothing() -> None:
    world = tracking()
    world.cluster.configs[CONFIG_MAP].remove(KEY)
    world.rest()
    reason, message = tracking_condition(world)
    assert reason == reasons.CONFIG_GONE
    assert "ConfigMap/web: does not exist any more" in message
    assert (stamp(world), status_of(world).phase) == ("", Phase.HEALTHY)
    says(world, "one")
    world.rest()
    assert tracking_condition(world)[0] == reasons.CONFIG_TRACKED
    assert status_of(world).phase == Phase.HEALTHY


def test_while_an_object_is_missing_no_other_change_is_released() -> None:
    world = tracking()
    world.cluster.configs[SECRET].remove(KEY)
    says(world, "two")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    says(world, "one", SECRET)
    world.rest()
    assert paused_at_first(world)


def test_an_object_that_comes_after_its_pods_begins_no_release() -> None:
    world = tracking(first="")
    says(world, "one")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert copies(world) == ["one"]


def test_an_optional_object_that_comes_is_a_change_and_is_left_on_the_way_back() -> None:
    world = tracking(first="", optional=True)
    says(world, "one")
    world.rest()
    assert paused_at_first(world)
    world.people.undo(KEY, reading(optional=True))
    world.rest()
    assert content(world) == "one"
    assert tracking_condition(world) == (
        reasons.CONFIG_NOT_RESTORED,
        "ConfigMap/web did not exist for the stable revision, and is left",
    )
    assert status_of(world).phase == Phase.HEALTHY


def test_without_a_copy_the_content_stays_and_the_reason_is_reported() -> None:
    world = tracking()
    says(world, "two")
    world.rest()
    (copy,) = (c.metadata.key for c in world.cluster.configs[CONFIG_MAP] if c.metadata.key != KEY)
    world.cluster.configs[CONFIG_MAP].remove(copy)
    world.people.undo(KEY, reading())
    world.rest()
    assert content(world) == "two"
    assert tracking_condition(world)[1].startswith("no copy of ConfigMap/web is kept")
    assert (status_of(world).phase, running(world)) == (Phase.HEALTHY, {"": 10})


def test_a_copy_of_another_time_is_not_restored() -> None:
    world = tracking()
    says(world, "two")
    world.rest()
    shelf = world.cluster.configs[CONFIG_MAP]
    (copy,) = (found for found in shelf if found.metadata.key != KEY)
    says_copy = copy.metadata.key
    shelf.put(structs.replace(copy, data={"key": "other"}))
    world.people.undo(KEY, reading())
    world.rest()
    assert content(world) == "two"
    assert content(world, CONFIG_MAP, says_copy) == "two"
    assert tracking_condition(world)[1].startswith("the copy of ConfigMap/web has other content")


def test_an_immutable_object_is_not_restored() -> None:
    world = tracking()
    says(world, "two", immutable=True)
    world.rest()
    world.people.undo(KEY, reading())
    world.rest()
    assert content(world) == "two"
    assert tracking_condition(world)[1].startswith("ConfigMap/web is immutable")


# --- when nothing is to be done -----------------------------------------------------------------


def test_an_object_that_is_left_out_may_change() -> None:
    world = tracking()
    meta = says(world, "one").metadata
    left_out = structs.replace(meta, annotations={"moonshift.dev/track-config": "false"})
    says(world, "two", metadata=left_out)
    world.rest()
    assert (stamp(world), status_of(world).phase) == ("", Phase.HEALTHY)
    assert copies(world) == []


def test_a_disabled_rollout_releases_nothing_and_begins_again() -> None:
    world = tracking()
    world.people.disable(KEY)
    world.rest()
    says(world, "two")
    world.rest()
    assert (ours_of(world).config, copies(world)) == (None, [])
    world.people.disable(KEY, False)
    world.rest()
    assert (stamp(world), copies(world)) == ("", ["two"])


def test_a_workload_without_replicas_takes_any_content() -> None:
    world = tracking(watched=False)
    world.people.edit(KEY, replicas=0)
    world.rest()
    says(world, "two")
    world.rest()
    assert (stamp(world), copies(world)) == ("", ["two"])


def test_without_the_annotation_copies_go_and_nothing_is_remembered() -> None:
    world = tracking()
    rollout = world.cluster.rollouts[KEY]
    meta = structs.replace(rollout.metadata, annotations={})
    world.cluster.rollouts.put(structs.replace(rollout, metadata=meta))
    world.rest()
    assert (copies(world), copies(world, SECRET)) == ([], [])
    assert ours_of(world).config is None
    assert tracking_condition(world) == ("", "")
    says(world, "two")
    world.rest()
    assert stamp(world) == ""


def test_content_is_not_released_where_a_rollout_id_defines_the_release() -> None:
    world = tracking(annotations={"rollouts.kruise.io/rollout-id": "first"})
    says(world, "two")
    world.rest()
    assert (stamp(world), status_of(world).phase) == ("", Phase.HEALTHY)
    assert tracking_condition(world)[0] == reasons.CONFIG_NOT_HELD


def test_a_copy_that_no_object_refers_to_is_deleted() -> None:
    world = tracking()
    world.people.edit(KEY, template=template("v2"))
    world.rest()
    assert copies(world) == ["one"]
    finish(world)
    assert (copies(world), copies(world, SECRET)) == ([], [])


def test_copies_go_with_their_rollout() -> None:
    world = tracking()
    owners = {
        (found.metadata.namespace, found.metadata.owner_references[0].name)
        for found in world.cluster.configs[SECRET]
        if found.metadata.key != Key(NAMESPACE, "web")
    }
    assert owners == {(NAMESPACE, "web")}


# --- what stands in the way ---------------------------------------------------------------------


def test_a_way_back_does_not_wait_for_content_that_may_not_be_written() -> None:
    world = tracking()
    says(world, "two")
    world.rest()
    world.cluster.server.forbidden |= WRITES
    world.people.undo(KEY, reading())
    wait(world, 60)
    assert (running(world), content(world)) == ({"": 10}, "two")
    assert status_of(world).phase == Phase.HEALTHY
    assert reason_of(world, "Stalled") == "Forbidden"
    world.cluster.server.forbidden.clear()
    world.people.heal()
    wait(world, 60)
    assert (content(world), stamp(world)) == ("one", "")
    assert reason_of(world, "Stalled") == ""


def test_content_that_is_half_restored_is_restored_in_whole() -> None:
    world = tracking()
    says(world, "two")
    says(world, "two", SECRET)
    world.rest()
    world.people.undo(KEY, reading())
    says(world, "one")
    world.rest()
    assert (content(world), content(world, SECRET)) == ("one", "one")
    assert (status_of(world).phase, stamp(world)) == (Phase.HEALTHY, "")


def test_content_of_a_revision_that_was_given_up_is_held_when_it_comes_again() -> None:
    plan = structs.replace(
        make_strategy(traffic=False), progress_deadline_seconds=60, on_deadline_exceeded="Rollback"
    )
    world = tracking(strategy=plan, watched=False)
    failing = says(world, "two")
    world.run_until(lambda: bool(stamp(world)))
    world.people.fail_pods(
        frozenset({world.cluster.revision_of(world.cluster.deployments[KEY].spec.template)})
    )
    wait(world, 300)
    assert (content(world), running(world)) == ("one", {"": 10})
    world.cluster.configs[CONFIG_MAP].put(structs.replace(says(world, "one"), data=failing.data))
    wait(world, 300)
    assert reason_of(world, "Stalled") == reasons.REVISION_FAILED
    assert running(world) == {"": 10}


@pytest.mark.parametrize("which", SETS)
def test_content_of_a_set_is_released_and_rolled_back(which: str) -> None:
    found = make_pod_set(which)
    found = structs.replace(found, spec=structs.replace(found.spec, template=reading()))
    world = make_set_world(which, found, annotations=ON)
    says(world, "one")
    says(world, "one", SECRET)
    world.rest()
    says(world, "two")
    world.rest()
    assert paused_at_first(world)
    new = set_of(world).spec.template
    assert new != reading()
    world.people.edit_set(KEY, template=reading())
    world.rest()
    assert (content(world), status_of(world).phase) == ("one", Phase.HEALTHY)
    revisions = {pod.revision for pod in world.cluster.pods}
    assert len(revisions) == 1


def seen_of(world: World) -> Observation:
    seen = world.observe(KEY)
    assert seen is not None
    return seen


def test_an_unreadable_state_is_reported_once_and_nothing_is_done() -> None:
    world = tracking()
    unwatched = ConfigUnwatched(reasons.TRACKING_OFF, TRACKING_IS_OFF)
    seen = structs.replace(seen_of(world), config=unwatched)
    decision = decide(seen, world.cluster.now)
    assert decision.actions == ()
    (note,) = decision.notes
    assert (note.reason, note.severity) == (reasons.TRACKING_OFF, Severity.WARNING)
    assert "--track-config" in note.message
    rollout = structs.replace(seen.rollout, status=decision.status)
    assert decide(structs.replace(seen, rollout=rollout), world.cluster.now).notes == ()


def test_an_observation_without_configuration_changes_nothing() -> None:
    world = tracking()
    seen = structs.replace(seen_of(world), config=None)
    assert decide(seen, world.cluster.now).status == seen.rollout.status


def test_a_release_that_began_before_tracking_has_nothing_to_go_back_to() -> None:
    world = tracking()
    says(world, "two")
    world.rest()
    rollout = world.cluster.rollouts[KEY]
    status = with_moonshift_status(rollout.status, config=None)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))
    world.rest()
    assert record(world).stable is None
    world.people.undo(KEY, reading())
    world.run_until(lambda: reason_of(world) == reasons.CANCELLING)
    world.rest()
    assert content(world) == "two"
    assert (status_of(world).phase, running(world)) == (Phase.HEALTHY, {"": 10})


def test_restored_content_is_reported() -> None:
    world = tracking()
    says(world, "two")
    world.rest()
    world.people.undo(KEY, reading())
    reported = decide(seen_of(world), world.cluster.now).notes
    assert (
        reasons.CONFIG_RESTORED,
        "ConfigMap/web: the content of the stable revision is restored",
    ) in [(note.reason, note.message) for note in reported]
