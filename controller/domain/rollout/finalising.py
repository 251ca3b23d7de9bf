"""The end of a release: restores traffic, Services and workload, in an order that loses no request.

Every goal is a sequence of facts that each pass checks from the first; the first fact that is not yet true is the
`finalisingStep` that clients see. No progress is stored, so neither a crash nor a change of goal halfway can skip a
fact (the original resumed a step of another sequence, D05). After the last approval the share of the new revision never
falls: the workload is upgraded before the routes are restored (the original restores first, and sends everybody back to
the old pods for a while). On rollback, deletion and disabling the routes go to stable first.
"""

from collections.abc import Callable
from enum import StrEnum

from msgspec import structs

from controller.api import names
from controller.api.rollout import FinalisingStep, RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain.decision import (
    Action,
    DeleteCanaryDeployment,
    RemoveFinalizer,
)
from controller.domain.pods.marks import marked_for
from controller.domain.rollout import (
    autoscalers,
    batches,
    last_endpoints,
    restoring,
    routing,
    services,
    stable_capacity,
)
from controller.domain.rollout.moving.awaiting_stable import stable_is_awaited_until
from controller.domain.rollout.moving.choice import mechanism_of
from controller.domain.rollout.moving.deployments import kept_paused
from controller.domain.rollout.release_context import ReleaseContext, Style, moonshift_status
from controller.domain.rollout.returning import unmark
from controller.domain.rollout.shared_routing import leave
from controller.domain.rollout.status import with_canary, with_moonshift_status
from controller.domain.rollout.transition import Stop, wait_by_choice


class Goal(StrEnum):
    """Why a release ends."""

    SUCCESS = "Success"
    ROLLBACK = "Rollback"
    CONTINUOUS = "Continuous"
    """Another revision came; changes of the abandoned release are reverted before the release starts again."""
    DISABLED = "RolloutDisabled"
    DELETING = "RolloutDeleting"
    WORKLOAD_GONE = "WorkloadGone"
    SCALED_AWAY = "ScaledAway"
    """The workload has, or had, no replicas: only the stable revision returns, and the release begins again."""


Part = Callable[[ReleaseContext, RolloutStatus], Stop | None]


def finalise(context: ReleaseContext, status: RolloutStatus, goal: Goal) -> Stop | None:
    """The actions for the first fact of the goal's sequence that is not yet true; None when all are true."""
    for step, part in _SEQUENCES[goal]:
        named = with_canary(status, finalising_step=step)
        stop = part(context, named)
        if stop is not None:
            return stop
    return None


# --- traffic ------------------------------------------------------------------------------------


