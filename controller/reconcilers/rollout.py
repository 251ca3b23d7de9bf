"""One pass over one Rollout: observe, decide, apply, write the status, report.

Invariant: the status is written last, once, only when it differs, and with the resource version that was evaluated; so
after a crash between any two writes the next pass can continue. Data kept between passes (our own writes, counters not
yet written) only saves requests.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Protocol

from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import Rollout, RolloutStatus, StepState
from controller.domain.decision import Decision, Refusal
from controller.domain.observation import Observation
from controller.domain.rollout.phases import decide, refused
from controller.effects.apply import (
    Checks,
    Histories,
    Measures,
    Pass,
    Routes,
    WorkloadKinds,
    of_refused,
)
from controller.effects.kept_answers import KeptAnswers
from controller.effects.missing_pods import EventReads
from controller.effects.rollouts import write_status
from controller.effects.writes import KubeWrites, Writes
from controller.errors import WRITE_REFUSED, MoonshiftError, NotFound
from controller.kube.ledger import WriteLedger
from controller.reconcilers.carrying_out import carry_out, earlier
from controller.reconcilers.reporting import Reporting
from controller.reconcilers.retries import RefusalWaits
from controller.reconcilers.rights import RightsAwaited
from controller.runtime.clock import Clock
from controller.runtime.worker import Result

COUNTERS_AFTER = timedelta(seconds=3)
"""How long a status write waits when only counters, or the present part of the end, changed."""
BRIEF = timedelta(seconds=1)
"""The time for which a status write after a pass without actions is delayed, because a change usually follows."""

_log = logging.getLogger(__name__)


class Worlds(Protocol):
    """The source of observations."""

    def observe(self, key: Key) -> Observation | None: ...


Decide = Callable[[Observation, datetime], Decision]
"""From an observation to a decision."""
Effects = Callable[
    [Rollout, Writes, Routes, Histories, WorkloadKinds, EventReads, Measures, Checks], Pass
]
"""The effects of one pass."""


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
        events: EventReads,
        ledger: WriteLedger,
        clock: Clock,
        reporting: Reporting,
        random: Random,
        rights: RightsAwaited,
        measures: Measures,
        checks: Checks,
        decide: Decide = decide,
        effects: Effects = Pass,
    ) -> None:
        self._measures = measures
        self._checks = checks
        self._decide = decide
        self._effects = effects
        self._worlds = worlds
        self._kube = kube
        self._routes_for = routes_for
        self._histories = histories
        self._kinds = kinds
        self._events = events
        self._ledger = ledger
        self._answers = KeptAnswers()
        self._clock = clock
        self._reporting = reporting
        self._refusals = RefusalWaits(random, rights)
        self._status_refusals = RefusalWaits(random, rights)
        self._postponed_since: dict[Key, datetime] = {}

    async def reconcile(self, key: Key) -> Result:
        """One pass; the result says when to look again if nothing happens before."""
        behind = self._ledger.pending(key)
        if behind > 0:
            return Result(wake_after=behind, answered=False)
        seen = self._worlds.observe(key)
        if seen is None:
            self.forget(key)
            return Result()
        now = self._clock.now()
        decision = self._decide(seen, now)
        writes = Writes(self._kube, self._ledger.scoped(key), self._answers.of(key))
        effects = self._effects_on(seen.rollout, writes)
        decision, wake_after = await carry_out(
            decision,
            effects,
            lambda before, refusal, undone: refused(seen, before, refusal, now, undone),
            self._refusals,
            seen.rollout.metadata,
            now,
        )
        later = self._postponed(seen.rollout, decision, now)
        if later > 0 and effects.version == seen.rollout.metadata.resource_version:
            wake_after = earlier(wake_after, later)
            if decision.brief:
                return Result(wake_after=wake_after)
        elif not effects.gone:
            refusal = await self._write_status(seen.rollout, effects.version, decision, writes)
            if refusal is not None:
                return self._status_refused(seen.rollout, refusal)
        self._reporting.report(seen, decision, now)
        return Result(wake_after=wake_after)

    def _effects_on(self, rollout: Rollout, writes: Writes) -> Pass:
        return self._effects(
            rollout,
            writes,
            self._routes_for(rollout.metadata.key),
            self._histories,
            self._kinds,
            self._events,
            self._measures,
            self._checks,
        )

    def forget(self, key: Key) -> None:
        """The Rollout is gone, or the work of another process."""
        self._ledger.forget(key)
        self._postponed_since.pop(key, None)
        self._refusals.forget(key)
        self._status_refusals.forget(key)
        self._reporting.forget(key)
        self._answers.forget(key)

    def _postponed(self, rollout: Rollout, decision: Decision, now: datetime) -> float:
        """Seconds to delay a status that no effect relies on; 0 to write it now."""
        key = rollout.metadata.key
        longest = _patience(rollout.status, decision)
        if longest is None:
            self._postponed_since.pop(key, None)
            return 0.0
        first = self._postponed_since.setdefault(key, now)
        left = (first + longest - now).total_seconds()
        if left <= 0:
            del self._postponed_since[key]
        return max(0.0, left)

    async def _write_status(
        self, rollout: Rollout, version: str, decision: Decision, writes: Writes
    ) -> Refusal | None:
        """Store the status; the refusal if a right or a policy prevents it."""
        if decision.status == rollout.status and not rollout.unreadable:
            return None
        try:
            await write_status(writes, rollout, version, decision.status)
        except NotFound:
            # Deleted meanwhile: there is no object to write the status to.
            _log.info("rollout is gone", extra={"rollout": str(rollout.metadata.key)})
        except MoonshiftError as failure:
            self._reporting.keep(rollout.metadata.key, decision)
            if isinstance(failure, WRITE_REFUSED):
                return of_refused(failure)
            raise
        return None

    def _status_refused(self, rollout: Rollout, refusal: Refusal) -> Result:
        """Report it, and look again when the right exists, or after a while: a policy may have changed."""
        self._reporting.status_refused(rollout, refusal.message)
        meta = rollout.metadata
        return Result(wake_after=self._status_refusals.next(meta.key, meta.generation, refusal))


def _patience(before: RolloutStatus, decision: Decision) -> timedelta | None:
    """How long a status may wait to be written; None if it must be written at once.

    Pods of a batch become ready one by one within moments, and the write at the end of the batch contains the last
    count. At the end of a release `finalisingStep` only shows which part takes long: each part is decided from
    observed facts. A scaling during a pause is followed by no other write, so its last count is written at once:
    clients look after three seconds. A pass that did nothing is repeated from the stored status, after a crash as well.
    """
    after = decision.status
    if before == after:
        return None
    if decision.brief:
        return BRIEF
    only_counted = _uncounted(before) == _uncounted(after)
    return COUNTERS_AFTER if only_counted and not _settled_in_a_pause(before, after) else None


def _uncounted(status: RolloutStatus) -> RolloutStatus:
    inner = status.of_release
    if inner is None:
        return status
    uncounted = structs.replace(
        inner,
        canary_replicas=0,
        canary_ready_replicas=0,
        pod_template_hash="",
        observed_workload_generation=0,
        finalising_step="",
    )
    return status.with_release(uncounted)


def _settled_in_a_pause(before: RolloutStatus, after: RolloutStatus) -> bool:
    """Whether the number of new pods differs from the stored count, and all of them are ready."""
    old, new = before.of_release, after.of_release
    if old is None or new is None or new.current_step_state != StepState.STEP_PAUSED:
        return False
    counted = (old.canary_replicas, old.canary_ready_replicas)
    return (
        counted != (new.canary_replicas,) * 2 and new.canary_ready_replicas == new.canary_replicas
    )
