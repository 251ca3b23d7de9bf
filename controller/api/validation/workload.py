"""Rules of `spec.workloadRef`: which workloads can be released, and in which style."""

from controller.api.jsontree import JsonObject, child, text
from controller.api.validation.findings import Fault, FieldError, Findings
from controller.api.validation.rules import Rules
from controller.api.workload_kinds import KNOWN_WORKLOADS

_BLUE_GREEN_WORKLOADS = {("apps", "Deployment"), ("apps.kruise.io", "CloneSet")}

_WITHOUT_REVISIONS = {
    ("apps", "ReplicaSet"): "a ReplicaSet has no revisions; name the Deployment that owns it",
    ("", "Pod"): "a Pod has no revisions; name the workload that makes it",
    ("batch", "Job"): "a Job runs once and has no revisions; name a workload whose pods serve",
    (
        "batch",
        "CronJob",
    ): "a CronJob's pods run to their end and serve nobody; name a workload whose pods serve",
}


def check_workload(spec: JsonObject, rules: Rules) -> Findings:
    """Mistakes in `workloadRef`, and a strategy that its kind does not have."""
    reference, path = child(spec, "workloadRef"), "spec.workloadRef"
    missing = [name for name in ("apiVersion", "kind", "name") if not text(reference, name)]
    if missing:
        return tuple(
            FieldError(f"{path}.{name}", Fault.REQUIRED, "names the workload to release")
            for name in missing
        )
    group, kind = group_kind = workload_group_kind(reference)
    described = f"{kind} of group {group or 'core'}"
    known = ", ".join(f"{kind}.{group}" for group, kind in sorted(KNOWN_WORKLOADS))
    if group_kind in _WITHOUT_REVISIONS:
        detail = f"{_WITHOUT_REVISIONS[group_kind]} ({known})"
        return (FieldError(path, Fault.UNSUPPORTED, detail),)
    # The groups of Kubernetes' own kinds have no dot, except those that end in k8s.io; groups of installed kinds have
    # one.
    installed = "." in group and not rules.filter_workload_type
    if not installed and group_kind not in KNOWN_WORKLOADS:
        return (
            FieldError(path, Fault.UNSUPPORTED, f"{described} cannot be released; {known} can"),
        )
    blue_green = child(spec, "strategy").get("blueGreen") is not None
    if blue_green and group_kind not in _BLUE_GREEN_WORKLOADS:
        detail = f"{described} cannot be released blue-green; a Deployment or a CloneSet can"
        return (FieldError(path, Fault.UNSUPPORTED, detail),)
    return ()


def uses_extra_workload(spec: JsonObject) -> bool:
    """Canary style: asked for, and the workload is a Deployment (others fall back to partition style)."""
    return child(spec, "strategy", "canary").get(
        "enableExtraWorkloadForCanary"
    ) is True and workload_group_kind(child(spec, "workloadRef")) == ("apps", "Deployment")


def workload_group_kind(reference: JsonObject) -> tuple[str, str]:
    """API group (empty for the core group) and kind that a reference names."""
    group, slash, _ = text(reference, "apiVersion").partition("/")
    return (group if slash else "", text(reference, "kind"))
