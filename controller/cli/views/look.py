"""Computes the views from an observation. Pure: the clock is an argument, nothing is read.

Invariant: pods, revisions and Services are distinguished by the controller's own rules (owner and pod-template-hash,
never by names).
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec
from msgspec import structs

from controller.api.jsontree import JsonObject
from controller.api.names import ROLLOUT_BATCH_ID
from controller.api.rollout import BUSY_PHASES, Rollout, StepState
from controller.api.workloads import Pod
from controller.cli.views.checks import check_views
from controller.cli.views.gates import gate_views
from controller.cli.views.given_up import given_up_text
from controller.cli.views.images import images_of
from controller.cli.views.pod_troubles import unready_because
from controller.cli.views.routes import route_views, shared_routes_view
from controller.cli.views.steps import (
    next_text,
    step_views,
    steps_of,
    under_way,
)
from controller.cli.views.view import (
    ApprovalView,
    ConditionView,
    PodView,
    RevisionView,
    Role,
    RolloutView,
    ServiceView,
    Summary,
)
from controller.cli.views.waiting import may_go_on, stalled, timers, waits_for
from controller.domain.availability import Unavailable
from controller.domain.observation import Observation
from controller.domain.rollout.approvals.pause import awaits_approval
from controller.domain.rollout.routes.routing import all_goes_to_new_because
from controller.domain.rollout.routes.services import pinned_to
from controller.domain.rollout.words.release_context import (
    canary_status,
    current_state,
    current_step,
    moonshift_status,
)
from controller.domain.rollout.words.release_value import Release, as_stored
from controller.domain.rollout.words.status import condition
from controller.domain.rollout.words.way_out import references_may_change
from controller.kube.resources import DEPLOYMENTS, ENDPOINT_SLICES, PODS, REPLICA_SETS, SERVICES


def summary_of(rollout: Rollout, release: Release | None = None) -> Summary:
    """The line of the table."""
    status, inner, ref = rollout.status, canary_status(rollout.status), rollout.spec.workload_ref
    return Summary(
        namespace=rollout.metadata.namespace,
        name=rollout.metadata.name,
        phase=status.phase,
        step=current_step(status),
        steps=len(steps_of(rollout.spec.strategy)),
        state=current_state(status),
        waits_for=waits_for(rollout, release),
        workload=f"{ref.kind}/{ref.name}",
        workload_group=ref.group,
        since=since_when(rollout),
        created=rollout.metadata.creation_timestamp,
        stable_revision=inner.stable_revision,
        canary_revision=_new_revision(rollout),
        canary_replicas=inner.canary_replicas,
        canary_ready_replicas=inner.canary_ready_replicas,
        message=status.message,
        paused=rollout.spec.strategy.paused,
        stalled=bool(stalled(status)),
        may_go_on=may_go_on(status) and awaits_approval(rollout),
    )


def _new_revision(rollout: Rollout) -> str:
    """The value of its pods' label: `canaryRevision` of a Deployment is on no pod."""
    inner = canary_status(rollout.status)
    ours = rollout.spec.workload_ref.kind == DEPLOYMENTS.kind
    return inner.pod_template_hash or ("" if ours else inner.canary_revision)


def since_when(rollout: Rollout) -> datetime | None:
    """The time at which the present state began."""
    status = rollout.status
    stall = condition(status, "Stalled")
    if stall is not None and stall.status == "True":
        return stall.last_transition_time
    entered = moonshift_status(status).state_since or canary_status(status).last_update_time
    return entered or rollout.metadata.creation_timestamp


_COUNTING_PODS = frozenset({PODS.name, REPLICA_SETS.name})
"""Kinds without which the pods, or their owners, are not known."""


def look_at(seen: Observation, now: datetime, gaps: Mapping[str, Unavailable]) -> RolloutView:
    """Everything that is shown; nothing is counted of a kind that cannot be read."""
    rollout = seen.rollout
    context = as_stored(seen, now)
    replicas = context.replicas if seen.workload is not None else None
    pods_known = seen.workload is not None and not _COUNTING_PODS & gaps.keys()
    counted = pods_known and not {SERVICES.name, ENDPOINT_SLICES.name} & gaps.keys()
    return RolloutView(
        summary=summary_of(rollout, context if counted else None),
        replicas=replicas,
        revisions=revision_views(context) if pods_known else (),
        services=_services(context, gaps),
        shared_routes=shared_routes_view(context),
        workload_fixed=rollout.status.phase in BUSY_PHASES,
        routes_fixed=rollout.status.phase in BUSY_PHASES
        and not (references_may_change(rollout.status) and stalled(rollout.status)),
        routes=route_views(context) if seen.workload is not None or seen.routes else (),
        next=next_text(rollout, replicas),
        steps=step_views(rollout, replicas),
        timers=timers(context),
        gates=gate_views(rollout),
        checks=check_views(rollout),
        conditions=tuple(
            ConditionView(c.type, c.status, c.reason, c.message, c.last_transition_time)
            for c in rollout.status.conditions
        ),
        approvals=tuple(
            ApprovalView(a.step, a.by, a.at, a.message)
            for a in moonshift_status(rollout.status).approvals
        ),
        gaps=tuple(f"{resource}: {why.message}" for resource, why in gaps.items()),
        overrun=_overrun(context) if seen.workload is not None else "",
        given_up=given_up_text(rollout, _images_of_new(context)),
    )


