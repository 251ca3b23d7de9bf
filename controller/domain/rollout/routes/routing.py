"""Moves traffic for a step: the plan of its routes, and the grace periods around them.

Invariant: a route names a Service no sooner than the grace period after its ready endpoints were first seen (a proxy
learns of them a little later), and nothing behind a route is removed sooner than the grace period after the route has
left it. Behind a route may be another gateway object (`restoring`). Both instants are kept in the status; a missing
instant counts as now, so a crash makes waits longer, never shorter.
"""

from datetime import datetime
from operator import itemgetter
from typing import assert_never

from controller.api.duration import later
from controller.api.rollout import PatchMetadata, RolloutStatus, Step
from controller.domain import reasons
from controller.domain.availability import or_correct
from controller.domain.decision import (
    Action,
    EnsureRoutes,
    Note,
    PartialMatches,
    Reference,
    Refusal,
    RehearseRoutes,
    RoutePlan,
    Severity,
)
from controller.domain.observation import RouteAbsent, RoutePresent, RouteUnreadable
from controller.domain.rollout.routes.empty_sides import all_goes_to_new
from controller.domain.rollout.words.release_context import Style, moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.status import condition, with_moonshift_status
from controller.domain.rollout.words.transition import Stop
from controller.domain.rollout.words.way_out import create_or, references_may_change
from controller.domain.target import Traffic
from controller.domain.traffic import named_content
from controller.domain.traffic.drift.policy import DRIFTED, Drift
from controller.domain.traffic.drift.reaction import drift_of, with_drift
from controller.domain.traffic.plan.abilities import (
    left_out,
    missing_abilities,
    name_of_script,
    partial_matches,
)
from controller.domain.traffic.plan.traffic_plan import announcement, route_plan, share_of
from controller.domain.traffic.restoring.teardown_order import lowest_depth_in_use
from controller.domain.traffic.validation.services import why_shared_service_mixes

GIVEN_BACK = "given-back-above-"
"""Prefix of the recorded plan when objects are restored: the depth of the objects still in use follows it."""
SEVERAL = "several"
"""Recorded instead of a plan while the objects follow different plans."""


OF_THE_ORIGINAL = "of the original"
"""Recorded for gateway objects that the original controller wrote: they do not name a plan."""


def observed_plan(release: Release) -> str | None:
    """The plan that all gateway objects follow; empty when none is in use; None while they differ.

    Objects that nothing references are restored first. After that no plan describes the state; the depth of the objects
    in use does.
    """
    depth = lowest_depth_in_use(release.seen.routes)
    if depth:
        return f"{GIVEN_BACK}{depth}"
    plans = {
        (route.state.plan or OF_THE_ORIGINAL) if route.state.in_use else ""
        for route in release.seen.routes
        if isinstance(route.state, RoutePresent)
    }
    if not plans:
        return ""
    return plans.pop() if len(plans) == 1 else None


def marks_partial_restore(plan: str) -> bool:
    """The recorded value means that all objects of smaller depth than the objects in use are restored."""
    return plan.startswith(GIVEN_BACK)


def noted_routes(release: Release) -> Release:
    """Record the instants at which the gateway objects were first seen to follow their present plan, and to say what
    other ones may name.
    """
    known = release.ours.named_content
    named = named_content.noted(known, release.seen.routes, release.now)
    if named != known:
        release = release.noting(named_content=named)
    return _noted_plan(release)


def _noted_plan(release: Release) -> Release:
    plan, known = observed_plan(release), release.ours
    if plan is None:
        # The objects may be used again: their next restore must count as a new one.
        plan = SEVERAL if marks_partial_restore(known.route_plan) else known.route_plan
    lost = marks_partial_restore(plan) and known.routed_at is None
    if plan == known.route_plan and not lost:
        return release
    noted = release.noting(route_plan=plan, routed_at=release.now)
    return release.at(_unannounced(noted.status)) if _all_are_restored(release) else noted


def _all_are_restored(release: Release) -> bool:
    """Every gateway object is known, and none follows a plan of ours."""
    return all(
        isinstance(route.state, RoutePresent) and not route.state.in_use
        for route in release.seen.routes
    )


def _unannounced(status: RolloutStatus) -> RolloutStatus:
    """No object names a canary Service any more: the next share is announced again."""
    return with_moonshift_status(status, announced_at=None, withdrawn_at=None)


def grace_period_end(release: Release) -> datetime | None:
    """When the pods behind the previous route may be removed; None when that is now."""
    routed_at = release.ours.routed_at
    if routed_at is None or later(routed_at, release.grace) <= release.now:
        return None
    return later(routed_at, release.grace)


