"""A workload of any kind that is released, with the templates that Kubernetes keeps of its revisions.

A Deployment's are in its ReplicaSets, all others' in ControllerRevisions; the stable one of a Deployment under release
is in a ControllerRevision of the release, too, because somebody may delete its ReplicaSet. Invariant: a revision is
named as on the labels of its pods, because a release records the stable revision so; objects of other owners are left
out; no template comes from a status, which more people may write than the workload.
"""

import msgspec

from controller.api.jsontree import JsonObject
from controller.api.meta import Key
from controller.api.names import KEPT_FOR, STABLE_REVISION
from controller.api.podsets import ControllerRevision, kept_facts
from controller.api.rollout import Rollout, WorkloadRef
from controller.api.workload_kinds import WorkloadKind, workload_kind
from controller.api.workloads import ReplicaSet, template_hash
from controller.cli.failures import Failure
from controller.cli.reading.facts import selector_text
from controller.cli.reading.gateway_watches import look_up
from controller.cli.reading.session import Session
from controller.cli.views.any_workload import AnyWorkload
from controller.domain.pods.marks import hold_on
from controller.domain.pods.running import revision_name
from controller.domain.rollout.words.release_context import canary_status, moonshift_status
from controller.domain.traffic.tree import Tree, decode_tree
from controller.effects.reverts import kept_template
from controller.errors import NotFound
from controller.kube.resources import (
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    REPLICA_SETS,
    Resource,
)
from controller.kube.watch import read_page


class Kept(msgspec.Struct, frozen=True):
    """A workload, how it is called and addressed, and its revisions' templates by the revisions' names.

    `stable` is the stable revision of a release under way by objects that the readers of the status cannot write: what
    the release keeps, else the workload itself; empty if neither names one.
    """

    named: str
    resource: Resource
    workload: AnyWorkload
    keeper: str
    templates: dict[str, msgspec.Raw] = {}
    stable: str = ""


async def read_kept(session: Session, rollout: Rollout) -> Kept:
    """The workload that a Rollout names; a Failure in words when there is none to read."""
    ref = rollout.spec.workload_ref
    named = f"{ref.kind} {Key(session.namespace, ref.name)}"
    resource = await resource_of(session, ref)
    try:
        body = await session.client.get(resource, session.namespace, ref.name)
    except NotFound as missing:
        raise Failure(f"{named} does not exist") from missing
    found = msgspec.json.decode(body, type=AnyWorkload)
    kind = workload_kind(ref.group, ref.kind, found.metadata.labels)
    if kind is None:
        raise Failure(f"{named} is not of a kind that is released: put it back with its own tools")
    keeper = REPLICA_SETS if kind is WorkloadKind.DEPLOYMENT else CONTROLLER_REVISIONS
    items = await _selected(session, keeper, found)
    templates = dict(_template(kind, item, found.metadata.uid) for item in items)
    templates.pop("", None)
    stable, template = await _kept_by_release(session, rollout, found.metadata.uid)
    if template is not None:
        templates.setdefault(stable, template)
    stable = stable or _named_by(found)
    return Kept(named, resource, found, keeper.kind, templates, stable)


async def _kept_by_release(
    session: Session, rollout: Rollout, workload: str
) -> tuple[str, msgspec.Raw | None]:
    """The stable revision in a ControllerRevision of the release, and its template if it is kept there."""
    if not moonshift_status(rollout.status).release:
        return "", None
    items: list[msgspec.Raw] = []
    chosen = f"{KEPT_FOR}={workload}"
    async for page in session.client.list_pages(CONTROLLER_REVISIONS, session.namespace, chosen):
        items += read_page(page).items or ()
    found = [msgspec.json.decode(item, type=ControllerRevision) for item in items]
    owned = [one for one in found if one.metadata.controller_uid == rollout.metadata.uid]
    for one in sorted(owned, key=lambda revision: revision.revision, reverse=True):
        facts = kept_facts(one)
        if facts is not None:
            template = one.data.spec.template
            whole = facts.stable_template == template_hash(bytes(template))
            return facts.stable_revision, template if whole else None
    return "", None


def _named_by(workload: AnyWorkload) -> str:
    """The stable revision in the marks that admission put on the workload."""
    record = hold_on(workload).record
    recorded = record.stable_revision if record is not None else ""
    return workload.metadata.labels.get(STABLE_REVISION, "") or (
        recorded if isinstance(recorded, str) else ""
    )


def plain_template(template: msgspec.Raw) -> Tree:
    """Without the labels and annotations by which Kubernetes and the controller distinguish revisions."""
    kept = kept_template({"spec": {"template": msgspec.json.decode(template, type=JsonObject)}})
    return decode_tree(msgspec.json.encode(kept))


def recorded_template(rollout: Rollout, kept: Kept) -> msgspec.Raw | str:
    """The template of the revision that a release recorded as stable, or why there is none."""
    revision = stable_of(rollout)
    if not revision:
        return (
            f"Rollout {rollout.metadata.key} has recorded no stable revision: nothing to go back to"
        )
    found = kept.templates.get(revision)
    if found is None:
        wanted = (
            moonshift_status(rollout.status).stable_words or "the version you want to go back to"
        )
        return f"the {kept.keeper} of revision {revision} of {kept.named} is gone: apply the manifest of {wanted}"
    return found


def stable_of(rollout: Rollout) -> str:
    """The stable revision, as its pods are labelled; empty if none is recorded."""
    status = rollout.status
    return moonshift_status(status).stable_revision or canary_status(status).stable_revision


async def resource_of(session: Session, ref: WorkloadRef) -> Resource:
    """How the kind of a workload is addressed; a Failure in words when it is not served."""
    if (ref.group, ref.kind) == ("apps", "Deployment"):
        return DEPLOYMENTS
    try:
        return await look_up(session.client, (ref.api_version, ref.kind))
    except NotFound as missing:
        raise Failure(str(missing)) from missing


async def _selected(session: Session, keeper: Resource, workload: AnyWorkload) -> list[msgspec.Raw]:
    selected = selector_text(bytes(workload.spec.selector))
    found: list[msgspec.Raw] = []
    async for page in session.client.list_pages(keeper, session.namespace, selected):
        found += read_page(page).items or ()
    return found


def _template(kind: WorkloadKind, item: msgspec.Raw, owner: str) -> tuple[str, msgspec.Raw]:
    """A revision's name and template; no name if it belongs to another owner."""
    if kind is WorkloadKind.DEPLOYMENT:
        kept = msgspec.json.decode(item, type=ReplicaSet)
        name, meta, template = kept.revision, kept.metadata, kept.spec.template
    else:
        revision = msgspec.json.decode(item, type=ControllerRevision)
        meta, template = revision.metadata, revision.data.spec.template
        name = revision_name(kind, meta)
    return (name if meta.controller_uid == owner else "", template)
