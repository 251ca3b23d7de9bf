"""One pass over one TrafficRouting: observe, decide, apply, write the status, report.

Invariant: as for Rollouts, the status is written last, once, only when it differs, over the version that was evaluated.
A pass that wrote something else on the object writes no status: the event of that write causes the next pass.
"""

from collections.abc import Callable
from random import Random
from typing import Protocol

from controller.api.meta import Key
from controller.api.trafficrouting import TrafficRouting
from controller.api.workloads import label_value
from controller.domain import reasons
from controller.domain.decision import (
    Action,
    Done,
    Note,
    NotYet,
    Outcome,
    Reference,
    Refusal,
    SetMetadata,
)
from controller.domain.observation import Observation, RouteSeen
from controller.domain.rollout.routes.empty_side_record import removes_the_stable_side
from controller.domain.rollout.routes.shared_routing import pods_led_to
from controller.domain.rollout.words.messages import status_refused
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.traffic.plan.traffic_plan import references_of
from controller.domain.trafficrouting.deciding import (
    TrafficRoutingDecision,
    decide_traffic_routing,
    refused_routing,
)
from controller.domain.trafficrouting.seen import (
    OWNER_PREFIX,
    MemberSeen,
    TrafficRoutingSeen,
    is_under_way,
    joined,
    owner_of,
)
from controller.effects.apply import Effects, Routes, of_refused
from controller.effects.trafficroutings import write_routing_status
from controller.effects.writes import KubeWrites, Writes
from controller.errors import WRITE_REFUSED, NotFound
from controller.kube.ledger import WriteLedger
from controller.reconcilers.caches import SERVICE, SHARED_ROUTING, Caches
from controller.reconcilers.carrying_out import carry_out
from controller.reconcilers.retries import RefusalWaits
from controller.reconcilers.rights import RightsAwaited
from controller.runtime.clock import Clock
from controller.runtime.worker import Result


class RoutingSource(Protocol):
    """The source of Rollouts and gateway objects."""

    def observe(self, key: Key) -> Observation | None: ...

    def routes(
        self, owner: Key, uid: str, references: tuple[Reference, ...], *, leads: bool
    ) -> tuple[RouteSeen, ...]: ...

    def forget(self, owner: Key) -> None: ...


_DRIFT = {reasons.ROUTE_PUT_BACK: "put_back", reasons.ROUTE_HELD: "held"}
"""The metric's label for each reaction to a changed route."""


class EventSink(Protocol):
    """Events on the TrafficRouting."""

    def __call__(self, routing: TrafficRouting, note: Note) -> None: ...


class DriftMetrics(Protocol):
    """Metrics of changed gateway objects."""

    def drifted(self, action: str) -> None: ...


class SharedWorld:
    """Observations of TrafficRoutings, from the caches alone."""

    def __init__(self, caches: Caches, source: RoutingSource, clock: Clock) -> None:
        self._caches = caches
        self._source = source
        self._clock = clock

    def observe(self, key: Key) -> TrafficRoutingSeen | None:
        """Everything about one TrafficRouting; None when it is gone."""
        routing = self._caches.traffic_routings.get(key)
        if routing is None:
            self._source.forget(_owner(key))
            return None
        owner = Key(key.namespace, owner_of(routing))
        named = self._caches.rollouts.index(SHARED_ROUTING, str(key))
        naming = {label_value(rollout.metadata.name): rollout.metadata.name for rollout in named}
        entries = routing.spec.object_ref
        names = tuple(dict.fromkeys(entry.service for entry in entries))
        return TrafficRoutingSeen(
            routing=routing,
            members=tuple(self._members(key, [naming.get(n, n) for n in joined(routing)])),
            routes=self._source.routes(
                owner,
                routing.metadata.uid,
                references_of(entries, disable_generate=True, namespace=key.namespace),
                leads=bool(routing.metadata.finalizers),
            ),
            slices=tuple(
                part
                for name in names
                for part in self._caches.slices.index(SERVICE, str(Key(key.namespace, name)))
            ),
            strays=tuple(name for name in joined(routing) if name not in naming),
            living=frozenset(r.metadata.name for r in named if is_under_way(r)),
        )

    def _members(self, key: Key, names: list[str]) -> list[MemberSeen]:
        found: list[MemberSeen] = []
        for name in names:
            seen = self._source.observe(Key(key.namespace, name))
            if seen is not None:
                found.append(self._member(seen))
        return found

    def _member(self, seen: Observation) -> MemberSeen:
        if seen.workload is None:
            return MemberSeen(seen.rollout)
        release = as_stored(seen, self._clock.now())
        whole = removes_the_stable_side(release)
        return MemberSeen(seen.rollout, pods_led_to(release), seen.workload.pods, whole)