def unreadable_routes(release: Release) -> Refusal | None:
    """A gateway object that does not exist or cannot be read."""
    for route in release.seen.routes:
        named = route.reference.name_in(release.namespace)
        match route.state:
            case RouteAbsent():
                return Refusal(
                    reason=reasons.GATEWAY_OBJECT_NOT_FOUND,
                    message=f"{named} does not exist: {create_or('the reference', release.status)}",
                    object=named,
                )
            case RouteUnreadable(reason=reason, message=message, why=why):
                if references_may_change(release.status):
                    message = or_correct(message, why, "apiVersion and kind")
                return Refusal(reason=reason, message=message, object=named)
            case RoutePresent():
                continue
            case _:
                assert_never(route.state)
    return None


def unsupported_step(release: Release) -> Refusal | None:
    """A step that needs an ability its gateway's script lacks: reported before anything is created or moved."""
    for number, step in enumerate(release.steps, start=1):
        excused = [
            *_left_out(release, step),
            *(part.reference for part in _partial_matches(release, step)),
        ]
        for route in release.seen.routes:
            missing = missing_abilities(step, route.reference, route.can)
            if missing and route.reference not in excused:
                return Refusal(
                    reason=reasons.UNSUPPORTED_STEP,
                    message=f"step {number} cannot be carried out: {name_of_script(route.reference)} cannot "
                    f"{' or '.join(missing)}; change the step, or route the traffic by another object",
                    object=route.reference.name_in(release.namespace),
                )
    return None


def wanted_plan(release: Release, index: int) -> RoutePlan:
    """The plan of the gateway objects at this step; all to the new revision while no stable pod is ready."""
    step = Step(traffic="100%") if all_goes_to_new(release.status) else release.step(index)
    return _plan_of(release, step)


def present_share(release: Release) -> float | None:
    """The new revision's share in the plan that the gateway objects follow; None if the share is not known."""
    plan = observed_plan(release)
    if plan == announcement(_plan_of(release, Step())).identity:
        return 0.0
    steps = (*release.steps, Step(traffic="100%"))
    led = (s for s in steps if s.routes_traffic and _plan_of(release, s).identity == plan)
    step = next(led, None)
    return None if step is None or step.matches else share_of(step.traffic)


def route_step_again(release: Release, index: int) -> tuple[Action, ...]:
    """Gateway objects that sent everything to the new revision get the step's share again."""
    routed = release.routes_lead and release.target(index).traffic is Traffic.DIVIDED
    if not routed or observed_plan(release) != _plan_of(release, Step(traffic="100%")).identity:
        return ()
    return ensure_routes(release, index)


def _plan_of(release: Release, step: Step) -> RoutePlan:
    return route_plan(
        namespace=release.namespace,
        rollout=release.seen.rollout.metadata.name,
        release=release.ours.release,
        references=release.references,
        step=step,
        pod_metadata=release.strategy.patch_pod_template_metadata or PatchMetadata(),
        rollout_uid=release.seen.rollout.metadata.uid,
        left_out=_left_out(release, step),
        partial=_partial_matches(release, step),
        stable_labels=stable_labels(release),
    )


def _left_out(release: Release, step: Step) -> tuple[Reference, ...]:
    """Gateway objects that cannot match as the step asks, while another one can."""
    return left_out(step, [(route.reference, route.can) for route in release.seen.routes])


def _partial_matches(release: Release, step: Step) -> tuple[PartialMatches, ...]:
    """Gateway objects that can express some alternatives of the step, while another one can express all."""
    return partial_matches(step, [(route.reference, route.can) for route in release.seen.routes])


def endpoints_seen(release: Release) -> Release:
    """Record the instant at which each Service that a route will name first had a ready new pod."""
    new = {pod.metadata.uid for pod in release.new_pods if pod.ready_since is not None}
    since = dict(release.ours.endpoints_ready_since)
    for stable in release.stable_services:
        name = release.canary_service_of(stable)
        if name not in since and new and new <= release.ready_endpoints(name):
            since[name] = release.now
    return release.noting(endpoints_ready_since=since)


def endpoints_grace_period(release: Release) -> Stop | None:
    """Wait until every Service that the route will name has had the new pods for the grace period."""
    since = release.ours.endpoints_ready_since
    wanted = [release.canary_service_of(stable) for stable in release.stable_services]
    new = {pod.metadata.uid for pod in release.new_pods if pod.ready_since is not None}
    if not new or any(
        name not in since or not new <= release.ready_endpoints(name) for name in wanted
    ):
        return release.stop(brief=True)
    due = max((since[name] + release.grace for name in wanted), default=release.now)
    return release.wait(due) if due > release.now else None


def ensure_routes(release: Release, index: int) -> tuple[Action, ...]:
    """Gateway objects that do not follow this step's plan, or that somebody else changed."""
    return _ensured(release, wanted_plan(release, index))


