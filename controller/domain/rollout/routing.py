"""Moving traffic for a step: pins, canary Services, margins, routes.

Invariant: a route points at a Service no sooner than the grace period after its ready endpoints were first seen (a
proxy learns of them a little later), and nothing behind a route goes sooner than the grace period after the route has
left it; what is behind one may be another gateway object (`restoring`). Both instants are kept in status; a missing
one counts as now, so a crash makes waits longer, never shorter.
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
    EnsureCanaryService,
    EnsureRoutes,
    Note,
    PinService,
    Reference,
    Refusal,
    RehearseRoutes,
    RoutePlan,
    UnpinService,
)
from controller.domain.observation import RouteAbsent, RoutePresent, RouteUnreadable
from controller.domain.rollout.empty_sides import all_goes_to_new, led_away
from controller.domain.rollout.situation import Situation, Style, position
from controller.domain.rollout.status import with_position
from controller.domain.rollout.turn import Stop
from controller.domain.traffic.abilities import left_out, name_of_script, unsayable
from controller.domain.traffic.descent import depth_reached
from controller.domain.traffic.plan import announcement, route_plan, share_of
from controller.domain.traffic.selecting import selects_pods, unusable
from controller.domain.traffic.services import shared_service_tells_apart

GATEWAY_OBJECT_IN_USE = "GatewayObjectInUse"
GIVEN_BACK = "given-back-above-"
"""Before the depth of the objects that are still in use, where what pointed at them is its owner's again."""
SEVERAL = "several"
"""What is kept in the place of a plan while the objects follow different ones."""


# --- what is so -------------------------------------------------------------------------------------


def routes_from(sit: Situation, index: int) -> bool:
    """This step or a later one routes traffic."""
    return any(step.routes_traffic for step in sit.steps[index - 1 :])


def follows_pods(sit: Situation, index: int) -> bool:
    """Traffic follows the pods: a step that says nothing of it, after one that does."""
    before = any(step.routes_traffic for step in sit.steps[: index - 1])
    return before and not sit.step(index).routes_traffic


def pin_is_wanted(sit: Situation, index: int) -> bool:
    """The stable Service leads to the stable revision only.

    From the first step of a release that routes traffic in any later one (the original pins at step 1 only, B19), but
    not at one without traffic after steps with it, and not where a partition step takes all replicas: pinned, the
    Service would lead nowhere.
    """
    return (
        bool(sit.strategy.traffic_routings)
        and not sit.shared
        and routes_from(sit, index)
        and not sit.takes_all(index)
        and not follows_pods(sit, index)
    )


def pinned_to(sit: Situation, service: str) -> str:
    """Revision a Service is pinned to, or an empty string."""
    found = sit.service(service)
    return found.spec.selector.get(sit.revision_label, "") if found is not None else ""


def made_for(service: Service, rollout_uid: str) -> bool:
    """The canary Service was made for this Rollout.

    An annotation says so; of one that an earlier version made, a label. The original controller owns it by reference.
    """
    meta = service.metadata
    said = (meta.annotations.get(names.ROLLOUT_UID), meta.labels.get(names.ROLLOUT_UID))
    return rollout_uid in said or any(owner.uid == rollout_uid for owner in meta.owner_references)


def observed_plan(sit: Situation) -> str | None:
    """The plan all gateway objects follow; empty when none is in use; None while they differ.

    Where what nothing points at is given back, no plan says any more how things stand: how deep they have come does.
    """
    depth = depth_reached(sit.seen.routes)
    if depth:
        return f"{GIVEN_BACK}{depth}"
    plans = {
        route.state.plan if route.state.in_use else ""
        for route in sit.seen.routes
        if isinstance(route.state, RoutePresent)
    }
    if not plans:
        return ""
    return plans.pop() if len(plans) == 1 else None


def says_given_back(plan: str) -> bool:
    """What was observed is that everything above some objects that are still in use was given back."""
    return plan.startswith(GIVEN_BACK)


