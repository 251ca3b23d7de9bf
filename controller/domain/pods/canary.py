"""The extra Deployment of canary style: the workload's new template beside the workload.

Invariant: its name is computed from the release, so it is created only once; it has the Rollout's UID as a label and no
ownerReference (a foreground deletion would delete it before the routes are restored); it never has the label that
admission selects workloads by. Its selector never selects a ReplicaSet of the workload: after `kubectl delete
--cascade=orphan` those have no owner, and Kubernetes would give them to it, scale them down and delete them with it.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from controller.api import names
from controller.api.rollout import OwnersValues, PatchMetadata
from controller.api.workloads import (
    Deployment,
    ReplicaSet,
    label_value,
    safe_hash,
    template_hash,
)


def canary_name(stable: Deployment, made_from: str, rollout_uid: str) -> str:
    """`<workload>-xxxxx`, the same for the same release, never longer than a name may be."""
    suffix = safe_hash(f"{rollout_uid}/{stable.metadata.uid}/{made_from}".encode(), 5)
    return f"{stable.metadata.name[:57].rstrip('.-')}-{suffix}"


def canary_deployment(
    stable: Deployment,
    *,
    name: str,
    replicas: int,
    made_from: str,
    rollout_uid: str,
    owners: OwnersValues,
    patch: PatchMetadata,
    replica_sets: Iterable[tuple[ReplicaSet, str]] = (),
    inherited: Mapping[str, str] = MappingProxyType({}),
) -> msgspec.Raw:
    """JSON of the extra Deployment: the owner's own pace, the template plus `patch`, the labels `inherited`.

    `replica_sets` are the workload's, each with the hash of its template.
    """
    template = _patched(stable.spec.template, patch)
    spec: dict[str, object] = {
        "replicas": replicas,
        "selector": _selector_without(stable.spec.selector, template, replica_sets),
        "template": template,
        **_pace(owners),
    }
    if stable.spec.revision_history_limit is not None:
        spec["revisionHistoryLimit"] = stable.spec.revision_history_limit
    labels = {
        **inherited,
        names.CANARY_DEPLOYMENT: label_value(stable.metadata.name),
        names.ROLLOUT_UID: rollout_uid,
    }
    identity = {"name": name, "namespace": stable.metadata.namespace, "labels": labels}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**identity, "annotations": {names.TEMPLATE_HASH: made_from}},
        "spec": spec,
    }
    return msgspec.Raw(msgspec.json.encode(body))


def _pace(owners: OwnersValues) -> dict[str, object]:
    """The owner's own fields of a Deployment's spec that say how fast its pods are replaced."""
    fields: dict[str, object] = {"minReadySeconds": owners.min_ready_seconds}
    if owners.strategy is not None:
        fields["strategy"] = owners.strategy
    if owners.progress_deadline_seconds is not None:
        fields["progressDeadlineSeconds"] = owners.progress_deadline_seconds
    return fields


def _patched(template: msgspec.Raw, patch: PatchMetadata) -> dict[str, object]:
    patched: dict[str, object] = msgspec.json.decode(template)
    metadata = patched.setdefault("metadata", {})
    assert isinstance(metadata, dict)
    for field, added in (("labels", patch.labels), ("annotations", patch.annotations)):
        if added:
            metadata[field] = {**(metadata.get(field) or {}), **added}
    return patched


def _selector_without(
    selector: msgspec.Raw,
    template: dict[str, object],
    replica_sets: Iterable[tuple[ReplicaSet, str]],
) -> dict[str, object]:
    """The workload's selector without its ReplicaSets. One of the same template stays: its revision will be ours."""
    same = template_hash(msgspec.json.encode(template))
    others = {found.revision for found, hashed in replica_sets if hashed != same} - {""}
    wanted: dict[str, object] = msgspec.json.decode(selector)
    if not others:
        return wanted
    expressions = wanted.get("matchExpressions")
    excluded = {"key": names.POD_TEMPLATE_HASH, "operator": "NotIn", "values": sorted(others)}
    present = expressions if isinstance(expressions, list) else []
    return {**wanted, "matchExpressions": [*present, excluded]}