def _owner(key: Key) -> Key:
    """The key under which a TrafficRouting waits for a right: its name in gateway objects."""
    return Key(key.namespace, OWNER_PREFIX + key.name)


class _Effects(Effects):
    """No other action follows a change of the finalizers, whose event causes the next pass."""

    changed = False

    async def apply(self, action: Action) -> Outcome:
        outcome = await super().apply(action)
        if isinstance(action, SetMetadata) and isinstance(outcome, Done):
            self.changed = True
            return NotYet("the finalizers are seen by the next pass")
        return outcome


class TrafficRoutingReconciler:
    """Passes over TrafficRoutings."""

    def __init__(
        self,
        *,
        world: SharedWorld,
        kube: KubeWrites,
        routes_for: Callable[[Key], Routes],
        ledger: WriteLedger,
        clock: Clock,
        events: EventSink,
        metrics: DriftMetrics,
        random: Random,
        rights: RightsAwaited,
        gone: Callable[[Key], None] = lambda key: None,
    ) -> None:
        """`gone` is called with a TrafficRouting that will have no more Events."""
        self._world = world
        self._gone = gone
        self._refusals = RefusalWaits(random, rights, _owner)
        self._status_refusals = RefusalWaits(random, rights, _owner)
        self._kube = kube
        self._routes_for = routes_for
        self._ledger = ledger
        self._clock = clock
        self._events = events
        self._metrics = metrics

    async def reconcile(self, key: Key) -> Result:
        """One pass; the result says when to look again if nothing happens before."""
        behind = self._ledger.pending(key)
        if behind > 0:
            return Result(wake_after=behind)
        seen = self._world.observe(key)
        if seen is None:
            self.forget(key)
            return Result()
        now = self._clock.now()
        decision = decide_traffic_routing(seen, now)
        writes = Writes(self._kube, self._ledger.scoped(key))
        effects = _Effects(writes, self._routes_for(key))
        decision, wake_after = await carry_out(
            decision,
            effects,
            lambda before, refusal, undone: refused_routing(seen, before, refusal, now, undone),
            self._refusals,
            seen.routing.metadata,
            now,
        )
        if effects.changed:
            return Result()
        return await self._stored(seen, decision, writes) or Result(wake_after=wake_after)

    async def _stored(
        self, seen: TrafficRoutingSeen, decision: TrafficRoutingDecision, writes: Writes
    ) -> Result | None:
        """Store the status and report the pass; the next look if the status is refused."""
        refused = await self._write_status(seen, decision, writes)
        if refused is not None:
            return self._status_refused(seen.routing, refused)
        for note in decision.notes:
            self._record(seen.routing, note)
        return None

    def forget(self, key: Key) -> None:
        """The TrafficRouting is gone, or the work of another process."""
        self._ledger.forget(key)
        self._refusals.forget(key)
        self._status_refusals.forget(key)
        self._gone(key)

    def _record(self, routing: TrafficRouting, note: Note) -> None:
        self._events(routing, note)
        if note.reason in _DRIFT:
            self._metrics.drifted(_DRIFT[note.reason])

    async def _write_status(
        self, seen: TrafficRoutingSeen, decision: TrafficRoutingDecision, writes: Writes
    ) -> Refusal | None:
        """Store the status; the refusal if a right or a policy prevents it."""
        if decision.status == seen.routing.status and not seen.routing.unreadable:
            return None
        try:
            await write_routing_status(writes, seen.routing, decision.status)
        except WRITE_REFUSED as refused:
            return of_refused(refused)
        except NotFound:
            pass
        return None

    def _status_refused(self, routing: TrafficRouting, refusal: Refusal) -> Result:
        """Report it, and look again when the right exists, or after a while: a policy may have changed."""
        meta = routing.metadata
        self._events(routing, status_refused(refusal.message, "TrafficRouting"))
        return Result(wake_after=self._status_refusals.next(meta.key, meta.generation, refusal))
