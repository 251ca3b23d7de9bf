"""`undo`: restores the stable template of the workload; the controller then returns traffic and pods.

Invariant: only the template is written, and only for the generation that was read, from an object that keeps a
revision, never from a status; the difference is shown. The stable revision is read from the release's record, never
guessed from the order of revisions; where the workload and the release name another one than the status, which more
people may write, a person has to agree.
"""

import sys

import click
import msgspec

from controller.api.jsontree import JsonObject
from controller.api.rollout import Rollout
from controller.api.workloads import template_hash
from controller.cli.commands.approve import NAMED
from controller.cli.failures import Failure
from controller.cli.options import connection_options
from controller.cli.reading.arguments import rollout_names
from controller.cli.reading.found_rollouts import read_rollout
from controller.cli.reading.kept_templates import (
    Kept,
    plain_template,
    read_kept,
    recorded_template,
    stable_of,
)
from controller.cli.reading.session import Session, run
from controller.cli.render.words import counted
from controller.cli.script_tools.yaml_text import diff
from controller.cli.terminal import agreed, diff_line, say
from controller.cli.views.images import images_of
from controller.cli.views.steps import goes_in_steps, steps_of, under_way
from controller.effects.reverts import kept_template
from controller.errors import Conflict


class Asked(msgspec.Struct, frozen=True):
    """The wishes of the person apart from the undo itself."""

    dry_run: bool = False
    yes: bool = False

    @property
    def asks(self) -> bool:
        """A question has a person to answer it, and was not answered beforehand."""
        return not self.yes and not self.dry_run and is_terminal()


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME...")
@click.option("--dry-run", is_flag=True, help="Let the API server check it; change nothing.")
@click.option(
    "-y",
    "--yes",
    is_flag=True,
    help="Do not ask before this starts a release of its own, or where the status names another stable revision "
    "than the release keeps.",
)
@connection_options
def undo(words: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Go back to the revision that ran before the release, for every kind of workload.

    The stable revision's template is written to the workload, under the condition that nobody changed it meanwhile;
    the difference is shown first. The controller then returns traffic first and pods afterwards.

    After the end of a release, this starts a new release to the revision before, with all steps. On a terminal the
    command asks first (unless --yes is given); in a script it continues, and says so.

    \b
    Examples:
      kubectl moonshift undo web
      kubectl moonshift undo web && kubectl moonshift status web   # exit code 3: rolled back
    """
    names = rollout_names(words)
    run(lambda session: _undo_all(session, names, Asked(dry_run, yes)))


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME...")
@click.option("--dry-run", is_flag=True, help="Let the API server check it; change nothing.")
@connection_options
def abort(words: tuple[str, ...], dry_run: bool) -> None:
    """Roll back the release under way, as `undo` does; without a release, change nothing.

    \b
    Example:
      kubectl moonshift abort web
    """
    names = rollout_names(words)
    run(lambda session: _abort_all(session, names, dry_run))


async def _abort_all(session: Session, names: tuple[str, ...], dry_run: bool) -> None:
    for name in names:
        rollout = await read_rollout(session, name)
        if not under_way(rollout.status):
            back = f"{session.program} undo {name} -n {session.namespace}"
            raise Failure(
                f"no release of Rollout {rollout.metadata.key} is under way: nothing to abort; "
                f"to go back to the version before, in steps: {back}"
            )
    await _undo_all(session, names, Asked(dry_run))


async def _undo_all(session: Session, names: tuple[str, ...], asked: Asked) -> None:
    for name in names:
        rollout = await read_rollout(session, name)
        await _undo(session, rollout, asked)
        begins = goes_in_steps(rollout) and not under_way(rollout.status)
        done = "begins a release of its own, back" if begins else "rolled back"
        suffix = " (server dry run)" if asked.dry_run else ""
        say(f"{NAMED}/{name} {done}{suffix}")


async def _undo(session: Session, rollout: Rollout, asked: Asked) -> None:
    kept = await read_kept(session, rollout)
    template = stable_template(rollout, kept)
    if isinstance(template, str):
        raise Failure(template)
    _show(rollout, kept)
    if not under_way(rollout.status):
        say(f"{_consequence(rollout)}, back to {_named(rollout, template)}", err=True)
        if asked.asks and not await agreed("Start it?"):
            raise Failure("nothing was changed")
    elif kept.stable not in ("", stable_of(rollout)):
        await _agree_to_the_status(rollout, kept, asked)
    meta = kept.workload.metadata
    try:
        await session.client.json_patch(
            kept.resource,
            session.namespace,
            meta.name,
            template_patch(meta.generation, template),
            dry_run=asked.dry_run,
        )
    except Conflict as moved:
        raise Failure(
            f"{kept.named} was changed at the same moment; nothing was undone: look, then repeat"
        ) from moved


def _show(rollout: Rollout, kept: Kept) -> None:
    """The difference that is written, on the error output: the output is for programs."""
    found = recorded_template(rollout, kept)
    assert not isinstance(found, str)
    before, after = plain_template(kept.workload.spec.template), plain_template(found)
    for line in diff(before, after, (kept.named, f"revision {stable_of(rollout)}")):
        say(diff_line(line), err=True)


async def _agree_to_the_status(rollout: Rollout, kept: Kept, asked: Asked) -> None:
    """The status names another stable revision than objects that its writers cannot write: a person decides."""
    name = rollout.metadata.name
    doubt = (
        f"the status of Rollout {rollout.metadata.key} names revision {stable_of(rollout)} as stable, and the release "
        f"keeps {kept.stable}: somebody may have changed the status"
    )
    say(f"warning: {doubt}", err=True)
    if asked.yes or asked.dry_run:
        return
    if not is_terminal():
        raise Failure(
            f"{doubt}; nothing was changed: look at the difference, then undo {name} --yes"
        )
    if not await agreed("Write this template?"):
        raise Failure("nothing was changed")


def _consequence(rollout: Rollout) -> str:
    """The effect of a change of the template while no release is under way."""
    named = f"Rollout {rollout.metadata.key}"
    if not goes_in_steps(rollout):
        return f"{named} is disabled or being deleted: this changes all pods of the workload without its steps"
    steps = counted(len(steps_of(rollout.spec.strategy)), "step")
    return f"no release of {named} is under way: this starts one, of {steps}"


def _named(rollout: Rollout, template: JsonObject) -> str:
    return f"{stable_of(rollout)} ({images_of(template) or 'no image'})"


def stable_template(rollout: Rollout, kept: Kept) -> JsonObject | str:
    """The template to write, or why there is none."""
    found = recorded_template(rollout, kept)
    if isinstance(found, str):
        return found
    if template_hash(bytes(found)) == template_hash(bytes(kept.workload.spec.template)):
        stable = _named(rollout, msgspec.json.decode(found, type=JsonObject))
        return f"{kept.named} has the template of its stable revision {stable} already"
    return kept_template({"spec": {"template": msgspec.json.decode(found, type=JsonObject)}})


def is_terminal() -> bool:
    """Whether a person can answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def template_patch(generation: int, template: JsonObject) -> list[dict[str, object]]:
    """The template, for exactly the generation that was read."""
    return [
        {"op": "test", "path": "/metadata/generation", "value": generation},
        {"op": "replace", "path": "/spec/template", "value": template},
    ]
