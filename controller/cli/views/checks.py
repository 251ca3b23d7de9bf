"""The checks of a release as the views show them: the state of each, its words, and when it is asked again.

Invariant: pure; computed from the status alone.
"""

from controller.api.checks import CheckRun, CheckVerdict
from controller.api.rollout import Rollout
from controller.cli.views.view import CheckView
from controller.domain.rollout.words.release_context import moonshift_status


def check_views(rollout: Rollout) -> tuple[CheckView, ...]:
    """Every check of the release that has begun and is not forgotten yet."""
    return tuple(map(_check, moonshift_status(rollout.status).checks))


def waits_for_checks(rollout: Rollout) -> str:
    """The checks that the release waits for; empty if it waits for none."""
    waiting = [
        f"{run.name}: {run.message or 'no answer yet'}"
        for run in moonshift_status(rollout.status).checks
        if run.verdict == CheckVerdict.RUNNING and run.at != "rollback"
    ]
    return f"its checks: {'; '.join(waiting)}" if waiting else ""


def _check(run: CheckRun) -> CheckView:
    return CheckView(
        name=run.name,
        step=run.step,
        at=run.at,
        verdict=run.verdict,
        message=run.message,
        since=run.started_at,
        again_at=run.again_at,
    )
