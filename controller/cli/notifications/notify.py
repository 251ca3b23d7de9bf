"""`notify test`: the requests of a Notification, shown or sent from a person's own machine.

Invariant: nothing is sent without --send, and nothing is written to the cluster: the status of the Notification does
not change.
"""

from pathlib import Path

import click

from controller.api.notification import Topic
from controller.cli.failures import ExitCode
from controller.cli.notifications.found import Found, Named, in_cluster, in_files, named
from controller.cli.notifications.trying import NotificationTried, tried
from controller.cli.options import connection_of, connection_options
from controller.cli.output import show_data
from controller.cli.reading.session import Session, run, to_the_end
from controller.cli.script_tools.yaml_text import write_yaml
from controller.cli.simulation.manifests import read_manifests
from controller.cli.terminal import say
from controller.domain.traffic.tree import Json


@click.group()
@connection_options
def notify() -> None:
    """Try Notifications before a release depends on them."""


@notify.command("test")
@click.argument("name", metavar="NAME")
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="The Notification, and the ConfigMap and Secrets of its script; may be given several times.",
)
@click.option(
    "--event",
    type=click.Choice([topic.value for topic in Topic]),
    default=Topic.WAITS_FOR_APPROVAL.value,
    show_default=True,
    help="The sample event.",
)
@click.option("--send", is_flag=True, help="Send it from this machine.")
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="For programs.")
@connection_options
def notify_test(
    name: str, paths: tuple[Path, ...], event: str, send: bool, form: str | None
) -> None:
    """Show the requests that a Notification would send for a sample event; with --send, send them.

    NAME is that of a Notification, or clusternotification/NAME. If it is among the -f files, no cluster is needed.
    Secrets are shown as ${name}; without --send they are not read. With --send they come from the files, or from the
    cluster if you may read them, and go only to the hosts of their annotation; no allow-list applies.

    \b
    Examples:
      kubectl moonshift notify test team-chat -n shop
      kubectl moonshift notify test team-chat -n shop --event RolledBack --send
      moonshift notify test team-chat -f notification.yaml -f secret.yaml --send

    \b
    Exit codes:
      0  the requests are shown; with --send: the target accepted the event
      1  the script cannot be run; with --send: the target did not accept the event
    """
    done = _tried(named(name), paths, Topic(event), send)
    if form is not None:
        show_data(done, form)
    else:
        _show(done, send)
    if done.problem:
        raise SystemExit(int(ExitCode.FAILED))


def _tried(wanted: Named, paths: tuple[Path, ...], topic: Topic, send: bool) -> NotificationTried:
    """With a cluster's client if the files do not have the Notification, else without one."""
    objects = tuple(read_manifests(paths))
    own = connection_of(click.get_current_context()).namespace
    found = in_files(wanted, objects, own or "default")
    if isinstance(found, Found):
        return to_the_end(tried(found, topic, send=send))

    async def connected(session: Session) -> NotificationTried:
        there = await in_cluster(wanted, objects, session)
        return await tried(there, topic, send=send)

    return run(connected)


def _show(done: NotificationTried, send: bool) -> None:
    say(f"script:  {done.script}")
    say(f"event:   {done.topic}" + ("" if done.chosen else ", which spec.events does not choose"))
    for number, request in enumerate(done.requests, 1):
        say(f"request {number}:\n{_indented(request)}")
    if done.problem:
        say(f"failed:  {done.problem}")
    elif send:
        say("sent:    yes, the target accepted it")
    else:
        say("sent:    no; --send sends it from this machine")


def _indented(request: Json) -> str:
    text = write_yaml(request, sort=False).rstrip("\n")
    return "\n".join(f"  {line}" for line in text.split("\n"))
