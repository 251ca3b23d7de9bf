"""Writes templates for the workload's owner: the stable template, or the stamp of changed content.

Why through admission's own rules: our writes do not pass our webhook, and a change has to be held exactly like an
owner's, or pods would be replaced before their traffic has moved. Invariant: the write tests the observed generation; a
stamp that would not be held is not written.
"""

import msgspec

from controller.api.jsontree import JsonObject, changed, child
from controller.api.meta import Key, OwnerReference
from controller.api.names import POD_TEMPLATE_HASH, V1BETA1
from controller.api.rollout import Rollout
from controller.api.workload_kinds import DEPLOYMENT, WorkloadKind, workload_kind
from controller.api.workloads import template_hash
from controller.domain import reasons
from controller.domain.admission.podset import admit_set
from controller.domain.admission.verdict import (
    Amended,
    PatchOperation,
    Refused,
    Verdict,
    json_patch,
)
from controller.domain.admission.workload import admit_deployment
from controller.domain.config.references import stamped
from controller.domain.decision import (
    Done,
    Outcome,
    Refusal,
    RevertTemplate,
    StampTemplate,
    WriteTemplate,
)
from controller.domain.pods.marks import hold_on
from controller.effects import kept_revisions
from controller.effects.freezing import plain
from controller.effects.patches import Operation, generation_is
from controller.effects.writes import Writes
from controller.errors import NotFound
from controller.kube.resources import CONTROLLER_REVISIONS, REPLICA_SETS, Resource

_TEMPLATE = ("spec", "template")


async def revert(
    writes: Writes, resource: Resource, action: RevertTemplate, rollout: Rollout
) -> Outcome:
    """Write the template that the source object keeps, if it is the expected one."""
    old = _tree(await writes.read(resource, action.workload))
    template = await _template_to_go_back_to(writes, action, rollout)
    if isinstance(template, Refusal):
        return template
    stored = _judged(old, changed(old, _TEMPLATE, template), action, rollout)
    if isinstance(stored, Refused):
        return Refusal(reasons.REVERT_REFUSED, stored.message, object=str(action.workload))
    return await _write(writes, resource, action, json_patch(old, stored))


async def _template_to_go_back_to(
    writes: Writes, action: RevertTemplate, rollout: Rollout
) -> JsonObject | Refusal:
    if action.kept:
        meta = rollout.metadata
        owner = OwnerReference(V1BETA1, "Rollout", meta.name, meta.uid, controller=True)
        found = await kept_revisions.read(writes, action.source, owner)
        if found is None:
            return _gone(f"ControllerRevision {action.source}")
        return kept_template({"spec": {"template": found}})
    source = REPLICA_SETS if action.kind == DEPLOYMENT else CONTROLLER_REVISIONS
    template = await _kept_in(writes, source, action.source)
    if isinstance(template, Refusal) or action.template in ("", _hash(template)):
        return template
    # a person who may write ReplicaSets may have put another template there
    return _gone(f"{source.kind} {action.source}")


def _hash(template: JsonObject) -> str:
    return template_hash(msgspec.json.encode(template))


async def write_template(writes: Writes, resource: Resource, action: WriteTemplate) -> Outcome:
    """Write the template in a ControllerRevision, with the strategy that holds the set; no release begins."""
    template = await _kept_in(writes, CONTROLLER_REVISIONS, action.source)
    if isinstance(template, Refusal):
        return template
    operations: list[Operation] = [
        generation_is(action.generation),
        {"op": "replace", "path": "/spec/template", "value": template},
        {"op": "add", "path": "/spec/updateStrategy", "value": action.strategy},
    ]
    await writes.patch(resource, action.workload, operations)
    return Done(wrote=True)


async def _kept_in(writes: Writes, source: Resource, key: Key) -> JsonObject | Refusal:
    try:
        return kept_template(_tree(await writes.read(source, key)))
    except NotFound:
        return _gone(f"{source.kind} {key}")


def _gone(named: str) -> Refusal:
    text = f"{named} is gone, and with it the template to go back to: apply the manifest you want to go back to"
    return Refusal(reasons.TEMPLATE_GONE, text, object=named)


async def stamp(
    writes: Writes, resource: Resource, action: StampTemplate, rollout: Rollout
) -> Outcome:
    """Write the annotation that makes another revision of the template."""
    old = _tree(await writes.read(resource, action.workload))
    template = stamped(child(old, *_TEMPLATE), action.stamp)
    stored = _judged(old, changed(old, _TEMPLATE, template), action, rollout)
    if isinstance(stored, Refused):
        return Refusal(reasons.CONFIG_NOT_HELD, stored.message, object=str(action.workload))
    if not hold_on(stored).marked:
        text = (
            f"{action.kind.kind} {action.workload} is not held for a release as it is, so its changed configuration is "
            "not released: its own controller may be off (OnDelete), or none of its pods may be wanted"
        )
        return Refusal(reasons.CONFIG_NOT_HELD, text, object=str(action.workload))
    return await _write(writes, resource, action, json_patch(old, stored))


async def _write(
    writes: Writes,
    resource: Resource,
    action: RevertTemplate | StampTemplate,
    operations: tuple[PatchOperation, ...],
) -> Done:
    tested = [generation_is(action.generation), *map(plain, operations)]
    await writes.patch(resource, action.workload, tested)
    return Done(wrote=True)


def _judged(
    old: JsonObject, new: JsonObject, action: RevertTemplate | StampTemplate, rollout: Rollout
) -> JsonObject | Refused:
    """The object that admission would store."""
    labels = {name: str(value) for name, value in child(old, "metadata", "labels").items()}
    kind = workload_kind(action.kind.group, action.kind.kind, labels)
    if kind is None or kind is WorkloadKind.DEPLOYMENT:
        verdict: Verdict = admit_deployment(old, new, rollout, action.replica_sets)
    else:
        verdict = admit_set(old, new, rollout, kind)
    if isinstance(verdict, Refused):
        return verdict
    return verdict.obj if isinstance(verdict, Amended) else new


def _tree(raw: bytes) -> JsonObject:
    return msgspec.json.decode(raw, type=JsonObject)


def kept_template(source: JsonObject) -> JsonObject:
    """The pod template in a ReplicaSet, or in the data of a ControllerRevision, without our labels."""
    found = child(source, *_TEMPLATE) or child(source, "data", *_TEMPLATE)
    labels = child(found, "metadata", "labels")
    kept = {name: value for name, value in labels.items() if name != POD_TEMPLATE_HASH}
    template = {name: value for name, value in found.items() if name != "$patch"}
    return changed(template, ("metadata", "labels"), kept or None)
