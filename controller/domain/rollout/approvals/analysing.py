"""Metric gates of a release: the gate of its present step, and the gate in the background.

A step's gate starts when the step's pods and routes are in place; the step ends after its verdict. A gate that fails or
is inconclusive stops the release at its step, or takes the new revision back. An approval outranks the gate: the person
who approves has seen why the release stopped. Invariant: pure; all counts are in the status, so a restart or another
leader loses no measurement. Must not measure: it asks by `Measure` and reads `Observation.measured`.
"""

from msgspec import structs

from controller.api.analysis import Analysis, AnalysisRun, OnFailure, Verdict
from controller.api.checks import CheckVerdict
from controller.api.rollout import RolloutStatus, StepState, StepVisit
from controller.domain import reasons
from controller.domain.decision import Action, Note, Refusal, Severity, Value
from controller.domain.gates.asking import asked_about, length_of_asked
from controller.domain.gates.judging import for_record
from controller.domain.gates.watching import Asked, Look, look
from controller.domain.rollout.trouble.reverting import given_up
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.release_context import Style, moonshift_status
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Continue, Stop, Transition

BACKGROUND = 0
"""The step number under which the background gate is recorded."""
MOST_OF_A_PLAN = 512 << 10
"""Characters of the texts of all gates of a plan with their words: all are filled before the first pod."""
MOST_METRICS = 2000
"""Metrics of all gates of a plan, for the same reason."""


class Watched(Value, frozen=True):
    """The state of the background gate.

    `wake` contains its measurements and its next instant; `stop` is the outcome with which it stops the release.
    """

    status: RolloutStatus
    wake: Stop | None = None
    stop: Stop | None = None


def analyse(release: Release) -> Transition | None:
    """The gate of the present step; None if the step has no gate, or the gate has passed."""
    index = release.ours.step
    analysis = release.step(index).analysis
    if analysis is None:
        return None
    looked = _with_new_measurements(release, analysis, index)
    if isinstance(looked, Stop):
        return looked
    release, found, waiting = looked
    run = found.run
    if run.verdict == Verdict.RUNNING:
        text = messages.in_step(release, index, messages.analysing(run.message))
        waiting_status = release.progressing(reasons.IN_ROLLING, text)
        problem = _without_data(release, analysis, found)
        return structs.replace(waiting, status=waiting_status.status, problem=problem)
    if run.verdict == Verdict.PASSED:
        return None if _noted(release.status) else _passed(release, run)
    return _not_passed(release, analysis, run)


def _without_data(release: Release, analysis: Analysis, found: Look) -> Refusal | None:
    """Metrics without data for ten minutes, where no deadline of the gate ends the wait."""
    if not found.without_data or analysis.deadline_seconds is not None:
        return None
    name = release.seen.rollout.metadata.name
    text = (
        f"step({found.run.step}) waits for metrics without data, or with too few requests: "
        f"{', '.join(found.without_data)}. Correct the query, or let requests reach the new pods, or go back (kubectl "
        f"moonshift undo {name})"
    )
    return Refusal(reasons.ANALYSIS_WITHOUT_DATA, text)


def _noted(status: RolloutStatus) -> bool:
    return any(visit.analysis for visit in moonshift_status(status).visits[-1:])


def _with_verdict(release: Release, run: AnalysisRun) -> Release:
    """Records the end of the gate in the step's visit, for the record of the release."""
    *before, present = release.ours.visits or (StepVisit(step=run.step, started_at=release.now),)
    verdict = f"{run.verdict}: {run.message}"
    visit = structs.replace(present, analysis=verdict, metrics=for_record(run))
    return release.noting(visits=(*before, visit))


def _passed(release: Release, run: AnalysisRun) -> Continue:
    text = f"step({run.step}): {run.message}"
    return _with_verdict(release, run).go_on(Note(reasons.ANALYSIS_PASSED, text))


