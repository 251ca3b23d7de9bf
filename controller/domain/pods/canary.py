"""The extra Deployment of canary style: the workload's new template beside the workload.

Invariant: its name is computed from the release, so it is created only once; it has the Rollout's UID as a label and no
ownerReference (a foreground deletion would delete it before the routes are restored); it never has the label that
admission selects workloads by.
"""

import msgspec

from controller.api import names
from controller.api.rollout import OwnersValues, PatchMetadata
from controller.api.workloads import Deployment, safe_hash


def canary_name(stable: Deployment, template_hash: str, rollout_uid: str) -> str:
    """`<workload>-xxxxx`, the same for the same release, never longer than a name may be."""
    suffix = safe_hash(f"{rollout_uid}/{stable.metadata.uid}/{template_hash}".encode(), 5)
    return f"{stable.metadata.name[:57]}-{suffix}"


def canary_deployment(
    stable: Deployment,
    *,
    name: str,
    replicas: int,
    template_hash: str,
    rollout_uid: str,
    owners: OwnersValues,
    patch: PatchMetadata,
) -> msgspec.Raw:
    """JSON of the extra Deployment: the owner's own pace, the template plus `patch`."""
    template = msgspec.json.decode(stable.spec.template)
    metadata = template.setdefault("metadata", {})
    for field, added in (("labels", patch.labels), ("annotations", patch.annotations)):
        if added:
            metadata[field] = {**(metadata.get(field) or {}), **added}
    spec: dict[str, object] = {
        "replicas": replicas,
        "selector": stable.spec.selector,
        "template": template,
        "minReadySeconds": owners.min_ready_seconds,
    }
    if owners.strategy is not None:
        spec["strategy"] = owners.strategy
    if owners.progress_deadline_seconds is not None:
        spec["progressDeadlineSeconds"] = owners.progress_deadline_seconds
    if stable.spec.revision_history_limit is not None:
        spec["revisionHistoryLimit"] = stable.spec.revision_history_limit
    labels = {names.CANARY_DEPLOYMENT: stable.metadata.name, names.ROLLOUT_UID: rollout_uid}
    identity = {"name": name, "namespace": stable.metadata.namespace, "labels": labels}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**identity, "annotations": {names.TEMPLATE_HASH: template_hash}},
        "spec": spec,
    }
    return msgspec.Raw(msgspec.json.encode(body))
