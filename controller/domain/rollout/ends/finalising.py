"""The end of a release: restores traffic, Services and workload, in an order that loses no request.

Every goal is a sequence of facts that each pass checks from the first; the first fact that is not yet true is the
`finalisingStep` that clients see. No progress is stored, so neither a crash nor a change of goal halfway can skip a
fact (the original resumed a step of another sequence, D05). After the last approval the share of the new revision never
falls: the workload is upgraded before the routes are restored (the original restores first, and sends everybody back to
the old pods for a while). On rollback, deletion and disabling the routes go to stable first.
"""

from collections.abc import Callable

from msgspec import structs

from controller.api import names
from controller.api.meta import ObjectMeta
from controller.api.rollout import FinalisingStep
from controller.api.workload_kinds import DEPLOYMENT, WorkloadKind
from controller.domain.decision import (
    Action,
    DeleteObject,
    RemoveFinalizer,
)
from controller.domain.pods.marks import hold_on
from controller.domain.rollout.ends import last_endpoints, stable_capacity
from controller.domain.rollout.moving import autoscalers, batches
from controller.domain.rollout.moving.awaiting_stable import stable_is_awaited_until
from controller.domain.rollout.moving.deployments import kept_paused
from controller.domain.rollout.moving.returning import unmark
from controller.domain.rollout.routes import restoring, routing, services
from controller.domain.rollout.routes.shared_routing import leave
from controller.domain.rollout.styles.choice import mechanism_of
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import Style, moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop

Part = Callable[[Release], Stop | None]


def finalise(release: Release, goal: Goal) -> Stop | None:
    """The actions for the first fact of the goal's sequence that is not yet true; None when all are true."""
    for step, part in _SEQUENCES[goal]:
        named = release.showing(finalising_step=step)
        stop = part(named)
        if stop is not None:
            return stop
    return None


# --- traffic ------------------------------------------------------------------------------------


def _restore_routes(release: Release) -> Stop | None:
    """All gateway objects are restored."""
    stop = restoring.restore(release)
    if stop is not None:
        return stop
    problem = restoring.unrestorable(release)
    return release.stop(problem=problem) if problem is not None else None


def _route_to_new(release: Release) -> Stop | None:
    """Blue-green: all traffic goes to the new pods, and the grace period is over, before the old pods are removed
    together.

    This is skipped after the last share was removed from the canary Services, and after restoring has begun.
    Otherwise the share was written again, and then removed together with the Services' names, which lost requests;
    and a gateway object whose restore had stopped halfway got the share again.
    """
    past = release.ours.withdrawn_at is not None or _is_promoted(release)
    if release.style is not Style.BLUE_GREEN or not release.routes_lead or past:
        return None
    actions = routing.everything_to_new(release)
    return release.stop(*actions) if actions else _grace_period(release)


def _grace_period(release: Release) -> Stop | None:
    due = routing.grace_period_end(release)
    return release.wait(due) if due is not None else None


def _unpin(release: Release) -> Stop | None:
    # A Rollout that never began a release has pinned nothing: another Rollout with the same Service set the pin, or a
    # former one of this workload, which was lost in the middle of its release.
    of_former = services.unpin_for_this_workload
    actions = services.unpin(release) if release.ours.workload_uid else of_former(release)
    return release.stop(*actions) if actions else None


def _unpin_first(release: Release) -> Stop | None:
    """A Rollout is deleted or disabled, and too few stable pods are ready to take all traffic: the stable Service leads
    to the new pods as well before the routes return to it.

    Partition style only: there the new pods stay, because the workload's own controller continues with their template.
    """
    if release.style is not Style.PARTITION or not stable_capacity.stable_pods_are_needed(release):
        return None
    return _unpin_and_wait_for_endpoints(release)


def _unpin_and_wait_for_endpoints(release: Release) -> Stop | None:
    """Un-pin, then wait until the stable Services lead to the new pods as well."""
    stop = _unpin(release)
    if stop is not None:
        return stop
    return release.stop() if services.stable_services_miss_new_pods(release) else None


def _remove_canary(release: Release) -> Stop | None:
    """Canary Services and extra Deployments are deleted a grace period after the last route to them."""
    actions = (*services.canary_service_deletions(release), *_canary_deletions(release))
    if not actions:
        return None if not release.seen.canaries else release.stop()
    return _grace_period(release) or release.stop(*actions)


def _deletion(extra: ObjectMeta) -> DeleteObject:
    return DeleteObject(DEPLOYMENT, extra.key, extra.uid, pods_first=True)


def _canary_deletions(release: Release) -> tuple[Action, ...]:
    return tuple(
        _deletion(extra.deployment.metadata)
        for extra in release.seen.canaries
        if not extra.deployment.metadata.deleting
    )


# --- the workload -------------------------------------------------------------------------------


def _still_frozen(release: Release) -> bool:
    """We hold the workload; a workload that another Rollout holds is not ours to release."""
    name = release.seen.rollout.metadata.name
    ours = hold_on(release.workload.object).rollout in (name, "")
    return ours and (release.values_to_restore is not None or release.admission_paused)


def _is_promoted(release: Release) -> bool:
    """The workload has its owner's own values, and no old pod that requests could need."""
    return not _still_frozen(release) and mechanism_of(release).promoted(release) is None


def _old_pods_have_left(release: Release) -> Stop | None:
    """The routes return to the stable Services only when no old pod is among their endpoints: until then the routes
    lead to new pods alone.
    """
    leaving = services.stable_services_lead_to_leaving_pods(release)
    return release.stop() if leaving else None


