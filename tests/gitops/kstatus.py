"""The rules of kstatus, as sigs.k8s.io/cli-utils publishes them for kinds that it does not know.

In its order: deletion, `observedGeneration`, the first of the conditions Reconciling and Stalled that is True, the
condition Ready; a kind that says none of it is Current. Flux's kustomize-controller and Helm wait by these rules.
"""

from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """The verdict of kstatus on an object."""

    IN_PROGRESS = "InProgress"
    FAILED = "Failed"
    CURRENT = "Current"
    TERMINATING = "Terminating"


def kstatus(obj: dict[str, Any]) -> Status:
    """The status of an object as the API server sends it."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return Status.TERMINATING
    observed = status.get("observedGeneration")
    if observed is not None and observed != metadata.get("generation", 0):
        return Status.IN_PROGRESS
    conditions = status.get("conditions") or ()
    for found in conditions:
        if found["type"] == "Reconciling" and found["status"] == "True":
            return Status.IN_PROGRESS
        if found["type"] == "Stalled" and found["status"] == "True":
            return Status.FAILED
    for found in conditions:
        if found["type"] == "Ready":
            return Status.CURRENT if found["status"] == "True" else Status.IN_PROGRESS
    return Status.CURRENT
