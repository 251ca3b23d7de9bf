"""Why a pod is not ready, in the few words that fit into a tree."""

from controller.api.workloads import ContainerStatus, Pod

PASSING = frozenset({"", "not ready", "Pending"})
"""The text for a pod that only takes its usual time."""
_STARTING = frozenset({"ContainerCreating", "PodInitializing", ""})
"""Reasons that say no more than that it takes a while."""


def unready_because(pod: Pod) -> str:
    """Why the pod is not ready, in a few words; empty when it is, or when nothing is known."""
    if pod.ready_since is not None:
        return ""
    if pod.metadata.deleting:
        return "Terminating"
    for container in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        if (problem := _state_of(container)) != "":
            return problem
    scheduled = next((c for c in pod.status.conditions if c.type == "PodScheduled"), None)
    if scheduled is not None and scheduled.status != "True":
        return f"{scheduled.reason or 'NotScheduled'}: {scheduled.message}".rstrip(": ")
    if pod.status.phase and pod.status.phase != "Running":
        return pod.status.phase
    return "not ready"


def _state_of(container: ContainerStatus) -> str:
    if container.ready:
        return ""
    state = container.state.waiting or container.state.terminated
    if state is None or state.reason in (*_STARTING, "Completed"):
        return ""
    first = state.message.strip().partition("\n")[0][:120]
    return f"{state.reason}: {first}" if first else state.reason