def _resume_workload(release: Release) -> Stop | None:
    """Write the owner's own values in one patch; then wait until all pods are of the workload's template."""
    if _still_frozen(release):
        left = mechanism_of(release).given_up_pods_leave(release)
        return left or release.stop(mechanism_of(release).release(release, keep_mark=True))
    return mechanism_of(release).promoted(release)


def _given_up_pods_leave(release: Release) -> Stop | None:
    """A Rollout goes during a rollback, or after a third revision: pods that were given up are replaced first.

    Not for ever: a Rollout that is deleted must not hang on pods that do not become ready, or that their owner paused.
    """
    if not _still_frozen(release):
        return None
    stop = mechanism_of(release).given_up_pods_leave(release)
    return None if stop is None or stop.problem is not None else _for_a_while(release, stop)


def _for_a_while(release: Release, stop: Stop) -> Stop | None:
    """`stop`, until a Rollout that is deleted or disabled has waited long enough."""
    status = stop.status
    goal = Goal.DELETING if release.seen.rollout.metadata.deleting else Goal.DISABLED
    since = moonshift_status(status).goal_since
    if moonshift_status(status).goal != goal or since is None:
        since = release.now
    begun = release.at(status).noting(goal=goal, goal_since=since)
    due = stable_is_awaited_until(begun)
    if due <= release.now:
        return None
    stop = stop.at(begun.status).also(wake_at=due)
    if stop.problem is None:
        return stop
    text = f"{stop.problem.message}; at {due:%H:%M:%S} UTC the Rollout goes on all the same"
    return structs.replace(stop, problem=structs.replace(stop.problem, message=text))


def _promote(release: Release) -> Stop | None:
    """Write the owner's own values, and label every new pod with the release.

    In canary style the batch numbers belong to the extra Deployment's pods. No step created the workload's own pods,
    and the original does not label them. They are labelled only if the release will be recorded.
    """
    held = kept_paused(release) if release.kind is WorkloadKind.DEPLOYMENT else None
    if held is not None and _still_frozen(release):
        # Other rolling update limits are a scale event, which a pause does not stop.
        return release.stop(problem=held)
    unmade = release.style is Style.CANARY and not release.seen.histories_kept
    labels = () if unmade else batches.missing_labels(release, release.promoted_pods)
    if labels and not _still_frozen(release):
        return release.stop(*labels)
    return _resume_workload(release)


def _services_keep_a_pod(release: Release) -> Stop | None:
    """Before requests return to a stable Service, it exists; before the last pod that it selects goes, it selects pods
    that stay.
    """
    problem = last_endpoints.missing_behind_routes(release)
    problem = problem or last_endpoints.selects_none_of_the_template(release)
    return release.stop(problem=problem) if problem is not None else None


def _services_keep_a_pod_for_a_while(release: Release) -> Stop | None:
    """A Rollout that goes: requests would return to a missing Service, or, while it holds the workload, the workload's
    own controller would remove that pod next.
    """
    problem = last_endpoints.missing_behind_routes(release)
    if problem is None and _still_frozen(release):
        problem = last_endpoints.selects_none_of_the_template(release)
    return _for_a_while(release, release.stop(problem=problem)) if problem is not None else None


def _services_keep_a_stable_pod(release: Release) -> Stop | None:
    problem = last_endpoints.missing_behind_routes(release)
    problem = problem or last_endpoints.selects_no_stable_pod(release)
    return release.stop(problem=problem) if problem is not None else None


def _clear_abandoned(release: Release) -> Stop | None:
    return mechanism_of(release).clear_abandoned(release)


def _fit(release: Release) -> Stop | None:
    actions = mechanism_of(release).delete_excess(release)
    return release.stop(*actions) if actions else None


def _only_stable_returns(release: Release) -> Stop | None:
    return mechanism_of(release).only_stable_returns(release) if not release.replicas else None


def _bring_stable_back(release: Release) -> Stop | None:
    return mechanism_of(release).bring_stable_back(release) if release.replicas else None


def _grace_period_of_pods(release: Release) -> Stop | None:
    """Wait for the grace period after the routes have left; without pods, there is nothing to wait for."""
    return _grace_period(release) if release.replicas else None


def _send_new_away(release: Release) -> Stop | None:
    return mechanism_of(release).send_new_away(release) if release.replicas else None


def _release_control(release: Release) -> Stop | None:
    """Remove the mark of the release; from now on admission no longer protects the workload."""
    if not _still_frozen(release) and not _marked(release):
        return None
    return release.stop(mechanism_of(release).release(release, keep_mark=False))


def _release_for_deletion(release: Release) -> Stop | None:
    """As `_release_control`, for a Rollout that is being deleted: its label is removed, too."""
    taken = hold_on(release.workload.object).rollout not in (release.seen.rollout.metadata.name, "")
    held = _still_frozen(release) or _marked(release)
    # An undo that no webhook saw removes our annotations and leaves the label of the stable revision.
    labelled = release.labelled or names.STABLE_REVISION in release.meta.labels
    if taken or not (held or labelled):
        return None
    taken_off = mechanism_of(release).release(release, keep_mark=False, drop_label=True)
    # The label alone is not waited for: another Rollout of the workload would add it again, for ever.
    last: tuple[Action, ...] = () if held else (RemoveFinalizer(),)
    return release.stop(taken_off, *last)


def _marked(release: Release) -> bool:
    return hold_on(release.workload.object).rollout == release.seen.rollout.metadata.name


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
