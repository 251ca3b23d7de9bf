"""The product's own passes, run on the in-memory API server: observations, decisions, effects and wake-ups are its own.

Invariant: a pass runs exactly as in a process of the product. A caller can add faults: a process that dies between two
actions, an action that is refused, a change between observation and action.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import datetime
from random import Random
from typing import Any, Protocol, TypeVar

from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import Rollout
from controller.domain.availability import Unavailable
from controller.domain.decision import (
    Action,
    Decision,
    DeleteObject,
    Note,
    Outcome,
    Reference,
    Refusal,
    SetMetadata,
    SetSize,
)
from controller.domain.observation import Observation
from controller.domain.rollout.phases import decide
from controller.domain.traffic.plan.header import ScriptHeader
from controller.effects.apply import Pass
from controller.effects.gateways import (
    GatewayRoutes,
    KubeGatewayObjects,
    ScriptRunner,
    ScriptSource,
)
from controller.effects.gateways.script_answers import Tried
from controller.effects.history import Histories
from controller.effects.writes import Writes
from controller.errors import Right
from controller.kube.gateway_reads import GatewayReads
from controller.kube.ledger import WriteLedger
from controller.kube.resources import Resource
from controller.reconcilers.gates import Gates
from controller.reconcilers.reporting import Reporting
from controller.reconcilers.rollout import RolloutReconciler
from controller.reconcilers.trafficrouting import SharedWorld, TrafficRoutingReconciler
from controller.reconcilers.wiring import Wiring
from controller.reconcilers.world import World as ObservationBuilder
from controller.runtime.worker import Result
from controller.simulation.kinds import NamedKinds, TrackedConfigs
from controller.simulation.measures import SimulatedMeasures
from controller.simulation.state import ClusterState

T = TypeVar("T")


class Scripts(ScriptSource, Protocol):
    """Scripts, with their headers and states."""

    def header(self, reference: Reference) -> ScriptHeader | None: ...

    def missing(self, reference: Reference) -> str: ...


class Crashed(Exception):
    """The process of the product has died."""


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits: the API server is in memory, and time does not pass meanwhile."""
    try:
        work.send(None)
    except StopIteration as end:
        answer: T = end.value
        return answer
    work.close()
    raise AssertionError("a pass of a simulated cluster waits for something")


class PassFault:
    """A fault of a pass: `meanwhile` runs between observation and first action; death after this number of actions, or
    before the status if there are fewer.
    """

    def __init__(
        self, crash_after: int | None = None, meanwhile: Callable[[], None] | None = None
    ) -> None:
        self._left = crash_after
        self._meanwhile = meanwhile

    def after_look(self) -> None:
        """Run `meanwhile`."""
        if self._meanwhile is not None:
            self._meanwhile()

    def before_action(self) -> None:
        """Raises Crashed when the process dies here."""
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise Crashed

    def before_status(self) -> None:
        """Raises Crashed when the process dies in this pass."""
        if self._left is not None:
            raise Crashed


class _NoMetrics:
    """Metrics that count nothing."""

    def approved(self) -> None: ...

    def drifted(self, action: str) -> None: ...

    def release_ended(self, namespace: str, outcome: str, seconds: float) -> None: ...

    def state_entered(self, state: str) -> None: ...

    def state_left(self, state: str, waiting_for: str, seconds: float) -> None: ...


class _NoRightsAwaited:
    """Waits for no right: granting one wakes all Rollouts."""

    def wait(self, key: Key, right: Right) -> None: ...

    def forget(self, key: Key) -> None: ...


class _EveryAccountMay:
    """A simulation assumes that ServiceAccounts have the rights that their scripts need."""

    async def may(self, right: Right) -> bool:
        return True


class _AllKnown:
    """Every cache shows what the server has."""

    def unavailable(self, kinds: Iterable[Resource]) -> Unavailable | None:
        return None


class _Reporting(Reporting):
    """Records reports and the last decision."""

    def __init__(self, decided: dict[Key, Decision], notes: list[Note]) -> None:
        super().__init__(lambda rollout, note: notes.append(note), _NoMetrics())
        self._decided = decided

    def report(self, seen: Observation, decision: Decision, now: datetime) -> None:
        self._decided[seen.rollout.metadata.key] = decision
        super().report(seen, decision, now)


def _refusal_of(action: Action, refusals: Mapping[str, Refusal]) -> Refusal | None:
    """The refusal of this action, or of this action on objects of its kind: `DeleteObject Service`."""
    name = type(action).__name__
    if isinstance(action, DeleteObject | SetSize | SetMetadata):
        return refusals.get(f"{name} {action.kind.kind}") or refusals.get(name)
    return refusals.get(name)


class _Effects(Pass):
    """The real effects, except for refused actions, up to the action before which the process dies."""

    around: "Passes"

    async def apply(self, action: Action) -> Outcome:
        around, state = self.around, self.around.state
        around.fault.before_action()
        before = state.version
        outcome = _refusal_of(action, state.refusals) or await super().apply(action)
        if state.version != before:
            around.acted()
        return outcome


class _Reconciler(RolloutReconciler):
    """The real one, up to the status before which the process dies."""

    around: "Passes"

    async def _write_status(
        self, rollout: Rollout, version: str, decision: Decision, writes: Writes
    ) -> None:
        if decision.status != rollout.status:
            self.around.fault.before_status()
        await super()._write_status(rollout, version, decision, writes)


