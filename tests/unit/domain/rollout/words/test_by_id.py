"""A release that changes no template: the owner gives the workload another rollout-id."""

import pytest
from msgspec import structs

from controller.api import names
from controller.api.rollout import BlueGreenStrategy, Phase, StepState
from controller.domain import reasons
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    GIVEN_BACK,
    KEY,
    SETS,
    inner_of,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release_set,
    revision_of,
    set_of,
    status_of,
    strategy_of,
    template,
    versions_of,
    wait,
    weight_of,
    workload_of,
)
from tests.unit.domain.rollout.scenes import approve, history, pin_of, reason_of
from tests.unit.worlds import World

EVERY = pytest.mark.parametrize("which", SETS)


def give_id(world: World, rollout_id: str) -> None:
    """The owner's annotation changes, and nothing else."""
    annotations = {**set_of(world).metadata.annotations, names.ROLLOUT_ID: rollout_id}
    world.people.annotate_set(KEY, annotations)


def begun(which: str, rollout_id: str = "second") -> World:
    """A set whose owner gave it another id, at rest."""
    steps = make_steps("20%", "40%")
    world = make_set_world(which, strategy=make_strategy(steps=steps))
    give_id(world, rollout_id)
    world.rest()
    return world


def batches_of(world: World, rollout_id: str) -> list[str]:
    """Batches of the pods that have this id."""
    labels = [pod.metadata.labels for pod in world.cluster.pods_of(set_of(world))]
    mine = [found for found in labels if found.get(names.ROLLOUT_ID) == rollout_id]
    return sorted(found[names.ROLLOUT_BATCH_ID] for found in mine)


def uids_of(world: World) -> set[str]:
    return {pod.metadata.uid for pod in world.cluster.pods_of(set_of(world))}


@EVERY
def test_a_new_id_is_a_release_in_steps_that_replaces_no_pod(which: str) -> None:
    steps = make_steps("20%", "40%")
    world = make_set_world(which, strategy=make_strategy(steps=steps))
    before = uids_of(world)
    give_id(world, "second")
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert inner_of(world).current_step_index == 1
    assert inner_of(world).observed_rollout_id == "second"
    assert batches_of(world, "second") == ["1"]
    assert (weight_of(world), pin_of(world)) == (None, "")
    approve(world)
    assert batches_of(world, "second") == ["1", "2"]
    approve(world)
    assert batches_of(world, "second") == ["1", "2", "2", "2", "2"]
    assert uids_of(world) == before
    assert status_of(world).phase == Phase.HEALTHY
    assert strategy_of(world) == GIVEN_BACK[which]
    assert not {*names.OURS_ON_WORKLOAD} & set_of(world).metadata.annotations.keys()
    succeeded = condition(status_of(world), "Succeeded")
    assert succeeded is not None
    assert succeeded.status == "True"


def label_with_mark(world: World, rollout_id: str) -> None:
    """As a client of the original begins it: another id as a label, and the mark of a release."""
    meta = set_of(world).metadata
    labels = {**meta.labels, names.ROLLOUT_ID: rollout_id}
    world.people.label_set(KEY, labels, {**meta.annotations, names.IN_PROGRESSING: "true"})


@EVERY
def test_another_id_as_a_label_with_the_mark_of_a_release_is_a_release_in_steps(which: str) -> None:
    steps = make_steps("20%", "40%", "100%")
    world = make_set_world(which, strategy=make_strategy(steps=steps))
    before = uids_of(world)
    label_with_mark(world, "second")
    world.rest()
    assert ours_of(world).by_id is True
    assert batches_of(world, "second") == ["1"]
    approve(world)
    # During a release the label alone gives the pods of the steps so far another id.
    world.people.label_set(KEY, {**set_of(world).metadata.labels, names.ROLLOUT_ID: "third"})
    world.rest()
    assert (inner_of(world).current_step_index, batches_of(world, "third")) == (2, ["1", "2"])
    approve(world)
    assert uids_of(world) == before
    assert status_of(world).phase == Phase.HEALTHY


