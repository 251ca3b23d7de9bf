"""Reports a pass over a Rollout: one reason in three places (Event, log line, metric).

Invariant: a transition is reported when its status is written, never before; a completed action (a change was reverted)
is reported even if no status had to be written, and is not lost if the write failed.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import msgspec

from controller.api.meta import Key
from controller.api.rollout import MoonshiftStatus, Rollout, RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Decision, Note
from controller.domain.observation import Observation
from controller.domain.rollout.approvals.pause import a_person_ends_the_step
from controller.domain.rollout.words.messages import status_refused
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition
from controller.domain.traffic.drift.policy import DRIFTED

_FACTS = frozenset({reasons.ROUTE_PUT_BACK, reasons.CONFIG_RESTORED})
"""Reasons of notes that no later pass repeats: their actions are done."""

_log = logging.getLogger("controller.reconcilers.rollout")


class EventSink(Protocol):
    """Events on the Rollout."""

    def __call__(self, rollout: Rollout, note: Note) -> None: ...


class RolloutMetrics(Protocol):
    """Metrics of releases."""

    def approved(self) -> None: ...

    def drifted(self, action: str) -> None: ...

    def release_ended(self, namespace: str, outcome: str, seconds: float) -> None: ...

    def state_entered(self, state: str) -> None: ...

    def state_left(self, state: str, waiting_for: str, seconds: float) -> None: ...


class Reporting:
    """Events, log lines and metrics of all Rollouts."""

    def __init__(
        self,
        events: EventSink,
        metrics: RolloutMetrics,
        gone: Callable[[Key], None] = lambda key: None,
    ) -> None:
        """`gone` is called with a Rollout that is gone: no Event will be sent for it any more."""
        self._events = events
        self._metrics = metrics
        self._gone = gone
        self._unreported: dict[Key, tuple[Note, ...]] = {}

    def forget(self, key: Key) -> None:
        """The Rollout is gone."""
        self._unreported.pop(key, None)
        self._gone(key)

    def keep(self, key: Key, decision: Decision) -> None:
        """The status could not be written: completed actions are reported with the next one."""
        facts = (note for note in decision.notes if note.reason in _FACTS)
        kept = dict.fromkeys((*self._unreported.get(key, ()), *facts))
        if kept:
            self._unreported[key] = tuple(kept)

    def status_refused(self, rollout: Rollout, message: str) -> None:
        """The API server refused the status, with this message; only an Event and the log can report it."""
        self._events(rollout, status_refused(message))
        extra = {"rollout": str(rollout.metadata.key), "error": message}
        _log.warning("status refused", extra=extra)

    def report(self, seen: Observation, decision: Decision, now: datetime) -> None:
        """Report a pass whose status is written, or does not change."""
        rollout = seen.rollout
        key = rollout.metadata.key
        for note in dict.fromkeys((*self._unreported.pop(key, ()), *decision.notes)):
            self._events(rollout, note)
            self._count(key, note, _moonshift_status(rollout.status), now)
        before, after, status = (
            _moonshift_status(rollout.status),
            _moonshift_status(decision.status),
            decision.status,
        )
        if _is_held_at_drift(status) and not _is_held_at_drift(rollout.status):
            self._metrics.drifted("held")
        if (before.step, before.state, rollout.status.phase) != (
            after.step,
            after.state,
            status.phase,
        ):
            self._log_transition(rollout, before, after, status)
            self._state_left(seen, before, now)
            if after.state:
                self._metrics.state_entered(after.state)

    def _count(self, key: Key, note: Note, before: MoonshiftStatus, now: datetime) -> None:
        if note.reason == reasons.ROUTE_PUT_BACK:
            self._metrics.drifted("put_back")
        elif note.reason == reasons.APPROVED:
            self._metrics.approved()
        if note.ended:
            took = (now - (before.started_at or now)).total_seconds()
            self._metrics.release_ended(key.namespace, note.ended, took)

    def _state_left(self, seen: Observation, before: MoonshiftStatus, now: datetime) -> None:
        if not before.state or before.state_since is None:
            return
        held = seen.rollout.spec.strategy.paused
        if held or a_person_ends_the_step(as_stored(seen, now)):
            waited = "people"
        else:
            waited = "timer" if before.state == StepState.STEP_PAUSED else "work"
        spent = (now - before.state_since).total_seconds()
        self._metrics.state_left(before.state, waited, max(0.0, spent))

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


def _is_held_at_drift(status: RolloutStatus) -> bool:
    found = condition(status, DRIFTED)
    return found is not None and found.status == "True"


def _moonshift_status(status: RolloutStatus) -> MoonshiftStatus:
    found = status.moonshift
    return MoonshiftStatus() if isinstance(found, msgspec.UnsetType) else found
