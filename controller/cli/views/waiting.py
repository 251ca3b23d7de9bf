"""The present wait of a release, in one sentence without ages, and the waits that end by the clock.

Invariant: a stall outranks everything, as it does for the controller; the text names the object that a person would
look at. This module reads the observation on which the controller decides, so both describe the same state.
"""

from datetime import datetime, timedelta

from controller.api.rollout import FinalisingStep, Phase, Rollout, RolloutStatus, StepState
from controller.api.workload_kinds import workload_kind
from controller.cli.views.gates import waits_for_metrics
from controller.cli.views.pod_troubles import PASSING, unready_because
from controller.cli.views.steps import steps_of
from controller.cli.views.view import TimerView
from controller.domain import reasons
from controller.domain.observation import RoutePresent
from controller.domain.rollout.approvals.pause import (
    a_person_ends_the_step,
    awaits_approval,
    was_approved,
)
from controller.domain.rollout.ends.stable_capacity import stable_pods_are_needed
from controller.domain.rollout.routes import routing
from controller.domain.rollout.trouble.serving_alone import NOBODY_WOULD_SERVE
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import (
    canary_status,
    current_state,
    current_step,
    moonshift_status,
)
from controller.domain.rollout.words.release_value import Release, of_rollout_alone
from controller.domain.rollout.words.status import condition
from controller.domain.target import Traffic

NOTHING = "nothing"
APPROVAL = "an approval"
PAUSE_OF_STEP = "the pause of this step to end"
REPLICAS = "the workload to have replicas: it is scaled to zero"
NODES = "a node for the workload's pods: no node accepts them"
RESUME = "`kubectl moonshift resume`: spec.strategy.paused is true"

_FINALISING = {
    FinalisingStep.ROUTE_TO_STABLE: "the routes to be as their owners wrote them",
    FinalisingStep.ROUTE_TO_NEW: "the routes to lead to the new revision",
    FinalisingStep.RESTORE_STABLE_SERVICE: "the stable Service to lead to ready pods without its pin",
    FinalisingStep.REMOVE_CANARY_SERVICE: "the canary Service and Deployment to be removed, after their grace period",
    FinalisingStep.RESUME_WORKLOAD: "all pods of the workload to be ready",
    FinalisingStep.RELEASE_WORKLOAD_CONTROL: "the workload to have its owner's own values again",
}


def stalled(status: RolloutStatus) -> str:
    """Why only a person can help; empty when nothing is stalled."""
    found = condition(status, "Stalled")
    if found is None or found.status != "True":
        return ""
    return ": ".join(filter(None, (found.reason, found.message))) or "a problem without a message"


def at_zero(status: RolloutStatus) -> bool:
    """The workload was scaled to zero during the release; that does not end the release."""
    return status.phase == Phase.PROGRESSING and moonshift_status(status).goal == Goal.SCALED_AWAY


def pods_asked_for(rollout: Rollout) -> str:
    """The need of a workload without pods: replicas, or nodes if its kind has no replicas."""
    ref = rollout.spec.workload_ref
    kind = workload_kind(ref.group, ref.kind)
    return REPLICAS if kind is None or kind.has_replicas else NODES


def may_go_on(status: RolloutStatus) -> bool:
    """Approving the step may end the stall: one side has no ready pods, and the next step may need no pods there.

    Not while another template waits: no step of the release so far goes on then.
    """
    found = condition(status, "Stalled")
    return (
        found is not None
        and found.status == "True"
        and found.reason == reasons.SIDE_WITHOUT_ENDPOINTS
        and NOBODY_WOULD_SERVE not in found.message
    )


def wait_verb(is_stalled: bool) -> str:
    """The words before `waits_for`: only a person can end a stall, so a stall is not called a wait."""
    return "is stalled by" if is_stalled else "waits for"


def wait_sentence(rollout: Rollout) -> str:
    """`waits for an approval`, `is stalled by ServiceNotFound: …`."""
    return f"{wait_verb(bool(stalled(rollout.status)))} {waits_for(rollout)}"


def waits_for(rollout: Rollout, release: Release | None = None) -> str:
    """The present wait of the release; with a `release` the text also gives counts of pods and names of objects."""
    status = rollout.status
    if problem := stalled(status):
        return problem
    if not status.phase:
        return "a controller: none has seen this Rollout yet"
    if status.phase == Phase.INITIAL:
        return f"its workload: {status.message}" if status.message else "its workload"
    if status.phase == Phase.HEALTHY and rollout.metadata.generation > status.observed_generation:
        return "the controller to see the latest change"
    if status.phase in (Phase.HEALTHY, Phase.DISABLED):
        return NOTHING
    if given_back := _routes_restored(status, release) or _few_stable_pods(status, release):
        return given_back
    if at_zero(status) and _finalising(status) == FinalisingStep.NONE:
        return pods_asked_for(rollout)
    if status.phase != Phase.PROGRESSING or moonshift_status(status).goal:
        return _FINALISING.get(_finalising(status), "the controller to continue the release")
    if rollout.spec.strategy.paused:
        return RESUME
    return _in_step(rollout, release)


