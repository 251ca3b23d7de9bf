"""The state of a Rollout, as samples.

Invariant: pure; computed from the cached objects alone, so every leader exports the same from its first scrape on.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from controller.api.analysis import Verdict
from controller.api.meta import Condition
from controller.api.rollout import Phase, Rollout, StepState
from controller.domain.conditions import find_condition
from controller.domain.observation import Observation
from controller.domain.rollout.approvals.pause import a_person_ends_the_step
from controller.domain.rollout.words.goal import Goal
from controller.domain.rollout.words.release_context import Style, canary_status, moonshift_status
from controller.domain.rollout.words.release_value import Release, as_stored
from controller.domain.traffic.drift.policy import DRIFTED
from controller.telemetry.state.gauge import Sample, StateGauge, bounded
from controller.telemetry.state.population import Owner, Pods, Population, workload_of
from controller.telemetry.state.stalls import stall_of
from controller.telemetry.state.weights import actual_weight, desired_weight

_PHASES = frozenset(Phase)
_STATES = frozenset(StepState)
_VERDICTS = frozenset(Verdict)
FINALISING = "Finalising"
"""The state of a release after its steps and before its end."""
_BUSY = (Phase.PROGRESSING, Phase.DISABLING, Phase.TERMINATING)


class RolloutSeen(NamedTuple):
    """A Rollout, at an instant, with the pods of all workloads and the extra Deployments made for it."""

    rollout: Rollout
    now: datetime
    pods: Population = {}
    extra: tuple[Owner, ...] = ()

    @property
    def under_way(self) -> bool:
        """A release has begun and has not ended."""
        status = self.rollout.status
        return status.phase in _BUSY and bool(moonshift_status(status).release)

    @property
    def release_view(self) -> Release:
        """The view on which rules about the Rollout alone are evaluated."""
        return as_stored(Observation(rollout=self.rollout, plan_hash=""), self.now)


def _info(seen: RolloutSeen) -> Iterator[Sample]:
    yield (seen.release_view.style, seen.rollout.spec.workload_ref.kind[:63]), 1


def _workload_held(seen: RolloutSeen) -> Iterator[Sample]:
    if seen.under_way:
        ref = seen.rollout.spec.workload_ref
        yield (ref.kind[:63], ref.name), 1


def _phase(seen: RolloutSeen) -> Iterator[Sample]:
    yield (bounded(seen.rollout.status.phase, _PHASES),), 1


def _step(seen: RolloutSeen) -> Iterator[Sample]:
    yield (), seen.rollout.status.current_step_index


def _steps(seen: RolloutSeen) -> Iterator[Sample]:
    plan = seen.rollout.spec.strategy.plan
    yield (), len(plan.steps) if plan is not None else 0


def _desired_weight(seen: RolloutSeen) -> Iterator[Sample]:
    weight = desired_weight(seen.rollout) if seen.under_way else None
    if weight is not None:
        yield (), weight


def _actual_weight(seen: RolloutSeen) -> Iterator[Sample]:
    weight = actual_weight(seen.rollout) if seen.under_way else None
    if weight is not None:
        yield (), weight


def _side(seen: RolloutSeen, revision: str) -> str:
    inner = canary_status(seen.rollout.status)
    if not seen.under_way or revision == inner.stable_revision:
        return "stable"
    return "new" if revision == inner.pod_template_hash else "other"


def _counted(seen: RolloutSeen, *, ready: bool) -> Iterator[Sample]:
    sides = {"stable": 0, "new": 0} if seen.under_way else {"stable": 0}
    for owner in (workload_of(seen.rollout), *seen.extra):
        pods = seen.pods.get(owner, Pods())
        for revision, number in (pods.ready if ready else pods.every).items():
            side = _side(seen, revision)
            sides[side] = sides.get(side, 0) + number
    for side, number in sides.items():
        yield (side,), number


def _pods(seen: RolloutSeen) -> Iterator[Sample]:
    return _counted(seen, ready=False)


def _ready_pods(seen: RolloutSeen) -> Iterator[Sample]:
    return _counted(seen, ready=True)


def _paused(seen: RolloutSeen) -> Iterator[Sample]:
    status = seen.rollout.status
    if not seen.under_way or moonshift_status(status).goal:
        return
    if seen.rollout.spec.strategy.paused:
        yield ("owner",), 1
    elif moonshift_status(status).state == StepState.STEP_PAUSED:
        yield ("person" if a_person_ends_the_step(seen.release_view) else "timer",), 1


def _state_seconds(seen: RolloutSeen) -> Iterator[Sample]:
    ours = moonshift_status(seen.rollout.status)
    state, since = bounded(ours.state, _STATES), ours.state_since
    if ours.goal == Goal.SCALED_AWAY and ours.goal_since is None:
        return  # at zero replicas the release waits for people, without a limit
    if ours.goal:
        state, since = FINALISING, ours.goal_since or since
    if seen.under_way and since is not None:
        yield (state,), max(0.0, (seen.now - since).total_seconds())


def _stalled(seen: RolloutSeen) -> Iterator[Sample]:
    found = stall_of(seen.rollout.status.conditions)
    if found is not None:
        yield (found,), 1


def _held(condition: Condition | None) -> bool:
    return condition is not None and condition.status == "True"


def _drift_held(seen: RolloutSeen) -> Iterator[Sample]:
    if _held(find_condition(seen.rollout.status.conditions, DRIFTED)):
        yield (), 1


def _gate(seen: RolloutSeen) -> Iterator[Sample]:
    if not seen.under_way:
        return
    for run in moonshift_status(seen.rollout.status).analyses[:2]:
        yield ("step" if run.step else "background", bounded(run.verdict, _VERDICTS)), 1


ROLLOUTS: tuple[StateGauge[RolloutSeen], ...] = (
    StateGauge(
        "moonshift_rollout_info",
        f"1 for each Rollout; style: {', '.join(Style)}",
        ("style", "workload_kind"),
        _info,
    ),
    StateGauge(
        "moonshift_rollout_workload_held",
        "1 for a workload under release, which has fewer available pods than replicas on purpose",
        ("workload_kind", "workload"),
        _workload_held,
    ),
    StateGauge("moonshift_rollout_phase", "1 for the phase a Rollout is in", ("phase",), _phase),
    StateGauge("moonshift_rollout_step", "Step a Rollout is at, from 1", (), _step),
    StateGauge("moonshift_rollout_steps", "Steps of the plan", (), _steps),
    StateGauge(
        "moonshift_rollout_weight_desired",
        "Percent of requests that the present step asks for",
        (),
        _desired_weight,
    ),
    StateGauge(
        "moonshift_rollout_weight_actual",
        "Percent of requests that the gateway objects lead to the new revision",
        (),
        _actual_weight,
    ),
    StateGauge("moonshift_rollout_pods", "Pods by revision: stable, new, other", ("side",), _pods),
    StateGauge(
        "moonshift_rollout_ready_pods",
        "Pods that are ready, by revision: stable, new, other",
        ("side",),
        _ready_pods,
    ),
    StateGauge(
        "moonshift_rollout_paused",
        "1 while a release waits: for a person's approval, for a timer, or because its owner paused it",
        ("by",),
        _paused,
    ),
    StateGauge(
        "moonshift_rollout_state_seconds",
        "Seconds that a release has been in its present state",
        ("state",),
        _state_seconds,
    ),
    StateGauge(
        "moonshift_rollout_stalled",
        "1 while a Rollout cannot go on without help, by the class of its problem",
        ("class",),
        _stalled,
    ),
    StateGauge(
        "moonshift_rollout_drift_held",
        "1 while a release is stopped because somebody changed a gateway object",
        (),
        _drift_held,
    ),
    StateGauge(
        "moonshift_rollout_gate",
        "1 for the verdict of a gate: of the present step, and of the background gate",
        ("gate", "verdict"),
        _gate,
    ),
)
