"""Facts of a status that tests ask for, in the words of either style. Must not judge them."""

from datetime import datetime

from localcluster.api import JsonObject


def available(workload: JsonObject) -> int:
    """The number of pods that the workload's own controller counts as available."""
    status = workload.get("status") or {}
    return int(status.get("availableReplicas") or status.get("numberAvailable") or 0)


def sub_status(status: JsonObject) -> JsonObject:
    """The release as clients of either style read it."""
    return status.get("canaryStatus") or status.get("blueGreenStatus") or {}


def revision_of(status: JsonObject) -> str:
    """The revision that the release is about."""
    inner = sub_status(status)
    return str(inner.get("canaryRevision") or inner.get("updatedRevision") or "")


def at(status: JsonObject, step: int, state: str) -> bool:
    """The release is at a state of a step."""
    inner = sub_status(status)
    return inner.get("currentStepIndex") == step and inner.get("currentStepState") == state


def step_of(status: JsonObject) -> int:
    """The number of the present step."""
    return int(sub_status(status).get("currentStepIndex", 0))


def instant(text: str) -> datetime:
    """A timestamp of a status."""
    return datetime.fromisoformat(text)


def condition(status: JsonObject, kind: str) -> JsonObject:
    """A condition, empty when there is none."""
    return next((c for c in status.get("conditions") or () if c["type"] == kind), {})