def noted_drift(release: Release, index: int) -> tuple[Release, Drift]:
    """The drift of the objects that the release uses in this step, and the status with the reaction to it."""
    before, written = release.stored, release.seen.routes
    # As stored: the plan and the drift that a former pass saw.
    last, routed = condition(before, DRIFTED), moonshift_status(before).route_plan
    was_held = last is not None and last.status == "True"
    unwritten = not was_held and routed != wanted_plan(release, index).identity
    if unwritten or marks_partial_restore(routed):
        written = ()  # the step's routes were not written yet, or we have restored those that name others
    drift = drift_of(
        release.seen.routes, written, release.namespace, before.conditions, release.now
    )
    conditions = with_drift(release.status.conditions, drift, release.now)
    return release.reporting(conditions=conditions), drift


def rehearsal(release: Release, index: int) -> tuple[Action, ...]:
    """Before the first new pod: run the scripts of all steps with traffic, without writing.

    A refusal by a script (no rule routes to stable, a defect of the script) would otherwise stop the release after it
    created pods in vain, as it does in the original. The refusal of a later step would come after old pods have gone.
    """
    if release.new_pods or release.routes_in_use or not release.seen.routes:
        return ()
    plans = {
        plan.identity: (number, plan)
        for number in range(len(release.steps), index - 1, -1)
        if release.target(number).traffic is Traffic.DIVIDED
        for plan in (wanted_plan(release, number),)
    }
    if not plans:
        return ()
    (_, first), *later = sorted(plans.values(), key=itemgetter(0))
    return (RehearseRoutes(first, tuple(later)),)


def everything_to_new(release: Release) -> tuple[Action, ...]:
    """Gateway objects that do not send all traffic to the new revision."""
    return _ensured(release, _plan_of(release, Step(traffic="100%")))


def settles_in(release: Release) -> float:
    """Seconds until a gateway object may name what deeper ones say."""
    named = release.ours.named_content
    return named_content.settles_in(named, release.grace, release.now)


def _ensured(release: Release, plan: RoutePlan) -> tuple[Action, ...]:
    wrong = any(
        not isinstance(route.state, RoutePresent)
        or route.state.plan != plan.identity
        or route.state.touched
        or route.state.edited
        for route in release.seen.routes
    )
    touched = any(
        isinstance(r.state, RoutePresent) and r.state.touched for r in release.seen.routes
    )
    if not wrong:
        return ()
    at = release.now if touched else None
    return (EnsureRoutes(plan, at, settles_in(release)),)


def revisions_are_mixed(release: Release) -> Refusal | None:
    """One shared Service, and gateway objects that do not keep new pods out of the old share."""
    if not release.shared or not release.seen.routes:
        return None
    reason = why_shared_service_mixes(
        release.seen.routes, stable_labels(release) or {}, _new_labels(release)
    )
    if reason is None:
        return None
    return Refusal(reason=reasons.SHARED_SERVICE_MIXES_REVISIONS, message=reason)


def stable_labels(release: Release) -> dict[str, str] | None:
    """Labels of the pods before the release; None without a workload, whose routes must come back all the same."""
    if release.seen.workload is None:
        return None
    running = release.pods_of(release.ours.stable_revision)
    return running[0].metadata.labels if running else release.workload.template_labels


def _new_labels(release: Release) -> dict[str, str]:
    """Labels of the pods that a step creates."""
    patch = release.strategy.patch_pod_template_metadata
    added = patch.labels if patch is not None and release.style is Style.CANARY else {}
    return {**release.workload.template_labels, **added}


def all_goes_to_new_because(release: Release, index: int) -> str:
    """A step that asks for a part of the requests and leaves no old pod to take the rest; empty otherwise.

    5 % of one replica is one pod: pods are rounded up, as the original does, and the requests follow the pods.
    """
    step = release.step(index)
    as_before = release.target(index).traffic is Traffic.AS_BEFORE
    if not (as_before and step.routes_traffic) or share_of(step.traffic) == 100:
        return ""
    asked = "the requests that match" if step.matches else f"{step.traffic} of the traffic"
    pods = release.batch(index)
    made = f"all {pods} pods are" if pods > 1 else "the only pod is"
    return (
        f"step({index}) asks for {asked}, but {made} new by its replicas: {step.replicas}; all of the traffic goes to "
        "the new version"
    )


def routed_note(release: Release, index: int) -> Note:
    """The note after a step's routes are in place."""
    step = release.step(index)
    if whole := all_goes_to_new_because(release, index):
        return Note(reasons.ROUTED, whole, Severity.WARNING)
    share = "requests that match go" if step.matches else f"{step.traffic} of the traffic goes"
    names_left = ", ".join(map(name_of_script, _left_out(release, step)))
    kept = f"; all that comes through {names_left} goes to the stable version" if names_left else ""
    parts = "".join(
        f"; through {name_of_script(part.reference)} those of {len(part.matches)} of {len(step.matches)} matches do"
        for part in _partial_matches(release, step)
    )
    return Note(reasons.ROUTED, f"step({index}): {share} to the new version{parts}{kept}")
