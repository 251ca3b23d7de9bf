"""Each release ends once, and the note of its end says how."""

import pytest
from msgspec import structs

from controller.api.analysis import OnFailure
from controller.domain.rollout.ends.reported import End
from tests.unit.builders import (
    KEY,
    make_rollout,
    make_steps,
    make_strategy,
    make_world,
    release,
    wait,
)
from tests.unit.domain.rollout.approvals.test_analysing import gated, released
from tests.unit.domain.rollout.scenes import BOTH, approve, started
from tests.unit.domain.rollout.trouble.test_deadline import break_v2
from tests.unit.worlds import World


def ends_in(world: World) -> list[str]:
    return [note.ended for note in world.passes.notes if note.ended]


@BOTH
def test_a_release_that_goes_through_succeeded(style: str) -> None:
    world = started(style)
    for _ in range(2):
        approve(world)
    assert ends_in(world) == [End.SUCCEEDED]


@BOTH
def test_a_template_that_a_person_takes_back_was_rolled_back(style: str) -> None:
    world = started(style)
    release(world, "v1")
    world.rest()
    assert ends_in(world) == [End.ROLLED_BACK]


@BOTH
def test_a_third_revision_supersedes_the_second(style: str) -> None:
    world = started(style)
    release(world, "v3")
    world.rest()
    assert ends_in(world) == [End.SUPERSEDED]


def test_a_gate_that_takes_the_revision_back_is_named() -> None:
    world = released(gated(on_failure=OnFailure.ROLLBACK), errors=(0.07,))
    wait(world, 60)
    assert ends_in(world) == [End.ROLLED_BACK_BY_GATE]


def test_a_deadline_that_takes_the_revision_back_is_named() -> None:
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%"), traffic=False),
        progress_deadline_seconds=60,
        on_deadline_exceeded="Rollback",
    )
    world = make_world(make_rollout(strategy=strategy))
    break_v2(world)
    release(world)
    wait(world, 120)
    assert ends_in(world) == [End.ROLLED_BACK_BY_DEADLINE]


@pytest.mark.parametrize("end", [End.DISABLED, End.DELETED, End.WORKLOAD_DELETED])
def test_a_release_without_a_subject_is_reported(end: End) -> None:
    world = started()
    match end:
        case End.DISABLED:
            world.people.disable(KEY)
        case End.DELETED:
            world.cluster.rollouts.delete(KEY)
        case _:
            world.cluster.deployments.delete(KEY)
    world.rest()
    assert ends_in(world) == [end]


def test_disabling_or_deleting_at_rest_ends_no_release() -> None:
    world = make_world()
    world.people.disable(KEY)
    world.rest()
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert ends_in(world) == []
