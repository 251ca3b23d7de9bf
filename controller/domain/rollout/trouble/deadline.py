"""Reports a release whose present step, or whose end, takes longer than its plan allows, and names the missing pods.

Invariant: unless the plan says Rollback, a deadline stops nothing: the work continues, and when it succeeds later the
release goes on and the problem disappears. The end of a release is never rolled back; its clock starts when its goal is
set. Time spent waiting for people never counts: for an approval, while the spec is paused, or while a problem is
reported that only people can solve. Nor does time that the product itself chooses to wait (`wait_by_choice`): grace
periods, the time for which a Service is only named, and the time before a gateway object names what is new.
"""

from datetime import datetime

from msgspec import structs

from controller.api.rollout import RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import EnsureRoutes, Refusal
from controller.domain.rollout.moving.batches import batch_is_ready
from controller.domain.rollout.routes.confirming import untaken
from controller.domain.rollout.trouble.reverting import given_up
from controller.domain.rollout.trouble.stuck import pod_troubles, steady, trouble_of, with_trouble
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import canary_status, moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.status import with_moonshift_status
from controller.domain.rollout.words.transition import Stop
from controller.domain.work_deadline import deadline_of

NAMED_PODS = 3
"""Unready pods that the message names; a person looks at one of them first."""
ROLLBACK = "Rollback"
"""Value of `onDeadlineExceeded`."""
_WORKING = (
    StepState.BEFORE_STEP_UPGRADE,
    StepState.STEP_UPGRADE,
    StepState.STEP_TRAFFIC_ROUTING,
)


def with_deadline(release: Release, stop: Stop) -> Stop:
    """`stop`, stalled if its work has taken too long; time does not count while people have to help first, or the
    product waits by its own choice.
    """
    if stop.problem is not None:
        return held_up(release, stop)
    if stop.by_choice or _a_name_settles(stop):
        waiting, began = held_up(release, stop), _began(stop.status)
        return with_trouble(release, waiting, began) if began is not None else waiting
    return _stalled_in_time(release, _resumed(release, stop))


def _a_name_settles(stop: Stop) -> bool:
    """A gateway object waits for the grace period of the objects that it names, which is a wait by choice, too."""
    return any(
        isinstance(action, EnsureRoutes) and action.settles_in > 0 for action in stop.actions
    )


def held_up(release: Release, stop: Stop) -> Stop:
    """`stop`, with the clock of the work stopped."""
    ours = moonshift_status(stop.status)
    unmeasured = release.strategy.progress_deadline_seconds is None or _began(stop.status) is None
    if unmeasured or ours.held_up_since is not None:
        return stop
    return stop.at(with_moonshift_status(stop.status, held_up_since=release.now))


def _resumed(release: Release, stop: Stop) -> Stop:
    """`stop`, with the clock running again from the point where it stopped."""
    held, began = moonshift_status(stop.status).held_up_since, _began(stop.status)
    if held is None:
        return stop
    status = with_moonshift_status(stop.status, held_up_since=None)
    if began is not None:
        worked = began + (release.now - max(held, began))
        status = with_moonshift_status(status, worked_since=worked)
    return stop.at(status)


def _stalled_in_time(release: Release, stop: Stop) -> Stop:
    began = _began(stop.status)
    if began is None:
        return _reported_while_waiting(release, stop)
    stop = with_trouble(release, stop, began)
    deadline = deadline_of(began, release.strategy.progress_deadline_seconds, release.now)
    if deadline is None:
        return stop
    if not deadline.exceeded:
        return stop.also(wake_at=deadline.due)
    problem = _stuck(release, stop)
    ends = bool(moonshift_status(stop.status).goal)
    if release.strategy.on_deadline_exceeded == ROLLBACK and not ends:
        taken_back = given_up(release.at(stop.status), problem.message)
        if taken_back is not None:
            return taken_back
    return structs.replace(stop, problem=problem)


def _reported_while_waiting(release: Release, stop: Stop) -> Stop:
    """New pods may fail while the step waits for people or a timer: this is reported, and the pause continues."""
    ours = moonshift_status(stop.status)
    rests = ours.state in (StepState.STEP_METRICS_ANALYSIS, StepState.STEP_PAUSED)
    if not rests or batch_is_ready(release, ours.step, release.ready(release.new_pods)):
        return stop
    return with_trouble(release, stop, ours.state_since or release.now)


def _began(status: RolloutStatus) -> datetime | None:
    """When the present work began; None while the step waits for people or a timer."""
    began = _first_began(status)
    later = moonshift_status(status).worked_since
    return began if began is None or later is None else max(began, later)


def _first_began(status: RolloutStatus) -> datetime | None:
    ours = moonshift_status(status)
    if ours.goal:
        return ours.goal_since
    if ours.state not in _WORKING or not ours.visits:
        return None
    present = ours.visits[-1]
    # A step that was ready once and lost its pods starts its work again then, even after a long wait for people.
    return present.started_at if present.ready_at is None else ours.state_since


def _stuck(release: Release, stop: Stop) -> Refusal:
    ours, seconds = moonshift_status(stop.status), release.strategy.progress_deadline_seconds
    trouble = trouble_of(release.at(stop.status))
    if ours.goal == Goal.SCALED_AWAY:
        counted = release.ready(release.pods_of(ours.stable_revision))
        text = (
            f"the way back from zero replicas has taken more than {seconds} s: {counted.ready} of {release.replicas} "
            "stable pods are ready"
        )
    elif ours.goal:
        part = canary_status(stop.status).finalising_step
        text = (
            f"the end of the release ({ours.goal}) has taken more than {seconds} s, it is at {part}"
        )
    else:
        named_elsewhere = trouble.pod if trouble is not None else ""
        missing = _missing(release.at(stop.status), named_elsewhere)
        text = f"step({ours.step}) has taken more than {seconds} s: {missing}"
    if trouble is not None:
        head = f"{text}; "
        text = steady(release, reasons.DEADLINE_EXCEEDED, head, f"{head}{pod_troubles(trouble)}")
    return Refusal(reasons.DEADLINE_EXCEEDED, text, object=release.workload_name)


def _missing(release: Release, named_elsewhere: str) -> str:
    """The pods that the step waits for, without the pod that the rest of the message names."""
    ours = release.ours
    if ours.state == StepState.STEP_TRAFFIC_ROUTING:
        if words := untaken(release):
            return words
        return "its routes are not in place yet, or the old share of the pods is not removed"
    counted, wanted = release.ready(release.new_pods), release.wanted(ours.step)
    unready = [
        pod.metadata.name
        for pod in release.new_pods
        if pod.ready_since is None
        and not pod.metadata.deleting
        and pod.metadata.name != named_elsewhere
    ]
    named = ", ".join(sorted(unready)[:NAMED_PODS])
    more = f" and {len(unready) - NAMED_PODS} more" if len(unready) > NAMED_PODS else ""
    of_these = f"; not ready: {named}{more}" if unready else ""
    return f"{counted.ready} of {wanted} new pods are ready{of_these}"