def _restore_routes(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """All gateway objects are restored."""
    stop = restoring.restore(context, status)
    if stop is not None:
        return stop
    problem = restoring.unrestorable(context, status)
    return Stop(status=status, problem=problem) if problem is not None else None


def _route_to_new(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Blue-green: all traffic goes to the new pods, and the grace period is over, before the old pods are removed
    together.

    This is skipped after the last share was removed from the canary Services, and after restoring has begun.
    Otherwise the share was written again, and then removed together with the Services' names, which lost requests;
    and a gateway object whose restore had stopped halfway got the share again.
    """
    past = moonshift_status(status).withdrawn_at is not None or _is_promoted(context, status)
    if context.style is not Style.BLUE_GREEN or not context.routes_lead or past:
        return None
    actions = routing.everything_to_new(context, status)
    return Stop(status=status, actions=actions) if actions else _grace_period(context, status)


def _grace_period(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    due = routing.grace_period_end(context, status)
    return wait_by_choice(status, due) if due is not None else None


def _unpin(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    # A Rollout that never began a release has pinned nothing: another Rollout with the same Service set the pin.
    actions = services.unpin(context) if moonshift_status(status).workload_uid else ()
    return Stop(status=status, actions=actions) if actions else None


def _unpin_first(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """A Rollout is deleted or disabled, and too few stable pods are ready to take all traffic: the stable Service leads
    to the new pods as well before the routes return to it.

    Partition style only: there the new pods stay, because the workload's own controller continues with their template.
    """
    if context.style is not Style.PARTITION or not stable_capacity.stable_pods_are_needed(
        context, status
    ):
        return None
    return _unpin_and_wait_for_endpoints(context, status)


def _unpin_and_wait_for_endpoints(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Un-pin, then wait until the stable Services lead to the new pods as well."""
    stop = _unpin(context, status)
    if stop is not None:
        return stop
    return Stop(status=status) if services.stable_services_miss_new_pods(context) else None


def _remove_canary(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Canary Services and extra Deployments are deleted a grace period after the last route to them."""
    actions = (*services.canary_service_deletions(context), *_canary_deletions(context))
    if not actions:
        return None if not context.seen.canaries else Stop(status=status)
    return _grace_period(context, status) or Stop(status=status, actions=actions)


def _canary_deletions(context: ReleaseContext) -> tuple[Action, ...]:
    return tuple(
        DeleteCanaryDeployment(extra.deployment.metadata.key, extra.deployment.metadata.uid)
        for extra in context.seen.canaries
        if not extra.deployment.metadata.deleting
    )


# --- the workload -------------------------------------------------------------------------------


def _still_frozen(context: ReleaseContext) -> bool:
    """We hold the workload; a workload that another Rollout holds is not ours to release."""
    name = context.seen.rollout.metadata.name
    ours = marked_for(context.workload.object) in (name, "")
    return ours and (context.values_to_restore is not None or context.admission_paused)


def _is_promoted(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The workload has its owner's own values, and no old pod that requests could need."""
    return not _still_frozen(context) and mechanism_of(context).promoted(context, status) is None


def _old_pods_have_left(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """The routes return to the stable Services only when no old pod is among their endpoints: until then the routes
    lead to new pods alone.
    """
    leaving = services.stable_services_lead_to_leaving_pods(context)
    return Stop(status=status) if leaving else None


def _resume_workload(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Write the owner's own values in one patch; then wait until all pods are of the workload's template."""
    if _still_frozen(context):
        left = mechanism_of(context).given_up_pods_leave(context, status)
        return left or Stop(
            status=status, actions=(mechanism_of(context).release(context, keep_mark=True),)
        )
    return mechanism_of(context).promoted(context, status)


def _given_up_pods_leave(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """A Rollout goes during a rollback, or after a third revision: pods that were given up are replaced first.

    Not for ever: a Rollout that is deleted must not hang on pods that do not become ready, or that their owner paused.
    """
    if not _still_frozen(context):
        return None
    stop = mechanism_of(context).given_up_pods_leave(context, status)
    return None if stop is None or stop.problem is not None else _for_a_while(context, stop)


def _for_a_while(context: ReleaseContext, stop: Stop) -> Stop | None:
    """`stop`, until a Rollout that is deleted or disabled has waited long enough."""
    status = stop.status
    goal = Goal.DELETING if context.seen.rollout.metadata.deleting else Goal.DISABLED
    since = moonshift_status(status).goal_since
    if moonshift_status(status).goal != goal or since is None:
        since = context.now
    begun = with_moonshift_status(status, goal=goal, goal_since=since)
    due = stable_is_awaited_until(context, begun)
    if due <= context.now:
        return None
    wake_at = min(stop.wake_at, due) if stop.wake_at is not None else due
    problem = stop.problem
    if problem is not None:
        text = f"{problem.message}; at {due:%H:%M:%S} UTC the Rollout goes on all the same"
        problem = structs.replace(problem, message=text)
    return structs.replace(stop, status=begun, wake_at=wake_at, problem=problem)


def _promote(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Write the owner's own values, and label every new pod with the release.

    In canary style the batch numbers belong to the extra Deployment's pods. No step created the workload's own pods,
    and the original does not label them. They are labelled only if the release will be recorded.
    """
    held = kept_paused(context) if context.kind is WorkloadKind.DEPLOYMENT else None
    if held is not None and _still_frozen(context):
        # Other rolling update limits are a scale event, which a pause does not stop.
        return Stop(status=status, problem=held)
    unmade = context.style is Style.CANARY and not context.seen.histories_kept
    labels = () if unmade else batches.missing_labels(context, status, context.promoted_pods)
    if labels and not _still_frozen(context):
        return Stop(status=status, actions=labels)
    return _resume_workload(context, status)


def _services_keep_a_pod(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Before the last pod that a stable Service selects goes: it selects pods that stay."""
    problem = last_endpoints.selects_none_of_the_template(context, status)
    return Stop(status=status, problem=problem) if problem is not None else None


def _services_keep_a_pod_for_a_while(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """A Rollout that goes while it holds the workload: its own controller would remove that pod next."""
    stop = _services_keep_a_pod(context, status) if _still_frozen(context) else None
    return _for_a_while(context, stop) if stop is not None else None


def _services_keep_a_stable_pod(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    problem = last_endpoints.selects_no_stable_pod(context, status)
    return Stop(status=status, problem=problem) if problem is not None else None


def _clear_abandoned(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    return mechanism_of(context).clear_abandoned(context, status)


def _fit(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    actions = mechanism_of(context).delete_excess(context)
    return Stop(status=status, actions=actions) if actions else None


def _only_stable_returns(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    return (
        mechanism_of(context).only_stable_returns(context, status) if not context.replicas else None
    )


def _bring_stable_back(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    return mechanism_of(context).bring_stable_back(context, status) if context.replicas else None


def _grace_period_of_pods(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Wait for the grace period after the routes have left; without pods, there is nothing to wait for."""
    return _grace_period(context, status) if context.replicas else None


def _send_new_away(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    return mechanism_of(context).send_new_away(context, status) if context.replicas else None


def _release_control(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Remove the mark of the release; from now on admission no longer protects the workload."""
    if not _still_frozen(context) and not _marked(context):
        return None
    return Stop(status=status, actions=(mechanism_of(context).release(context, keep_mark=False),))


def _release_for_deletion(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """As `_release_control`, for a Rollout that is being deleted: its label is removed, too."""
    taken = marked_for(context.workload.object) not in (context.seen.rollout.metadata.name, "")
    held = _still_frozen(context) or _marked(context)
    # An undo that no webhook saw removes our annotations and leaves the label of the stable revision.
    labelled = context.labelled or names.STABLE_REVISION in context.meta.labels
    if taken or not (held or labelled):
        return None
    taken_off = mechanism_of(context).release(context, keep_mark=False, drop_label=True)
    # The label alone is not waited for: another Rollout of the workload would add it again, for ever.
    last: tuple[Action, ...] = () if held else (RemoveFinalizer(),)
    return Stop(status=status, actions=(taken_off, *last))


def _marked(context: ReleaseContext) -> bool:
    return marked_for(context.workload.object) == context.seen.rollout.metadata.name


_Sequence = tuple[tuple[FinalisingStep, Part], ...]

_ROUTES_RETURN: _Sequence = (
    (FinalisingStep.ROUTE_TO_STABLE, leave),
    (FinalisingStep.ROUTE_TO_STABLE, _restore_routes),
)
_ROUTES_HAVE_LEFT: _Sequence = (
    *_ROUTES_RETURN,
    (FinalisingStep.ROUTE_TO_STABLE, _grace_period),
)
_MARKS_GO: _Sequence = (
    (FinalisingStep.RELEASE_WORKLOAD_CONTROL, autoscalers.free),
    (FinalisingStep.RELEASE_WORKLOAD_CONTROL, unmark),
)
_GIVEN_UP: _Sequence = (
    (FinalisingStep.RESTORE_STABLE_SERVICE, _services_keep_a_pod_for_a_while),
    (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin_first),
    *_ROUTES_HAVE_LEFT,
    (FinalisingStep.RESUME_WORKLOAD, _given_up_pods_leave),
    (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin_and_wait_for_endpoints),
    (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
    *_MARKS_GO,
)

_SEQUENCES: dict[Goal, _Sequence] = {
    Goal.SUCCESS: (
        (FinalisingStep.RESTORE_STABLE_SERVICE, _services_keep_a_pod),
        (FinalisingStep.ROUTE_TO_NEW, _route_to_new),
        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin_and_wait_for_endpoints),
        (FinalisingStep.RESUME_WORKLOAD, _promote),
        (FinalisingStep.RESUME_WORKLOAD, _old_pods_have_left),
        (FinalisingStep.RESTORE_STABLE_SERVICE, last_endpoints.endpoints_are_missing),
        *_ROUTES_RETURN,
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        *_MARKS_GO,
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, _release_control),
    ),
    Goal.ROLLBACK: (
        (FinalisingStep.ROUTE_TO_STABLE, _services_keep_a_pod),
        (FinalisingStep.ROUTE_TO_STABLE, stable_capacity.restore),
        *_ROUTES_HAVE_LEFT,
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RESUME_WORKLOAD, _resume_workload),
        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin),
        (FinalisingStep.RESTORE_STABLE_SERVICE, last_endpoints.endpoints_are_missing),
        *_MARKS_GO,
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, _release_control),
    ),
    Goal.CONTINUOUS: (
        (FinalisingStep.ROUTE_TO_STABLE, _services_keep_a_stable_pod),
        (FinalisingStep.ROUTE_TO_STABLE, stable_capacity.replace_abandoned),
        *_ROUTES_HAVE_LEFT,
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, _clear_abandoned),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, unmark),
    ),
    Goal.DISABLED: (*_GIVEN_UP, (FinalisingStep.RELEASE_WORKLOAD_CONTROL, _release_control)),
    Goal.DELETING: (*_GIVEN_UP, (FinalisingStep.RELEASE_WORKLOAD_CONTROL, _release_for_deletion)),
    Goal.WORKLOAD_GONE: (
        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin),
        *_ROUTES_RETURN,
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, autoscalers.free),
    ),
    # Not un-pinned: ready new pods may still exist when the stable ones are at zero, and step 1 pins again.
    Goal.SCALED_AWAY: (
        (FinalisingStep.RESUME_WORKLOAD, _only_stable_returns),
        (FinalisingStep.RESUME_WORKLOAD, _bring_stable_back),
        *_ROUTES_RETURN,
        (FinalisingStep.ROUTE_TO_STABLE, _grace_period_of_pods),
        (FinalisingStep.RESUME_WORKLOAD, _send_new_away),
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RESUME_WORKLOAD, _fit),
    ),
}