def _not_passed(release: Release, analysis: Analysis, run: AnalysisRun) -> Transition:
    """Roll the new revision back if the gate asks for it; otherwise the step waits for a person."""
    notes = (_note_of(run),) if not _noted(release.status) else ()
    release = _with_verdict(release, run)
    if run.verdict == Verdict.FAILED and analysis.on_failure is OnFailure.ROLLBACK:
        taken_back = given_up(release, f"step({run.step}): {run.message}")
        if taken_back is not None:
            return structs.replace(taken_back, notes=(*notes, *taken_back.notes))
    return release.entering(StepState.STEP_PAUSED).go_on(*notes)


def measured_anew(release: Release) -> Continue | None:
    """Back to the measurements of a step whose pause began, when its gate has no verdict.

    A person removed the record (`moonshift retry`), or gave the step a gate during its pause. Without this rule the
    step would continue as if its gate had passed.
    """
    ours = release.ours
    known = any(run.step == ours.step and run.verdict != Verdict.RUNNING for run in ours.analyses)
    if known or release.step(ours.step).analysis is None:
        return None
    if any(run.step == ours.step and run.verdict == CheckVerdict.FAILED for run in ours.checks):
        # A check that failed while its gate was measured holds the step.
        return None
    visits = (
        *ours.visits[:-1],
        *(structs.replace(visit, analysis="") for visit in ours.visits[-1:]),
    )
    forgotten = release.noting(visits=visits)
    return forgotten.entering(StepState.STEP_METRICS_ANALYSIS).go_on()


def _note_of(run: AnalysisRun) -> Note:
    where = f"step({run.step})" if run.step != BACKGROUND else "in the background"
    return Note(_reason_of(run), f"{where}: {run.message}", Severity.WARNING)


def _reason_of(run: AnalysisRun) -> str:
    failed = run.verdict == Verdict.FAILED
    return reasons.ANALYSIS_FAILED if failed else reasons.ANALYSIS_INCONCLUSIVE


# --- what a gate holds --------------------------------------------------------------------------


def holding_run(release: Release) -> AnalysisRun | None:
    """The gate that stops the release at its present step: it failed or is inconclusive, and nobody has approved."""
    ours = release.ours
    for run in ours.analyses:
        present = (
            run.step in (ours.step, BACKGROUND) and _analysis_of(release, run.step) is not None
        )
        if present and run.verdict in (Verdict.FAILED, Verdict.INCONCLUSIVE):
            return run
    return None


def held_by_gate(release: Release) -> Refusal | None:
    """The message to the person for whom the release waits, with the possible commands."""
    run = holding_run(release)
    if run is None:
        return None
    name = release.seen.rollout.metadata.name
    state = release.ours.state
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


def watched(release: Release) -> Watched:
    """The background gate: if it fails, it rolls the revision back or stops the work of the present step."""
    analysis = release.strategy.analysis
    if analysis is None or not _watches(release.status, analysis):
        return Watched(release.status)
    before = _run_of(release, BACKGROUND)
    looked = _with_new_measurements(release, analysis, BACKGROUND)
    if isinstance(looked, Stop):
        return Watched(release.status, stop=looked)
    release, found, waiting = looked
    run = found.run
    if run.verdict in (Verdict.RUNNING, Verdict.PASSED):
        return Watched(release.status, wake=waiting)
    notes = (_note_of(run),) if before.verdict == Verdict.RUNNING else ()
    return Watched(release.status, stop=_stopped(release, analysis, run, notes))


def _watches(status: RolloutStatus, analysis: Analysis) -> bool:
    """The gate begins when the pods and routes of its starting step are in place: before, nothing can be measured."""
    ours = moonshift_status(status)
    if ours.step < analysis.starting_step or ours.state == StepState.COMPLETED:
        return False
    begun = any(run.step == BACKGROUND for run in ours.analyses)
    return begun or ours.state in (StepState.STEP_METRICS_ANALYSIS, StepState.STEP_PAUSED)


