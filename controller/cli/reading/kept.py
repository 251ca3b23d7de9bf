"""A workload of any kind that is released, with the templates that Kubernetes keeps of its revisions.

A Deployment's are in its ReplicaSets, all others' in ControllerRevisions. Invariant: a revision is named
as on the labels of its pods, because a release records the stable revision so; objects of other owners are left out.
"""

import msgspec

from controller.api.meta import Key
from controller.api.podsets import ControllerRevision
from controller.api.rollout import Rollout, WorkloadRef
from controller.api.workload_kinds import WorkloadKind, workload_kind
from controller.api.workloads import ReplicaSet
from controller.cli.failures import Failure
from controller.cli.reading.facts import selector_text
from controller.cli.reading.gateways import look_up
from controller.cli.reading.session import Session
from controller.cli.views.workload import AnyWorkload
from controller.domain.pods.running import revision_name
from controller.domain.rollout.release_context import canary_status, moonshift_status
from controller.errors import NotFound
from controller.kube.resources import (
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    REPLICA_SETS,
    Resource,
)
from controller.kube.watch import read_page


class Kept(msgspec.Struct, frozen=True):
    """A workload, how it is called and addressed, and its revisions' templates by the revisions' names."""

    named: str
    resource: Resource
    workload: AnyWorkload
    keeper: str
    templates: dict[str, msgspec.Raw] = {}


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
    return Kept(named, resource, found, keeper.kind, templates)


def recorded_template(rollout: Rollout, kept: Kept) -> msgspec.Raw | str:
    """The template of the revision that a release recorded as stable, or why there is none."""
    revision = stable_of(rollout)
    if not revision:
        return (
            f"Rollout {rollout.metadata.key} has recorded no stable revision: nothing to go back to"
        )
    ours = moonshift_status(rollout.status)
    found = kept.templates.get(revision)
    if found is None and ours.stable_revision == revision and ours.kept_template:
        # a release under way keeps it: its ReplicaSet may have been deleted
        found = msgspec.Raw(ours.kept_template.encode())
    if found is None:
        wanted = ours.stable_words or "the version you want to go back to"
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
