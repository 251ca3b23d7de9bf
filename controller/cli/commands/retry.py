"""`retry`: try a revision again that was given up, measure a failed gate again, or ask a failed check again.

Invariant: only the revision that was seen is let go; nothing about the workload is written, so the release begins as
admission has let it in.
"""

import click

from controller.api.analysis import AnalysisRun, Verdict
from controller.api.checks import CheckRun, CheckVerdict
from controller.cli.commands.approve import NAMED
from controller.cli.failures import Failure
from controller.cli.options import connection_options
from controller.cli.reading.arguments import one_rollout
from controller.cli.reading.found_rollouts import read_rollout
from controller.cli.reading.session import Session, run
from controller.cli.terminal import say
from controller.domain.rollout.words.release_context import moonshift_status
from controller.errors import Conflict
from controller.kube.resources import ROLLOUTS

_FAILED = "/status/moonshift/failedTemplate"
_ANALYSES = "/status/moonshift/analyses"
_CHECKS = "/status/moonshift/checks"


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[rollout/]NAME")
@connection_options
def retry(words: tuple[str, ...]) -> None:
    """Try a revision again that was given up, measure a failed gate again, or ask a failed check again.

    A revision that a deadline, a gate or a check rolled back is held when it is applied again, until the template
    changes or you run this command.

    \b
    Example:
      kubectl moonshift retry web
    """
    name = one_rollout(words)
    run(lambda session: _retry(session, name))


def _forgotten_gates(runs: tuple[AnalysisRun, ...]) -> list[dict[str, object]]:
    """Remove the gates that failed, the last one first; the others keep their measurements."""
    operations: list[dict[str, object]] = []
    for place in range(len(runs) - 1, -1, -1):
        run = runs[place]
        if run.verdict in (Verdict.FAILED, Verdict.INCONCLUSIVE):
            path = f"{_ANALYSES}/{place}"
            # The step of the background gate is 0, which is not stored.
            if run.step:
                operations.append({"op": "test", "path": f"{path}/step", "value": run.step})
            operations += [
                {"op": "test", "path": f"{path}/verdict", "value": run.verdict},
                {"op": "remove", "path": path},
            ]
    return operations


def _forgotten_checks(runs: tuple[CheckRun, ...]) -> list[dict[str, object]]:
    """Remove the checks that failed, the last one first; those that pass are not asked again."""
    operations: list[dict[str, object]] = []
    for place in range(len(runs) - 1, -1, -1):
        if runs[place].verdict == CheckVerdict.FAILED:
            path = f"{_CHECKS}/{place}"
            operations += [
                {"op": "test", "path": f"{path}/id", "value": runs[place].id},
                {"op": "test", "path": f"{path}/verdict", "value": runs[place].verdict},
                {"op": "remove", "path": path},
            ]
    return operations


async def _retry(session: Session, name: str) -> None:
    rollout = await read_rollout(session, name)
    ours = moonshift_status(rollout.status)
    operations: list[dict[str, object]] = []
    if ours.failed_template:
        operations += [
            {"op": "test", "path": _FAILED, "value": ours.failed_template},
            {"op": "remove", "path": _FAILED},
        ]
    gates, checks = _forgotten_gates(ours.analyses), _forgotten_checks(ours.checks)
    operations += (*gates, *checks)
    if not operations:
        raise Failure(
            f"Rollout {rollout.metadata.key} has given no revision up, and no gate or check failed: nothing to try "
            "again"
        )
    try:
        await session.client.json_patch(ROLLOUTS, session.namespace, name, operations, "status")
    except Conflict as moved:
        raise Failure(
            f"Rollout {rollout.metadata.key} changed at the same moment: look, then repeat"
        ) from moved
    what = "its metrics are measured again" if gates else "its checks are asked again"
    if ours.failed_template:
        what = "the revision that was given up may be tried again"
    say(f"{NAMED}/{name}: {what}")
