"""`install --check`: the obstacles to an installation in this cluster, and the remedy for each."""

import click

from controller.api.names import DEFAULT_NAMESPACE
from controller.cli.failures import ExitCode
from controller.cli.install.cluster_facts import Facts
from controller.cli.install.gathering import gather
from controller.cli.install.obstacles import Finding, Level, judge
from controller.cli.options import connection_options
from controller.cli.output import show_data
from controller.cli.reading.session import Session, run
from controller.cli.terminal import say
from controller.cli.views.view import View


class Verdict(View, frozen=True):
    """Everything that was found, for programs."""

    namespace: str
    findings: tuple[Finding, ...]


@click.command()
@click.option("--check", is_flag=True, required=True, help="Look, and write nothing.")
@click.option("-o", "--output", "form", type=click.Choice(["json", "yaml"]), help="For programs.")
@connection_options
def install(check: bool, form: str | None) -> None:
    """Say what would not work in this cluster, and how to mend it (--check; kubectl or Helm installs).

    Looks at the API server's version and groups, the CRDs, webhooks and controller that are there, the namespace, your
    rights to create what the manifests contain, and the controller's rights on gateway kinds that Rollouts name.

    \b
    Example:
      kubectl moonshift install --check
    """
    home, facts = run(_facts)
    findings = judge(facts)
    if form is not None:
        show_data(Verdict(home, findings), form)
    else:
        _print_findings(findings, home)
    if any(finding.level is Level.PROBLEM for finding in findings):
        raise SystemExit(int(ExitCode.FAILED))


async def _facts(session: Session) -> tuple[str, Facts]:
    """The namespace for the controller, and the facts about the cluster."""
    home = session.controller_namespace or DEFAULT_NAMESPACE
    return home, await gather(session.client, home)


def _print_findings(findings: tuple[Finding, ...], namespace: str) -> None:
    for finding in findings:
        say(f"{finding.level}: {finding.what}")
        say(f"  to do: {finding.mend}")
    if not any(finding.level is Level.PROBLEM for finding in findings):
        say(f"nothing stands in the way of an installation in namespace {namespace}")