def _stopped(
    release: Release,
    analysis: Analysis,
    run: AnalysisRun,
    notes: tuple[Note, ...],
) -> Stop | None:
    if run.verdict == Verdict.FAILED and analysis.on_failure is OnFailure.ROLLBACK:
        taken_back = given_up(release, run.message)
        if taken_back is not None:
            return structs.replace(taken_back, notes=(*notes, *taken_back.notes))
    if release.ours.state == StepState.STEP_PAUSED:
        return None
    text = messages.in_step(release, release.ours.step, messages.HELD_BY_METRICS)
    waiting_status = release.progressing(reasons.IN_ROLLING, text)
    return waiting_status.stop(notes=notes, problem=held_by_gate(release))


# --- looking ------------------------------------------------------------------------------------


def _analysis_of(release: Release, index: int) -> Analysis | None:
    return release.strategy.analysis if index == BACKGROUND else release.step(index).analysis


def _run_of(release: Release, index: int) -> AnalysisRun:
    for run in release.ours.analyses:
        if run.step == index:
            return run
    return AnalysisRun(step=index, started_at=release.now)


def _with_new_measurements(
    release: Release, analysis: Analysis, index: int
) -> tuple[Release, Look, Stop] | Stop:
    """The gate with the new measurements counted; or a stop with the reason why it cannot be asked."""
    asked = asked_of(release, analysis)
    if isinstance(asked, Refusal):
        return release.stop(problem=asked)
    found = look(analysis, _run_of(release, index), asked, release.seen.measured, release.now)
    others = tuple(run for run in release.ours.analyses if run.step != index)
    release = release.noting(analyses=(*others, found.run))
    actions: tuple[Action, ...] = found.actions
    return release, found, release.stop(*actions, wake_at=found.due)


def asked_of(release: Release, analysis: Analysis) -> tuple[Asked, ...] | Refusal:
    """Every metric as it is sent, or the problem of one of them."""
    seen = release.seen
    return asked_about(analysis, seen.templates, release.meta, words_of(release), seen.golden)


def gate_that_cannot_be_asked(release: Release) -> Refusal | None:
    """A gate of the plan that could never be asked: reported before the first pod, and not in the step that it ends.

    Names that the release gets later count as known.
    """
    gates = [(BACKGROUND, release.strategy.analysis)]
    gates += [(number, step.analysis) for number, step in enumerate(release.steps, start=1)]
    words = {name: word or name for name, word in words_of(release).items()}
    seen, length, metrics = release.seen, 0, 0
    for number, analysis in gates:
        if analysis is None:
            continue
        asked = asked_about(analysis, seen.templates, release.meta, words, seen.golden)
        if isinstance(asked, Refusal):
            gate = f"the gate of step {number}" if number else "the gate in the background"
            return structs.replace(asked, message=f"{gate}: {asked.message}")
        length, metrics = length + sum(map(length_of_asked, asked)), metrics + len(asked)
        if length > MOST_OF_A_PLAN or metrics > MOST_METRICS:
            return _too_much(number)
    return None


def _too_much(number: int) -> Refusal:
    text = (
        f"with the gate of step {number} the gates of this plan have more than {MOST_METRICS} metrics, or more than "
        f"{MOST_OF_A_PLAN} characters in the texts of their metrics with their words: use fewer metrics, or a gate in "
        "the background instead of one for each step"
    )
    return Refusal(reasons.INVALID_ANALYSIS, text)


def words_of(release: Release) -> dict[str, str]:
    """The variables of metric texts; empty if this release has no such value."""
    ours = release.ours
    step = release.step(ours.step)
    stable = next(iter(release.stable_services), "")
    return {
        "namespace": release.namespace,
        "rollout": release.seen.rollout.metadata.name,
        "workload": release.meta.name,
        "step": str(ours.step),
        "weight": (step.traffic or "0%").removesuffix("%"),
        "stable.service": stable,
        "canary.service": release.canary_service_of(stable) if stable else "",
        "stable.revision": ours.stable_revision,
        "canary.revision": release.new_revision,
        "stable.workload": release.meta.name,
        "canary.workload": _canary_workload(release),
    }


def _canary_workload(release: Release) -> str:
    if release.style is Style.CANARY and release.canary is not None:
        return release.canary.object.metadata.name
    return release.meta.name
