"""`undo`: put the stable template back on the workload; the controller then leads traffic and pods back.

Invariant: only the template is written, and only over the generation that was looked at; what is stable is what the
release recorded, never guessed from the order of ReplicaSets.
"""

import click
import msgspec

from controller.api.names import POD_TEMPLATE_HASH
from controller.api.rollout import Rollout
from controller.api.workloads import Deployment, ReplicaSet, template_hash
from controller.cli.approve import NAMED
from controller.cli.facts import selector_text
from controller.cli.failures import Failure
from controller.cli.objects import read_rollout
from controller.cli.options import connection_options
from controller.cli.session import Session, run
from controller.cli.targets import rollout_names
from controller.domain.rollout.situation import canary_status, position
from controller.domain.traffic.tree import Tree, decode_tree
from controller.errors import Conflict, NotFound
from controller.kube.resources import DEPLOYMENTS, REPLICA_SETS
from controller.kube.watch import read_page


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME...")
@click.option("--dry-run", is_flag=True, help="Let the API server check it; change nothing.")
@connection_options
def undo(words: tuple[str, ...], dry_run: bool) -> None:
    """Go back to the revision that ran before the release.

    The stable revision's template is written to the workload, under the condition that nobody changed it meanwhile.
    The controller then sends traffic back first and pods after. After a release has ended, this goes back to the
    revision before it, as a release of its own.

    \b
    Examples:
      kubectl moonshift undo web
      kubectl moonshift undo web && kubectl moonshift status web   # exit code 3: rolled back
    """
    names = rollout_names(words)
    run(lambda session: _undo_all(session, names, dry_run))


async def _undo_all(session: Session, names: tuple[str, ...], dry_run: bool) -> None:
    for name in names:
        rollout = await read_rollout(session, name)
        await _undo(session, rollout, dry_run)
        suffix = " (server dry run)" if dry_run else ""
        click.echo(f"{NAMED}/{name} rolled back{suffix}")


async def _undo(session: Session, rollout: Rollout, dry_run: bool) -> None:
    ref = rollout.spec.workload_ref
    if (ref.group, ref.kind) != ("apps", "Deployment"):
        raise Failure(f"undo knows Deployments; put {ref.kind} {ref.name} back with its own tools")
    try:
        body = await session.client.get(DEPLOYMENTS, session.namespace, ref.name)
    except NotFound as missing:
        raise Failure(f"Deployment {session.namespace}/{ref.name} does not exist") from missing
    workload = msgspec.json.decode(body, type=Deployment)
    template = stable_template(rollout, workload, await _replica_sets(session, workload))
    if isinstance(template, str):
        raise Failure(template)
    try:
        await session.client.json_patch(
            DEPLOYMENTS,
            session.namespace,
            ref.name,
            template_patch(workload, template),
            dry_run=dry_run,
        )
    except Conflict as moved:
        raise Failure(
            f"Deployment {workload.metadata.key} was changed at the same moment; nothing was undone: look, then repeat"
        ) from moved


async def _replica_sets(session: Session, workload: Deployment) -> list[ReplicaSet]:
    selected = selector_text(bytes(workload.spec.selector))
    found: list[ReplicaSet] = []
    async for page in session.client.list_pages(REPLICA_SETS, session.namespace, selected):
        found += [
            msgspec.json.decode(item, type=ReplicaSet) for item in read_page(page).items or ()
        ]
    return [rs for rs in found if rs.metadata.controller_uid == workload.metadata.uid]


def stable_template(
    rollout: Rollout, workload: Deployment, replica_sets: list[ReplicaSet]
) -> Tree | str:
    """The template to write, or why there is none."""
    key = workload.metadata.key
    revision = (
        position(rollout.status).stable_revision or canary_status(rollout.status).stable_revision
    )
    if not revision:
        return (
            f"Rollout {rollout.metadata.key} has recorded no stable revision: nothing to go back to"
        )
    found = next((rs for rs in replica_sets if rs.revision == revision), None)
    if found is None:
        return (
            f"the ReplicaSet of revision {revision} of Deployment {key} is gone: apply the manifest you want to go "
            "back to"
        )
    if template_hash(bytes(found.spec.template)) == template_hash(bytes(workload.spec.template)):
        return f"Deployment {key} has the template of its stable revision {revision} already"
    template = decode_tree(bytes(found.spec.template))
    metadata = template.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if isinstance(labels, dict):
        labels.pop(POD_TEMPLATE_HASH, None)
    return template


def template_patch(workload: Deployment, template: Tree) -> list[dict[str, object]]:
    """The template over the very generation that was looked at."""
    return [
        {"op": "test", "path": "/metadata/generation", "value": workload.metadata.generation},
        {"op": "replace", "path": "/spec/template", "value": template},
    ]
