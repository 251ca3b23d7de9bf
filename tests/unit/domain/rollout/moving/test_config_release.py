"""A change of a ConfigMap or Secret that pods read is released, and rolled back, with them."""

from itertools import pairwise

import pytest

from controller.api.meta import ObjectMeta
from controller.api.rollout import Phase
from controller.domain import reasons
from controller.domain.rollout.moving.config_release import copy_name
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    ours_of,
    status_of,
    wait,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, history
from tests.unit.domain.rollout.tracking import (
    CONFIG_MAP,
    SECRET,
    content,
    copies,
    finish,
    finish_after,
    paused_at_first,
    reading,
    record,
    running,
    says,
    stamp,
    tracking,
    tracking_condition,
)


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


def test_a_secret_whose_owner_does_not_ask_leaves_no_digest_and_no_copy() -> None:
    world = tracking()
    says(world, "two", SECRET, metadata=ObjectMeta(name="web", namespace=NAMESPACE))
    world.rest()
    pair = record(world).stable
    assert pair is not None
    assert list(pair.contents) == ["ConfigMap/web"]
    assert copies(world, SECRET) == []
    reason, message = tracking_condition(world)
    assert reason == reasons.CONFIG_TRACKED
    assert message == (
        "ConfigMap/web; not Secret/web: a person who may write the Secret annotates it moonshift.dev/track-config=true "
        "to have its changes released"
    )


def test_the_running_content_is_kept_at_rest_and_after_each_release() -> None:
    world = tracking()
    assert copies(world) == ["one"]
    assert copies(world, SECRET) == ["one"]
    says(world, "two")
    world.rest()
    assert copies(world) == ["one"]
    finish(world)
    assert copies(world) == ["two"]
    assert tracking_condition(world) == (reasons.CONFIG_TRACKED, "ConfigMap/web, Secret/web")


def test_a_change_starts_one_release_and_then_nothing_more_is_written() -> None:
    world = tracking()
    begun = history(world, lambda: ours_of(world).started_at)
    says(world, "two")
    finish_after(world)
    assert len([at for at in begun if at is not None]) == 1
    before = world.cluster.version
    wait(world, 3600)
    assert world.cluster.version == before


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
def test_a_content_that_is_put_back_during_a_release_is_a_rollback(style: str) -> None:
    world = tracking(style)
    says(world, "two")
    world.rest()
    says(world, "one")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert stamp(world) == ""
    assert running(world) == {"": 10}


def test_a_third_content_during_a_release_starts_over() -> None:
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
    version = world.cluster.configs[CONFIG_MAP][KEY].metadata.resource_version
    world.people.edit(KEY, template=reading("v1"))
    world.rest()
    assert world.cluster.configs[CONFIG_MAP][KEY].metadata.resource_version == version


def test_a_content_that_comes_during_the_way_back_is_released_afterwards() -> None:
    world = tracking()
    says(world, "two")
    world.rest()
    seen = history(world, lambda: (stamp(world), running(world)))
    world.people.undo(KEY, reading())
    says(world, "three")
    world.rest()
    assert content(world) == "three"
    assert paused_at_first(world)
    way_back = [pods for mark, pods in seen if not mark]
    assert way_back[-1] == {"": 10}


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


def test_after_several_contents_a_rollback_restores_the_one_before_the_first() -> None:
    world = tracking(watched=False)
    for text in ("two", "three"):
        says(world, text)
        world.rest()
        approve(world)
    world.people.undo(KEY, reading())
    world.rest()
    assert (content(world), running(world)) == ("one", {"": 10})


def test_copies_of_rollouts_with_the_longest_names_have_valid_and_different_names() -> None:
    longest = 252 * "a"
    names = {
        copy_name(rollout, content)
        for rollout in (f"{longest}a", f"{longest}b", f"{234 * 'a'}.b")
        for content in ("ConfigMap/one", "ConfigMap/two")
    }
    assert len(names) == 6
    assert {len(name) <= 253 for name in names} == {True}
    assert not any(".-" in name for name in names)
    assert copy_name("web", "ConfigMap/one").startswith("web-config-")
