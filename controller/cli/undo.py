"""`undo`: put the stable template back on the workload; the controller then leads traffic and pods back.

Invariant: only the template is written, and only over the generation that was looked at; what is stable is what the
release recorded, never guessed from the order of revisions.
"""

import click
import msgspec

from controller.api.jsontree import JsonObject
from controller.api.rollout import Rollout
from controller.api.workloads import template_hash
from controller.cli.approve import NAMED
from controller.cli.failures import Failure
from controller.cli.kept import Kept, read_kept
from controller.cli.objects import read_rollout
from controller.cli.options import connection_options
from controller.cli.session import Session, run
from controller.cli.targets import rollout_names
from controller.domain.rollout.situation import canary_status, position
from controller.effects.reverts import kept_template
from controller.errors import Conflict


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME...")
@click.option("--dry-run", is_flag=True, help="Let the API server check it; change nothing.")
@connection_options
def undo(words: tuple[str, ...], dry_run: bool) -> None:
    """Go back to the revision that ran before the release, whatever the kind of the workload.

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
    kept = await read_kept(session, rollout)
    template = stable_template(rollout, kept)
    if isinstance(template, str):
        raise Failure(template)
    meta = kept.workload.metadata
    try:
        await session.client.json_patch(
            kept.resource,
            session.namespace,
            meta.name,
            template_patch(meta.generation, template),
            dry_run=dry_run,
        )
    except Conflict as moved:
        raise Failure(
            f"{kept.named} was changed at the same moment; nothing was undone: look, then repeat"
        ) from moved


def stable_template(rollout: Rollout, kept: Kept) -> JsonObject | str:
    """The template to write, or why there is none."""
    revision = (
        position(rollout.status).stable_revision or canary_status(rollout.status).stable_revision
    )
    if not revision:
        return (
            f"Rollout {rollout.metadata.key} has recorded no stable revision: nothing to go back to"
        )
    found = kept.templates.get(revision)
    if found is None:
        return (
            f"the {kept.keeper} of revision {revision} of {kept.named} is gone: apply the manifest you want to go back "
            "to"
        )
    if template_hash(bytes(found)) == template_hash(bytes(kept.workload.spec.template)):
        return f"{kept.named} has the template of its stable revision {revision} already"
    return kept_template({"spec": {"template": msgspec.json.decode(found, type=JsonObject)}})


def template_patch(generation: int, template: JsonObject) -> list[dict[str, object]]:
    """The template over the very generation that was looked at."""
    return [
        {"op": "test", "path": "/metadata/generation", "value": generation},
        {"op": "replace", "path": "/spec/template", "value": template},
    ]
