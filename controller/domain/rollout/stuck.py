"""Pods that cannot be made, or are made and fail: told in words after the first minute, with or without a deadline.

Why: a release that waits for pods looks like one that works. Quota, a policy, an image that is not there: somebody has
said so on the workload, its ReplicaSets or its pods. A StatefulSet or DaemonSet says so in Events only; they are asked
for once pods have been missing for a minute. Invariant: words that change while the matter stays the same are not
written again.
"""

from datetime import UTC, datetime, timedelta

from msgspec import structs

from controller.api.rollout import RolloutStatus, StepState
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Deployment, Pod, StatusCondition
from controller.domain import reasons
from controller.domain.decision import AskWhyNotMade, Refusal
from controller.domain.pods.trouble import Trouble, not_made, of_pods
from controller.domain.rollout.situation import Situation, position
from controller.domain.rollout.status import condition
from controller.domain.rollout.turn import Stop

PATIENCE = timedelta(minutes=1)
"""How long pods may take before their trouble stalls the release."""


def with_trouble(sit: Situation, stop: Stop, began: datetime) -> Stop:
    """`stop`, stalled where the pods of the work that began then are in trouble; else looking again in time."""
    trouble = trouble_of(sit, stop.status)
    since = trouble.since if trouble is not None else _missing_since(sit)
    if trouble is None and since is None:
        return stop
    due = max(began, since or began) + PATIENCE
    if due > sit.now:
        return structs.replace(stop, wake_at=min(stop.wake_at or due, due))
    if trouble is None:
        asked = AskWhyNotMade(sit.workload_key, sit.meta.uid, _counts(sit, stop.status))
        return structs.replace(stop, actions=(*stop.actions, asked))
    return structs.replace(stop, problem=_problem(sit, stop.status, trouble))


def trouble_of(sit: Situation, status: RolloutStatus) -> Trouble | None:
    """What keeps the pods that are waited for from being made, or from being ready."""
    return not_made(_conditions(sit)) or of_pods(_awaited(sit, status))


def told(trouble: Trouble) -> str:
    """The trouble in one sentence."""
    pod = f"pod {trouble.pod}: " if trouble.pod else ""
    since = f" (since {trouble.since.astimezone(UTC):%Y-%m-%d %H:%M:%SZ})" if trouble.since else ""
    return f"{pod}{trouble.text}{since}"


def _awaited(sit: Situation, status: RolloutStatus) -> tuple[Pod, ...]:
    return sit.promoted_pods if position(status).goal else sit.new_pods


def _conditions(sit: Situation) -> tuple[StatusCondition, ...]:
    """Of the workload, its ReplicaSets that want pods, and the extra Deployments."""
    found: tuple[StatusCondition, ...] = ()
    for seen in (sit.workload, *sit.seen.canaries):
        found += seen.object.status.conditions
        if isinstance(seen.object, Deployment):
            active = (rs for rs, _ in seen.replica_sets if rs.active)
            found += tuple(said for rs in active for said in rs.status.conditions)
    return found


def _counts(sit: Situation, status: RolloutStatus) -> str:
    ours, pods = position(status), sit.ready(_awaited(sit, status))
    if ours.goal:
        return (
            f"the end of the release ({ours.goal}): {pods.ready} of {sit.replicas} pods are ready"
        )
    wanted = sit.wanted(ours.step)
    made = f"{pods.pods} made, " if pods.pods < wanted else ""
    return f"step({ours.step}): of {wanted} new pods {made}{pods.ready} ready"


def _problem(sit: Situation, status: RolloutStatus, trouble: Trouble) -> Refusal:
    head = f"{_counts(sit, status)}; {f'pod {trouble.pod}: ' if trouble.pod else ''}"
    text = steady(sit, trouble.reason, head, f"{_counts(sit, status)}; {told(trouble)}")
    return Refusal(trouble.reason, text, object=sit.workload_name)


def steady(sit: Situation, reason: str, head: str, text: str) -> str:
    """`text`, or what is said already where it is the same matter: details alternate from one look to the next."""
    before = condition(sit.seen.rollout.status, "Stalled")
    same = before is not None and before.reason == reason and before.message.startswith(head)
    return before.message if before is not None and same else text


def _missing_since(sit: Situation) -> datetime | None:
    """When the newest pod of a set was made that has too few, and none on its way out: it says why in Events only."""
    pods = sit.workload.pods
    if sit.kind is WorkloadKind.DEPLOYMENT or len(pods) >= sit.replicas:
        return None
    if any(pod.metadata.deleting for pod in pods):
        return None
    made = [pod.metadata.creation_timestamp for pod in pods]
    return max((at for at in made if at is not None), default=sit.meta.creation_timestamp)


def selects_no_new_pod(sit: Situation, status: RolloutStatus) -> Refusal | None:
    """The step waits for endpoints behind a Service whose selector none of its ready pods has the labels for."""
    ready = [pod for pod in sit.new_pods if pod.ready_since is not None]
    if position(status).state != StepState.STEP_TRAFFIC_ROUTING or not ready:
        return None
    for name in map(sit.canary_service_of, sit.stable_services):
        service = sit.service(name)
        wanted = dict(service.spec.selector) if service is not None else {}
        wanted.pop(sit.revision_label, None)
        if wanted and not any(wanted.items() <= pod.metadata.labels.items() for pod in ready):
            selector = ",".join(f"{key}={value}" for key, value in sorted(wanted.items()))
            return Refusal(
                reasons.SERVICE_SELECTS_NO_POD,
                f"Service {sit.namespace}/{name}: its selector {selector} matches none of the new pods; give the pod "
                "template these labels, or correct the Service",
                object=f"Service {sit.namespace}/{name}",
            )
    return None
