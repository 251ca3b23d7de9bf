"""ControllerRevisions of ours: the stable template of a Deployment, and the workload owner's own values, for a release.

Why a ControllerRevision: the built-in roles of people may read and not write it, so that nobody can put a template or
values there which they could not write into the workload. Invariant: the content of one is used only if the Rollout
owns it, its label names the workload, and its template has the expected hash.
"""

import msgspec

from controller.api.jsontree import JsonObject, child
from controller.api.meta import Key, OwnerReference
from controller.api.names import KEPT_FOR
from controller.api.podsets import ControllerRevision, kept_facts
from controller.api.workloads import template_hash
from controller.domain.decision import Done, KeepRelease
from controller.effects.writes import Writes
from controller.errors import NotFound
from controller.kube.resources import CONTROLLER_REVISIONS


async def keep(writes: Writes, action: KeepRelease) -> Done:
    """Create it. Its name follows from its content, so one that exists is the right one."""
    template = bytes(action.template)
    if action.source is not None:
        found = await read(writes, action.source, action.rollout)
        template = msgspec.json.encode(found) if found is not None else b""
    made = await writes.create(CONTROLLER_REVISIONS, action.revision, _body(action, template))
    return Done(wrote=made)


async def read(writes: Writes, key: Key, rollout: OwnerReference) -> JsonObject | None:
    """The stable template in a ControllerRevision of ours; None if it is gone, of somebody else, or has another one."""
    try:
        raw = await writes.read(CONTROLLER_REVISIONS, key)
    except NotFound:
        return None
    found = msgspec.json.decode(raw, type=ControllerRevision)
    facts = kept_facts(found)
    if facts is None or found.metadata.controller_uid != rollout.uid:
        return None
    template = bytes(found.data.spec.template)
    if not facts.stable_template or template_hash(template) != facts.stable_template:
        return None
    return child(msgspec.json.decode(raw, type=JsonObject), "data", "spec", "template")


def _body(action: KeepRelease, template: bytes) -> bytes:
    owner = {
        "apiVersion": action.rollout.api_version,
        "kind": action.rollout.kind,
        "name": action.rollout.name,
        "uid": action.rollout.uid,
        "controller": True,
    }
    data: dict[str, object] = {"kept": action.facts}
    if template:
        data["spec"] = {"template": msgspec.Raw(template)}
    return msgspec.json.encode(
        {
            "apiVersion": CONTROLLER_REVISIONS.api_version,
            "kind": CONTROLLER_REVISIONS.kind,
            "metadata": {
                "name": action.revision.name,
                "namespace": action.revision.namespace,
                "labels": {KEPT_FOR: action.facts.workload_uid},
                "ownerReferences": [owner],
            },
            "revision": action.number,
            "data": data,
        }
    )
