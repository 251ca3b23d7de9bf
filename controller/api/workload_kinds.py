"""The kinds of workloads that are released, and the label by which the revisions of their pods are distinguished.

Invariant: group and kind identify a kind, versions do not matter; a workload of an unknown kind is identified by the
workload-type label from its owner (`statefulset`: it has the `updateStrategy` and the status of a StatefulSet).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from controller.api.names import CONTROLLER_REVISION_HASH, POD_TEMPLATE_HASH, WORKLOAD_TYPE


class KindName(NamedTuple):
    """A kind as an object names its own."""

    api_version: str
    kind: str

    @property
    def group(self) -> str:
        """API group: empty for the core group."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""


DEPLOYMENT = KindName("apps/v1", "Deployment")


class WorkloadKind(StrEnum):
    """How a workload is moved. The values are those of the workload-type label, as far as that label distinguishes
    them.
    """

    DEPLOYMENT = "deployment"
    STATEFUL_SET = "statefulset"
    """Native, advanced, and every kind that is labelled as one."""
    CLONE_SET = "cloneset"
    DAEMON_SET = "daemonset"
    ADVANCED_DAEMON_SET = "advanceddaemonset"

    @property
    def label(self) -> str:
        """Value of the workload-type label, in the original's words."""
        return "daemonset" if self is WorkloadKind.ADVANCED_DAEMON_SET else self.value

    @property
    def revision_label(self) -> str:
        """The label that the workload's own controller writes a pod's revision into; Services are pinned by it."""
        if self in (WorkloadKind.DEPLOYMENT, WorkloadKind.CLONE_SET):
            return POD_TEMPLATE_HASH
        return CONTROLLER_REVISION_HASH

    @property
    def has_replicas(self) -> bool:
        """Its size is asked for; else it follows from the nodes."""
        return self not in (WorkloadKind.DAEMON_SET, WorkloadKind.ADVANCED_DAEMON_SET)


_KINDS = {
    ("apps", "Deployment"): WorkloadKind.DEPLOYMENT,
    ("apps", "StatefulSet"): WorkloadKind.STATEFUL_SET,
    ("apps", "DaemonSet"): WorkloadKind.DAEMON_SET,
    ("apps.kruise.io", "CloneSet"): WorkloadKind.CLONE_SET,
    ("apps.kruise.io", "StatefulSet"): WorkloadKind.STATEFUL_SET,
    ("apps.kruise.io", "DaemonSet"): WorkloadKind.ADVANCED_DAEMON_SET,
}
KNOWN_WORKLOADS = frozenset(_KINDS)
"""Group and kind of the workloads that need no label to be known."""


SELECTED_VALUES = ("statefulset", "StatefulSet")
"""Values of the label by which the webhook of all kinds that work like a StatefulSet selects; the other webhooks ask
for the label alone."""


def workload_kind(group: str, kind: str, labels: Mapping[str, str] = {}) -> WorkloadKind | None:
    """How a workload is moved; None when that is not known."""
    known = _KINDS.get((group, kind))
    if known is None and labels.get(WORKLOAD_TYPE, "").lower() == WorkloadKind.STATEFUL_SET:
        return WorkloadKind.STATEFUL_SET
    return known


def is_selected(kind: WorkloadKind | None, labels: Mapping[str, str]) -> bool:
    """Whether the webhook of this kind gets the changes of a workload with these labels."""
    if kind is WorkloadKind.STATEFUL_SET:
        return labels.get(WORKLOAD_TYPE) in SELECTED_VALUES
    return WORKLOAD_TYPE in labels
