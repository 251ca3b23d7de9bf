"""Metric gates of a release: the gate of its present step, and the gate in the background.

A step's gate starts when the step's pods and routes are in place; the step ends after its verdict. A gate that fails or
is inconclusive stops the release at its step, or takes the new revision back. An approval outranks the gate: the person
who approves has seen why the release stopped. Invariant: pure; all counts are in the status, so a restart or another
leader loses no measurement. Must not measure: it asks by `Measure` and reads `Observation.measured`.
"""

from msgspec import structs

from controller.api.analysis import Analysis, AnalysisRun, OnFailure, Verdict
from controller.api.rollout import RolloutStatus, StepState, StepVisit
from controller.domain import reasons
from controller.domain.decision import Action, Note, Refusal, Severity, Value
from controller.domain.gates.asking import asked_about
from controller.domain.gates.watching import Asked, Look, look
from controller.domain.rollout import messages
from controller.domain.rollout.release_context import ReleaseContext, Style, moonshift_status
from controller.domain.rollout.reverting import given_up
from controller.domain.rollout.status import enter, progressing, with_moonshift_status
from controller.domain.rollout.transition import Continue, Stop, Transition

BACKGROUND = 0
"""The step number under which the background gate is recorded."""


class Watched(Value, frozen=True):
    """The state of the background gate.

    `wake` contains its measurements and its next instant; `stop` is the outcome with which it stops the release.
    """

    status: RolloutStatus
    wake: Stop | None = None
    stop: Stop | None = None


def analyse(context: ReleaseContext, status: RolloutStatus) -> Transition | None:
    """The gate of the present step; None if the step has no gate, or the gate has passed."""
    index = moonshift_status(status).step
    analysis = context.step(index).analysis
    if analysis is None:
        return None
    looked = _with_new_measurements(context, status, analysis, index)
    if isinstance(looked, Stop):
        return looked
    status, found, waiting = looked
    run = found.run
    if run.verdict == Verdict.RUNNING:
        text = messages.in_step(context, index, messages.analysing(run.message))
        waiting_status = progressing(status, reasons.IN_ROLLING, text, context.now)
        problem = _without_data(context, analysis, found)
        return structs.replace(waiting, status=waiting_status, problem=problem)
    if run.verdict == Verdict.PASSED:
        return None if _noted(status) else _passed(context, status, run)
    return _not_passed(context, status, analysis, run)


def _without_data(context: ReleaseContext, analysis: Analysis, found: Look) -> Refusal | None:
    """Metrics without data for ten minutes, where no deadline of the gate ends the wait."""
    if not found.without_data or analysis.deadline_seconds is not None:
        return None
    name = context.seen.rollout.metadata.name
    text = (
        f"step({found.run.step}) waits for metrics without data, or with too few requests: "
        f"{', '.join(found.without_data)}. Correct the query, or let requests reach the new pods, or go back (kubectl "
        f"moonshift undo {name})"
    )
    return Refusal(reasons.ANALYSIS_WITHOUT_DATA, text)


def _noted(status: RolloutStatus) -> bool:
    return any(visit.analysis for visit in moonshift_status(status).visits[-1:])


def _with_verdict(
    context: ReleaseContext, status: RolloutStatus, run: AnalysisRun
) -> RolloutStatus:
    """Records the end of the gate in the step's visit, for the record of the release."""
    *before, present = moonshift_status(status).visits or (
        StepVisit(step=run.step, started_at=context.now),
    )
    visit = structs.replace(present, analysis=f"{run.verdict}: {run.message}")
    return with_moonshift_status(status, visits=(*before, visit))


def _passed(context: ReleaseContext, status: RolloutStatus, run: AnalysisRun) -> Continue:
    text = f"step({run.step}): {run.message}"
    return Continue(_with_verdict(context, status, run), (Note(reasons.ANALYSIS_PASSED, text),))


def _not_passed(
    context: ReleaseContext, status: RolloutStatus, analysis: Analysis, run: AnalysisRun
) -> Transition:
    """Roll the new revision back if the gate asks for it; otherwise the step waits for a person."""
    notes = (_note_of(run),) if not _noted(status) else ()
    status = _with_verdict(context, status, run)
    if run.verdict == Verdict.FAILED and analysis.on_failure is OnFailure.ROLLBACK:
        taken_back = given_up(context, status, f"step({run.step}): {run.message}")
        if taken_back is not None:
            return structs.replace(taken_back, notes=(*notes, *taken_back.notes))
    return Continue(enter(status, StepState.STEP_PAUSED, context.now), notes)


