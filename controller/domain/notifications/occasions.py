"""The events of a Rollout that Notifications can send, from its stored status alone.

Invariant: pure. The same fact has the same id in every look, in every process, before and after a restart; so an event
that was sent is known by its id. An end of a release is one event, Finished or RolledBack. Nothing here knows a
target, and no decision about a release asks it.
"""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from controller.api.analysis import AnalysisRun, Verdict
from controller.api.meta import Condition
from controller.api.notification import Occasion, Topic
from controller.api.rollout import MoonshiftStatus, Phase, Rollout, Step, StepState
from controller.api.workloads import safe_hash
from controller.domain import reasons
from controller.domain.rollout.words import messages
from controller.domain.rollout.words.release_context import canary_status, moonshift_status
from controller.domain.rollout.words.status import condition

WAITS_FOR_APPROVAL = "WaitsForApproval"
CHARACTERS_OF_AN_ID = 20
_OF_A_TOPIC = {
    reasons.ANALYSIS_FAILED: None,
    reasons.ROUTE_HELD: Topic.DRIFT_HELD,
}
"""Reasons of the condition Stalled that belong to another topic; None: the event comes from the record of the gate."""


def occasions(rollout: Rollout) -> tuple[Occasion, ...]:
    """The events that the status holds now, the oldest first; nothing before the first release."""
    ours = moonshift_status(rollout.status)
    if ours.started_at is None:
        return ()
    found = _Looked(rollout, ours, ours.started_at).all()
    return tuple(sorted(found, key=lambda one: (one.at, one.id)))


class _Looked:
    """One look at one status."""

    def __init__(self, rollout: Rollout, ours: MoonshiftStatus, began: datetime) -> None:
        self._rollout = rollout
        self._ours = ours
        self._began = began
        self._release = _hash(ours.revision, began.isoformat())

    def all(self) -> Iterator[Occasion]:
        yield from self._begun()
        yield from self._waits()
        yield from self._stalled()
        yield from self._failed_gates()
        yield from self._end()

    def _begun(self) -> Iterator[Occasion]:
        if self._ours.returning:
            reason, text = reasons.RELEASE_RESTARTED, messages.RETURNING
            yield self._one(Topic.ROLLED_BACK, reason, text, self._began)
        else:
            before = self._ours.stable_words or "unknown"
            text = f"a release of {self._revision} started; stable is {before}"
            yield self._one(Topic.STARTED, reasons.RELEASE_STARTED, text, self._began, step=1)

    def _waits(self) -> Iterator[Occasion]:
        """The stay at the step counts, not the state: a step may leave its pause and come back to it by itself."""
        ours = self._ours
        paused = self._rollout.status.phase == Phase.PROGRESSING
        if not paused or ours.state != StepState.STEP_PAUSED or not self._waits_for_a_person():
            return
        stays = [visit for visit in ours.visits if visit.step == ours.step]
        since = stays[-1].started_at if stays else ours.state_since
        name, namespace = self._rollout.metadata.name, self._rollout.metadata.namespace
        yield self._one(
            Topic.WAITS_FOR_APPROVAL,
            WAITS_FOR_APPROVAL,
            f"step {ours.step} is ready and waits for an approval",
            (stays[-1].ready_at if stays else None) or since,
            counted=since,
            step=ours.step,
            next=f"kubectl moonshift approve {name} -n {namespace}",
        )

    def _waits_for_a_person(self) -> bool:
        steps = self._steps
        if not 1 <= self._ours.step <= len(steps):
            return False
        return steps[self._ours.step - 1].pause.duration is None

    def _stalled(self) -> Iterator[Occasion]:
        found = condition(self._rollout.status, "Stalled")
        if found is None or found.status != "True":
            return
        topic = _OF_A_TOPIC.get(found.reason, Topic.STALLED)
        if topic is not None:
            yield self._of_condition(topic, found)

    def _of_condition(self, topic: Topic, found: Condition) -> Occasion:
        name, namespace = self._rollout.metadata.name, self._rollout.metadata.namespace
        return self._one(
            topic,
            found.reason,
            found.message,
            found.last_transition_time,
            next=f"kubectl moonshift why {name} -n {namespace}",
        )

    def _failed_gates(self) -> Iterator[Occasion]:
        for run in self._ours.analyses:
            if run.verdict == Verdict.FAILED:
                yield self._of_gate(run)

    def _of_gate(self, run: AnalysisRun) -> Occasion:
        return self._one(
            Topic.GATE_FAILED,
            reasons.ANALYSIS_FAILED,
            run.message or f"the gate of step {run.step} failed",
            run.finished_at or run.started_at,
            counted=run.started_at,
            step=run.step,
        )

    def _end(self) -> Iterator[Occasion]:
        """The condition Succeeded is written by the end of a release, and taken away by the next beginning."""
        found = condition(self._rollout.status, "Succeeded")
        if found is None:
            return
        won = found.status == "True"
        text = messages.COMPLETED if won else messages.CANCELED
        yield self._one(
            Topic.FINISHED if won else Topic.ROLLED_BACK,
            reasons.RELEASE_COMPLETED if won else reasons.RELEASE_CANCELED,
            f"{self._revision}: {text}",
            found.last_transition_time,
            who=next((one.by for one in reversed(self._ours.approvals) if one.by), ""),
        )

    def _one(
        self,
        topic: Topic,
        reason: str,
        message: str,
        at: datetime | None,
        *,
        counted: datetime | None = None,
        step: int | None = None,
        who: str = "",
        next: str = "",
    ) -> Occasion:
        """`counted` is the instant that makes the fact this one, if that is not `at`; `step` is the one that it is
        about, if it is about one. The present step is shown, and is no part of the id: the fact may outlive it.
        """
        meta, ours = self._rollout.metadata, self._ours
        instant = _instant(counted or at)
        return Occasion(
            id=_hash(meta.uid, self._release, topic, reason, step or 0, instant),
            topic=topic,
            reason=reason,
            message=message,
            at=at or self._began,
            namespace=meta.namespace,
            rollout=meta.name,
            uid=meta.uid,
            release=self._release,
            revision=self._revision,
            step=ours.step if step is None else step,
            steps=len(self._steps),
            who=who,
            next=next,
        )

    @property
    def _revision(self) -> str:
        return canary_status(self._rollout.status).canary_revision or self._ours.revision

    @property
    def _steps(self) -> tuple[Step, ...]:
        plan = self._rollout.spec.strategy.plan
        return plan.steps if plan is not None else ()


def _instant(at: datetime | None) -> str:
    return "" if at is None else at.isoformat()


def _hash(*parts: object) -> str:
    return safe_hash(msgspec.json.encode(parts), CHARACTERS_OF_AN_ID)
