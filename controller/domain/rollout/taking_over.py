"""Continues a release that the original controller began, at its step and with its pods.

It takes two passes: first all objects that the original holds become ours (the workload last, so that a crash in
between repeats the rest), then our part of the status is written. The present step starts again from its beginning,
which changes nothing that is already as the step wants it, and needs a new approval; an approval that the original had
not yet acted on counts. Invariant: the new revision gets no pod and no share beyond the step that the original was at.
A revision that is not certain counts as another one: its release begins at step 1.
"""

import msgspec
from msgspec import structs

from controller.api import names
from controller.api.autoscaling import Autoscaler
from controller.api.jsontree import JsonObject, child, text
from controller.api.meta import Key
from controller.api.rollout import CanaryStatus, MoonshiftStatus, Phase, RolloutStatus, StepState
from controller.api.workload_kinds import DEPLOYMENT, KindName, WorkloadKind
from controller.domain import reasons
from controller.domain.decision import (
    Action,
    DropBatchRelease,
    Note,
    PauseAutoscaler,
    PinService,
    Reference,
    SetMetadata,
    TakeOverWorkload,
)
from controller.domain.observation import RoutePresent, WorkloadSeen
from controller.domain.pods.held_autoscalers import original
from controller.domain.pods.marks import hold_on
from controller.domain.pods.originals import moved_by_the_original
from controller.domain.pods.running import template_of
from controller.domain.rollout.beginning import stable_at_admission
from controller.domain.rollout.moving import autoscalers
from controller.domain.rollout.routes import routing
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.naming import new_in_words
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.showing import revision_shown
from controller.domain.rollout.words.status import condition
from controller.domain.rollout.words.step_history import opened
from controller.domain.rollout.words.transition import Stop
from controller.domain.traffic.original.httproute import computed_original

_BUSY = (Phase.PROGRESSING, Phase.DISABLING, Phase.TERMINATING)
_AT_REST = ("", StepState.COMPLETED)


def taking_over(release: Release) -> Stop | None:
    """Take a release of the original over; None if there is none, or if it is ours already."""
    # As stored, too: a release of ours that this pass has ended is not one that the original left.
    if release.ours.release or moonshift_status(release.stored).release:
        return None
    if release.seen.workload is None:
        if not _left_by_the_original(release.status):
            return None
        return _without_workload(release).stop(*_pins(release), *_drop_batch_release(release))
    if _is_held_by_the_original(release):
        problem = autoscalers.unknown(release)
        actions = _take_all_over(release) if problem is None else ()
        return release.stop(*actions, problem=problem)
    if not _left_by_the_original(release.status):
        return None
    text = (
        f"the release of {new_in_words(release)} that OpenKruise Rollouts began goes on at "
        f"step({_step(release)}/{len(release.steps)})"
    )
    return _resumed(release).stop(notes=(Note(reasons.TAKEN_OVER, text),))


def _is_held_by_the_original(release: Release) -> bool:
    """The original holds the workload. Without a mark only a release under way proves it: `kubectl rollout undo` brings
    old annotations back.
    """
    workload = release.workload.object
    name = release.seen.rollout.metadata.name
    held = moved_by_the_original(workload, name)
    return held and (hold_on(workload).rollout == name or _left_by_the_original(release.status))


def _left_by_the_original(status: RolloutStatus) -> bool:
    """The status has a release under way, without our part."""
    inner = status.of_release
    found = condition(status, "Progressing")
    if inner is None or not inner.current_step_index or status.phase not in _BUSY:
        return False
    if found is not None and found.reason == reasons.COMPLETED:
        return False
    return status.phase == Phase.PROGRESSING or inner.current_step_state not in _AT_REST


# --- what the original holds --------------------------------------------------------------------


def _take_all_over(release: Release) -> tuple[Action, ...]:
    seen = release.seen
    inner = release.status.of_release or CanaryStatus()
    stable, template = _stable(release, inner)
    return (
        *(_canary(release, extra) for extra in seen.originals_canaries),
        *(_autoscaler(release, found) for found in seen.detached_autoscalers),
        *_routes(release),
        *_pins(release),
        *_drop_batch_release(release),
        TakeOverWorkload(
            kind=release.kind_name,
            workload=release.workload_key,
            generation=release.meta.generation,
            rollout=seen.rollout.metadata.name,
            release=release.template_hash,
            stable_revision=stable,
            stable_template=template,
        ),
    )


def _canary(release: Release, extra: WorkloadSeen) -> SetMetadata:
    """Without its owner, the BatchRelease, and without the finalizer that only the original takes off."""
    meta = extra.deployment.metadata
    same_template = _pods_of(extra.deployment.spec.template) == _pods_of(
        release.deployment.spec.template
    )
    return SetMetadata(
        DEPLOYMENT,
        meta.key,
        resource_version=meta.resource_version,
        labels={names.ROLLOUT_UID: release.seen.rollout.metadata.uid},
        annotations={
            names.TEMPLATE_HASH: release.template_hash if same_template else "",
            names.CONTROL_INFO: None,
        },
        finalizers=tuple(f for f in meta.finalizers if f != names.ORIGINALS_CANARY_FINALIZER),
        disowned=True,
    )


def _pods_of(template: msgspec.Raw) -> JsonObject:
    """The part of a template that `patchPodTemplateMetadata` does not change."""
    return child(msgspec.json.decode(template), "spec")


