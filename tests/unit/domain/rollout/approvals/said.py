"""The decision about a pause, compared with the answers that clients and metrics get."""

from controller.api.rollout import Phase, StepState
from controller.domain.rollout.approvals.analysing import measured_anew
from controller.domain.rollout.approvals.pause import (
    a_person_ends_the_step,
    awaits_approval,
    decide_pause,
    was_approved,
)
from controller.domain.rollout.words.release_value import Release, as_stored
from controller.domain.rollout.words.transition import Stop
from tests.unit.builders import KEY
from tests.unit.worlds import World


def is_at_a_pause(release: Release) -> bool:
    """The pause of a step decides what comes next: there is a plan, and no hold, no end, no answer of a person goes
    before it."""
    ours, rollout = release.ours, release.seen.rollout
    before = rollout.spec.strategy.paused or ours.goal or was_approved(release.status)
    if not release.steps or before:
        return False
    paused = release.status.phase == Phase.PROGRESSING and ours.state == StepState.STEP_PAUSED
    return paused and measured_anew(release) is None


def agrees(release: Release) -> bool:
    """An approval is awaited exactly if the decision is a stop that no clock ends."""
    told = awaits_approval(release.seen.rollout)
    if not is_at_a_pause(release):
        return not told or (bool(release.steps) and measured_anew(release) is not None)
    decided = decide_pause(release)
    waits = isinstance(decided, Stop) and decided.wake_at is None
    return told == waits == a_person_ends_the_step(release)


def says_who_is_waited_for(world: World) -> None:
    """Both agree about the release of this world."""
    seen = world.observe(KEY)
    assert seen is not None
    assert agrees(as_stored(seen, world.cluster.now)), world.describe()
