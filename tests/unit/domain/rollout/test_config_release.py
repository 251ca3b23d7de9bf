"""A change of a ConfigMap or Secret that pods read is released, and rolled back, with them."""

from itertools import pairwise

import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import Phase, StepState
from controller.domain import reasons
from controller.simulation.world import World
from tests.unit.builders import KEY, NAMESPACE, inner_of, ours_of, status_of, template, wait
from tests.unit.domain.rollout.scenes import BOTH, approve, history
from tests.unit.domain.rollout.tracking import (
    CONFIG_MAP,
    SECRET,
    content,
    copies,
    reading,
    record,
    running,
    said,
    says,
    stamp,
    tracking,
)


def finish(world: World) -> None:
    """Approve to the end."""
    for _ in range(3):
        approve(world)


def paused_at_first(world: World) -> bool:
    inner = inner_of(world)
    return (inner.current_step_index, inner.current_step_state) == (1, StepState.STEP_PAUSED)


@BOTH
@pytest.mark.parametrize("kind", [CONFIG_MAP, SECRET])
def test_a_changed_content_is_released_step_by_step(style: str, kind: str) -> None:
    world = tracking(style)
    says(world, "two", SECRET if kind == "Secret" else CONFIG_MAP)
    world.rest()
    assert paused_at_first(world)
    assert running(world) == {"": 10 if style == "canary" else 8, stamp(world): 2}
    finish(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert running(world) == {stamp(world): 10}


def test_what_runs_is_kept_at_rest_and_after_each_release() -> None:
    world = tracking()
    assert copies(world) == ["one"]
    assert copies(world, SECRET) == ["one"]
    says(world, "two")
    world.rest()
    assert copies(world) == ["one"]
    finish(world)
    assert copies(world) == ["two"]
    assert said(world) == (reasons.CONFIG_TRACKED, "ConfigMap/web, Secret/web")


def test_a_change_starts_one_release_and_then_nothing_more_is_written() -> None:
    world = tracking()
    begun = history(world, lambda: ours_of(world).started_at)
    says(world, "two")
    finish_after(world)
    assert len([at for at in begun if at is not None]) == 1
    before = world.cluster.versions.last
    wait(world, 3600)
    assert world.cluster.versions.last == before


def finish_after(world: World) -> None:
    world.rest()
    finish(world)


@BOTH
def test_undoing_the_template_puts_the_content_back(style: str) -> None:
    world = tracking(style)
    says(world, "two")
    world.rest()
    world.people.undo(KEY, reading())
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert content(world) == "one"
    assert running(world) == {"": 10}
    assert record(world).update is None


def test_the_content_is_back_before_a_stable_pod_is_made() -> None:
    world = tracking(traffic=False)
    says(world, "two")
    world.rest()
    approve(world)
    stable = history(world, lambda: (content(world), running(world)[""]))
    world.people.undo(KEY, reading())
    world.rest()
    grown = [seen for seen, following in pairwise(stable) if following[1] > seen[1]]
    assert grown
    assert {text for text, _ in grown} == {"one"}


@BOTH
def test_a_content_that_is_put_back_midway_is_a_rollback(style: str) -> None:
    world = tracking(style)
    says(world, "two")
    world.rest()
    says(world, "one")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert stamp(world) == ""
    assert running(world) == {"": 10}


def test_a_third_content_midway_starts_over() -> None:
    world = tracking(watched=False)
    says(world, "two")
    world.rest()
    approve(world)
    second = stamp(world)
    says(world, "three")
    world.rest()
    assert paused_at_first(world)
    assert stamp(world) not in ("", second)
    assert running(world) == {"": 8, stamp(world): 2}


def test_two_changes_at_once_are_one_release_of_the_last() -> None:
    world = tracking()
    says(world, "two")
    says(world, "three")
    world.rest()
    assert paused_at_first(world)
    third = stamp(world)
    finish(world)
    assert running(world) == {third: 10}
    assert copies(world) == ["three"]


def test_a_new_image_and_a_new_content_are_released_and_rolled_back_together() -> None:
    world = tracking()
    says(world, "two")
    world.people.edit(KEY, template=reading("v2"))
    world.rest()
    assert paused_at_first(world)
    assert stamp(world) == ""
    world.people.edit(KEY, template=reading("v1"))
    world.rest()
    assert content(world) == "one"
    assert status_of(world).phase == Phase.HEALTHY


def test_a_rollback_of_an_image_alone_leaves_the_content() -> None:
    world = tracking()
    world.people.edit(KEY, template=reading("v2"))
    world.rest()
    version = world.cluster.configs.of(CONFIG_MAP)[KEY].metadata.resource_version
    world.people.edit(KEY, template=reading("v1"))
    world.rest()
    assert world.cluster.configs.of(CONFIG_MAP)[KEY].metadata.resource_version == version


def test_a_content_that_comes_during_the_way_back_is_released_afterwards() -> None:
    world = tracking()
    says(world, "two")
    world.rest()
    world.people.undo(KEY, reading())
    says(world, "three")
    world.rest()
    assert content(world) == "three"
    assert paused_at_first(world)


def test_a_content_that_was_there_before_is_another_revision_all_the_same() -> None:
    world = tracking()
    says(world, "two")
    finish_after(world)
    second = stamp(world)
    world.people.edit(KEY, template=reading("v2", second))
    says(world, "three")
    world.rest()
    says(world, "two")
    world.rest()
    finish(world)
    third = stamp(world)
    says(world, "three")
    finish_after(world)
    assert running(world) == {stamp(world): 10}
    assert stamp(world) != third


def test_a_content_can_come_back_to_a_template_that_has_its_stamp_already() -> None:
    world = tracking()
    says(world, "two")
    finish_after(world)
    second = stamp(world)
    says(world, "three")
    world.people.edit(KEY, template=reading("v2", second))
    finish_after(world)
    assert stamp(world) == second
    says(world, "two")
    world.rest()
    assert stamp(world) == f"{second}-2"
    assert paused_at_first(world)


# --- what is missing ----------------------------------------------------------------------------


def test_an_object_that_is_deleted_is_said_and_changes_nothing() -> None:
    world = tracking()
    world.cluster.configs.of(CONFIG_MAP).remove(KEY)
    world.rest()
    reason, message = said(world)
    assert reason == reasons.CONFIG_GONE
    assert "ConfigMap/web: does not exist any more" in message
    assert (stamp(world), status_of(world).phase) == ("", Phase.HEALTHY)
    says(world, "one")
    world.rest()
    assert said(world)[0] == reasons.CONFIG_TRACKED
    assert status_of(world).phase == Phase.HEALTHY


def test_while_an_object_is_missing_no_other_change_is_released() -> None:
    world = tracking()
    world.cluster.configs.of(SECRET).remove(KEY)
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
    assert said(world) == (
        reasons.CONFIG_NOT_RESTORED,
        "ConfigMap/web did not exist for the stable revision, and is left",
    )
    assert status_of(world).phase == Phase.HEALTHY


def test_without_a_copy_the_content_is_left_and_the_reason_said() -> None:
    world = tracking()
    says(world, "two")
    world.rest()
    (copy,) = (
        c.metadata.key for c in world.cluster.configs.of(CONFIG_MAP) if c.metadata.key != KEY
    )
    world.cluster.configs.of(CONFIG_MAP).remove(copy)
    world.people.undo(KEY, reading())
    world.rest()
    assert content(world) == "two"
    assert said(world)[1].startswith("no copy of ConfigMap/web is kept")
    assert (status_of(world).phase, running(world)) == (Phase.HEALTHY, {"": 10})


def test_a_copy_of_another_time_is_not_put_back() -> None:
    world = tracking()
    says(world, "two")
    world.rest()
    shelf = world.cluster.configs.of(CONFIG_MAP)
    (copy,) = (found for found in shelf if found.metadata.key != KEY)
    says_copy = copy.metadata.key
    shelf.put(structs.replace(copy, data={"key": "other"}))
    world.people.undo(KEY, reading())
    world.rest()
    assert content(world) == "two"
    assert content(world, CONFIG_MAP, says_copy) == "two"
    assert said(world)[1].startswith("the copy of ConfigMap/web is of another time")


def test_an_immutable_object_is_not_put_back() -> None:
    world = tracking()
    says(world, "two", immutable=True)
    world.rest()
    world.people.undo(KEY, reading())
    world.rest()
    assert content(world) == "two"
    assert said(world)[1].startswith("ConfigMap/web is immutable")


# --- when nothing is to be done -----------------------------------------------------------------


def test_an_object_that_is_left_out_may_change() -> None:
    world = tracking()
    meta = says(world, "one").metadata
    left_out = structs.replace(meta, annotations={"moonshift.dev/track-config": "false"})
    says(world, "two", metadata=left_out)
    world.rest()
    assert (stamp(world), status_of(world).phase) == ("", Phase.HEALTHY)
    assert copies(world) == []


def test_a_disabled_rollout_releases_nothing_and_begins_anew() -> None:
    world = tracking()
    world.people.disable(KEY)
    world.rest()
    says(world, "two")
    world.rest()
    assert ours_of(world).config is None
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
    assert said(world) == ("", "")
    says(world, "two")
    world.rest()
    assert stamp(world) == ""


def test_where_a_rollout_id_says_what_a_release_is_a_content_is_not_released() -> None:
    world = tracking(annotations={"rollouts.kruise.io/rollout-id": "first"})
    says(world, "two")
    world.rest()
    assert (stamp(world), status_of(world).phase) == ("", Phase.HEALTHY)
    assert said(world)[0] == reasons.CONFIG_NOT_HELD


def test_a_copy_of_what_is_no_longer_referred_to_goes() -> None:
    world = tracking()
    world.people.edit(KEY, template=template("v2"))
    world.rest()
    assert copies(world) == ["one"]
    finish(world)
    assert (copies(world), copies(world, SECRET)) == ([], [])


def test_key_names_the_namespace_of_the_copies() -> None:
    world = tracking()
    owners = {
        (found.metadata.namespace, found.metadata.owner_references[0].name)
        for found in world.cluster.configs.of(SECRET)
        if found.metadata.key != Key(NAMESPACE, "web")
    }
    assert owners == {(NAMESPACE, "web")}
