"""The class of trouble behind a Stalled condition: the label that alerts are routed by.

Why not the reason itself: reasons grow with every new check, and a label's values must not. Invariant: every reason has
one class; one that is not listed is `other`.
"""

from collections.abc import Iterable
from enum import StrEnum

from controller.api.meta import Condition
from controller.domain import availability, reasons
from controller.domain.conditions import find_condition

STALLED = "Stalled"


class StallClass(StrEnum):
    """The party that has to act, roughly."""

    RIGHTS = "rights"
    """The controller lacks a right, or a quota, policy or webhook refuses or undoes a request."""
    KIND = "kind"
    """A kind is not served, or cannot be read."""
    SPEC = "spec"
    """The Rollout, or an object that it names, cannot be used as written."""
    WORKLOAD = "workload"
    """The workload, its pods, its revisions or its autoscalers."""
    ROUTE = "route"
    """A Service or gateway object."""
    DRIFT = "drift"
    """Somebody changed a gateway object, and the release holds at it."""
    SCRIPT = "script"
    WORKER = "worker"
    """The script worker does not answer."""
    GATE = "gate"
    DEADLINE = "deadline"
    FAILED_REVISION = "failed-revision"
    """The template's revision was given up before."""
    OTHER = "other"


_REASONS = {
    StallClass.RIGHTS: (
        availability.Forbidden.reason,
        reasons.SERVICE_ACCOUNT_FORBIDDEN,
        "FailedCreate",
        "QuotaExceeded",
        reasons.INVALID,
        reasons.WEBHOOK_FAILED,
        reasons.WORKLOAD_CONTESTED,
    ),
    StallClass.KIND: (
        availability.NotServed.reason,
        availability.Failing.reason,
        availability.Loading.reason,
        reasons.CLUSTER_SCOPED_KIND,
    ),
    StallClass.SPEC: (
        reasons.INVALID_ROLLOUT,
        reasons.UNSUPPORTED_STYLE,
        reasons.UNSUPPORTED_WORKLOAD,
        reasons.TRAFFIC_ROUTING_NOT_FOUND,
        reasons.INVALID_TRAFFIC_ROUTING,
        reasons.UNSUPPORTED_STEP,
        reasons.INVALID_ANALYSIS,
        reasons.ANALYSIS_WITHOUT_DATA,
        reasons.ANALYSIS_TEMPLATE_NOT_FOUND,
        reasons.NAME_TOO_LONG,
        reasons.CONFIG_NOT_OURS,
    ),
    StallClass.WORKLOAD: (
        reasons.WORKLOAD_TAKEN,
        reasons.PAUSED_BY_OWNER,
        reasons.OWNERS_VALUES_LOST,
        reasons.STABLE_REVISION_GONE,
        reasons.SIDE_WITHOUT_ENDPOINTS,
        reasons.TEMPLATE_GONE,
        reasons.REVERT_REFUSED,
        reasons.AUTOSCALER_CONTESTED,
    ),
    StallClass.ROUTE: (
        reasons.SERVICE_NOT_FOUND,
        reasons.SERVICE_WITHOUT_SELECTOR,
        reasons.SERVICE_SELECTS_NO_POD,
        reasons.SERVICE_NOT_OURS,
        reasons.SERVICE_IN_USE,
        reasons.SHARED_SERVICE_MIXES_REVISIONS,
        reasons.OTHER_PODS_BEHIND_SERVICE,
        reasons.GATEWAY_OBJECT_NOT_FOUND,
        reasons.GATEWAY_OBJECT_IN_USE,
        reasons.GATEWAY_OBJECT_REJECTED,
        reasons.GATEWAY_OBJECT_TOO_LARGE,
        reasons.GATEWAY_OBJECT_UNREADABLE,
        reasons.SERVICE_UNREADABLE,
        reasons.TRAFFIC_UNREADABLE,
        reasons.ORIGINAL_CORRUPT,
        reasons.OBJECT_NOT_OURS,
        reasons.OBJECT_IS_GOING,
        reasons.AMBIGUOUS_CHANGE,
        reasons.CHANGE_NOT_KEPT,
        reasons.NOTHING_TO_DIVIDE,
        reasons.SIBLING_NAMED_TWICE,
    ),
    StallClass.DRIFT: (reasons.ROUTE_HELD,),
    StallClass.SCRIPT: (
        reasons.SCRIPT_NOT_FOUND,
        reasons.SCRIPT_FAILED,
        reasons.SCRIPT_ANSWER_REFUSED,
        reasons.SCRIPT_NOT_DETERMINISTIC,
        reasons.SCRIPT_ORDER,
    ),
    StallClass.WORKER: (reasons.WORKER_UNAVAILABLE,),
    StallClass.GATE: (reasons.ANALYSIS_FAILED, reasons.ANALYSIS_INCONCLUSIVE),
    StallClass.DEADLINE: (reasons.DEADLINE_EXCEEDED,),
    StallClass.FAILED_REVISION: (reasons.REVISION_FAILED,),
}
_CLASSES = {reason: found for found, listed in _REASONS.items() for reason in listed}


def stall_class(reason: str) -> StallClass:
    """The class of a reason."""
    return _CLASSES.get(reason, StallClass.OTHER)


def stall_of(conditions: Iterable[Condition]) -> StallClass | None:
    """The class of the problem that stalls an object; None if it is not stalled."""
    found = find_condition(tuple(conditions), STALLED)
    return stall_class(found.reason) if found is not None and found.status == "True" else None
