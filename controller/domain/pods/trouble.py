"""Why pods are not created, or not ready, in the words of the conditions of workloads and pods.

Invariant: pure; a pod that only takes its usual time has no problem. Of several problems one is reported: that no pod
can be created, else that of the pod that has had its problem longest, so that the same facts give the same message.
"""

import re
from collections.abc import Iterable
from datetime import datetime

from controller.api.workloads import ContainerStatus, Pod, StatusCondition
from controller.domain.decision import Value

CREATION_FAILED = frozenset(
    {"ReplicaFailure", "FailedCreatePod", "FailedUpdatePod", "FailedScale", "FailedUpdate"}
)
"""Types of conditions that say that a Deployment, ReplicaSet, StatefulSet or CloneSet cannot create a pod."""
IMAGE = "ImagePullBackOff"
CRASH = "CrashLoopBackOff"
UNREADY = "ReadinessProbeFailing"
_STARTING = frozenset({"ContainerCreating", "PodInitializing"})
_NAME = re.compile(r'(pods? "[^"]*?)-[a-z0-9]{5}"')
"""Matches the random end of the name of a pod that was never created. Every try has another end, and the message must
stay the same."""


class Trouble(Value, frozen=True):
    """A problem, as a stable word and a sentence; `pod` is empty if none was created."""

    reason: str
    text: str
    since: datetime | None = None
    pod: str = ""


def problem_of_creation(conditions: Iterable[StatusCondition]) -> Trouble | None:
    """The pods of a workload cannot be created."""
    for condition in conditions:
        if condition.type in CREATION_FAILED and condition.status == "True":
            text = _NAME.sub(r'\1-…"', condition.message) or f"condition {condition.type}"
            return Trouble(condition.reason or condition.type, text, condition.last_transition_time)
    return None


def without_room(conditions: Iterable[StatusCondition], pods: Iterable[Pod]) -> bool:
    """Further pods are refused, or no node takes them: only the end of other pods makes room."""
    return problem_of_creation(conditions) is not None or any(
        placed.type == "PodScheduled" and placed.status == "False"
        for pod in pods
        if not pod.metadata.deleting
        for placed in pod.status.conditions
    )


def problem_of_pods(pods: Iterable[Pod]) -> Trouble | None:
    """The problem of one of these unready pods: the problem that has lasted longest.

    A failing readiness probe is reported only if no pod has another problem: it is often a consequence of that one.
    """
    unready = sorted(
        (pod for pod in pods if pod.ready_since is None and not pod.metadata.deleting),
        key=lambda pod: pod.metadata.name,
    )
    found = [trouble for pod in unready if (trouble := _of_pod(pod)) is not None]
    causes = [trouble for trouble in found if trouble.reason != UNREADY] or found
    return min(causes, key=_oldest_first, default=None)


def _oldest_first(trouble: Trouble) -> tuple[float, str]:
    """Sort key. A problem without a time counts as the oldest."""
    since = trouble.since.timestamp() if trouble.since is not None else 0.0
    return since, trouble.pod


def _of_pod(pod: Pod) -> Trouble | None:
    name, status = pod.metadata.name, pod.status
    by_type = {condition.type: condition for condition in status.conditions}
    unready = by_type.get("Ready")
    since = unready.last_transition_time if unready is not None else None
    if status.phase == "Failed":
        return Trouble(
            status.reason or "PodFailed", status.message or "the pod has failed", since, name
        )
    placed = by_type.get("PodScheduled")
    if placed is not None and placed.status == "False":
        text = placed.message or "no node takes it"
        return Trouble(placed.reason or "Unschedulable", text, placed.last_transition_time, name)
    for container in (*status.init_container_statuses, *status.container_statuses):
        trouble = _of_container(container)
        if trouble is not None:
            return Trouble(trouble[0], trouble[1], since, name)
    if unready is not None and status.phase == "Running":
        detail = f" ({unready.message})" if unready.message else ""
        text = f"it runs and is not ready; its readiness probe fails{detail}"
        return Trouble(UNREADY, text, since, name)
    return None


def _of_container(container: ContainerStatus) -> tuple[str, str] | None:
    """Reason and text; a container that crashes and runs in turn gives the same text in both states.

    So a container that runs again after a crash still has the problem: its last state, not its present one, counts. A
    container that was started again has ended before its time, whatever its exit code; an init container ends with 0.
    """
    named = f"container {container.name}"
    waiting, before = container.state.waiting, container.last_state.terminated
    ended = container.state.terminated or before
    reason = waiting.reason if waiting is not None else ""
    if reason in ("ErrImagePull", IMAGE):
        detail = f": {waiting.message}" if waiting is not None and waiting.message else ""
        return IMAGE, f"{named}: image {container.image} cannot be pulled{detail}"
    if (
        ended is not None
        and (ended.exit_code != 0 or container.state.terminated is None)
        and (container.restart_count or reason in ("", CRASH))
    ):
        return CRASH, f"{named} ends with exit code {ended.exit_code} ({ended.reason or 'Error'})"
    if waiting is not None and reason and reason not in _STARTING:
        return reason, f"{named}: {waiting.message or reason}"
    return None