class Passes:
    """The reconcilers, and the objects that need a pass."""

    def __init__(self, state: ClusterState, scripts: Scripts, runner: ScriptRunner) -> None:
        self.state = state
        self.fault = PassFault()
        self.acted: Callable[[], None] = lambda: None
        """Called after every action that wrote something."""
        self.woken: dict[Key, None] = {}
        """Rollouts with an event since their last pass."""
        self.woken_soon: dict[Key, None] = {}
        """Rollouts with an event that can wait for the next one."""
        self.routings_woken: dict[Key, None] = {}
        self.decided: dict[Key, Decision] = {}
        """The last decision about a Rollout, even if its status could not be written."""
        self.notes: list[Note] = []
        """The notes of passes over Rollouts, in order."""
        wiring = Wiring(
            state.caches,
            _noting(self.woken),
            _noting(self.routings_woken),
            wake_soon=_noting(self.woken_soon),
        )
        self.wake_all = wiring.cache_availability_changed
        self.scripts_changed = wiring.scripts_changed
        self.kinds = NamedKinds(state.projections, wiring.named_object_changed)
        self.measures = SimulatedMeasures(self.now, _noting(self.woken))
        self.gates = Gates(state.caches, _AllKnown(), self.measures, {})
        self._builder = ObservationBuilder(
            state.caches,
            self.kinds,
            _AllKnown(),
            headers=scripts.header,
            missing=scripts.missing,
            allow_cluster_scoped=True,
            config_objects=TrackedConfigs(state.projections, wiring.config_changed),
            gates=self.gates,
        )
        self.shared = SharedWorld(state.caches, self._builder, self)
        self._scripts, self._runner = scripts, runner
        self._reconcile = self._rollouts(scripts, runner).reconcile
        self._reconcile_routing = self._routings(scripts, runner).reconcile
        wiring.connect()

    def now(self) -> datetime:
        """The virtual clock."""
        return self.state.now

    def monotonic(self) -> float:
        """The virtual clock, in seconds."""
        return self.state.now.timestamp()

    def see(self, key: Key) -> Observation | None:
        """All that a decision about this Rollout may depend on."""
        seen, kept = self._builder.observe(key), self.state.histories_kept
        return seen if seen is None or not kept else structs.replace(seen, histories_kept=kept)

    def observe(self, key: Key) -> Observation | None:
        """The look that begins a pass."""
        seen = self.see(key)
        self.fault.after_look()
        return seen

    def _decide(self, seen: Observation, now: datetime) -> Decision:
        decision = self.decided[seen.rollout.metadata.key] = decide(seen, now)
        return decision

    def over_rollout(self, key: Key, fault: PassFault) -> Result:
        """One pass over a Rollout. Raises Crashed, or the API server's error."""
        self.woken.pop(key, None)
        self.fault = fault
        return at_once(self._reconcile(key))

    def restart(self) -> None:
        """Another process becomes the leader: data that the reconciler kept between passes is lost."""
        self._reconcile = self._rollouts(self._scripts, self._runner).reconcile

    def over_routing(self, key: Key) -> Result:
        """One pass over a TrafficRouting."""
        self.routings_woken.pop(key, None)
        return at_once(self._reconcile_routing(key))

    def _rollouts(self, scripts: Scripts, runner: ScriptRunner) -> RolloutReconciler:
        server, ledger = self.state.server, WriteLedger()
        made = _Reconciler(
            worlds=self,
            kube=server,
            routes_for=self._routes(scripts, runner, ledger),
            histories=Histories(server),
            kinds=self.kinds,
            events=server,
            ledger=ledger,
            clock=self,
            reporting=_Reporting(self.decided, self.notes),
            random=Random(1),
            rights=_NoRightsAwaited(),
            measures=self.measures,
            decide=self._decide,
            effects=self._effects,
        )
        made.around = self
        return made

    def _effects(self, *about: Any) -> Pass:
        found = _Effects(*about)
        found.around = self
        return found

    def _routings(self, scripts: Scripts, runner: ScriptRunner) -> TrafficRoutingReconciler:
        ledger = WriteLedger()
        return TrafficRoutingReconciler(
            world=self.shared,
            kube=self.state.server,
            routes_for=self._routes(scripts, runner, ledger),
            ledger=ledger,
            clock=self,
            events=lambda routing, note: None,
            random=Random(1),
            rights=_NoRightsAwaited(),
            metrics=_NoMetrics(),
        )

    def _routes(
        self, scripts: Scripts, runner: ScriptRunner, ledger: WriteLedger
    ) -> Callable[[Key], GatewayRoutes]:
        """Gateway objects by the real effect."""
        reads, tried = GatewayReads(self.state.server, self.kinds), Tried()

        def routes_for(key: Key) -> GatewayRoutes:
            objects = KubeGatewayObjects(reads, ledger.scoped(key))
            return GatewayRoutes(
                objects, scripts, runner,
                rights=_EveryAccountMay(), allow_cluster_scoped=True, tried=tried.of(key),
            )  # fmt: skip

        return routes_for


def _noting(woken: dict[Key, None]) -> Callable[[Key], None]:
    def wake(key: Key) -> None:
        woken[key] = None

    return wake
