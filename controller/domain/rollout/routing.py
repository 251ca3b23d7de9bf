"""Moves traffic for a step: pins, canary Services, grace periods, routes.

Invariant: a route names a Service no sooner than the grace period after its ready endpoints were first seen (a proxy
learns of them a little later), and nothing behind a route is removed sooner than the grace period after the route has
left it. Behind a route may be another gateway object (`restoring`). Both instants are kept in the status; a missing
instant counts as now, so a crash makes waits longer, never shorter.
"""

from datetime import datetime
from typing import assert_never

from controller.api import names
from controller.api.meta import Key
from controller.api.networking import Service
from controller.api.rollout import PatchMetadata, RolloutStatus, Step
from controller.domain import reasons
from controller.domain.decision import (
    Action,
    DeleteCanaryService,
    EnsureCanaryService,
    EnsureRoutes,
    Note,
    PartlySaid,
    PinService,
    Reference,
    Refusal,
    RehearseRoutes,
    RoutePlan,
    UnpinService,
)
from controller.domain.observation import RouteAbsent, RoutePresent, RouteUnreadable
from controller.domain.rollout.empty_sides import all_goes_to_new, led_away
from controller.domain.rollout.release_context import ReleaseContext, Style, moonshift_status
from controller.domain.rollout.status import with_moonshift_status
from controller.domain.rollout.transition import Stop
from controller.domain.traffic.abilities import left_out, name_of_script, partly, unsayable
from controller.domain.traffic.plan import announcement, route_plan, share_of
from controller.domain.traffic.selecting import selects_pods, unusable
from controller.domain.traffic.services import shared_service_tells_apart
from controller.domain.traffic.teardown_order import lowest_depth_in_use

GATEWAY_OBJECT_IN_USE = "GatewayObjectInUse"
GIVEN_BACK = "given-back-above-"
"""Stands before the depth of the objects in use, when all objects above them are restored."""
SEVERAL = "several"
"""Recorded instead of a plan while the objects follow different plans."""


# --- facts ------------------------------------------------------------------------------------------


def routes_from(context: ReleaseContext, index: int) -> bool:
    """This step or a later one routes traffic."""
    return any(step.routes_traffic for step in context.steps[index - 1 :])


def follows_pods(context: ReleaseContext, index: int) -> bool:
    """Traffic follows the pods: the step has no traffic setting, and an earlier step has one."""
    before = any(step.routes_traffic for step in context.steps[: index - 1])
    return before and not context.step(index).routes_traffic


def pin_is_wanted(context: ReleaseContext, index: int) -> bool:
    """The stable Service selects the stable revision only.

    From the first step of a release that routes traffic in this or a later step (the original pins at step 1 only,
    B19), but not at a step without traffic after steps with it, and not where a partition step replaces all pods: a
    pinned Service would select nothing.
    """
    return (
        bool(context.strategy.traffic_routings)
        and not context.shared
        and routes_from(context, index)
        and not context.takes_all(index)
        and not follows_pods(context, index)
    )


def pinned_to(context: ReleaseContext, service: str) -> str:
    """Revision a Service is pinned to, or an empty string."""
    found = context.service(service)
    return found.spec.selector.get(context.revision_label, "") if found is not None else ""


def made_for(service: Service, rollout_uid: str) -> bool:
    """The canary Service was made for this Rollout.

    An annotation says so; earlier versions used a label. The original controller owns it by an ownerReference.
    """
    meta = service.metadata
    said = (meta.annotations.get(names.ROLLOUT_UID), meta.labels.get(names.ROLLOUT_UID))
    return rollout_uid in said or any(owner.uid == rollout_uid for owner in meta.owner_references)


def observed_plan(context: ReleaseContext) -> str | None:
    """The plan that all gateway objects follow; empty when none is in use; None while they differ.

    Objects that nothing references are restored first. After that no plan describes the state; the depth of the objects
    in use does.
    """
    depth = lowest_depth_in_use(context.seen.routes)
    if depth:
        return f"{GIVEN_BACK}{depth}"
    plans = {
        route.state.plan if route.state.in_use else ""
        for route in context.seen.routes
        if isinstance(route.state, RoutePresent)
    }
    if not plans:
        return ""
    return plans.pop() if len(plans) == 1 else None


def says_given_back(plan: str) -> bool:
    """The recorded value means: all objects above those in use are restored."""
    return plan.startswith(GIVEN_BACK)


