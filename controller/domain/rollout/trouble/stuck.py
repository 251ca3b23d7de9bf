"""Reports pods that cannot be created, or fail, after one minute, with or without a deadline.

Why: a release that waits for ever for pods looks the same as a release that makes progress. The reason (a quota, a
policy, a missing image) is written on the workload, its ReplicaSets or its pods. For a StatefulSet or DaemonSet it is
only in Events, which are read once pods have been missing for a minute. Invariant: a new text about the same problem
is not written again.
"""

from datetime import UTC, datetime, timedelta

from controller.api.duration import later
from controller.api.rollout import StepState
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Deployment, Pod, StatusCondition
from controller.domain import reasons
from controller.domain.decision import FindCauseOfMissingPods, Refusal
from controller.domain.pods.trouble import Trouble, problem_of_creation, problem_of_pods
from controller.domain.rollout.routes.empty_sides import (
    own_selector,
    selector_in_words,
    selects_any,
)
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.status import condition
from controller.domain.rollout.words.transition import Stop

TROUBLE_TOLERATED_FOR = timedelta(minutes=1)
"""The time after which a problem of pods stalls the release."""


def with_trouble(release: Release, stop: Stop, began: datetime) -> Stop:
    """`stop`, stalled if pods of the work that began at `began` have a problem; else with a time to look again."""
    trouble = trouble_of(release.at(stop.status))
    since = trouble.since if trouble is not None else _missing_since(release)
    if trouble is None and since is None:
        return stop
    due = later(max(began, since or began), TROUBLE_TOLERATED_FOR)
    if due > release.now:
        return stop.also(wake_at=due)
    if trouble is None:
        asked = FindCauseOfMissingPods(
            release.workload_key, release.meta.uid, _counts(release.at(stop.status))
        )
        return stop.also(asked)
    return stop.also(problem=_problem(release.at(stop.status), trouble))


def trouble_of(release: Release) -> Trouble | None:
    """The reason why pods that the step waits for are not created, or not ready."""
    awaited = (*_awaited(release), *_ended_in_place_of_awaited(release))
    return problem_of_creation(_conditions(release)) or problem_of_pods(awaited)


def pod_troubles(trouble: Trouble) -> str:
    """The problem in one sentence."""
    pod = f"pod {trouble.pod}: " if trouble.pod else ""
    since = f" (since {trouble.since.astimezone(UTC):%Y-%m-%d %H:%M:%SZ})" if trouble.since else ""
    return f"{pod}{trouble.text}{since}"


def _awaited(release: Release) -> tuple[Pod, ...]:
    ours = release.ours
    if ours.goal == Goal.SCALED_AWAY:
        return release.pods_of(ours.stable_revision)
    return release.promoted_pods if ours.goal else release.new_pods


def _ended_in_place_of_awaited(release: Release) -> list[Pod]:
    """Pods of this release that have ended while pods are missing: nodes that refuse each new pod leave such pods.

    With all pods there, an ended one (evicted, say) says nothing about the release.
    """
    ours = release.ours
    awaited = [pod for pod in _awaited(release) if not pod.metadata.deleting]
    if len(awaited) >= (release.replicas if ours.goal else release.wanted(ours.step)):
        return []
    revision = _awaited_revision(release)
    began = ours.started_at or release.now
    return [
        pod
        for seen in (release.workload, *release.seen.canaries)
        for pod in seen.ended_pods
        if pod.revision == revision and (pod.metadata.creation_timestamp or began) >= began
    ]


def _awaited_revision(release: Release) -> str:
    ours = release.ours
    if ours.goal == Goal.SCALED_AWAY:
        return ours.stable_revision
    return release.present_revision if ours.goal else release.new_revision


def _conditions(release: Release) -> tuple[StatusCondition, ...]:
    """Conditions of the workload, of its ReplicaSets that want pods, and of the extra Deployments."""
    found: tuple[StatusCondition, ...] = ()
    for seen in (release.workload, *release.seen.canaries):
        found += seen.object.status.conditions
        if isinstance(seen.object, Deployment):
            active = (rs for rs, _ in seen.replica_sets if rs.active)
            found += tuple(reported for rs in active for reported in rs.status.conditions)
    return found


def _counts(release: Release) -> str:
    ours, pods = release.ours, release.ready(_awaited(release))
    if ours.goal == Goal.SCALED_AWAY:
        return f"back from zero replicas: {pods.ready} of {release.replicas} stable pods are ready"
    if ours.goal:
        return f"the end of the release ({ours.goal}): {pods.ready} of {release.replicas} pods are ready"
    wanted = release.wanted(ours.step)
    made = f"{pods.pods} made, " if pods.pods < wanted else ""
    return f"step({ours.step}): of {wanted} new pods {made}{pods.ready} ready"


def _problem(release: Release, trouble: Trouble) -> Refusal:
    head = f"{_counts(release)}; {f'pod {trouble.pod}: ' if trouble.pod else ''}"
    text = steady(release, trouble.reason, head, f"{_counts(release)}; {pod_troubles(trouble)}")
    return Refusal(trouble.reason, text, object=release.workload_name)


def steady(release: Release, reason: str, head: str, text: str) -> str:
    """`text`, or the present text if it is about the same problem: details alternate between passes."""
    before = condition(release.status, "Stalled")
    same = before is not None and before.reason == reason and before.message.startswith(head)
    return before.message if before is not None and same else text


def _missing_since(release: Release) -> datetime | None:
    """When the newest pod was created of a set with too few pods and none being deleted: the reason is only in
    Events.
    """
    pods = release.workload.pods
    if release.kind is WorkloadKind.DEPLOYMENT or len(pods) >= release.replicas:
        return None
    if any(pod.metadata.deleting for pod in pods):
        return None
    made = [pod.metadata.creation_timestamp for pod in pods]
    return max((at for at in made if at is not None), default=release.meta.creation_timestamp)


def selects_no_new_pod(release: Release) -> Refusal | None:
    """The step waits for endpoints of a Service whose selector matches none of its ready pods."""
    ready = [pod for pod in release.new_pods if pod.ready_since is not None]
    if release.ours.state != StepState.STEP_TRAFFIC_ROUTING or not ready:
        return None
    for stable in release.stable_services:
        name = release.canary_service_of(stable)
        wanted = own_selector(release, name)
        if not wanted or selects_any(wanted, ready):
            continue
        original = own_selector(release, stable)
        copied = name != stable and bool(original) and not selects_any(original, ready)
        named = f"Service {release.namespace}/{stable if copied else name}"
        words = selector_in_words(original if copied else wanted)
        copy = f" (nor does its copy {name})" if copied else ""
        return Refusal(
            reasons.SERVICE_SELECTS_NO_POD,
            f"{named}: its selector {words} matches none of the new pods{copy}; give the pod template these labels, "
            "or correct the Service",
            object=named,
        )
    return None
