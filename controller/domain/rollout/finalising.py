"""The end of a release: put traffic, Services and workload right, in an order in which nobody is lost.

Every goal is a sequence of facts, looked at from the first on each pass; the first that is not yet so is the
`finalisingStep` clients see. There is no stored position, so a crash, or a change of goal half-way, cannot skip one
(the original resumed a step of another sequence, D05). After the last approval the share of the new revision never
falls: the workload is upgraded before the routes are restored (the original restores first and sends everybody back
to the old pods for a while). On rollback, deletion and disabling the routes go to stable first.
"""

from collections.abc import Callable
from enum import StrEnum

from controller.api.rollout import FinalisingStep, RolloutStatus
from controller.domain.decision import (
    Action,
    DeleteCanaryDeployment,
    DeleteCanaryService,
    RemoveFinalizer,
)
from controller.domain.pods.marks import marked_for
from controller.domain.rollout import autoscalers, batches, empty_sides, restoring, routing
from controller.domain.rollout.moving.choice import mechanism_of
from controller.domain.rollout.returning import unmark
from controller.domain.rollout.shared_routing import leave
from controller.domain.rollout.situation import Situation, Style, position
from controller.domain.rollout.status import with_canary
from controller.domain.rollout.turn import Stop


class Goal(StrEnum):
    """Why a release ends."""

    SUCCESS = "Success"
    ROLLBACK = "Rollback"
    CONTINUOUS = "Continuous"
    """Another revision came; what the abandoned one changed is put right before the release starts again."""
    DISABLED = "RolloutDisabled"
    DELETING = "RolloutDeleting"
    WORKLOAD_GONE = "WorkloadGone"
    SCALED_AWAY = "ScaledAway"
    """The workload has, or had, no replicas: the stable revision comes back alone, and the release begins again."""


Part = Callable[[Situation, RolloutStatus], Stop | None]


def finalise(sit: Situation, status: RolloutStatus, goal: Goal) -> Stop | None:
    """Bring about the next fact of the goal's sequence; None when all are so."""
    for step, part in _SEQUENCES[goal]:
        named = with_canary(status, finalising_step=step)
        stop = part(sit, named)
        if stop is not None:
            return stop
    return None


# --- traffic ------------------------------------------------------------------------------------


def _restore_routes(sit: Situation, status: RolloutStatus) -> Stop | None:
    """All gateway objects are their owner's again."""
    stop = restoring.restore(sit, status)
    if stop is not None:
        return stop
    problem = restoring.unrestorable(sit, status)
    return Stop(status=status, problem=problem) if problem is not None else None


