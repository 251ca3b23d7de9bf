"""`get`: all Rollouts as a table, or one as a tree; `-w` keeps it up to date."""

from collections.abc import Callable
from datetime import UTC, datetime

import click
import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from controller.api.meta import Key
from controller.api.rollout import Rollout
from controller.cli.commands.approve import NAMED
from controller.cli.failures import Failure
from controller.cli.live import watch
from controller.cli.options import connection_options
from controller.cli.output import OutputForm, is_data, show, show_data, show_views
from controller.cli.reading.arguments import is_type, rollout_names
from controller.cli.reading.controller_at_work import (
    ControllerAbsence,
    nobody_at_work,
    seems_to_stand_still,
)
from controller.cli.reading.facts import Facts
from controller.cli.reading.found_rollouts import list_rollouts, read_rollout
from controller.cli.reading.session import Session, run
from controller.cli.reading.source import Source
from controller.cli.render.live_tree import rollout_tree
from controller.cli.render.table import rollouts_table
from controller.cli.render.words import change_line
from controller.cli.terminal import say
from controller.cli.views.look import look_at, summary_of
from controller.cli.views.view import RolloutView, Summary, View
from controller.kube.resources import ROLLOUTS
from controller.kube.store import Store


class Listing(View, frozen=True):
    """The data of the table, for programs."""

    items: tuple[Summary, ...]


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME]...")
@click.option("-w", "--watch", "live", is_flag=True, help="Keep it up to date until Ctrl-C.")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Of all namespaces.")
@click.option("-o", "--output", "form", type=OutputForm("wide"), help="How to print it.")
@connection_options
def get(words: tuple[str, ...], live: bool, everywhere: bool, form: str | None) -> None:
    """Show Rollouts: all as a table, or those named as a tree.

    The tree shows the step and its reason to wait, revisions with their pods, the revision that each Service is
    pinned to, the step and the weights of each gateway object, and the next steps.

    With -w it is redrawn as things change; in a pipe every change is one line. With -o json or yaml it is the same as
    data, and -o jsonpath={...} is one value of it (the object itself: kubectl get rollout NAME -o yaml).

    \b
    Examples:
      kubectl moonshift get                      # all of this namespace
      kubectl moonshift get -A -o wide
      kubectl moonshift get web -w               # follow one release
      kubectl moonshift get web -o json | jq .summary.waitsFor
      kubectl moonshift get web -o jsonpath='{.summary.state}'
      kubectl moonshift get -o name
    """
    names = () if len(words) == 1 and is_type(words[0]) else rollout_names(words)
    if live and (form == "name" or is_data(form)):
        raise click.UsageError(
            "-w prints for people; for programs use kubectl get rollout -w -o json"
        )
    if names and everywhere:
        raise click.UsageError("a NAME is in one namespace: give -n instead of -A")
    if live and len(names) > 1:
        raise click.UsageError("-w follows one Rollout, or all: give one NAME or none")
    if names:
        run(lambda session: _named(session, names, live, form))
    else:
        run(lambda session: _listed(session, everywhere, live, form))


# --- the table ----------------------------------------------------------------------------------


class TablePicture:
    """All Rollouts of a store."""

    def __init__(self, store: Store[Rollout], *, namespaces: bool, wide: bool) -> None:
        self._store = store
        self._namespaces = namespaces
        self._wide = wide

    def _rows(self) -> tuple[Summary, ...]:
        present = sorted(self._store.values(), key=lambda rollout: rollout.metadata.key)
        return tuple(summary_of(rollout) for rollout in present)

    def draw(self, now: datetime) -> RenderableType:
        """The table, for a terminal."""
        rows = self._rows()
        return rollouts_table(rows, now, namespaces=self._namespaces, wide=self._wide)

    def lines(self, now: datetime) -> tuple[str, ...]:
        """One line for each Rollout."""
        return tuple(change_line(row) for row in self._rows())