def measured_anew(context: ReleaseContext, status: RolloutStatus) -> Continue | None:
    """Back to the measurements of a step whose pause began, when its gate has no verdict.

    A person removed the record (`moonshift retry`), or gave the step a gate during its pause. Without this rule the
    step would continue as if its gate had passed.
    """
    ours = moonshift_status(status)
    known = any(run.step == ours.step and run.verdict != Verdict.RUNNING for run in ours.analyses)
    if known or context.step(ours.step).analysis is None:
        return None
    visits = (
        *ours.visits[:-1],
        *(structs.replace(visit, analysis="") for visit in ours.visits[-1:]),
    )
    forgotten = with_moonshift_status(status, visits=visits)
    return Continue(enter(forgotten, StepState.STEP_METRICS_ANALYSIS, context.now))


def _note_of(run: AnalysisRun) -> Note:
    where = f"step({run.step})" if run.step != BACKGROUND else "in the background"
    return Note(_reason_of(run), f"{where}: {run.message}", Severity.WARNING)


def _reason_of(run: AnalysisRun) -> str:
    failed = run.verdict == Verdict.FAILED
    return reasons.ANALYSIS_FAILED if failed else reasons.ANALYSIS_INCONCLUSIVE


# --- what a gate holds --------------------------------------------------------------------------


def holding_run(context: ReleaseContext, status: RolloutStatus) -> AnalysisRun | None:
    """The gate that stops the release at its present step: it failed or is inconclusive, and nobody has approved."""
    ours = moonshift_status(status)
    for run in ours.analyses:
        present = (
            run.step in (ours.step, BACKGROUND) and _analysis_of(context, run.step) is not None
        )
        if present and run.verdict in (Verdict.FAILED, Verdict.INCONCLUSIVE):
            return run
    return None


def held_by_gate(context: ReleaseContext, status: RolloutStatus) -> Refusal | None:
    """The message to the person for whom the release waits, with the possible commands."""
    run = holding_run(context, status)
    if run is None:
        return None
    name = context.seen.rollout.metadata.name
    state = moonshift_status(status).state
    ways = [
        f"go back (kubectl moonshift undo {name})",
        f"measure again (kubectl moonshift retry {name})",
    ]
    if state == StepState.STEP_PAUSED:
        ways.append(f"approve to go on nevertheless (kubectl moonshift approve {name})")
    where = f"the metrics of step({run.step})" if run.step != BACKGROUND else "metrics"
    verdict = "failed" if run.verdict == Verdict.FAILED else "give no verdict"
    text = f"{where} {verdict}: {run.message}; {', '.join(ways[:-1])}, or {ways[-1]}"
    return Refusal(_reason_of(run), text)


def kept_runs(runs: tuple[AnalysisRun, ...]) -> tuple[AnalysisRun, ...]:
    """The gates that continue at another step: the background gate, unless it held the release."""
    going = (Verdict.RUNNING, Verdict.PASSED)
    return tuple(run for run in runs if run.step == BACKGROUND and run.verdict in going)


# --- the background -----------------------------------------------------------------------------


def watched(context: ReleaseContext, status: RolloutStatus) -> Watched:
    """The background gate: if it fails, it rolls the revision back or stops the work of the present step."""
    analysis = context.strategy.analysis
    if analysis is None or not _watches(status, analysis):
        return Watched(status)
    before = _run_of(context, status, BACKGROUND)
    looked = _with_new_measurements(context, status, analysis, BACKGROUND)
    if isinstance(looked, Stop):
        return Watched(status, stop=looked)
    status, found, waiting = looked
    run = found.run
    if run.verdict in (Verdict.RUNNING, Verdict.PASSED):
        return Watched(status, wake=waiting)
    notes = (_note_of(run),) if before.verdict == Verdict.RUNNING else ()
    return Watched(status, stop=_stopped(context, status, analysis, run, notes))


def _watches(status: RolloutStatus, analysis: Analysis) -> bool:
    """The gate begins when the pods and routes of its starting step are in place: before, nothing can be measured."""
    ours = moonshift_status(status)
    if ours.step < analysis.starting_step or ours.state == StepState.COMPLETED:
        return False
    begun = any(run.step == BACKGROUND for run in ours.analyses)
    return begun or ours.state in (StepState.STEP_METRICS_ANALYSIS, StepState.STEP_PAUSED)