def noted_routes(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    """Record the instant at which the gateway objects were first seen to follow their present plan."""
    plan, known = observed_plan(context), moonshift_status(status)
    if plan is None:
        # The objects may be used again: their next restore has to be seen as new.
        plan = SEVERAL if says_given_back(known.route_plan) else known.route_plan
    lost = says_given_back(plan) and known.routed_at is None
    if plan == known.route_plan and not lost:
        return status
    return with_moonshift_status(status, route_plan=plan, routed_at=context.now)


def grace_period_end(context: ReleaseContext, status: RolloutStatus) -> datetime | None:
    """When the pods behind the previous route may be removed; None when that is now."""
    routed_at = moonshift_status(status).routed_at
    if routed_at is None or routed_at + context.grace <= context.now:
        return None
    return routed_at + context.grace


# --- Services ---------------------------------------------------------------------------------------


def unusable_services(context: ReleaseContext) -> Refusal | None:
    """A stable Service that does not exist, or cannot select one revision only."""
    for name in context.stable_services:
        found = context.service(name)
        if found is not None:
            refusal = unusable(found, (context.revision_label,))
            if refusal is not None:
                return refusal
        else:
            return Refusal(
                reason=reasons.SERVICE_NOT_FOUND,
                message=f"Service {context.namespace}/{name} does not exist: create it, or correct "
                "trafficRoutings[].service",
                object=f"Service {context.namespace}/{name}",
            )
    return None


def unreadable_routes(context: ReleaseContext) -> Refusal | None:
    """A gateway object that does not exist or cannot be read."""
    for route in context.seen.routes:
        named = f"{route.reference.kind} {context.namespace}/{route.reference.name}"
        match route.state:
            case RouteAbsent():
                return Refusal(
                    reason=reasons.GATEWAY_OBJECT_NOT_FOUND,
                    message=f"{named} does not exist: create it, or correct the reference",
                    object=named,
                )
            case RouteUnreadable(reason=reason, message=message):
                return Refusal(reason=reason, message=message, object=named)
            case RoutePresent():
                continue
            case _:
                assert_never(route.state)
    return None


def unsayable_steps(context: ReleaseContext) -> Refusal | None:
    """A step that needs an ability its gateway's script lacks: reported before anything is created or moved."""
    for number, step in enumerate(context.steps, start=1):
        excused = [
            *_left_out(context, step),
            *(part.reference for part in _partly(context, step)),
        ]
        for route in context.seen.routes:
            missing = unsayable(step, route.reference, route.can)
            if missing and route.reference not in excused:
                return Refusal(
                    reason=reasons.STEP_UNSAYABLE,
                    message=f"step {number} cannot be carried out: {name_of_script(route.reference)} cannot "
                    f"{' or '.join(missing)}; change the step, or lead the traffic otherwise",
                    object=f"{route.reference.kind} {context.namespace}/{route.reference.name}",
                )
    return None


def pin(context: ReleaseContext, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """Stable Services that have to be pinned, or un-pinned, for this step.

    A Service without stable pods is not pinned: it selects all revisions until they return. A Service that is pinned to
    pods that no step removed is left to `empty_side_routes`, which reports it.
    """
    if pin_is_wanted(context, index):
        return pinned(context, status)
    return unpin(context) if pin_is_over(context, index) else ()


def pin_is_over(context: ReleaseContext, index: int) -> bool:
    """The plan has an earlier step that pins, and nothing is pinned at this one."""
    unrouted = not routes_from(context, index) or follows_pods(context, index)
    return unrouted or context.leaves_none(index)


def pinned(context: ReleaseContext, status: RolloutStatus) -> tuple[Action, ...]:
    """Stable Services that do not select the stable revision only, and could."""
    revision = moonshift_status(status).stable_revision
    return tuple(
        PinService(
            found.metadata.key, found.metadata.resource_version, context.revision_label, revision
        )
        for name in context.stable_services
        if (found := context.service(name)) is not None
        and selects_pods(found, (context.revision_label,))
        and pinned_to(context, name) != revision
        and not led_away(status, name)
    )


def unpin(context: ReleaseContext) -> tuple[UnpinService, ...]:
    """Stable Services that we pinned and that should select every pod of their owner's selector."""
    return tuple(
        UnpinService(found.metadata.key, found.metadata.resource_version, context.revision_label)
        for name in context.stable_services
        if (found := context.service(name)) is not None and names.PINNED in found.metadata.labels
    )


def stable_services_are_blind(context: ReleaseContext) -> bool:
    """Un-pinned, but the slices do not contain the new pods yet."""
    if context.shared:
        return False
    return any(_does_not_lead_to_new_pods(context, name) for name in context.stable_services)


def _does_not_lead_to_new_pods(context: ReleaseContext, name: str) -> bool:
    """The Service's owner selects new pods that are ready, but none is among its endpoints yet."""
    service = context.service(name)
    if service is None:
        return False
    wanted = {
        pod.metadata.uid
        for pod in context.new_pods
        if pod.ready_since is not None
        and service.spec.selector.items() <= pod.metadata.labels.items()
    }
    return bool(wanted) and not wanted & context.ready_endpoints(name)


def widened_canary_services(context: ReleaseContext) -> tuple[Action, ...]:
    """Canary Services that should select every revision, because the pods of the new one are about to be removed."""
    return tuple(
        UnpinService(found.metadata.key, found.metadata.resource_version, context.revision_label)
        for found in _own_canary_services(context)
        if context.revision_label in found.spec.selector
    )


def canary_services_are_narrow(context: ReleaseContext, revision: str) -> bool:
    """The slices of a canary Service do not contain pods of this revision yet."""
    ready = {pod.metadata.uid for pod in context.pods_of(revision) if pod.ready_since is not None}
    return bool(ready) and any(
        not ready & context.ready_endpoints(found.metadata.name)
        for found in _own_canary_services(context)
    )


def _own_canary_services(context: ReleaseContext) -> tuple[Service, ...]:
    if context.shared:
        return ()
    uid = context.seen.rollout.metadata.uid
    return tuple(
        found
        for stable in context.stable_services
        if (found := context.service(context.canary_service_of(stable))) is not None
        and made_for(found, uid)
    )


def canary_services(context: ReleaseContext) -> tuple[Action, ...]:
    """Canary Services that are missing, or select another revision."""
    revision = context.new_revision
    if context.shared or not revision:
        return ()
    patch = context.strategy.patch_pod_template_metadata
    labels = patch.labels if patch is not None and context.style is Style.CANARY else {}
    return tuple(
        EnsureCanaryService(
            stable=Key(context.namespace, stable),
            name=context.canary_service_of(stable),
            label=context.revision_label,
            revision=revision,
            rollout_uid=context.seen.rollout.metadata.uid,
            selector_patch=labels,
            appends=context.seen.appends_pod_labels,
        )
        for stable in context.stable_services
        if pinned_to(context, context.canary_service_of(stable)) != revision
    )


def canary_service_deletions(context: ReleaseContext) -> tuple[Action, ...]:
    """Canary Services that were made for this Rollout and still exist."""
    return tuple(
        DeleteCanaryService(found.metadata.key, found.metadata.uid)
        for found in _own_canary_services(context)
        if not found.metadata.deleting
    )


def unused_canary_services(
    context: ReleaseContext, status: RolloutStatus, index: int
) -> Stop | None:
    """At a step without traffic settings no route names canary Services: they are deleted after the grace period."""
    if not follows_pods(context, index) or context.takes_all(index) or context.routes_in_use:
        return None
    actions = canary_service_deletions(context)
    if not actions:
        return None
    due = grace_period_end(context, status)
    if due is not None:
        return Stop(status, wake_at=due)
    return Stop(with_moonshift_status(status, endpoints_ready_since={}), actions)


# --- routes -----------------------------------------------------------------------------------------


def wanted_plan(context: ReleaseContext, status: RolloutStatus, index: int) -> RoutePlan:
    """The plan of the gateway objects at this step; all to the new revision while no stable pod is ready."""
    step = Step(traffic="100%") if all_goes_to_new(status) else context.step(index)
    return _plan_of(context, status, step)


def share_led(context: ReleaseContext, status: RolloutStatus) -> float | None:
    """The new revision's share in the plan that the gateway objects follow; None where the share is not known."""
    plan = observed_plan(context)
    if plan == announcement(_plan_of(context, status, Step())).identity:
        return 0.0
    steps = (*context.steps, Step(traffic="100%"))
    led = (s for s in steps if s.routes_traffic and _plan_of(context, status, s).identity == plan)
    step = next(led, None)
    return None if step is None or step.matches else share_of(step.traffic)


def followed_again(
    context: ReleaseContext, status: RolloutStatus, index: int
) -> tuple[Action, ...]:
    """Gateway objects that sent everything to the new revision get the step's share again."""
    routed = (
        context.routes_lead and context.step(index).routes_traffic and not context.takes_all(index)
    )
    if (
        not routed
        or observed_plan(context) != _plan_of(context, status, Step(traffic="100%")).identity
    ):
        return ()
    return ensure_routes(context, status, index)


def _plan_of(context: ReleaseContext, status: RolloutStatus, step: Step) -> RoutePlan:
    return route_plan(
        namespace=context.namespace,
        rollout=context.seen.rollout.metadata.name,
        release=moonshift_status(status).release,
        references=context.references,
        step=step,
        pod_metadata=context.strategy.patch_pod_template_metadata or PatchMetadata(),
        rollout_uid=context.seen.rollout.metadata.uid,
        left_out=_left_out(context, step),
        partly=_partly(context, step),
    )


def _left_out(context: ReleaseContext, step: Step) -> tuple[Reference, ...]:
    """Gateway objects that cannot match as the step asks, while another one can."""
    return left_out(step, [(route.reference, route.can) for route in context.seen.routes])


def _partly(context: ReleaseContext, step: Step) -> tuple[PartlySaid, ...]:
    """Gateway objects that can say some alternatives of the step, while another one can say all."""
    return partly(step, [(route.reference, route.can) for route in context.seen.routes])


def endpoints_seen(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    """Record the instant at which each Service that a route will name first had a ready new pod."""
    new = {pod.metadata.uid for pod in context.new_pods if pod.ready_since is not None}
    since = dict(moonshift_status(status).endpoints_ready_since)
    for stable in context.stable_services:
        name = context.canary_service_of(stable)
        if name not in since and new and new <= context.ready_endpoints(name):
            since[name] = context.now
    return with_moonshift_status(status, endpoints_ready_since=since)


def endpoints_grace_period(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Wait until every Service that the route will name has had the new pods for the grace period."""
    since = moonshift_status(status).endpoints_ready_since
    wanted = [context.canary_service_of(stable) for stable in context.stable_services]
    new = {pod.metadata.uid for pod in context.new_pods if pod.ready_since is not None}
    if not new or any(
        name not in since or not new <= context.ready_endpoints(name) for name in wanted
    ):
        return Stop(status=status)
    due = max((since[name] + context.grace for name in wanted), default=context.now)
    if (announced_at := moonshift_status(status).announced_at) is not None:
        due = max(due, announced_at + context.grace)
    return Stop(status=status, wake_at=due) if due > context.now else None


def ensure_routes(context: ReleaseContext, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """Gateway objects that do not follow this step's plan, or that somebody else changed."""
    return _ensured(context, wanted_plan(context, status, index))


def rehearsal(context: ReleaseContext, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """Before the first new pod: run the scripts of the first step with traffic, without writing.

    A refusal by a script (no rule leads to stable, a defect of the script) would otherwise stop the release with pods
    that nobody needs; the original finds out only then.
    """
    if context.new_pods or context.routes_in_use or not context.seen.routes:
        return ()
    first = next(
        (
            number
            for number in range(index, len(context.steps) + 1)
            if context.step(number).routes_traffic and not context.takes_all(number)
        ),
        None,
    )
    return () if first is None else (RehearseRoutes(wanted_plan(context, status, first)),)


def everything_to_new(context: ReleaseContext, status: RolloutStatus) -> tuple[Action, ...]:
    """Gateway objects that do not send all traffic to the new revision."""
    return _ensured(context, _plan_of(context, status, Step(traffic="100%")))


def _ensured(context: ReleaseContext, plan: RoutePlan) -> tuple[Action, ...]:
    wrong = any(
        not isinstance(route.state, RoutePresent)
        or route.state.plan != plan.identity
        or route.state.touched
        or route.state.edited
        for route in context.seen.routes
    )
    touched = any(
        isinstance(r.state, RoutePresent) and r.state.touched for r in context.seen.routes
    )
    return (EnsureRoutes(plan, at=context.now if touched else None),) if wrong else ()


def revisions_are_mixed(context: ReleaseContext, status: RolloutStatus) -> Refusal | None:
    """One shared Service, and gateway objects that do not keep new pods out of the old share."""
    if not context.shared or not context.seen.routes:
        return None
    reason = shared_service_tells_apart(
        context.seen.routes, _stable_labels(context, status), _new_labels(context)
    )
    if reason is None:
        return None
    return Refusal(reason=reasons.SHARED_SERVICE_MIXES_REVISIONS, message=reason)


def _stable_labels(context: ReleaseContext, status: RolloutStatus) -> dict[str, str]:
    """Labels of the pods before the release."""
    running = context.pods_of(moonshift_status(status).stable_revision)
    return running[0].metadata.labels if running else context.workload.template_labels


def _new_labels(context: ReleaseContext) -> dict[str, str]:
    """Labels of the pods that a step creates."""
    patch = context.strategy.patch_pod_template_metadata
    added = patch.labels if patch is not None and context.style is Style.CANARY else {}
    return {**context.workload.template_labels, **added}


def routed_note(context: ReleaseContext, index: int) -> Note:
    """The note after a step's routes are in place."""
    step = context.step(index)
    what = "requests that match go" if step.matches else f"{step.traffic} of the traffic goes"
    names_left = ", ".join(map(name_of_script, _left_out(context, step)))
    kept = f"; all that comes through {names_left} goes to the stable version" if names_left else ""
    parts = "".join(
        f"; through {name_of_script(part.reference)} those of {len(part.matches)} of {len(step.matches)} matches do"
        for part in _partly(context, step)
    )
    return Note(reasons.ROUTED, f"step({index}): {what} to the new version{parts}{kept}")