def _routes_restored(status: RolloutStatus, release: Release | None) -> str:
    """The grace period between restored routes and the objects that they named; empty when there is no such wait."""
    ending = _finalising(status) == FinalisingStep.ROUTE_TO_STABLE
    beginning = current_state(status) == StepState.BEFORE_STEP_UPGRADE
    if not routing.marks_partial_restore(moonshift_status(status).route_plan) or not (
        ending or beginning
    ):
        return ""
    named = "the objects that they named"
    if release is not None:
        below = [
            f"{route.reference.kind} {route.reference.name}"
            for route in release.seen.routes
            if isinstance(route.state, RoutePresent) and route.state.in_use
        ]
        named = ", ".join(below) or named
    return f"the grace period after the routes were restored; then {named} will be restored, too"


def _few_stable_pods(status: RolloutStatus, release: Release | None) -> str:
    """Stable pods that have to be ready before they get all traffic; empty when there are enough, or nobody waits."""
    ours = moonshift_status(status)
    returns = ours.goal in (Goal.ROLLBACK, Goal.CONTINUOUS)
    ending = _finalising(status) == FinalisingStep.ROUTE_TO_STABLE
    if release is None or release.seen.workload is None or not (returns and ending):
        return ""
    if not stable_pods_are_needed(release):
        return ""
    ready, enough = (
        release.ready(release.pods_of(ours.stable_revision)).ready,
        release.enough_for_all_traffic,
    )
    return f"{enough} ready pods of the old version, which then gets all traffic back: {ready} are ready"


def _finalising(status: RolloutStatus) -> FinalisingStep:
    text = canary_status(status).finalising_step
    return FinalisingStep(text) if text in frozenset(FinalisingStep) else FinalisingStep.NONE


def _in_step(rollout: Rollout, release: Release | None) -> str:
    state = current_state(rollout.status)
    match state:
        case StepState.STEP_PAUSED if awaits_approval(rollout):
            return APPROVAL
        case StepState.STEP_PAUSED if was_approved(rollout.status):
            return f"the controller to store that step({current_step(rollout.status)}) was approved"
        case StepState.STEP_PAUSED:
            return PAUSE_OF_STEP
        case StepState.STEP_UPGRADE if release is not None and release.seen.workload is not None:
            return upgrade_text(release)
        case StepState.STEP_TRAFFIC_ROUTING if (
            release is not None and release.seen.workload is not None
        ):
            return routing_text(release)
        case StepState.STEP_METRICS_ANALYSIS:
            return waits_for_metrics(rollout, current_step(rollout.status))
        case StepState.STEP_READY:
            return "the controller to begin the next step"
        case _:
            pass
    words: dict[str, str] = {
        StepState.BEFORE_STEP_UPGRADE: "the step to begin",
        StepState.STEP_UPGRADE: "the new pods of this step to be ready",
        StepState.STEP_TRAFFIC_ROUTING: "the routes to follow this step",
    }
    return words.get(state, "the controller to continue the release")


def upgrade_text(release: Release) -> str:
    """The number of the step's pods, and the problem of the first unready one."""
    wanted = release.batch(release.ours.step)
    counted = release.ready(release.new_pods)
    text = f"{wanted} new pods to be ready: {counted.pods} made, {counted.ready} ready"
    reasons_of_pods = ((pod.metadata.name, unready_because(pod)) for pod in release.new_pods)
    worst = next((f"{name}: {why}" for name, why in reasons_of_pods if why not in PASSING), "")
    return f"{text}; {worst}" if worst else text


def routing_text(release: Release) -> str:
    """The missing part: endpoints, routes or a grace period."""
    index = release.ours.step
    if release.target(index).traffic is not Traffic.DIVIDED:
        return "the old share of the pods to go"
    new = {pod.metadata.uid for pod in release.new_pods if pod.ready_since is not None}
    for stable in release.stable_services:
        name = release.canary_service_of(stable)
        if not new or not new <= release.ready_endpoints(name):
            return f"Service {name} to lead to the new pods"
    if routing.ensure_routes(release, index):
        if routing.settles_in(release):
            return "the grace period after gateway objects were written that others name"
        several = len(release.references) > 1
        objects = f"{len(release.references)} gateway objects" if several else "the gateway object"
        return f"{objects} to follow step {index}"
    return "the grace period after the routes moved"


def pause_of(rollout: Rollout) -> timedelta:
    """The length of the present pause; 0 if a person ends the pause, or in any other state."""
    status = rollout.status
    steps, now = steps_of(rollout.spec.strategy), current_step(status)
    paused = status.phase == Phase.PROGRESSING and current_state(status) == StepState.STEP_PAUSED
    if not paused or moonshift_status(status).goal or not 0 < now <= len(steps):
        return timedelta()
    if a_person_ends_the_step(of_rollout_alone(rollout)):
        return timedelta()
    return timedelta(seconds=steps[now - 1].pause.duration or 0)


def timers(release: Release) -> tuple[TimerView, ...]:
    """The waits that end by the clock and have not ended yet."""
    ours = release.ours
    found: list[tuple[str, datetime]] = []
    rollout = release.seen.rollout
    # while spec.paused holds the release, a timed pause does not end by the clock
    pause = timedelta() if rollout.spec.strategy.paused else pause_of(rollout)
    if pause and ours.state_since is not None:
        found.append(("pause of this step", ours.state_since + pause))
    found += [
        (f"grace period of Service {name}", since + release.grace)
        for name, since in ours.endpoints_ready_since.items()
    ]
    if ours.routed_at is not None:
        found.append(("grace period after the routes moved", ours.routed_at + release.grace))
    return tuple(TimerView(what, until) for what, until in found if until > release.now)
