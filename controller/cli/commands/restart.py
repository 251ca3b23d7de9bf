"""`restart`: new pods of the same version, released in the steps of the plan.

Why not `kubectl rollout restart`: it knows Deployments, StatefulSets and DaemonSets only, and also restarts
during a release. Invariant: only kubectl's annotation of the pod template is written, for the generation that was read;
never while a release is under way, because that would replace its revision.
"""

from datetime import UTC, datetime

import click

from controller.cli.commands.approve import NAMED
from controller.cli.failures import Failure
from controller.cli.options import connection_options
from controller.cli.reading.arguments import rollout_names
from controller.cli.reading.found_rollouts import read_rollout
from controller.cli.reading.kept_templates import read_kept
from controller.cli.reading.session import Session, run
from controller.cli.render.words import counted
from controller.cli.terminal import say
from controller.cli.views.steps import goes_in_steps, steps_of, under_way
from controller.errors import Conflict

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME...")
@click.option("--dry-run", is_flag=True, help="Let the API server check it; change nothing.")
@connection_options
def restart(words: tuple[str, ...], dry_run: bool) -> None:
    """Release the same version again: all pods are replaced, in the steps of the plan.

    The pod template gets the annotation that `kubectl rollout restart` writes. During a release nothing is
    written: finish it, or go back, first.

    \b
    Example:
      kubectl moonshift restart web
    """
    names = rollout_names(words)
    run(lambda session: _restart_all(session, names, dry_run))


async def _restart_all(session: Session, names: tuple[str, ...], dry_run: bool) -> None:
    for name in names:
        steps = await _restart(session, name, dry_run)
        suffix = " (server dry run)" if dry_run else ""
        say(
            f"{NAMED}/{name} begins a release of the same version, in {counted(steps, 'step')}{suffix}"
        )


async def _restart(session: Session, name: str, dry_run: bool) -> int:
    rollout = await read_rollout(session, name)
    if under_way(rollout.status):
        raise Failure(
            f"a release of Rollout {rollout.metadata.key} is under way: let it end, or go back "
            f"({session.program} undo {name} -n {session.namespace}), then restart"
        )
    if not goes_in_steps(rollout):
        ref = rollout.spec.workload_ref
        raise Failure(
            f"Rollout {rollout.metadata.key} is disabled or being deleted: all pods of {ref.kind} {ref.name} would be "
            "replaced without its steps; kubectl rollout restart does that"
        )
    kept = await read_kept(session, rollout)
    meta = kept.workload.metadata
    annotation = {RESTARTED_AT: datetime.now(UTC).isoformat(timespec="seconds")}
    patch = {
        "metadata": {"resourceVersion": meta.resource_version},
        "spec": {"template": {"metadata": {"annotations": annotation}}},
    }
    try:
        await session.client.merge_patch(
            kept.resource, session.namespace, meta.name, patch, dry_run=dry_run
        )
    except Conflict as moved:
        raise Failure(
            f"{kept.named} was changed at the same moment; nothing was restarted: look, then repeat"
        ) from moved
    return len(steps_of(rollout.spec.strategy))
