"""Tells systems that a release goes back: the checks with `at: rollback` of every step that it has reached.

Invariant: nothing waits for them. They are asked beside whatever the Rollout does, also when its release is over, and
one that fails is an Event and nothing else. Must not ask: it says `AskCheck`.
"""

from datetime import datetime

from controller.api.checks import Check, CheckPlace, CheckRun, CheckVerdict
from controller.domain.decision import AskCheck, Note, Value
from controller.domain.rollout.approvals.checking import begun, checks_of, look_at
from controller.domain.rollout.words.release_value import Release


class Told(Value, frozen=True):
    """The release with the records of these checks, and the actions of this pass."""

    release: Release
    actions: tuple[AskCheck, ...] = ()
    wake_at: datetime | None = None
    notes: tuple[Note, ...] = ()


def with_told(release: Release) -> tuple[CheckRun, ...]:
    """The records of a release that goes back: its checks that have ended, and those with `at: rollback`."""
    ended = (run for run in release.ours.checks if run.verdict != CheckVerdict.RUNNING)
    reached = sorted({visit.step for visit in release.ours.visits if visit.step})
    told = (
        begun(release, step, CheckPlace.ROLLBACK, check)
        for step in reached
        if step <= len(release.steps)
        for check in checks_of(release, step, CheckPlace.ROLLBACK)
    )
    return (*ended, *told)


def telling(release: Release) -> Told:
    """The checks that are asked now; none, if no release of this Rollout went back, or all have answered."""
    pairs = [
        (check, run)
        for run in release.ours.checks
        if run.at == CheckPlace.ROLLBACK and run.verdict == CheckVerdict.RUNNING
        for check in _named(release, run)
    ]
    if not pairs:
        return Told(release)
    found = look_at(release, pairs)
    return Told(found.release, found.actions, found.wake_at, found.notes)


def _named(release: Release, run: CheckRun) -> tuple[Check, ...]:
    """The check of a record; none if the plan has it no more."""
    if not 0 < run.step <= len(release.steps):
        return ()
    checks = checks_of(release, run.step, CheckPlace.ROLLBACK)
    return tuple(check for check in checks if check.name == run.name)
