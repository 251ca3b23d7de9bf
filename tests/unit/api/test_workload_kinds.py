"""Claims about the kinds of workloads."""

import pytest

from controller.api.names import WORKLOAD_TYPE
from controller.api.workload_kinds import KindName, WorkloadKind, workload_kind


@pytest.mark.parametrize(
    ("version", "kind", "label"),
    [
        ("apps/v1", "Deployment", "deployment"),
        ("apps/v1", "StatefulSet", "statefulset"),
        ("apps/v1", "DaemonSet", "daemonset"),
        ("apps.kruise.io/v1alpha1", "CloneSet", "cloneset"),
        ("apps.kruise.io/v1beta1", "StatefulSet", "statefulset"),
        ("apps.kruise.io/v1alpha1", "DaemonSet", "daemonset"),
        ("v1", "Pod", None),
    ],
)
def test_a_known_kind_is_labelled_in_the_originals_words(
    version: str, kind: str, label: str | None
) -> None:
    found = workload_kind(KindName(version, kind).group, kind)
    assert (found.label if found is not None else None) == label


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("statefulset", WorkloadKind.STATEFUL_SET),
        ("StatefulSet", WorkloadKind.STATEFUL_SET),
        ("cloneset", None),
        ("", None),
    ],
)
def test_a_label_identifies_any_other_kind(text: str, found: WorkloadKind | None) -> None:
    assert workload_kind("db.example", "Cluster", {WORKLOAD_TYPE: text}) == found
    assert workload_kind("apps", "Deployment", {WORKLOAD_TYPE: text}) == WorkloadKind.DEPLOYMENT