def _services(release: Release, gaps: Mapping[str, Unavailable]) -> tuple[ServiceView, ...]:
    if SERVICES.name in gaps:
        return ()
    found = service_views(release)
    if ENDPOINT_SLICES.name not in gaps:
        return found
    return tuple(structs.replace(service, endpoints=None) for service in found)


_PODS_ARE_THERE = (StepState.STEP_METRICS_ANALYSIS, StepState.STEP_PAUSED, StepState.STEP_READY)


def _overrun(release: Release) -> str:
    """Said once the pods of the step are there: before, old ones may still take their part of the requests."""
    ours = release.ours
    if not under_way(release.status) or not release.steps:
        return ""
    if ours.goal or ours.state not in _PODS_ARE_THERE:
        return ""
    return all_goes_to_new_because(release, ours.step)


def revision_views(release: Release) -> tuple[RevisionView, ...]:
    """Stable first, then the new revision, then remains of others."""
    status = release.status
    stable = moonshift_status(status).stable_revision or canary_status(status).stable_revision
    busy = under_way(status)
    new = release.new_revision if busy else ""
    roles = {stable: Role.STABLE} | ({new: Role.CANARY} if new and new != stable else {})
    pods = [*release.workload.pods, *(pod for extra in release.seen.canaries for pod in extra.pods)]
    if not busy and pods:
        # at rest the one running revision is the stable one, also if the last release called it new
        running = release.present_revision
        roles = {running: Role.STABLE} if running else {}
    revisions = dict.fromkeys([*filter(None, roles), *(pod.revision for pod in pods)])
    views = [
        _revision(release, revision, roles.get(revision, Role.OTHER), pods)
        for revision in revisions
    ]
    order = list(Role)
    return tuple(sorted(views, key=lambda view: order.index(view.role)))


def _revision(release: Release, revision: str, role: Role, pods: Iterable[Pod]) -> RevisionView:
    mine = sorted(
        (pod for pod in pods if pod.revision == revision),
        key=lambda pod: (_batch_number(pod), pod.metadata.name),
    )
    wanted = None
    if role is Role.CANARY:
        wanted = release.wanted(release.ours.step)
    return RevisionView(
        role=role,
        revision=revision,
        images=_images(release, revision),
        pods=tuple(_pod(pod) for pod in mine),
        ready=release.ready(mine).ready,
        wanted=wanted,
    )


def _images(release: Release, revision: str) -> str:
    """The revision's images; empty if its template is not known."""
    kept = [
        bytes(rs.spec.template)
        for workload in (release.workload, *release.seen.canaries)
        for rs, _ in workload.replica_sets
        if rs.revision == revision
    ]
    if not kept and revision == release.present_revision:
        kept = [bytes(release.workload.object.spec.template)]
    return images_of(msgspec.json.decode(kept[-1], type=JsonObject)) if kept else ""


def _images_of_new(release: Release) -> str:
    """The images of the last release; empty if its template is not kept."""
    if release.seen.workload is None:
        return ""
    revision = canary_status(release.status).pod_template_hash
    return _images(release, revision) if revision else ""


def _batch_number(pod: Pod) -> int:
    text = pod.metadata.labels.get(ROLLOUT_BATCH_ID, "")
    return int(text) if text.isdecimal() else 0


def _pod(pod: Pod) -> PodView:
    ready = pod.ready_since
    return PodView(
        name=pod.metadata.name,
        ready=ready is not None,
        batch=pod.metadata.labels.get(ROLLOUT_BATCH_ID, ""),
        since=ready or pod.metadata.creation_timestamp,
        because=unready_because(pod),
    )


def service_views(release: Release) -> tuple[ServiceView, ...]:
    """Stable and canary Services; a canary Service is only missed while a release is under way."""
    found: list[ServiceView] = []
    for stable in release.stable_services:
        found.append(_service(release, stable, Role.STABLE))
        canary = release.canary_service_of(stable)
        if canary != stable and release.service(canary) is not None:
            found.append(_service(release, canary, Role.CANARY))
    return tuple(found)


def _service(release: Release, name: str, role: Role) -> ServiceView:
    return ServiceView(
        name=name,
        role=role,
        exists=release.service(name) is not None,
        pinned_to=pinned_to(release, name),
        endpoints=len(release.ready_endpoints(name)),
    )
