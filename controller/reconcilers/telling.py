"""What a pass over a Rollout tells: one reason, three places (Event, log line, metric).

Invariant: a transition is told when its status is written, never before; a fact that was brought about (a route put
back) is told even where no status had to be written, and not lost where its write failed.
"""

import logging
from datetime import datetime
from typing import Protocol

import msgspec

from controller.api.meta import Key
from controller.api.rollout import MoonshiftStatus, Phase, Rollout, RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Decision, Note
from controller.domain.observation import Observation
from controller.domain.rollout.pause import a_person_is_waited_for
from controller.domain.rollout.situation import Situation

_DRIFT = {reasons.ROUTE_PUT_BACK: "put_back", reasons.ROUTE_HELD: "held"}
"""What the metric calls what was done about a change of a route."""
_FACTS = frozenset({reasons.ROUTE_PUT_BACK, reasons.CONFIG_RESTORED})
"""Reasons of notes that no later pass comes to again: what they tell is done."""

_log = logging.getLogger("controller.reconcilers.rollout")


class Told(Protocol):
    """Events on the Rollout."""

    def __call__(self, rollout: Rollout, note: Note) -> None: ...


class RolloutMetrics(Protocol):
    """What passes tell about releases."""

    def rollout(self, namespace: str, name: str, phase: str, step: int, stalled: bool) -> None: ...

    def forget_rollout(self, namespace: str, name: str) -> None: ...

    def approval_pending(self, namespace: str, name: str, pending: bool) -> None: ...

    def approved(self) -> None: ...

    def drifted(self, action: str) -> None: ...

    def release_ended(self, namespace: str, outcome: str, seconds: float) -> None: ...

    def state_left(self, state: str, waiting_for: str, seconds: float) -> None: ...


class Telling:
    """Events, log lines and metrics of all Rollouts."""

    def __init__(self, told: Told, metrics: RolloutMetrics) -> None:
        self._told = told
        self._metrics = metrics
        self._untold: dict[Key, tuple[Note, ...]] = {}

    def forget(self, key: Key) -> None:
        """The Rollout is gone, and so are its series."""
        self._untold.pop(key, None)
        self._metrics.forget_rollout(key.namespace, key.name)

    def keep(self, key: Key, decision: Decision) -> None:
        """The status could not be written: what was done all the same is told with the next one."""
        facts = (note for note in decision.notes if note.reason in _FACTS)
        kept = dict.fromkeys((*self._untold.get(key, ()), *facts))
        if kept:
            self._untold[key] = tuple(kept)

    def tell(self, seen: Observation, decision: Decision, now: datetime) -> None:
        """Everything about a pass whose status is written, or says nothing new."""
        rollout = seen.rollout
        key = rollout.metadata.key
        for note in dict.fromkeys((*self._untold.pop(key, ()), *decision.notes)):
            self._told(rollout, note)
            if note.reason in _DRIFT:
                self._metrics.drifted(_DRIFT[note.reason])
            elif note.reason == reasons.APPROVED:
                self._metrics.approved()
        self._measure(seen, decision.status, now)
        before, after, status = (
            _position(rollout.status),
            _position(decision.status),
            decision.status,
        )
        if (before.step, before.state, rollout.status.phase) != (
            after.step,
            after.state,
            status.phase,
        ):
            self._log_transition(rollout, before, after, status)
            self._state_left(seen, before, now)
        if rollout.status.phase == Phase.PROGRESSING and status.phase == Phase.HEALTHY:
            self._release_ended(key, before, status, now)

    def _measure(self, seen: Observation, status: RolloutStatus, now: datetime) -> None:
        key = seen.rollout.metadata.key
        stalled = any(c.type == "Stalled" and c.status == "True" for c in status.conditions)
        pending = a_person_is_waited_for(Situation(seen=seen, now=now), status)
        self._metrics.rollout(
            key.namespace, key.name, status.phase, status.current_step_index, stalled
        )
        self._metrics.approval_pending(key.namespace, key.name, pending)

    def _state_left(self, seen: Observation, before: MoonshiftStatus, now: datetime) -> None:
        if not before.state or before.state_since is None:
            return
        sit = Situation(seen=seen, now=now)
        if a_person_is_waited_for(sit, seen.rollout.status):
            waited = "people"
        else:
            waited = "timer" if before.state == StepState.STEP_PAUSED else "work"
        spent = (now - before.state_since).total_seconds()
        self._metrics.state_left(before.state, waited, max(0.0, spent))

    def _release_ended(
        self, key: Key, before: MoonshiftStatus, status: RolloutStatus, now: datetime
    ) -> None:
        won = any(c.type == "Succeeded" and c.status == "True" for c in status.conditions)
        started = before.started_at or now
        self._metrics.release_ended(
            key.namespace, "succeeded" if won else "canceled", (now - started).total_seconds()
        )

    def _log_transition(
        self,
        rollout: Rollout,
        before: MoonshiftStatus,
        after: MoonshiftStatus,
        status: RolloutStatus,
    ) -> None:
        _log.info(
            "transition",
            extra={
                "rollout": str(rollout.metadata.key),
                "release": after.release or before.release,
                "from": f"{rollout.status.phase or '-'}/{before.step}/{before.state or '-'}",
                "to": f"{status.phase}/{after.step}/{after.state or '-'}",
                "reason": status.message,
            },
        )


def _position(status: RolloutStatus) -> MoonshiftStatus:
    found = status.moonshift
    return MoonshiftStatus() if isinstance(found, msgspec.UnsetType) else found
