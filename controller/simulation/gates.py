"""Metric gates of a played release: their waits, their verdicts, and the effect on the release.

Invariant: pure; the verdicts are the controller's own. A gate without any values left would wait for ever in a
simulation, so that is reported instead of played.
"""

from collections.abc import Mapping, Sequence

from controller.api.analysis import AnalysisRun, MetricRun, Verdict
from controller.api.rollout import Rollout
from controller.domain.rollout.words.release_context import moonshift_status

BACKGROUND = 0
Series = Mapping[str, Sequence[float | str]]
"""Values of metrics by name, one a measurement."""


def outcome_of(rollout: Rollout, step: int) -> str:
    """How the gate of a step ended; empty if it has none."""
    for visit in reversed(moonshift_status(rollout.status).visits):
        if visit.step == step:
            return visit.analysis
    return ""


def waits_for_values(rollout: Rollout, series: Series) -> str:
    """Why the gate of the present step gets no verdict: its metrics have no values, or no more."""
    ours, plan = moonshift_status(rollout.status), rollout.spec.strategy.plan
    for run in ours.analyses:
        if plan is None or run.step != ours.step or run.verdict != Verdict.RUNNING:
            continue
        analysis = plan.steps[run.step - 1].analysis
        lacking = [found for found in run.metrics if _lacks_values(found, series)]
        if lacking and (analysis is None or analysis.deadline_seconds is None):
            return _report(run, lacking)
    return ""


def _lacks_values(found: MetricRun, series: Series) -> bool:
    waits = found.verdict == Verdict.RUNNING and not found.dry_run
    return waits and found.no_data > len(series.get(found.name, ()))


def _report(run: AnalysisRun, lacking: list[MetricRun]) -> str:
    names = " and ".join(found.name for found in lacking)
    given = " ".join(f"--metric {found.name}=VALUE,VALUE" for found in lacking)
    return (
        f"step {run.step} waits for data: {names} ({lacking[0].reason}); give values with {given}"
    )


def against(rollout: Rollout) -> str:
    """The verdict of a gate that failed or is inconclusive; empty if there is none."""
    ours = moonshift_status(rollout.status)
    for run in ours.analyses:
        if run.step in (ours.step, BACKGROUND) and run.verdict in (
            Verdict.FAILED,
            Verdict.INCONCLUSIVE,
        ):
            where = f"the gate of step {run.step}" if run.step else "the gate in the background"
            verdict = "failed" if run.verdict == Verdict.FAILED else "gives no verdict"
            return f"{where} {verdict}: {run.message}"
    return ""
