"""`version`: the version of this program, of the API server, and of the controller if it can be found."""

import click
import msgspec

from controller.api.names import CONTROLLER_ACCOUNT
from controller.cli.failures import explain
from controller.cli.options import connection_options
from controller.cli.output import show_data
from controller.cli.reading.home import controller_namespace
from controller.cli.reading.programs import Program
from controller.cli.reading.session import Session, run
from controller.cli.terminal import say
from controller.cli.views.view import View
from controller.errors import MoonshiftError
from controller.kube.resources import DEPLOYMENTS
from controller.kube.watch import read_page
from controller.version import program_version

VERSION_LABEL = "app.kubernetes.io/version"


class ClientVersion(View, frozen=True):
    """The version of this program."""

    client: str


class Versions(ClientVersion, frozen=True):
    """All three versions; an unknown one is a sentence that says why."""

    server: str
    controller: str


@click.command()
@click.option("--client", "client_only", is_flag=True, help="Only this program's; no request.")
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="For programs.")
@connection_options
def version(client_only: bool, form: str | None) -> None:
    """Show versions: this program's, the API server's, the controller's image.

    \b
    Example:
      kubectl moonshift version
    """
    if client_only:
        _print_versions(ClientVersion(program_version()), form)
    else:
        _print_versions(run(_versions), form)


def _print_versions(found: ClientVersion, form: str | None) -> None:
    if form is not None:
        show_data(found, form)
        return
    width = max(map(len, found.__struct_fields__)) + 2
    for field in found.__struct_fields__:
        say(f"{field + ':':<{width}}{getattr(found, field)}")


async def _versions(session: Session) -> Versions:
    namespace = await controller_namespace(session)
    server = await session.client.server_version()
    found: list[Program] = []
    try:
        async for page in session.client.list_pages(DEPLOYMENTS, namespace):
            items = read_page(page).items or ()
            found += [msgspec.json.decode(item, type=Program) for item in items]
    except MoonshiftError as failure:
        return Versions(program_version(), server, f"not known ({explain(failure)})")
    return Versions(program_version(), server, controller_text(found, namespace))


def controller_text(present: list[Program], namespace: str) -> str:
    """The controller among the Deployments of its namespace, by its ServiceAccount."""
    for program in present:
        spec = program.spec.template.spec
        if spec.service_account_name == CONTROLLER_ACCOUNT and spec.containers:
            version = program.metadata.labels.get(VERSION_LABEL, "")
            image = spec.containers[0].image
            return f"{version} ({image})" if version else image
    return f"not found in namespace {namespace} (--controller-namespace)"
