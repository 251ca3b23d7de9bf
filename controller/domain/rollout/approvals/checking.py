"""Checks of a release: scripts that are asked before its start, before a step's pods, beside its gate, and at its end.

A check that fails stops the release where it is, or takes the new revision back. A check that holds lets it wait; so
does one that cannot be asked, until its time is over. Invariant: pure. The record of a check is stored before it is
asked, and what its script keeps is stored before the script asks on: a check that another leader continues has the same
id. Must not ask: it says `AskCheck` and reads `Observation.checked`.
"""

from datetime import datetime

from msgspec import structs

from controller.api.analysis import OnFailure
from controller.api.checks import Check, CheckPlace, CheckRun, CheckVerdict
from controller.api.rollout import StepState, StepVisit
from controller.domain import reasons
from controller.domain.checks.answering import (
    counted,
    due,
    end_of,
    for_record,
    identity,
    is_asked,
)
from controller.domain.checks.question import checks_in, filled_check
from controller.domain.decision import AskCheck, CheckedRelease, Note, Refusal, Severity, Value
from controller.domain.gates.origins import name_of_release
from controller.domain.gates.wording import UnknownWord
from controller.domain.rollout.approvals.analysing import holding_run, words_of
from controller.domain.rollout.trouble.reverting import given_up
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.naming import new_images
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Continue, Stop
from controller.domain.traffic.plan.traffic_plan import share_of

START = 0
"""The step number under which checks of the strategy are recorded."""
GOOD = (CheckVerdict.PASSED, CheckVerdict.APPROVED)


class Looked(Value, frozen=True):
    """The checks of one place after a look: `release` has their records.

    `actions` ask those whose answer is wanted, `wake_at` is the next look if no answer comes before.
    """

    release: Release
    waiting: tuple[CheckRun, ...] = ()
    failed: tuple[tuple[Check, CheckRun], ...] = ()
    actions: tuple[AskCheck, ...] = ()
    wake_at: datetime | None = None
    notes: tuple[Note, ...] = ()


def looked(release: Release, place: CheckPlace) -> Looked:
    """The checks of a place of the present step: answers counted, and those asked that are to be asked."""
    checks = _checks_at(release, place)
    if not checks or release.ours.returning:
        return Looked(release)
    step = START if place is CheckPlace.START else release.ours.step
    pairs = [
        (check, _run_of(release, step, place, check.name) or begun(release, step, place, check))
        for check in checks
    ]
    return look_at(release, pairs)


def look_at(release: Release, known: list[tuple[Check, CheckRun]]) -> Looked:
    """The checks with these records: answers counted, and those asked that are to be asked."""
    pairs: list[tuple[Check, CheckRun]] = []
    notes: tuple[Note, ...] = ()
    for check, before in known:
        after = _told(release, check, counted(check, before, release.seen.checked, release.now))
        release = _with_run(release, after)
        if before.verdict != after.verdict:
            release, notes = _recorded(release, after), (*notes, _note_of(after))
        pairs.append((check, after))
    waiting = [(check, run) for check, run in pairs if run.verdict == CheckVerdict.RUNNING]
    times = [_next(release, check, run) for check, run in waiting]
    return Looked(
        release,
        tuple(run for _, run in waiting),
        tuple(pair for pair in pairs if pair[1].verdict == CheckVerdict.FAILED),
        tuple(asked for check, run in waiting for asked in _asked(release, check, run)),
        min(times, default=None),
        notes,
    )


def _checks_at(release: Release, place: CheckPlace) -> tuple[Check, ...]:
    if place is CheckPlace.START:
        return release.strategy.checks
    return checks_of(release, release.ours.step, place)


def checks_of(release: Release, step: int, place: CheckPlace) -> tuple[Check, ...]:
    """The checks of a step at this place."""
    wanted = ("", place) if place is CheckPlace.ROUTED else (place,)
    return tuple(check for check in release.step(step).checks if check.at in wanted)


def begun(release: Release, step: int, place: CheckPlace, check: Check) -> CheckRun:
    """The record of a check that begins now; one that begins again has another id."""
    ours, meta = release.ours, release.seen.rollout.metadata
    start = release.now.isoformat()
    named = identity(meta.uid, ours.release, ours.revision, str(step), place, check.name, start)
    return CheckRun(step=step, at=place, name=check.name, id=named, started_at=release.now)


