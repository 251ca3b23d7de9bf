"""Reads a stored status with doubt: its fields have to agree with each other, with the plan and with the workload.

Why it exists: the status is the controller's, and admission and a policy keep others from it. Both may be away for a
while, and then somebody can write anything: a step that the plan does not have, an end that was never reached, the new
revision as the stable one. Invariant: of a status that contradicts itself, nothing is believed that lets a release go
on. The release stays at the lowest of the steps that it may be at, begins that step again without removing a pod, and
its approval is asked for again. A status that the controller wrote passes unchanged. It must not decide anything else.

Not found out: a status that somebody forged in all its parts, so that it agrees with itself (docs/security.md).
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import structs

from controller.api.rollout import CanaryStatus, Phase, RolloutStatus, StepState
from controller.api.workload_kinds import WorkloadKind
from controller.domain import reasons
from controller.domain.decision import Note, Severity
from controller.domain.rollout.approvals.jump import go_to
from controller.domain.rollout.beginning import stable_at_admission
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import known_template, moonshift_status
from controller.domain.rollout.words.release_value import Release

SKEW = timedelta(minutes=10)
"""How far the clock of another replica may be ahead."""
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
_BY_NODES = (WorkloadKind.DAEMON_SET, WorkloadKind.ADVANCED_DAEMON_SET)
_EXCHANGES = ("", "stable", "returned")
_LED_AWAY = ("", "service", "routes")


def trusted(release: Release) -> tuple[Release, tuple[Note, ...]]:
    """The release with its stored status as far as it can be believed, and a note if that is not all of it."""
    doubts = list(release.seen.rollout.unreadable)
    for doubt, rule in _RULES:
        mended = rule(release)
        if mended.status != release.status:
            doubts.append(doubt)
            release = mended
    if not doubts:
        return release, ()
    if _is_at_a_step(release):
        release = _asked_again(release).noting(approval=None, pause_not_before=None)
    text = (
        f"the status said what cannot be ({'; '.join(doubts)}) and was mended from what is seen; the controller did "
        "not write it like this, and the API server's audit log says who did"
    )
    return release.believed(), (Note(reasons.STATUS_MENDED, text, Severity.WARNING),)


def _is_at_a_step(release: Release) -> bool:
    """A release is under way, and its steps have not ended."""
    ours = release.ours
    return (
        release.status.phase == Phase.PROGRESSING
        and bool(ours.release and release.steps)
        and not ours.goal
        and release.seen.workload is not None
    )


def _asked_again(release: Release) -> Release:
    """The present step begins again: its pods and routes stay, and its pause is entered anew."""
    return go_to(release, min(max(1, release.ours.step), len(release.steps)))


# --- the rules: each returns the status that it can believe -----------------------------------------


def _known_words(release: Release) -> Release:
    """Phases, states and ends are those that the controller knows."""
    if release.status.phase not in ("", *Phase):
        release = release.reporting(phase=Phase.PROGRESSING if _released(release.status) else "")
    ours = release.ours
    changes: dict[str, object] = {}
    if ours.state not in ("", *StepState):
        changes["state"] = StepState.BEFORE_STEP_UPGRADE
    if ours.goal not in ("", *Goal):
        changes["goal"] = ""
    if ours.template_exchange not in _EXCHANGES or (
        ours.template_exchange and release.kind not in _BY_NODES
    ):
        changes["template_exchange"] = ""
    sides = {name: side for name, side in ours.empty_sides.items() if side.led_away in _LED_AWAY}
    if len(sides) < len(ours.empty_sides):
        changes["empty_sides"] = sides
    return release.noting(**changes) if changes else release


def _released(status: RolloutStatus) -> bool:
    return bool(moonshift_status(status).release)


def _possible_times(release: Release) -> Release:
    """No time lies ahead; a missing one counts as now, so that waits can only become longer."""
    latest = release.now + SKEW
    ours = release.ours
    mended = _with_times(ours, latest)
    return release.reporting(moonshift=mended) if mended is not ours else release


def _with_times(value: object, latest: datetime) -> object:
    """The value without impossible times; the very same object if it has none."""
    if isinstance(value, datetime):
        return value if EARLIEST <= value <= latest else None
    if isinstance(value, msgspec.Struct):
        changes = {}
        for name in value.__struct_fields__:
            before = getattr(value, name)
            # Most fields are texts, numbers or empty: a call for each would cost as much as a decision.
            if not before or isinstance(before, str | int):
                continue
            if isinstance(before, datetime) and EARLIEST <= before <= latest:
                continue
            after = _with_times(before, latest)
            if after is not before:
                changes[name] = after
        return structs.replace(value, **changes) if changes else value
    if isinstance(value, tuple):
        found = tuple(_with_times(one, latest) for one in value)
        same = all(one is before for one, before in zip(found, value, strict=True))
        return value if same else tuple(one for one in found if one is not None)
    if isinstance(value, dict):
        kept = {name: _with_times(one, latest) for name, one in value.items()}
        same = all(kept[name] is one for name, one in value.items())
        return value if same else {name: one for name, one in kept.items() if one is not None}
    return value


def _one_place(release: Release) -> Release:
    """The step is in the plan, and what is written about it in three places agrees in two of them at least.

    A person may have changed `currentStepIndex` by hand, which `jump` reports. A plan that was edited is shorter.
    """
    ours, inner = release.ours, release.shown
    if not _is_at_a_step(release):
        return release
    visited = ours.visits[-1].step if ours.visits else 0
    known = [step for step in (visited, inner.current_step_index) if step >= 1]
    step = ours.step
    if known and step not in known:
        step = min(step, *known) if step >= 1 else min(known)
    if not _is_edited(release, inner):
        step = min(step, len(release.steps))
    step = max(1, step)
    return release if step == ours.step else release.noting(step=step)


def _is_edited(release: Release, inner: CanaryStatus) -> bool:
    """The plan is another one than the status is about."""
    return inner.rollout_hash not in ("", release.seen.plan_hash)


def _one_state(release: Release) -> Release:
    """The state is the one that clients see; they write StepReady over it, which is their approval."""
    ours, shown = release.ours, release.shown.current_step_state
    if not _is_at_a_step(release) or shown in ("", ours.state, StepState.STEP_READY):
        return release
    return release.noting(state=StepState.BEFORE_STEP_UPGRADE)


def _reached_end(release: Release) -> Release:
    """A release succeeds at the last step, in its last state. A plan that was edited since then may be longer."""
    ours, inner = release.ours, release.shown
    last = ours.step >= len(release.steps) or _is_edited(release, inner)
    at_the_last = last and StepState.COMPLETED in (ours.state, inner.current_step_state)
    if ours.goal == Goal.SUCCESS and _released(release.status) and not at_the_last:
        return release.noting(goal="", goal_since=None)
    completed = ours.state == StepState.COMPLETED and _is_at_a_step(release)
    if completed and not last:
        return release.noting(state=StepState.BEFORE_STEP_UPGRADE)
    return release


def _asked_for_phase(release: Release) -> Release:
    """A Rollout that is not disabled, and was not when its end began, is not on the way to be."""
    leaving = release.status.phase == Phase.DISABLING and not release.seen.rollout.spec.disabled
    found = release.shown.finalising_step
    if leaving and not found and _released(release.status):
        return release.reporting(phase=Phase.PROGRESSING)
    return release


def _old_revision(release: Release) -> Release:
    """The stable revision is not the one that is being released: the workload itself says which one it is."""
    ours = release.ours
    if not _is_at_a_step(release) or ours.by_id or ours.returning:
        return release
    if known_template(release.status) != release.template_hash:
        return release
    is_new = release.template_hash == ours.stable_template or (
        bool(ours.stable_revision) and ours.stable_revision == release.new_revision
    )
    revision, template = stable_at_admission(release) if is_new else ("", "")
    if not revision or template == release.template_hash:
        return release
    release = release.showing(stable_revision=revision)
    return release.noting(stable_revision=revision, stable_template=template)


Rule = Callable[[Release], Release]
_RULES: tuple[tuple[str, Rule], ...] = (
    ("a word that has no meaning", _known_words),
    ("a time that lies ahead or long ago", _possible_times),
    ("an end that the release has not reached", _reached_end),
    ("an end that nobody asked for", _asked_for_phase),
    ("another step than it is at", _one_place),
    ("another state than it shows", _one_state),
    ("the new revision as the stable one", _old_revision),
)
