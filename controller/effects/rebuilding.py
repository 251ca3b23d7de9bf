"""Makes the stable ReplicaSet of a Deployment again, after somebody deleted it during a release.

Invariant: its template is the one that the release keeps in a ControllerRevision of ours; it has the name, labels and
selector that the Deployment's controller would give it, so that this controller takes it for its own; it has no pods at
first, so that nothing moves before the next decision.
"""

import msgspec

from controller.api.jsontree import JsonObject, changed, child
from controller.api.meta import OwnerReference
from controller.api.names import POD_TEMPLATE_HASH, REBUILT, REVISION, V1BETA1
from controller.api.rollout import Rollout
from controller.domain import reasons
from controller.domain.decision import Done, Outcome, RebuildReplicaSet, Refusal
from controller.effects import kept_revisions
from controller.effects.writes import Writes
from controller.kube.resources import REPLICA_SETS


async def rebuild(writes: Writes, action: RebuildReplicaSet, rollout: Rollout) -> Outcome:
    """Create the ReplicaSet; refused if its template is gone, or if its name is taken."""
    meta = rollout.metadata
    owner = OwnerReference(V1BETA1, "Rollout", meta.name, meta.uid, controller=True)
    template = await kept_revisions.read(writes, action.source, owner)
    if template is None:
        named = f"ControllerRevision {action.source}"
        text = f"{named} is gone, and with it the stable template: apply the manifest you want to go back to"
        return Refusal(reasons.TEMPLATE_GONE, text, object=named)
    if await writes.create(REPLICA_SETS, action.replica_set, _body(action, template)):
        return Done(wrote=True)
    named = f"ReplicaSet {action.replica_set}"
    text = f"{named} exists and does not belong to the Deployment: delete it, and the stable version comes back"
    return Refusal(reasons.STABLE_REVISION_GONE, text, object=named)


def _body(action: RebuildReplicaSet, template: JsonObject) -> bytes:
    selector = msgspec.json.decode(action.selector, type=JsonObject)
    labelled = changed(template, ("metadata", "labels", POD_TEMPLATE_HASH), action.revision)
    return msgspec.json.encode(
        {
            "apiVersion": REPLICA_SETS.api_version,
            "kind": REPLICA_SETS.kind,
            "metadata": {
                "name": action.replica_set.name,
                "namespace": action.replica_set.namespace,
                "labels": child(labelled, "metadata", "labels"),
                "annotations": {REVISION: str(action.number), REBUILT: "true"},
                "ownerReferences": [
                    {
                        "apiVersion": action.deployment.api_version,
                        "kind": action.deployment.kind,
                        "name": action.deployment.name,
                        "uid": action.deployment.uid,
                        "controller": True,
                    }
                ],
            },
            "spec": {
                "replicas": 0,
                "minReadySeconds": action.min_ready_seconds,
                "selector": changed(selector, ("matchLabels", POD_TEMPLATE_HASH), action.revision),
                "template": labelled,
            },
        }
    )