def _run_of(release: Release, step: int, place: CheckPlace, name: str) -> CheckRun | None:
    for run in release.ours.checks:
        if (run.step, run.at, run.name) == (step, place, name):
            return run
    return None


def _with_run(release: Release, run: CheckRun) -> Release:
    """The record of a check in its place, or behind the others."""
    known = release.ours.checks
    names = [(one.step, one.at, one.name) for one in known]
    if (run.step, run.at, run.name) not in names:
        return release.noting(checks=(*known, run))
    at = names.index((run.step, run.at, run.name))
    return (
        release.noting(checks=(*known[:at], run, *known[at + 1 :])) if known[at] != run else release
    )


def _recorded(release: Release, run: CheckRun) -> Release:
    """The end of a check in the step's visit, for the record of the release."""
    ours = release.ours
    *before, present = ours.visits or (StepVisit(step=ours.step, started_at=release.now),)
    noted = structs.replace(present, checks=(*present.checks, for_record(run)))
    return release.noting(visits=(*before, noted))


def _next(release: Release, check: Check, run: CheckRun) -> datetime:
    """A record that is not stored yet is stored now, and the check asked at once then."""
    if is_asked(run, release.now) and not _is_stored(release, run):
        return release.now
    return due(check, run, release.now)


def _is_stored(release: Release, run: CheckRun) -> bool:
    return run in moonshift_status(release.stored).checks


def _asked(release: Release, check: Check, run: CheckRun) -> tuple[AskCheck, ...]:
    if not (is_asked(run, release.now) and _is_stored(release, run)):
        return ()
    filled = _with_words(release, check)
    if isinstance(filled, UnknownWord):
        return ()
    about, until = _about(release, run), end_of(check, run, release.now)
    return (AskCheck(run.id, run.turn + 1, filled, about, run.state, until),)


def _told(release: Release, check: Check, run: CheckRun) -> CheckRun:
    """The record with the reason why the check cannot be asked, if there is one: it waits for an edit then."""
    found = _with_words(release, check) if is_asked(run, release.now) else check
    if not isinstance(found, UnknownWord):
        return run
    return structs.replace(run, message=found.message, again_at=None)


def _with_words(release: Release, check: Check, *, later: bool = False) -> Check | UnknownWord:
    """The check with the words of the release in its parameters, or why it cannot be asked. Names that the release gets
    `later` count as known.
    """
    words = {name: word or (name if later else "") for name, word in words_of(release).items()}
    sides = {name: words[f"canary.{name}"] for name in ("service", "revision")}
    known = {name: name_of_release(text) for name, text in (words | sides).items()}
    return filled_check(check, known)


def check_that_cannot_be_asked(release: Release) -> Refusal | None:
    """A check of the plan that could never be asked: reported before the first pod."""
    for check in checks_in(release.seen.rollout):
        found = _with_words(release, check, later=True)
        if isinstance(found, UnknownWord):
            return Refusal(reasons.INVALID_CHECK, found.message)
    return None


def _about(release: Release, run: CheckRun) -> CheckedRelease:
    step = release.ours.step
    return CheckedRelease(
        rollout=release.seen.rollout.metadata.name,
        namespace=release.namespace,
        revision=release.new_revision,
        stable_revision=release.ours.stable_revision,
        step=step,
        steps=len(release.steps),
        phase=run.at,
        weight=share_of(release.step(step).traffic),
        images=new_images(release),
    )


# --- a step and its checks ----------------------------------------------------------------------


def before_pods(release: Release) -> Looked:
    """The checks that are asked before the pods of the present step: those of the start only before the first step."""
    if not (release.strategy.checks or release.step(release.ours.step).checks):
        return Looked(release)
    begun_before = any(visit.ready_at is not None for visit in release.ours.visits)
    start = Looked(release) if begun_before else looked(release, CheckPlace.START)
    if start.waiting or start.failed:
        return start
    step = looked(start.release, CheckPlace.BEFORE)
    return structs.replace(step, notes=(*start.notes, *step.notes))


def not_passed(found: Looked) -> Stop | None:
    """Takes the new revision back, if one of the checks that failed asks for it."""
    for check, run in found.failed:
        if check.on_failure is OnFailure.ROLLBACK:
            taken_back = given_up(found.release, f"{where(run)}: check {run.name}: {run.message}")
            if taken_back is not None:
                return structs.replace(taken_back, notes=(*found.notes, *taken_back.notes))
    return None


