"""One pass over one Rollout: observe, decide, apply, write the status, say what happened.

Invariant: the status is written last, once, only when it differs, and with the resource version that was
evaluated; so a crash between any two writes leaves a state the next pass understands. What is remembered
between passes (our own writes, counters not yet written) only saves requests.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

import msgspec
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import MoonshiftStatus, Phase, Rollout, RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import ConfigAction, Decision, Done, Note, NotYet, Refusal
from controller.domain.observation import Observation
from controller.domain.rollout.phases import decide, refused
from controller.effects.apply import Histories, Pass, Routes, WorkloadKinds
from controller.effects.rollouts import write_status
from controller.effects.writes import KubeWrites, Writes
from controller.errors import NotFound
from controller.kube.ledger import WriteLedger
from controller.runtime.clock import Clock
from controller.runtime.worker import Result

COUNTERS_AFTER = timedelta(seconds=1)
"""How long a status waits in which only counters moved, or the part of the end that is being brought about."""

_DRIFT = {reasons.ROUTE_PUT_BACK: "put_back", reasons.ROUTE_HELD: "held"}
"""What the metric calls what was done about a change of a route."""

_log = logging.getLogger(__name__)


class Worlds(Protocol):
    """Where observations come from."""

    def observe(self, key: Key) -> Observation | None: ...


class Told(Protocol):
    """Events on the Rollout."""

    def __call__(self, rollout: Rollout, note: Note) -> None: ...


class RolloutMetrics(Protocol):
    """What passes tell about releases."""

    def rollout(self, namespace: str, name: str, phase: str, step: int, stalled: bool) -> None: ...

    def forget_rollout(self, namespace: str, name: str) -> None: ...

    def approval_pending(self, namespace: str, name: str, pending: bool) -> None: ...

    def drifted(self, action: str) -> None: ...

    def release_ended(self, namespace: str, outcome: str, seconds: float) -> None: ...

    def state_left(self, state: str, waiting_for: str, seconds: float) -> None: ...


class RolloutReconciler:
    """Passes over Rollouts."""

    def __init__(
        self,
        *,
        worlds: Worlds,
        kube: KubeWrites,
        routes_for: Callable[[Key], Routes],
        histories: Histories,
        kinds: WorkloadKinds,
        ledger: WriteLedger,
        clock: Clock,
        told: Told,
        metrics: RolloutMetrics,
    ) -> None:
        self._worlds = worlds
        self._kube = kube
        self._routes_for = routes_for
        self._histories = histories
        self._kinds = kinds
        self._ledger = ledger
        self._clock = clock
        self._told = told
        self._metrics = metrics
        self._counting: dict[Key, datetime] = {}

    async def reconcile(self, key: Key) -> Result:
        """One pass; the answer says when to look again if nothing happens before."""
        behind = self._ledger.pending(key)
        if behind > 0:
            return Result(wake_after=behind)
        seen = self._worlds.observe(key)
        if seen is None:
            self._ledger.forget(key)
            self._counting.pop(key, None)
            self._metrics.forget_rollout(key.namespace, key.name)
            return Result()
        now = self._clock.now()
        decision = decide(seen, now)
        scoped = self._ledger.scoped(key)
        writes = Writes(self._kube, scoped)
        effects = Pass(seen.rollout, writes, self._routes_for(key), self._histories, self._kinds)
        decision, wake_after = await self._apply(seen, decision, effects, now)
        later = self._postponed(seen.rollout, decision.status, now)
        if later > 0 and effects.version == seen.rollout.metadata.resource_version:
            return Result(wake_after=_sooner(wake_after, later))
        if not effects.gone:
            await self._write_status(seen.rollout, effects.version, decision.status, writes)
        self._say(seen.rollout, decision, now)
        return Result(wake_after=_sooner(wake_after, _until(decision.wake_at, now)))

    async def _apply(
        self, seen: Observation, decision: Decision, effects: Pass, now: datetime
    ) -> tuple[Decision, float | None]:
        """Bring the decided facts about, in order, up to the first that is not yet so."""
        wake_after: float | None = None
        for action in decision.actions:
            match await effects.apply(action):
                case Done():
                    continue
                case NotYet(wake_after=after):
                    return decision, _sooner(wake_after, after)
                case Refusal() as refusal:
                    decision = refused(seen, decision, refusal, now)
                    wake_after = _sooner(wake_after, refusal.retry_after)
                    if not isinstance(action, ConfigAction):
                        return decision, wake_after
        return decision, wake_after

    def _postponed(self, rollout: Rollout, after: RolloutStatus, now: datetime) -> float:
        """Seconds to wait with a status in which nothing but counters moved; 0 to write it now.

        Pods of a batch become ready one by one within moments, and the write that ends the batch says it all; the parts
        of the end are judged by facts, and `finalisingStep` only says which one takes long.
        """
        key, before = rollout.metadata.key, rollout.status
        if before == after or _uncounted(before) != _uncounted(after):
            self._counting.pop(key, None)
            return 0.0
        first = self._counting.setdefault(key, now)
        left = (first + COUNTERS_AFTER - now).total_seconds()
        if left <= 0:
            del self._counting[key]
        return max(0.0, left)

    async def _write_status(
        self, rollout: Rollout, version: str, status: RolloutStatus, writes: Writes
    ) -> None:
        if status == rollout.status:
            return
        try:
            await write_status(writes, rollout, version, status)
        except NotFound:
            # Deleted meanwhile: there is nothing left to say it on.
            _log.info("rollout is gone", extra={"rollout": str(rollout.metadata.key)})

    def _say(self, rollout: Rollout, decision: Decision, now: datetime) -> None:
        """One reason, three places: Event, log line, metric."""
        key = rollout.metadata.key
        for note in decision.notes:
            self._told(rollout, note)
            if note.reason in _DRIFT:
                self._metrics.drifted(_DRIFT[note.reason])
        before, after = _position(rollout.status), _position(decision.status)
        status = decision.status
        stalled = any(c.type == "Stalled" and c.status == "True" for c in status.conditions)
        if status != rollout.status:
            self._metrics.rollout(
                key.namespace, key.name, status.phase, status.current_step_index, stalled
            )
            self._metrics.approval_pending(
                key.namespace, key.name, after.state == StepState.STEP_PAUSED
            )
        if (before.step, before.state, rollout.status.phase) != (
            after.step,
            after.state,
            status.phase,
        ):
            self._log_transition(rollout, before, after, status)
            if before.state and before.state_since is not None:
                waits = "people" if before.state == StepState.STEP_PAUSED else "work"
                spent = (now - before.state_since).total_seconds()
                self._metrics.state_left(before.state, waits, max(0.0, spent))
        if rollout.status.phase == Phase.PROGRESSING and status.phase == Phase.HEALTHY:
            self._release_ended(key, before, status, now)

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


def _uncounted(status: RolloutStatus) -> RolloutStatus:
    inner = status.of_release
    if inner is None:
        return status
    still = structs.replace(
        inner,
        canary_replicas=0,
        canary_ready_replicas=0,
        pod_template_hash="",
        observed_workload_generation=0,
        finalising_step="",
    )
    return status.with_release(still)


def _position(status: RolloutStatus) -> MoonshiftStatus:
    found = status.moonshift
    return MoonshiftStatus() if isinstance(found, msgspec.UnsetType) else found


def _until(instant: datetime | None, now: datetime) -> float | None:
    return None if instant is None else max(0.0, (instant - now).total_seconds())


def _sooner(left: float | None, right: float | None) -> float | None:
    times = [time for time in (left, right) if time is not None]
    return min(times, default=None)