def noted_routes(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """Keep the instant at which the gateway objects were first seen to follow what they follow now."""
    plan, known = observed_plan(sit), position(status)
    if plan is None:
        # They may lead again: when they are given back once more, that is to be seen as new.
        plan = SEVERAL if says_given_back(known.route_plan) else known.route_plan
    lost = says_given_back(plan) and known.routed_at is None
    if plan == known.route_plan and not lost:
        return status
    return with_position(status, route_plan=plan, routed_at=sit.now)


def margin_end(sit: Situation, status: RolloutStatus) -> datetime | None:
    """When the pods behind the previous route may go; None when that is now."""
    routed_at = position(status).routed_at
    if routed_at is None or routed_at + sit.grace <= sit.now:
        return None
    return routed_at + sit.grace


# --- Services ---------------------------------------------------------------------------------------


def unusable_services(sit: Situation) -> Refusal | None:
    """A stable Service that does not exist, or cannot lead to one revision only."""
    for name in sit.stable_services:
        found = sit.service(name)
        if found is not None:
            refusal = unusable(found, (sit.revision_label,))
            if refusal is not None:
                return refusal
        else:
            return Refusal(
                reason=reasons.SERVICE_NOT_FOUND,
                message=f"Service {sit.namespace}/{name} does not exist: create it, or correct "
                "trafficRoutings[].service",
                object=f"Service {sit.namespace}/{name}",
            )
    return None


def unreadable_routes(sit: Situation) -> Refusal | None:
    """A gateway object that does not exist or cannot be read."""
    for route in sit.seen.routes:
        named = f"{route.reference.kind} {sit.namespace}/{route.reference.name}"
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


def unsayable_steps(sit: Situation) -> Refusal | None:
    """A step that asks of a gateway object what its script cannot say: told before anything is made or moved."""
    for number, step in enumerate(sit.steps, start=1):
        left = _left_out(sit, step)
        for route in sit.seen.routes:
            missing = unsayable(step, route.reference, route.can)
            if missing and route.reference not in left:
                return Refusal(
                    reason=reasons.STEP_UNSAYABLE,
                    message=f"step {number} cannot be carried out: {name_of_script(route.reference)} cannot "
                    f"{' or '.join(missing)}; change the step, or lead the traffic otherwise",
                    object=f"{route.reference.kind} {sit.namespace}/{route.reference.name}",
                )
    return None


def pin(sit: Situation, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """Stable Services that have to be pinned, or un-pinned, for this step.

    Not pinned is one whose stable pods are gone: it leads to everybody until they are back. One that is pinned to pods
    which no step has taken is left to `guarding`, which says so.
    """
    if pin_is_wanted(sit, index):
        return pinned(sit, status)
    return unpin(sit) if pin_is_over(sit, index) else ()


def pin_is_over(sit: Situation, index: int) -> bool:
    """A step was planned at which nothing is pinned."""
    unrouted = not routes_from(sit, index) or follows_pods(sit, index)
    return unrouted or sit.leaves_none(index)


def pinned(sit: Situation, status: RolloutStatus) -> tuple[Action, ...]:
    """Stable Services that do not lead to the stable revision alone, and could."""
    revision = position(status).stable_revision
    return tuple(
        PinService(
            found.metadata.key, found.metadata.resource_version, sit.revision_label, revision
        )
        for name in sit.stable_services
        if (found := sit.service(name)) is not None
        and selects_pods(found, (sit.revision_label,))
        and pinned_to(sit, name) != revision
        and not led_away(status, name)
    )


def unpin(sit: Situation) -> tuple[UnpinService, ...]:
    """Stable Services that are pinned by us and should lead to every pod their owner selects."""
    return tuple(
        UnpinService(found.metadata.key, found.metadata.resource_version, sit.revision_label)
        for name in sit.stable_services
        if (found := sit.service(name)) is not None and names.PINNED in found.metadata.labels
    )


def stable_services_are_blind(sit: Situation) -> bool:
    """Un-pinned, and the slices do not show yet that they lead to the new pods as well."""
    if sit.shared:
        return False
    return any(_does_not_lead_to_new_pods(sit, name) for name in sit.stable_services)


def _does_not_lead_to_new_pods(sit: Situation, name: str) -> bool:
    """New pods that the Service's owner selects are ready, and none is among its endpoints yet."""
    service = sit.service(name)
    if service is None:
        return False
    wanted = {
        pod.metadata.uid
        for pod in sit.new_pods
        if pod.ready_since is not None
        and service.spec.selector.items() <= pod.metadata.labels.items()
    }
    return bool(wanted) and not wanted & sit.ready_endpoints(name)


def widened_canary_services(sit: Situation) -> tuple[Action, ...]:
    """Canary Services that should lead to every revision, because the pods of the new one are about to go."""
    return tuple(
        UnpinService(found.metadata.key, found.metadata.resource_version, sit.revision_label)
        for found in _own_canary_services(sit)
        if sit.revision_label in found.spec.selector
    )


def canary_services_are_narrow(sit: Situation, revision: str) -> bool:
    """The slices of a canary Service do not show yet that it leads to pods of this revision as well."""
    ready = {pod.metadata.uid for pod in sit.pods_of(revision) if pod.ready_since is not None}
    return bool(ready) and any(
        not ready & sit.ready_endpoints(found.metadata.name) for found in _own_canary_services(sit)
    )


def _own_canary_services(sit: Situation) -> tuple[Service, ...]:
    if sit.shared:
        return ()
    uid = sit.seen.rollout.metadata.uid
    return tuple(
        found
        for stable in sit.stable_services
        if (found := sit.service(sit.canary_service_of(stable))) is not None
        and made_for(found, uid)
    )


def canary_services(sit: Situation) -> tuple[Action, ...]:
    """Canary Services that are missing, or select another revision."""
    revision = sit.new_revision
    if sit.shared or not revision:
        return ()
    patch = sit.strategy.patch_pod_template_metadata
    labels = patch.labels if patch is not None and sit.style is Style.CANARY else {}
    return tuple(
        EnsureCanaryService(
            stable=Key(sit.namespace, stable),
            name=sit.canary_service_of(stable),
            label=sit.revision_label,
            revision=revision,
            rollout_uid=sit.seen.rollout.metadata.uid,
            selector_patch=labels,
        )
        for stable in sit.stable_services
        if pinned_to(sit, sit.canary_service_of(stable)) != revision
    )


# --- routes -----------------------------------------------------------------------------------------


def wanted_plan(sit: Situation, status: RolloutStatus, index: int) -> RoutePlan:
    """What the gateway objects have to say at this step; all to the new revision while nobody else answers."""
    step = Step(traffic="100%") if all_goes_to_new(status) else sit.step(index)
    return _plan_of(sit, status, step)


def share_led(sit: Situation, status: RolloutStatus) -> float | None:
    """The new revision's share by what the gateway objects follow now; None where both have one, or nobody can tell."""
    plan = observed_plan(sit)
    if plan == announcement(_plan_of(sit, status, Step())).identity:
        return 0.0
    steps = (*sit.steps, Step(traffic="100%"))
    led = (s for s in steps if s.routes_traffic and _plan_of(sit, status, s).identity == plan)
    step = next(led, None)
    return None if step is None or step.matches else share_of(step.traffic)


def followed_again(sit: Situation, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """Gateway objects that gave everything to the new revision give it the step's share again."""
    routed = sit.routes_lead and sit.step(index).routes_traffic and not sit.takes_all(index)
    if not routed or observed_plan(sit) != _plan_of(sit, status, Step(traffic="100%")).identity:
        return ()
    return ensure_routes(sit, status, index)


def _plan_of(sit: Situation, status: RolloutStatus, step: Step) -> RoutePlan:
    return route_plan(
        namespace=sit.namespace,
        rollout=sit.seen.rollout.metadata.name,
        release=position(status).release,
        references=sit.references,
        step=step,
        pod_metadata=sit.strategy.patch_pod_template_metadata or PatchMetadata(),
        rollout_uid=sit.seen.rollout.metadata.uid,
        left_out=_left_out(sit, step),
    )


def _left_out(sit: Situation, step: Step) -> tuple[Reference, ...]:
    """Gateway objects that cannot match as the step asks, while another one can."""
    return left_out(step, [(route.reference, route.can) for route in sit.seen.routes])


def endpoints_seen(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """Keep the instant at which each Service that a route will name first led to a ready new pod."""
    new = {pod.metadata.uid for pod in sit.new_pods if pod.ready_since is not None}
    since = dict(position(status).endpoints_ready_since)
    for stable in sit.stable_services:
        name = sit.canary_service_of(stable)
        if name not in since and new and new <= sit.ready_endpoints(name):
            since[name] = sit.now
    return with_position(status, endpoints_ready_since=since)


def endpoints_margin(sit: Situation, status: RolloutStatus) -> Stop | None:
    """Wait until every Service the route will name has led to the new pods for the grace period."""
    since = position(status).endpoints_ready_since
    wanted = [sit.canary_service_of(stable) for stable in sit.stable_services]
    new = {pod.metadata.uid for pod in sit.new_pods if pod.ready_since is not None}
    if not new or any(name not in since or not new <= sit.ready_endpoints(name) for name in wanted):
        return Stop(status=status)
    due = max((since[name] + sit.grace for name in wanted), default=sit.now)
    if (announced_at := position(status).announced_at) is not None:
        due = max(due, announced_at + sit.grace)
    return Stop(status=status, wake_at=due) if due > sit.now else None


def ensure_routes(sit: Situation, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """Gateway objects that do not follow this step's plan, or were touched by somebody else."""
    return _ensured(sit, wanted_plan(sit, status, index))


def rehearsal(sit: Situation, status: RolloutStatus, index: int) -> tuple[Action, ...]:
    """Before the first new pod: the scripts of the first step with traffic are heard.

    What they refuse (nothing that leads to stable, a mistake of their own) would stop the release with pods that
    nobody needs; the original finds out at that point.
    """
    if sit.new_pods or sit.routes_in_use or not sit.seen.routes:
        return ()
    first = next(
        (
            number
            for number in range(index, len(sit.steps) + 1)
            if sit.step(number).routes_traffic and not sit.takes_all(number)
        ),
        None,
    )
    return () if first is None else (RehearseRoutes(wanted_plan(sit, status, first)),)


def everything_to_new(sit: Situation, status: RolloutStatus) -> tuple[Action, ...]:
    """Gateway objects that do not give all traffic to the new revision."""
    return _ensured(sit, _plan_of(sit, status, Step(traffic="100%")))


def _ensured(sit: Situation, plan: RoutePlan) -> tuple[Action, ...]:
    wrong = any(
        not isinstance(route.state, RoutePresent)
        or route.state.plan != plan.identity
        or route.state.touched
        or route.state.edited
        for route in sit.seen.routes
    )
    touched = any(isinstance(r.state, RoutePresent) and r.state.touched for r in sit.seen.routes)
    return (EnsureRoutes(plan, at=sit.now if touched else None),) if wrong else ()


def revisions_are_mixed(sit: Situation, status: RolloutStatus) -> Refusal | None:
    """One shared Service, and the gateway objects do not keep new pods out of the old share."""
    if not sit.shared or not sit.seen.routes:
        return None
    reason = shared_service_tells_apart(
        sit.seen.routes, _stable_labels(sit, status), _new_labels(sit)
    )
    if reason is None:
        return None
    return Refusal(reason=reasons.SHARED_SERVICE_MIXES_REVISIONS, message=reason)


def _stable_labels(sit: Situation, status: RolloutStatus) -> dict[str, str]:
    """Labels of the pods that run before the release."""
    running = sit.pods_of(position(status).stable_revision)
    return running[0].metadata.labels if running else sit.workload.template_labels


def _new_labels(sit: Situation) -> dict[str, str]:
    """Labels of the pods a step makes."""
    patch = sit.strategy.patch_pod_template_metadata
    added = patch.labels if patch is not None and sit.style is Style.CANARY else {}
    return {**sit.workload.template_labels, **added}


def routed_note(sit: Situation, index: int) -> Note:
    """Said once a step's routes are in place."""
    step = sit.step(index)
    what = "requests that match go" if step.matches else f"{step.traffic} of the traffic goes"
    names_left = ", ".join(map(name_of_script, _left_out(sit, step)))
    kept = f"; all that comes through {names_left} goes to the stable version" if names_left else ""
    return Note(reasons.ROUTED, f"step({index}): {what} to the new version{kept}")
