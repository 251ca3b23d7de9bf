"""The gates of a release as the views show them: the state of each, its last values, and its next measurement.

Invariant: pure; computed from the status alone. Bounds and the next measurement are known for metrics in the Rollout
itself; for metrics of templates only the measured values are known.
"""

from datetime import datetime

from controller.api.analysis import (
    Analysis,
    AnalysisRun,
    Bounds,
    Metric,
    MetricRun,
    ValueRule,
    Verdict,
)
from controller.api.rollout import Rollout
from controller.cli.views.steps import under_way
from controller.cli.views.view import GateMetricView, GateView
from controller.domain.gates.judging import next_due
from controller.domain.gates.value_rules import shown
from controller.domain.rollout.words.release_context import moonshift_status

BACKGROUND = 0
ENDED = "Ended"
"""Shown for a gate without a verdict whose release is over: nothing measures it any more."""


def gate_views(rollout: Rollout) -> tuple[GateView, ...]:
    """Every gate of the release that has begun, the background gate first."""
    runs = sorted(moonshift_status(rollout.status).analyses, key=lambda run: run.step)
    return tuple(_gate(rollout, run) for run in runs)


def is_measured(rollout: Rollout, step: int) -> bool:
    """The gate of the step has no verdict yet."""
    runs = moonshift_status(rollout.status).analyses
    return any(run.step == step and run.verdict == Verdict.RUNNING for run in runs)


def waits_for_metrics(rollout: Rollout, step: int) -> str:
    """The reason why a step's gate has no verdict yet, or why the pause of a step without a gate has not begun."""
    for run in moonshift_status(rollout.status).analyses:
        if run.step == step and run.message:
            return f"the verdict of the metrics: {run.message}"
    if _analysis(rollout, step) == Analysis():
        return "its pause, which begins when no client can still repeat the approval or jump before"
    return "the verdict of the metrics"


def _gate(rollout: Rollout, run: AnalysisRun) -> GateView:
    known = {metric.name: metric for metric in _analysis(rollout, run.step).metrics}
    stopped = not under_way(rollout.status) or bool(moonshift_status(rollout.status).goal)
    return GateView(
        step=run.step,
        verdict=_shown_verdict(run.verdict, stopped),
        message=run.message,
        since=run.started_at,
        metrics=tuple(_metric(found, known.get(found.name), run, stopped) for found in run.metrics),
    )


def _shown_verdict(verdict: str, stopped: bool) -> str:
    return ENDED if stopped and verdict == Verdict.RUNNING else verdict


def _analysis(rollout: Rollout, step: int) -> Analysis:
    plan = rollout.spec.strategy.plan
    if plan is None or not 0 <= step <= len(plan.steps):
        return Analysis()
    found = plan.analysis if step == BACKGROUND else plan.steps[step - 1].analysis
    return found or Analysis()


def _metric(
    found: MetricRun, metric: Metric | None, run: AnalysisRun, stopped: bool
) -> GateMetricView:
    over = stopped or run.verdict != Verdict.RUNNING
    last = found.readings[-1] if found.readings else None
    value = last.value if last is not None else None
    return GateMetricView(
        name=found.name,
        verdict=_shown_verdict(found.verdict, stopped),
        reason=found.reason,
        value="" if value is None else value if isinstance(value, str) else shown(value),
        wanted=wanted(metric) if metric is not None else "",
        next_at=None if metric is None or over else _next(metric, found, run.started_at),
        dry_run=found.dry_run,
    )


def _next(metric: Metric, found: MetricRun, started: datetime | None) -> datetime | None:
    return next_due(metric, found, started) if started is not None else None


def wanted(metric: Metric) -> str:
    """The bounds of a good value, in words."""
    compare = metric.compare
    parts = [_bounds("", metric.success), _text(metric.success)]
    if compare is not None:
        parts += [_bounds("ratio to stable ", compare.ratio)]
        parts += [_bounds("difference to stable ", compare.difference)]
    if metric.min_samples:
        parts.append(f"from {metric.min_samples} requests on")
    return ", ".join(filter(None, parts))


def _text(rule: ValueRule | None) -> str:
    if rule is None or (rule.equals is None and rule.matches is None):
        return ""
    return f"matches {rule.matches}" if rule.equals is None else f"equal to {rule.equals}"


def _bounds(what: str, bounds: Bounds | None) -> str:
    if bounds is None:
        return ""
    low = f"at least {shown(bounds.min)}" if bounds.min is not None else ""
    high = f"at most {shown(bounds.max)}" if bounds.max is not None else ""
    shown_bounds = " and ".join(filter(None, (low, high)))
    return f"{what}{shown_bounds}" if shown_bounds else ""