async def _listed(session: Session, everywhere: bool, live: bool, form: str | None) -> None:
    namespace = None if everywhere else session.namespace
    found = await list_rollouts(session.client, namespace)
    if form is not None and is_data(form):
        show_data(Listing(tuple(summary_of(rollout) for rollout in found)), form)
        return
    if form == "name":
        for rollout in found:
            say(f"{NAMED}/{rollout.metadata.name}")
        return
    if not found and not live:
        where = "any namespace" if everywhere else f"namespace {session.namespace}"
        say(f"No Rollouts in {where}.", err=True)
        return
    store: Store[Rollout] = Store()
    store.replace_all(found)
    picture = TablePicture(store, namespaces=everywhere, wide=form == "wide")
    if not live:
        show(picture.draw(datetime.now(UTC)))
        return
    source = Source(ROLLOUTS, store, Rollout, namespace=namespace)

    async def follow(changed: Callable[[], None]) -> None:
        store.subscribe(lambda old, new: changed())
        await source.reflector(session.client).run()

    await watch(picture, follow)


# --- the tree -----------------------------------------------------------------------------------


class TreePicture:
    """One Rollout and its world."""

    def __init__(
        self, facts: Facts, name: str, program: str, absence: ControllerAbsence | None = None
    ) -> None:
        self._facts = facts
        self._name = name
        self._program = program
        self._absence = absence or ControllerAbsence()

    def view(self, now: datetime) -> RolloutView | None:
        """The present state."""
        seen = self._facts.observe()
        if seen is None:
            return None
        view = look_at(seen, now, self._facts.gaps)
        return msgspec.structs.replace(
            view,
            unattended=self._absence.text,
            lease_readable=self._absence.lease_readable,
            controller_namespace=self._absence.namespace,
        )

    def draw(self, now: datetime) -> RenderableType:
        """The tree, for a terminal."""
        view = self.view(now)
        if view is None:
            return Text(f"Rollout {self._name} was deleted", style="red")
        return rollout_tree(view, now, self._program)

    def lines(self, now: datetime) -> tuple[str, ...]:
        """The release in one line, and the routes in one each."""
        view = self.view(now)
        if view is None:
            return (f"{self._name}  was deleted",)
        routes = (
            f"{view.summary.namespace}/{view.summary.name}  {route.kind}/{route.name} {route.state}"
            + "".join(f"  {share}" for share in route.shares)
            for route in view.routes
        )
        gaps = (
            f"{view.summary.namespace}/{view.summary.name}  not shown: {gap}" for gap in view.gaps
        )
        return (change_line(view.summary), *routes, *gaps)


async def picture_of(
    session: Session, name: str, *, live: bool = False
) -> tuple[TreePicture, Facts, Rollout]:
    """Everything about one Rollout, read once; a live picture leaves out facts that no watch keeps up to date."""
    rollout = await read_rollout(session, name)
    facts = Facts(session.client, Key(session.namespace, name))
    await facts.load(rollout)
    absence = None if live else await _absence(session, rollout)
    return TreePicture(facts, name, session.program, absence), facts, rollout


async def _absence(session: Session, rollout: Rollout) -> ControllerAbsence:
    now = datetime.now(UTC)
    waited = seems_to_stand_still(rollout, now)
    return await nobody_at_work(session, now, waited=waited)


async def _named(session: Session, names: tuple[str, ...], live: bool, form: str | None) -> None:
    if form == "name":
        for name in names:
            say(f"{NAMED}/{(await read_rollout(session, name)).metadata.name}")
        return
    pictures = [await picture_of(session, name, live=live) for name in names]
    if live:
        picture, facts, _ = pictures[0]
        await watch(picture, facts.follow)
        return
    now = datetime.now(UTC)
    if form is not None and is_data(form):
        views = [view for picture, _, _ in pictures if (view := picture.view(now)) is not None]
        if len(views) != len(names):
            raise Failure("a Rollout was deleted while it was looked at: try again")
        show_views(views, form)
        return
    show(Group(*(picture.draw(now) for picture, _, _ in pictures)))