def _route_to_new(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Blue-green: all traffic to the new pods, and the margin over, before the old ones go all at once."""
    if sit.style is not Style.BLUE_GREEN or not sit.routes_lead:
        return None
    actions = routing.everything_to_new(sit, status)
    return Stop(status=status, actions=actions) if actions else _margin(sit, status)


def _margin(sit: Situation, status: RolloutStatus) -> Stop | None:
    due = routing.margin_end(sit, status)
    return Stop(status=status, wake_at=due) if due is not None else None


def _unpin(sit: Situation, status: RolloutStatus) -> Stop | None:
    # A Rollout that never began a release has pinned nothing: the pin is another's, on a Service both name.
    actions = routing.unpin(sit) if position(status).workload_uid else ()
    return Stop(status=status, actions=actions) if actions else None


def _unpin_and_see_it(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Un-pin, then wait until the stable Services really lead to the new pods as well."""
    stop = _unpin(sit, status)
    if stop is not None:
        return stop
    return Stop(status=status) if routing.stable_services_are_blind(sit) else None


def _remove_canary(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Canary Services and extra Deployments go, once nothing has led there for the margin."""
    actions = (*_canary_service_deletions(sit), *_canary_deletions(sit))
    if not actions:
        return None if not sit.seen.canaries else Stop(status=status)
    return _margin(sit, status) or Stop(status=status, actions=actions)


def _canary_service_deletions(sit: Situation) -> tuple[Action, ...]:
    if sit.shared:
        return ()
    uid = sit.seen.rollout.metadata.uid
    return tuple(
        DeleteCanaryService(found.metadata.key, found.metadata.uid)
        for name in map(sit.canary_service_of, sit.stable_services)
        if (found := sit.service(name)) is not None
        and routing.made_for(found, uid)
        and not found.metadata.deleting
    )


def _canary_deletions(sit: Situation) -> tuple[Action, ...]:
    return tuple(
        DeleteCanaryDeployment(extra.deployment.metadata.key, extra.deployment.metadata.uid)
        for extra in sit.seen.canaries
        if not extra.deployment.metadata.deleting
    )


# --- the workload -------------------------------------------------------------------------------


def _still_held(sit: Situation) -> bool:
    """We hold the workload; what another Rollout holds is not ours to release."""
    name = sit.seen.rollout.metadata.name
    ours = marked_for(sit.workload.object) in (name, "")
    return ours and (sit.owners is not None or sit.latched)


def _resume_workload(sit: Situation, status: RolloutStatus) -> Stop | None:
    """The owner's own values, in one patch; then wait until the workload is of its template."""
    if _still_held(sit):
        return Stop(status=status, actions=(mechanism_of(sit).release(sit, keep_mark=True),))
    return mechanism_of(sit).promoted(sit, status)


def _promote(sit: Situation, status: RolloutStatus) -> Stop | None:
    """The owner's own values, and every pod that comes of it says which release made it."""
    labels = batches.missing_labels(sit, status, sit.promoted_pods)
    if labels and not _still_held(sit):
        return Stop(status=status, actions=labels)
    return _resume_workload(sit, status)


def _restore_stable_capacity(sit: Situation, status: RolloutStatus) -> Stop | None:
    """A rollback with too few stable pods ready: grow them before the traffic comes back.

    Two thirds of the wanted size are enough to take all traffic for the moment it needs. The canary Services lead to
    stable pods as well meanwhile: the routes that still name them never lead nowhere.
    """
    if not sit.routes_lead:
        return None
    stable = sit.ready(sit.pods_of(position(status).stable_revision))
    if 3 * stable.ready >= 2 * sit.replicas:
        return None
    actions = mechanism_of(sit).refill(sit, stable)
    if actions is None:
        # Nothing can be grown: no route goes back to a revision of which no pod is ready, while the new one answers.
        waits = not stable.ready and empty_sides.new_answers(sit, status)
        return Stop(status=status) if waits else None
    widened = routing.widened_canary_services(sit)
    if widened or routing.canary_services_are_narrow(sit, position(status).stable_revision):
        return Stop(status=status, actions=widened)
    return Stop(status=status, actions=actions, wake_at=stable.next_at)


def _clear_abandoned(sit: Situation, status: RolloutStatus) -> Stop | None:
    return mechanism_of(sit).clear_abandoned(sit, status)


def _fit(sit: Situation, status: RolloutStatus) -> Stop | None:
    actions = mechanism_of(sit).fit(sit)
    return Stop(status=status, actions=actions) if actions else None


def _only_stable_returns(sit: Situation, status: RolloutStatus) -> Stop | None:
    return mechanism_of(sit).only_stable_returns(sit, status) if not sit.replicas else None


def _bring_stable_back(sit: Situation, status: RolloutStatus) -> Stop | None:
    return mechanism_of(sit).bring_stable_back(sit, status) if sit.replicas else None


def _margin_of_pods(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Nothing that routes led to a moment ago goes at once; where there are no pods, nothing is lost."""
    return _margin(sit, status) if sit.replicas else None


def _send_new_away(sit: Situation, status: RolloutStatus) -> Stop | None:
    return mechanism_of(sit).send_new_away(sit, status) if sit.replicas else None


def _release_control(sit: Situation, status: RolloutStatus) -> Stop | None:
    """The mark of the release goes; from here on admission no longer protects the workload."""
    if not _still_held(sit) and not _marked(sit):
        return None
    return Stop(status=status, actions=(mechanism_of(sit).release(sit, keep_mark=False),))


def _let_go(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Like `_release_control`, for a Rollout that goes away: its label goes too."""
    taken = marked_for(sit.workload.object) not in (sit.seen.rollout.metadata.name, "")
    held = _still_held(sit) or _marked(sit)
    if taken or not (held or sit.labelled):
        return None
    release = mechanism_of(sit).release(sit, keep_mark=False, drop_label=True)
    # The label alone is not waited for: another Rollout of the workload would put it on again, for ever.
    last: tuple[Action, ...] = () if held else (RemoveFinalizer(),)
    return Stop(status=status, actions=(release, *last))


def _marked(sit: Situation) -> bool:
    return marked_for(sit.workload.object) == sit.seen.rollout.metadata.name


_SEQUENCES: dict[Goal, tuple[tuple[FinalisingStep, Part], ...]] = {
    Goal.SUCCESS: (
        (FinalisingStep.ROUTE_TO_NEW, _route_to_new),
        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin_and_see_it),
        (FinalisingStep.RESUME_WORKLOAD, _promote),
        (FinalisingStep.ROUTE_TO_STABLE, leave),
        (FinalisingStep.ROUTE_TO_STABLE, _restore_routes),
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, autoscalers.free),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, unmark),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, _release_control),
    ),
    Goal.ROLLBACK: (
        (FinalisingStep.ROUTE_TO_STABLE, _restore_stable_capacity),
        (FinalisingStep.ROUTE_TO_STABLE, leave),
        (FinalisingStep.ROUTE_TO_STABLE, _restore_routes),
        (FinalisingStep.ROUTE_TO_STABLE, _margin),
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RESUME_WORKLOAD, _resume_workload),
        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, autoscalers.free),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, unmark),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, _release_control),
    ),
    Goal.CONTINUOUS: (
        (FinalisingStep.ROUTE_TO_STABLE, leave),
        (FinalisingStep.ROUTE_TO_STABLE, _restore_routes),
        (FinalisingStep.ROUTE_TO_STABLE, _margin),
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, _clear_abandoned),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, unmark),
    ),
    Goal.DISABLED: (
        (FinalisingStep.ROUTE_TO_STABLE, leave),
        (FinalisingStep.ROUTE_TO_STABLE, _restore_routes),
        (FinalisingStep.ROUTE_TO_STABLE, _margin),
        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin_and_see_it),
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, autoscalers.free),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, unmark),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, _release_control),
    ),
    Goal.DELETING: (
        (FinalisingStep.ROUTE_TO_STABLE, leave),
        (FinalisingStep.ROUTE_TO_STABLE, _restore_routes),
        (FinalisingStep.ROUTE_TO_STABLE, _margin),
        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin_and_see_it),
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, autoscalers.free),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, unmark),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, _let_go),
    ),
    Goal.WORKLOAD_GONE: (
        (FinalisingStep.RESTORE_STABLE_SERVICE, _unpin),
        (FinalisingStep.ROUTE_TO_STABLE, leave),
        (FinalisingStep.ROUTE_TO_STABLE, _restore_routes),
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RELEASE_WORKLOAD_CONTROL, autoscalers.free),
    ),
    # Not un-pinned: ready new pods may outlive the stable ones at zero, and step 1 pins again.
    Goal.SCALED_AWAY: (
        (FinalisingStep.RESUME_WORKLOAD, _only_stable_returns),
        (FinalisingStep.RESUME_WORKLOAD, _bring_stable_back),
        (FinalisingStep.ROUTE_TO_STABLE, leave),
        (FinalisingStep.ROUTE_TO_STABLE, _restore_routes),
        (FinalisingStep.ROUTE_TO_STABLE, _margin_of_pods),
        (FinalisingStep.RESUME_WORKLOAD, _send_new_away),
        (FinalisingStep.REMOVE_CANARY_SERVICE, _remove_canary),
        (FinalisingStep.RESUME_WORKLOAD, _fit),
    ),
}