def test_another_id_as_a_label_alone_is_no_release() -> None:
    world = make_set_world("CloneSet", strategy=make_strategy(steps=make_steps("20%")))
    world.people.label_set(KEY, {**set_of(world).metadata.labels, names.ROLLOUT_ID: "second"})
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert batches_of(world, "second") == []


@EVERY
def test_the_next_release_of_a_template_is_an_ordinary_one(which: str) -> None:
    world = begun(which)
    approve(world)
    approve(world)
    give_id(world, "third")
    release_set(world)
    world.rest()
    # The id asked for a release first; the template that came with it is what it is about.
    assert ours_of(world).by_id is False
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert inner_of(world).observed_rollout_id == "third"


def test_a_template_that_is_applied_during_a_release_starts_over_and_can_be_rolled_back() -> None:
    world = begun("StatefulSet")
    world.people.edit_set(KEY, template=template("v2"))
    give_id(world, "third")
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}
    world.people.edit_set(KEY, template=template("v1"))
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert status_of(world).phase == Phase.HEALTHY


def test_a_template_that_was_changed_and_changed_back_is_no_release_by_id() -> None:
    steps = make_steps("20%", "40%")
    world = make_set_world("StatefulSet", strategy=make_strategy(steps=steps))
    world.people.annotate_set(KEY, {names.ROLLOUT_ID: "first"})
    world.rest()
    approve(world)
    approve(world)
    annotations = {**set_of(world).metadata.annotations, names.ROLLOUT_ID: ""}
    world.people.annotate_set(KEY, annotations)
    world.people.edit_set(KEY, template=template("v2"))
    world.people.edit_set(KEY, template=template("v1"))
    give_id(world, "second")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert batches_of(world, "second") == []


def test_another_id_in_the_midst_goes_to_the_same_pods() -> None:
    world = begun("StatefulSet")
    approve(world)
    give_id(world, "third")
    world.rest()
    assert inner_of(world).observed_rollout_id == "third"
    assert len(batches_of(world, "third")) == 2


def test_blue_green_doubles_no_pod_for_an_id() -> None:
    world = make_set_world("CloneSet", strategy=BlueGreenStrategy(steps=make_steps("50%", "100%")))
    give_id(world, "second")
    sizes = history(world, lambda: len(world.cluster.pods_of(set_of(world))))
    world.rest()
    assert set(sizes) == {5}
    assert ours_of(world).by_id is True
    approve(world)
    assert batches_of(world, "second") == ["1", "1", "1", "2", "2"]
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert set_of(world).spec.min_ready_seconds is None
    assert len(world.cluster.pods_of(set_of(world))) == 5


def test_an_id_alone_is_a_rollback_of_a_deployment() -> None:
    world = make_world()
    pods = {pod.metadata.uid for pod in world.cluster.pods}
    world.people.annotate(KEY, {**workload_of(world).metadata.annotations, names.ROLLOUT_ID: "b"})
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert {pod.metadata.uid for pod in world.cluster.pods} == pods
    assert [pod.revision for pod in world.cluster.pods] == [revision_of(world, "v1")] * len(pods)
    assert not {*names.OURS_ON_WORKLOAD} & workload_of(world).metadata.annotations.keys()


def test_a_release_by_id_that_is_late_is_stalled_and_gives_no_revision_up() -> None:
    steps = make_steps("20%", "40%", traffic=False)
    plan = structs.replace(
        make_strategy(steps=steps, traffic=False),
        progress_deadline_seconds=60,
        on_deadline_exceeded="Rollback",
    )
    world = make_set_world("StatefulSet", strategy=plan)
    world.people.fail_pods(frozenset(uids_of(world)))
    give_id(world, "second")
    wait(world, 300)
    assert reason_of(world, "Stalled") == reasons.DEADLINE_EXCEEDED
    assert ours_of(world).failed_template == ""