def _autoscaler(release: Release, found: Autoscaler) -> PauseAutoscaler:
    meta = found.metadata
    target = release.meta.name
    return PauseAutoscaler(meta.key, meta.resource_version, original(found), target)


def _routes(release: Release) -> tuple[SetMetadata, ...]:
    """The gateway objects whose original the original controller does not store."""
    found = []
    for route in release.seen.routes:
        if not isinstance(route.state, RoutePresent) or route.state.in_use:
            continue
        found_out = computed_original(bytes(route.state.raw), route.reference)
        if found_out is not None:
            key = Key(release.namespace, route.reference.name)
            found.append(_stored(route.reference, key, original=found_out, raw=route.state.raw))
    return tuple(found)


def _stored(reference: Reference, key: Key, *, original: str, raw: msgspec.Raw) -> SetMetadata:
    """The reconstructed original, in the place where originals are kept."""
    return SetMetadata(
        KindName(reference.api_version, reference.kind),
        key,
        resource_version=text(
            msgspec.json.decode(raw, type=JsonObject), "metadata", "resourceVersion"
        ),
        annotations={names.ORIGINAL_SPEC: original},
    )


def _pins(release: Release) -> tuple[PinService, ...]:
    """The stable Services that the original pinned to one revision without recording it."""
    label = release.revision_label
    seen = (release.service(name) for name in release.stable_services)
    return tuple(
        PinService(
            found.metadata.key, found.metadata.resource_version, label, found.spec.selector[label]
        )
        for found in seen
        if found is not None
        and label in found.spec.selector
        and names.PINNED not in found.metadata.labels
    )


def _drop_batch_release(release: Release) -> tuple[DropBatchRelease]:
    return (DropBatchRelease(Key(release.namespace, release.seen.rollout.metadata.name)),)


# --- the status ---------------------------------------------------------------------------------


def _resumed(release: Release) -> Release:
    inner = release.status.of_release or CanaryStatus()
    stable, template = _stable(release, inner)
    state = inner.current_step_state
    known = _is_about_this_template(release, inner)
    edited = bool(inner.rollout_hash) and inner.rollout_hash != release.seen.plan_hash
    index = _step(release)
    ours = MoonshiftStatus(
        release=release.identity,
        revision=release.template_hash,
        # Without it the present template counts as another revision, which begins at step 1.
        template=release.template_hash if known else "",
        step=index,
        step_plan="" if edited or not release.steps else release.step(index).identity,
        step_replicas=inner.canary_replicas if edited else _replicas(release, index),
        workload_uid=release.meta.uid,
        stable_revision=stable,
        stable_template=template,
        config=release.ours.config,
        visits=opened((), index, release.now),
        started_at=release.now,
        route_plan=routing.observed_plan(release) or "",
        goal=_goal(release.status, state),
    )
    release = release.reporting(moonshift=ours)
    shown = structs.replace(
        inner,
        current_step_index=index,
        stable_revision=stable,
        canary_revision=revision_shown(release) if known else inner.canary_revision,
        finalising_step="",
    )
    return release.at(release.status.with_release(shown)).entering(_state(state))


def _without_workload(release: Release) -> Release:
    """The workload was deleted while no controller ran: only routes and Services are left to restore."""
    inner = release.status.of_release or CanaryStatus()
    ours = MoonshiftStatus(
        release=inner.canary_revision or names.CONTROL_INFO,
        step=1,
        workload_uid=release.seen.rollout.metadata.uid,
        stable_revision=inner.stable_revision,
    )
    return release.reporting(moonshift=ours).noting(state=StepState.STEP_UPGRADE)


def _state(found: str) -> StepState:
    """The state in which the step continues: its first one, unless it was approved or was the end."""
    if found in (StepState.STEP_READY, StepState.COMPLETED):
        return StepState(found)
    return StepState.BEFORE_STEP_UPGRADE


def _goal(status: RolloutStatus, state: str) -> str:
    """The original was ending a release that was approved to its end."""
    found = condition(status, "Progressing")
    ending = found is not None and found.reason == reasons.FINALISING
    return Goal.SUCCESS if ending and state == StepState.COMPLETED else ""


def _step(release: Release) -> int:
    found = (
        release.status.of_release.current_step_index if release.status.of_release is not None else 1
    )
    return max(1, min(found, len(release.steps)))


def _replicas(release: Release, index: int) -> int | str | None:
    return release.step(index).replicas if release.steps else None


def _stable(release: Release, inner: CanaryStatus) -> tuple[str, str]:
    """Revision and template hash of the pods that ran when the release began, as the original recorded them."""
    label = release.meta.labels.get(names.STABLE_REVISION, "")
    for revision in filter(None, (inner.stable_revision, label)):
        template = template_of(release.workload, revision)
        if template:
            return revision, template
    return stable_at_admission(release)


def _is_about_this_template(release: Release, inner: CanaryStatus) -> bool:
    """The step in the original's record was reached with the workload's present template."""
    if release.kind is WorkloadKind.DEPLOYMENT:
        if inner.canary_revision == release.template_name:
            return True
        return bool(inner.pod_template_hash) and inner.pod_template_hash == release.new_revision
    return bool(inner.canary_revision) and inner.canary_revision == release.present_revision