def _stopped(
    context: ReleaseContext,
    status: RolloutStatus,
    analysis: Analysis,
    run: AnalysisRun,
    notes: tuple[Note, ...],
) -> Stop | None:
    if run.verdict == Verdict.FAILED and analysis.on_failure is OnFailure.ROLLBACK:
        taken_back = given_up(context, status, run.message)
        if taken_back is not None:
            return structs.replace(taken_back, notes=(*notes, *taken_back.notes))
    if moonshift_status(status).state == StepState.STEP_PAUSED:
        return None
    text = messages.in_step(context, moonshift_status(status).step, messages.HELD_BY_METRICS)
    waiting_status = progressing(status, reasons.IN_ROLLING, text, context.now)
    return Stop(waiting_status, notes=notes, problem=held_by_gate(context, status))


# --- looking ------------------------------------------------------------------------------------


def _analysis_of(context: ReleaseContext, index: int) -> Analysis | None:
    return context.strategy.analysis if index == BACKGROUND else context.step(index).analysis


def _run_of(context: ReleaseContext, status: RolloutStatus, index: int) -> AnalysisRun:
    for run in moonshift_status(status).analyses:
        if run.step == index:
            return run
    return AnalysisRun(step=index, started_at=context.now)


def _with_new_measurements(
    context: ReleaseContext, status: RolloutStatus, analysis: Analysis, index: int
) -> tuple[RolloutStatus, Look, Stop] | Stop:
    """The gate with the new measurements counted; or a stop with the reason why it cannot be asked."""
    asked = asked_of(context, status, analysis)
    if isinstance(asked, Refusal):
        return Stop(status, problem=asked)
    found = look(
        analysis, _run_of(context, status, index), asked, context.seen.measured, context.now
    )
    others = tuple(run for run in moonshift_status(status).analyses if run.step != index)
    status = with_moonshift_status(status, analyses=(*others, found.run))
    actions: tuple[Action, ...] = found.actions
    return status, found, Stop(status, actions, wake_at=found.due)


def asked_of(
    context: ReleaseContext, status: RolloutStatus, analysis: Analysis
) -> tuple[Asked, ...] | Refusal:
    """Every metric as it is sent, or the problem of one of them."""
    seen = context.seen
    return asked_about(
        analysis, seen.templates, context.meta, words_of(context, status), seen.golden
    )


def gate_that_cannot_be_asked(context: ReleaseContext, status: RolloutStatus) -> Refusal | None:
    """A gate of the plan that could never be asked: reported before the first pod, and not in the step that it ends.

    Names that the release gets later count as known.
    """
    gates = [(BACKGROUND, context.strategy.analysis)]
    gates += [(number, step.analysis) for number, step in enumerate(context.steps, start=1)]
    words = {name: word or name for name, word in words_of(context, status).items()}
    seen = context.seen
    for number, analysis in gates:
        if analysis is None:
            continue
        asked = asked_about(analysis, seen.templates, context.meta, words, seen.golden)
        if isinstance(asked, Refusal):
            gate = f"the gate of step {number}" if number else "the gate in the background"
            return structs.replace(asked, message=f"{gate}: {asked.message}")
    return None


def words_of(context: ReleaseContext, status: RolloutStatus) -> dict[str, str]:
    """The variables of metric texts; empty if this release has no such value."""
    ours = moonshift_status(status)
    step = context.step(ours.step)
    stable = next(iter(context.stable_services), "")
    return {
        "namespace": context.namespace,
        "rollout": context.seen.rollout.metadata.name,
        "workload": context.meta.name,
        "step": str(ours.step),
        "weight": (step.traffic or "0%").removesuffix("%"),
        "stable.service": stable,
        "canary.service": context.canary_service_of(stable) if stable else "",
        "stable.revision": ours.stable_revision,
        "canary.revision": context.new_revision,
        "stable.workload": context.meta.name,
        "canary.workload": _canary_workload(context),
    }


def _canary_workload(context: ReleaseContext) -> str:
    if context.style is Style.CANARY and context.canary is not None:
        return context.canary.object.metadata.name
    return context.meta.name
