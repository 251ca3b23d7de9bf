"""An approval or a jump that is followed has an entry in the record, also if no admission saw its author."""

import pytest
from msgspec import structs

from controller.api.rollout import APPROVALS_KEPT, Approval, MoonshiftStatus
from controller.domain import reasons
from controller.domain.rollout.approvals.unsigned import NOT_RECORDED, is_signed
from controller.domain.rollout.words.status import with_moonshift_status
from tests.unit.builders import KEY, inner_of, make_steps, ours_of, wait
from tests.unit.domain.rollout.scenes import seconds, started
from tests.unit.worlds import World


def names(world: World) -> list[tuple[int, str, int, str]]:
    return [(each.step, each.by, each.to, each.message) for each in ours_of(world).approvals]


def test_an_approval_that_no_webhook_saw_has_an_entry_without_a_name() -> None:
    world = started()
    world.people.approve(KEY, signed=False)
    approved = world.cluster.now
    world.rest()
    assert inner_of(world).current_step_index == 2
    assert names(world) == [(1, "", 0, NOT_RECORDED)]
    assert ours_of(world).approvals[0].at == approved
    said = [note.message for note in world.passes.notes if note.reason == reasons.APPROVED]
    assert said == [f"step(1) was approved; {NOT_RECORDED}"]


def test_a_jump_that_no_webhook_saw_has_an_entry_without_a_name() -> None:
    world = started(steps=make_steps(1, 2, 3, traffic=False))
    world.people.jump(KEY, 3, signed=False)
    world.rest()
    assert inner_of(world).current_step_index == 3
    assert names(world) == [(1, "", 3, NOT_RECORDED)]


def test_what_admission_recorded_is_recorded_once() -> None:
    world = started(steps=make_steps(1, 2, 3, traffic=False))
    world.people.approve(KEY)
    world.rest()
    wait(world, 3)
    world.people.jump(KEY, 1)
    world.rest()
    wait(world, 3)
    world.people.approve_step(KEY, 1)
    world.rest()
    assert names(world) == [(1, "ann", 0, ""), (2, "ann", 1, ""), (1, "ann", 0, "")]


def test_each_approval_of_a_step_has_an_entry_of_its_own() -> None:
    world = started(steps=make_steps(1, 2, 3, traffic=False))
    for to in (None, 1, None):
        wait(world, 3)
        if to:
            world.people.jump(KEY, to, signed=False)
        else:
            world.people.approve(KEY, signed=False)
        world.rest()
    assert [(step, to) for step, _, to, _ in names(world)] == [(1, 0), (2, 1), (1, 0)]


def test_a_name_that_nobody_checked_is_not_recorded_and_the_words_are() -> None:
    world = started()
    rollout = world.cluster.rollouts[KEY]
    claimed = Approval(step=1, by="ceo", message="go")
    status = with_moonshift_status(rollout.status, approval=claimed)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))
    world.rest()
    assert names(world) == [(1, "", 0, f"{NOT_RECORDED}; in their words: go")]
    said = [note.message for note in world.passes.notes if note.reason == reasons.APPROVED]
    assert said == [f"step(1) was approved; {NOT_RECORDED}"]


def test_the_record_stays_bounded() -> None:
    world = started()
    rollout = world.cluster.rollouts[KEY]
    full = tuple(Approval(step=0, by="ann") for _ in range(APPROVALS_KEPT))
    status = with_moonshift_status(rollout.status, approvals=full)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))
    world.people.approve(KEY, signed=False)
    world.rest()
    assert len(ours_of(world).approvals) == APPROVALS_KEPT
    assert names(world)[-1] == (1, "", 0, NOT_RECORDED)


@pytest.mark.parametrize(
    ("entries", "signed"),
    [
        ((), False),
        (((2, 0),), True),
        (((2, 0), (3, 0)), True),
        (((1, 0),), False),
        (((2, 0), (2, 1)), False),
        (((2, 0), (1, 0)), False),
        (((3, 0),), False),
    ],
)
def test_an_entry_is_of_this_stay_at_the_step(
    entries: tuple[tuple[int, int], ...], signed: bool
) -> None:
    world = started()
    record = tuple(Approval(step=step, by="ann", to=to) for step, to in entries)
    ours = MoonshiftStatus(step=2, approvals=record)
    status = structs.replace(world.cluster.rollouts[KEY].status, moonshift=ours)
    assert is_signed(status) is signed


def test_an_entry_from_before_this_stay_at_the_step_does_not_count() -> None:
    world = started()
    status = world.cluster.rollouts[KEY].status
    began = ours_of(world).visits[-1].started_at
    assert began is not None
    for behind, signed in ((59, True), (61, False)):
        entry = Approval(step=1, by="ann", at=began - seconds(behind))
        assert is_signed(with_moonshift_status(status, approvals=(entry,))) is signed