def waits_before_pods(found: Looked) -> Stop | None:
    """The step's pods wait for checks; None when all have passed. No deadline counts this wait as work."""
    release = found.release
    index = release.ours.step
    if found.failed:
        taken_back = not_passed(found)
        if taken_back is not None:
            return taken_back
        text = messages.in_step(release, index, messages.HELD_BY_CHECKS)
        held = release.progressing(reasons.IN_ROLLING, text)
        return held.stop(problem=_refusal(release, found.failed[0][1]), notes=found.notes)
    return structs.replace(waits(found), by_choice=True) if found.waiting else None


def waits(found: Looked) -> Stop:
    """A release that waits for checks."""
    release = found.release
    text = messages.in_step(release, release.ours.step, messages.checking(in_words(found.waiting)))
    waiting = release.progressing(reasons.IN_ROLLING, text)
    return waiting.stop(*found.actions, wake_at=found.wake_at, notes=found.notes)


def failed_check(release: Release) -> CheckRun | None:
    """The check that stops the release at the end of its present step: it failed, and nobody has approved."""
    step = release.ours.step
    for place in (CheckPlace.ROUTED, CheckPlace.END):
        for check in checks_of(release, step, place):
            run = _run_of(release, step, place, check.name)
            if run is not None and run.verdict == CheckVerdict.FAILED:
                return run
    return None


def held_by_check(release: Release) -> Refusal | None:
    """The message to the person for whom the release waits."""
    run = failed_check(release)
    return _refusal(release, run) if run is not None else None


def asked_anew(release: Release) -> Continue | None:
    """Back to the checks beside the gate of a step whose pause began, when one has no record: a person removed it
    (`moonshift retry`), or gave the step a check during its pause.
    """
    step = release.ours.step
    if release.ours.returning or not release.step(step).checks:
        return None
    if holding_run(release) is not None or failed_check(release) is not None:
        return None
    for check in checks_of(release, step, CheckPlace.ROUTED):
        run = _run_of(release, step, CheckPlace.ROUTED, check.name)
        if run is None or run.verdict == CheckVerdict.RUNNING:
            return release.entering(StepState.STEP_METRICS_ANALYSIS).go_on()
    return None


def approved_checks(release: Release) -> tuple[CheckRun, ...]:
    """The records after a person has approved the step: checks of it that failed hold it no more."""
    step = release.ours.step
    return tuple(
        structs.replace(run, verdict=CheckVerdict.APPROVED)
        if run.step == step and run.verdict == CheckVerdict.FAILED
        else run
        for run in release.ours.checks
    )


def kept_checks(runs: tuple[CheckRun, ...]) -> tuple[CheckRun, ...]:
    """The checks that are not asked again at another step: those of the start, and those with `at: rollback`."""
    return tuple(run for run in runs if run.step == START or run.at == CheckPlace.ROLLBACK)


# --- words --------------------------------------------------------------------------------------


def where(run: CheckRun) -> str:
    """The place of a check, for messages."""
    return f"step({run.step})" if run.step else "the start"


def _note_of(run: CheckRun) -> Note:
    text = f"{where(run)}: check {run.name}: {run.message}"
    if run.verdict == CheckVerdict.PASSED:
        return Note(reasons.CHECK_PASSED, text)
    return Note(reasons.CHECK_FAILED, text, Severity.WARNING)


def in_words(waiting: tuple[CheckRun, ...]) -> str:
    """The checks that the release waits for, and their words."""
    return "; ".join(f"{run.name}: {run.message or 'no answer yet'}" for run in waiting)


def _refusal(release: Release, run: CheckRun) -> Refusal:
    """A check that failed, with what a person may type."""
    name = release.seen.rollout.metadata.name
    ways = [
        f"go back (kubectl moonshift undo {name})",
        f"ask again (kubectl moonshift retry {name})",
    ]
    if release.ours.state == StepState.STEP_PAUSED:
        ways.append(f"approve to go on nevertheless (kubectl moonshift approve {name})")
    text = f"check {run.name} of {where(run)} failed: {run.message}; {', '.join(ways[:-1])}, or {ways[-1]}"
    return Refusal(reasons.CHECK_FAILED, text)
